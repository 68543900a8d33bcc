//! A cloud volume: nothing of it is known but its quota, and nothing else bounds it.
//!
//! ```text
//!   request -> costs operations and bytes
//!                 |
//!     +-----------+-----------+-------------+
//!   operations: sustained   burst   bandwidth: sustained, burst        bucket.rs
//!                 |  starts when all of them allow it, in the order of requests; where reads and
//!                 |  writes have separate pools, each has all of these
//!              latency, with a spread  -> answer
//! ```
//!
//! What waits, waits for its start: requests beyond the quota start evenly paced. A request of more
//! than `operation_bytes` costs several operations. Flushes and discards cost nothing; a write is
//! durable when it is acknowledged. Not modelled: a host's own limit on all of its volumes, and
//! blocks that are fetched from a snapshot first.

mod bucket;
mod params;

pub use params::{Merging, Pools, QuotaLimit, QuotaParams};

use crate::{Cached, FastCache, Outbox};
use block::{
    Command, Completion, Data, Drive, Effects, Extent, Geometry, Instant, Machine, Payload,
    Request, Rng,
};
use bucket::Bucket;

/// The volume. Budget: 200 ns a request.
#[derive(Debug)]
pub struct Quota {
    params: QuotaParams,
    queue_depth: u32,
    reads: Pool,
    /// Where writes have one of their own.
    writes: Option<Pool>,
    run: Run,
    rng: Rng,
    outbox: Outbox,
}

/// What bounds those requests that share it.
#[derive(Clone, Debug)]
struct Pool {
    operations: Vec<Bucket>,
    bytes: Vec<Bucket>,
    /// When the last request started; none starts before it.
    started_at: Instant,
}

impl Pool {
    fn new(params: &QuotaParams) -> Self {
        let buckets = |limit: Option<QuotaLimit>| -> Vec<Bucket> {
            let Some(limit) = limit else { return Vec::new() };
            let sustained = Bucket::new(limit.sustained, limit.refill, limit.credit);
            let burst = limit.burst.map(|rate| Bucket::new(rate, rate, 0));
            [sustained].into_iter().chain(burst).collect()
        };
        Self {
            operations: buckets(params.operations),
            bytes: buckets(params.bandwidth),
            started_at: Instant(0),
        }
    }

    /// When a request of this cost starts; its cost is taken.
    fn start(&mut self, now: Instant, operations: u64, bytes: u64) -> Instant {
        let mut start = now.max(self.started_at);
        for bucket in self.operations.iter_mut().chain(&mut self.bytes) {
            bucket.advance(now);
            start = start.max(bucket.ready_at());
        }
        let costs = [(&mut self.operations, operations), (&mut self.bytes, bytes)];
        for (buckets, cost) in costs {
            for bucket in buckets {
                bucket.advance(start);
                bucket.take(cost);
            }
        }
        self.started_at = start;
        start
    }
}

/// Requests that continued each other.
#[derive(Debug)]
struct Run {
    is_write: bool,
    next: u64,
    bytes: u64,
}

impl Quota {
    /// A volume whose credit is full. At most `queue_depth` requests may be outstanding.
    ///
    /// # Panics
    /// On parameters that contradict each other.
    pub fn new(params: QuotaParams, queue_depth: u32, seed: u64) -> Self {
        assert_eq!(params.contradiction(), None, "a volume that is none");
        assert!(queue_depth > 0, "a volume that takes no request");
        Self {
            queue_depth,
            reads: Pool::new(&params),
            writes: (params.pools == Pools::Separate).then(|| Pool::new(&params)),
            run: Run { is_write: false, next: u64::MAX, bytes: 0 },
            rng: Rng::new(seed, 0x0_9007a),
            outbox: Outbox::new(queue_depth),
            params,
        }
    }

    /// What a transfer costs, in thousandths of an operation.
    fn operations_of(&mut self, at: Extent, is_write: bool) -> u64 {
        let (bytes, most) = (u64::from(at.bytes), self.params.operation_bytes);
        let run = &mut self.run;
        let goes_on = run.is_write == is_write && run.next == at.offset;
        let joins = goes_on && run.bytes + bytes <= most && self.params.merging == Merging::On;
        run.bytes = if joins { run.bytes + bytes } else { bytes };
        (run.is_write, run.next) = (is_write, at.offset + bytes);
        match (joins, is_write) {
            (true, _) => 0,
            (false, false) => 1000 * bytes.div_ceil(most),
            (false, true) => u64::from(self.params.write_per_mille) * bytes.div_ceil(most),
        }
    }

    /// When a transfer starts; its cost is taken.
    fn start(&mut self, now: Instant, at: Extent, is_write: bool) -> Instant {
        let operations = self.operations_of(at, is_write);
        let bytes = match is_write {
            true => u64::from(at.bytes) * u64::from(self.params.write_per_mille) / 1000,
            false => u64::from(at.bytes),
        };
        match self.writes.as_mut().filter(|_| is_write) {
            Some(own) => own.start(now, operations, bytes),
            None => self.reads.start(now, operations, bytes),
        }
    }

    fn latency_ns(&mut self, is_write: bool) -> u64 {
        let mean_ns = match is_write {
            true => self.params.write_latency_ns,
            false => self.params.read_latency_ns,
        };
        let most_ns = mean_ns * u64::from(self.params.latency_spread_per_mille) / 1000;
        (mean_ns - most_ns + self.rng.below(2 * most_ns + 1)).max(1)
    }
}

impl Cached for Quota {
    /// A write is where it is to stay.
    fn fast_caches(&self, _: Instant) -> Vec<FastCache> {
        Vec::new()
    }
}

impl Machine for Quota {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.params.capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 1 << 30,
            queue_depth: self.queue_depth,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        let (start, is_write, payload) = match request.command {
            Command::Read { at, into } => (self.start(now, at, false), false, into),
            Command::Write { at, from, .. } => (self.start(now, at, true), true, from),
            Command::Flush | Command::Discard { .. } => (now, true, Payload::None),
        };
        let finished = start.after(self.latency_ns(is_write));
        self.outbox.put(Completion {
            tag: request.tag,
            issued: now,
            finished,
            result: Ok(()),
            payload,
        });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a volume has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}
