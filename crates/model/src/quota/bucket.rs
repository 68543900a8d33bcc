//! A token bucket: a rate that lasts, and credit for going beyond it.
//!
//! ```text
//!   lag     what was taken ahead of the sustained rate; falls by the rate while time passes
//!   credit  what may be taken ahead; grows while there is no lag, up to the bucket's size
//! ```
//!
//! A request starts as soon as the credit covers the lag, whatever it costs itself. So requests
//! that find no credit start evenly paced, and the n-th of a flood of requests of cost c that finds
//! a full bucket of size K starts at max(0, (n c - K) / rate), n counted from 0.

use block::Instant;

/// One bucket. Tokens are what its owner counts in; inside they are counted in billionths, so that
/// a rate a second is a whole number a nanosecond.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: u128,
    refill: u128,
    size: u128,
    lag: u128,
    credit: u128,
    at: Instant,
}

const BILLION: u128 = 1_000_000_000;

impl Bucket {
    /// A full bucket of `size` tokens; `rate` of them a second go on for ever, and `refill` a
    /// second come back while nothing is taken.
    pub fn new(rate: u64, refill: u64, size: u64) -> Self {
        assert!(rate > 0, "a rate of 0 never lets anything pass");
        let size = u128::from(size) * BILLION;
        let [rate, refill] = [rate, refill].map(u128::from);
        Self { rate, refill, size, lag: 0, credit: size, at: Instant(0) }
    }

    /// Lets time pass; what lies behind is no time.
    pub fn advance(&mut self, now: Instant) {
        let given = self.rate * u128::from(now.since(self.at));
        self.at = self.at.max(now);
        let unused = given.saturating_sub(self.lag);
        self.lag = self.lag.saturating_sub(given);
        if unused > 0 && self.credit < self.size {
            let gained =
                if self.refill == self.rate { unused } else { unused * self.refill / self.rate };
            self.credit = self.size.min(self.credit + gained);
        }
    }

    /// When the next request may start, as things stand at the time of the last advance.
    pub fn ready_at(&self) -> Instant {
        match self.lag.saturating_sub(self.credit) {
            0 => self.at,
            short => self.at.after(u64::try_from(short.div_ceil(self.rate)).unwrap_or(u64::MAX)),
        }
    }

    /// A request that costs `tokens` starts now, which the bucket allows.
    pub fn take(&mut self, tokens: u64) {
        assert!(self.lag <= self.credit, "a request that starts before its time");
        self.credit -= self.lag;
        self.lag = u128::from(tokens) * BILLION;
    }
}
