//! By how much a paced model was late, and how often the computer was taken away from it.

use std::fmt;

/// A completion handed out later than this was held up by something else than pacing: the
/// hypervisor gave the processor away, or the caller did not come back. Fifty times the median
/// error that pacing aims at.
pub const STALL_NS: u64 = 1_000_000;

/// Sub-buckets of each power of two: a quantile is at most a sixteenth too high.
const FINE: u32 = 16;
const BUCKETS: usize = (64 - FINE.ilog2() as usize + 1) * FINE as usize;

/// How late completions were handed out: a log-linear histogram of fixed size.
#[derive(Clone, Debug)]
pub struct Lateness {
    buckets: Box<[u64]>,
    count: u64,
    ns_max: u64,
    stalls: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into(), count: 0, ns_max: 0, stalls: 0 }
    }
}

impl Lateness {
    /// One more, this late.
    #[inline]
    pub fn take_in(&mut self, late_ns: u64) {
        self.buckets[bucket_of(late_ns)] += 1;
        self.count += 1;
        self.ns_max = self.ns_max.max(late_ns);
        self.stalls += u64::from(late_ns > STALL_NS);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many were later than [`STALL_NS`]: a run with many of them was not paced.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }

    /// The latest, ns.
    pub fn ns_max(&self) -> u64 {
        self.ns_max
    }

    /// The lateness that `per_mille` of 1,000 did not exceed, ns, at most a sixteenth too high; 0
    /// before the first.
    ///
    /// # Panics
    /// Above 1,000.
    pub fn quantile_ns(&self, per_mille: u64) -> u64 {
        assert!(per_mille <= 1000, "{per_mille} per mille");
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|&count| {
            below += count;
            below >= rank
        });
        bucket.map_or(0, |bucket| last_of(bucket).min(self.ns_max))
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |per_mille| self.quantile_ns(per_mille) as f64 / 1e3;
        write!(
            formatter,
            "timing error {:.1} us median, {:.1} us p99 over {} completions, {} later than 1 ms",
            us(500),
            us(990),
            self.count,
            self.stalls
        )
    }
}

/// Values below [`FINE`] have a bucket each; above, the bits after the leading one choose.
fn bucket_of(value: u64) -> usize {
    let power = value.max(1).ilog2();
    let fine_bits = FINE.ilog2();
    if power < fine_bits {
        return value as usize;
    }
    let shift = power - fine_bits;
    ((shift + 1) * FINE) as usize + ((value >> shift) as usize - FINE as usize)
}

/// The largest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let (row, column) = (bucket as u32 / FINE, bucket as u64 % u64::from(FINE));
    if row == 0 {
        return column;
    }
    let first = (u64::from(FINE) + column) << (row - 1);
    first + ((1 << (row - 1)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    #[test]
    fn a_bucket_holds_its_last_value_and_not_the_next() {
        let mut rng = Rng::new(5, 0);
        for bits in 1..=64 {
            let value = rng.next() >> (64 - bits);
            let bucket = bucket_of(value);
            assert!(value <= last_of(bucket) && last_of(bucket) - value <= value / 16, "{value}");
            assert_eq!(bucket_of(last_of(bucket)), bucket);
            assert!(last_of(bucket) == u64::MAX || bucket_of(last_of(bucket) + 1) == bucket + 1);
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_agree_with_a_sorted_list_to_a_sixteenth() {
        let (mut rng, mut lateness) = (Rng::new(6, 0), Lateness::default());
        let mut values: Vec<u64> = (0..9999).map(|_| rng.next() >> (20 + rng.below(44))).collect();
        values.iter().for_each(|&value| lateness.take_in(value));
        values.sort_unstable();
        for per_mille in [1, 500, 990, 1000] {
            let exact = values[(values.len() as u64 * per_mille).div_ceil(1000) as usize - 1];
            let seen = lateness.quantile_ns(per_mille);
            assert!((exact..=exact + exact / 16).contains(&seen), "{per_mille}: {seen} {exact}");
        }
        let stalls = values.iter().filter(|&&value| value > STALL_NS).count() as u64;
        assert_eq!((lateness.stalls(), lateness.ns_max()), (stalls, values[9998]));
        assert_eq!(Lateness::default().quantile_ns(500), 0);
    }
}
