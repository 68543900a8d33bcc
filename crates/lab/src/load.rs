//! A load in virtual time whose latencies count: streams that keep a depth, and streams whose
//! requests come at random times whatever the drive does.
//!
//! It is no pass of a method: it has no stop rule and no record. Published curves of latency over
//! load are modelled with it, and a search over parameters needs thousands of them.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Request, Rng, Tag,
};
use std::collections::VecDeque;

/// Which way the bytes of a load go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadOp {
    /// From the drive.
    Read,
    /// To it, acknowledged out of its cache if it has one.
    Write,
}

/// When a stream's requests come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Demand {
    /// So many are always outstanding.
    Depth(u32),
    /// At random times, independent of each other (Poisson).
    Arrivals {
        /// How many a second.
        per_s: f64,
        /// What comes while so many are outstanding is asked late, as soon as there is room; its
        /// latency counts from then on.
        outstanding_max: u32,
    },
}

/// Requests of one size at random places.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadStream {
    /// Reads or writes.
    pub op: LoadOp,
    /// Bytes each.
    pub block_bytes: u32,
    /// The first bytes of the drive, over which they are spread.
    pub span_bytes: u64,
    /// When they come.
    pub demand: Demand,
    /// Threads that ask, each as often as the others.
    pub threads: u16,
}

/// What a stream saw in the time that counts.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadSeen {
    /// Of each request that was done, ns, ascending.
    latencies: Vec<u64>,
    /// The time that counts, seconds.
    pub seconds: f64,
}

impl LoadSeen {
    /// Requests a second.
    pub fn iops(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// Mean latency, ns; 0 without a request.
    pub fn mean_ns(&self) -> f64 {
        let sum: u64 = self.latencies.iter().sum();
        sum as f64 / self.latencies.len().max(1) as f64
    }

    /// The latency that this share of the requests did not exceed, ns; 0 without a request.
    pub fn quantile_ns(&self, share: f64) -> f64 {
        let count = self.latencies.len();
        let rank = (share * count as f64).ceil() as usize;
        self.latencies.get(rank.clamp(1, count.max(1)) - 1).map_or(0.0, |&ns| ns as f64)
    }
}

/// How long a load runs: by the number of its first stream's requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadLength {
    /// Requests of the first stream before anything counts.
    pub before: u64,
    /// Requests of the first stream that count.
    pub counted: u64,
}

struct Stream {
    plan: LoadStream,
    rng: Rng,
    next: Instant,
    outstanding: u32,
    /// Who may ask next.
    idle: VecDeque<Actor>,
    latencies: Vec<u64>,
}

impl Stream {
    /// The stream of this number, whose threads come after `threads_before` others.
    fn new(plan: &LoadStream, seed: u64, number: u64, threads_before: u16, now: Instant) -> Self {
        let outstanding_max = match plan.demand {
            Demand::Depth(depth) => depth,
            Demand::Arrivals { outstanding_max, .. } => outstanding_max,
        };
        assert!(plan.threads > 0, "a stream that nobody asks for");
        let thread = |at: u32| Actor(threads_before + (at % u32::from(plan.threads)) as u16);
        Self {
            plan: *plan,
            rng: Rng::new(seed, number),
            next: now,
            outstanding: 0,
            idle: (0..outstanding_max).map(thread).collect(),
            latencies: Vec::new(),
        }
    }

    fn command(&mut self) -> Command {
        let block = u64::from(self.plan.block_bytes);
        let offset = self.rng.below(self.plan.span_bytes / block) * block;
        let at = Extent { offset, bytes: self.plan.block_bytes };
        match self.plan.op {
            LoadOp::Read => Command::Read { at, into: Payload::None },
            LoadOp::Write => {
                Command::Write { at, from: Payload::None, durability: Durability::Cached }
            }
        }
    }

    /// Whether a request comes now; where it comes at random, the time of the next is drawn.
    fn comes(&mut self, now: Instant) -> bool {
        match self.plan.demand {
            Demand::Depth(depth) => self.outstanding < depth,
            Demand::Arrivals { per_s, outstanding_max } => {
                if self.next > now || self.outstanding == outstanding_max {
                    return false;
                }
                let uniform = (self.rng.next() >> 11) as f64 / (1u64 << 53) as f64;
                self.next = self.next.after((-(1.0 - uniform).ln() * 1e9 / per_s) as u64 + 1);
                true
            }
        }
    }

    /// When the next request comes, if nothing else happens before.
    fn comes_next(&self) -> Instant {
        match self.plan.demand {
            Demand::Arrivals { outstanding_max, .. } if self.outstanding < outstanding_max => {
                self.next
            }
            // A request that is done makes room.
            Demand::Arrivals { .. } | Demand::Depth(_) => Instant::NEVER,
        }
    }
}

/// Puts the streams on a drive that only times; what each saw.
///
/// # Errors
/// The first request that failed.
///
/// # Panics
/// Without streams.
pub fn load(
    engine: &mut dyn Engine,
    streams: &[LoadStream],
    seed: u64,
    length: LoadLength,
) -> Result<Vec<LoadSeen>, IoError> {
    let mut threads = 0;
    let begin = |(number, plan): (u64, &LoadStream)| {
        let before = threads;
        threads += plan.threads;
        Stream::new(plan, seed, number, before, engine.now())
    };
    let mut streams: Vec<Stream> = (0..).zip(streams).map(begin).collect();
    let (mut done, mut landed) = (Vec::new(), VecDeque::new());
    let (mut first_done, mut start) = (0, engine.now());
    while first_done < length.before + length.counted {
        let now = engine.now();
        for (number, stream) in streams.iter_mut().enumerate() {
            while stream.comes(now) {
                let command = stream.command();
                stream.outstanding += 1;
                let actor = stream.idle.pop_front().expect("as many as may be outstanding");
                let tag = Tag((u64::from(actor.0) << 16) | number as u64);
                engine.submit(Request { tag, actor, drive: Drive(0), command });
            }
        }
        let until = streams.iter().map(Stream::comes_next).min().expect("a load has streams");
        engine.wait(until, &mut done);
        landed.extend(done.drain(..));
        for Completion { tag, issued, finished, result, .. } in landed.drain(..) {
            result?;
            let number = (tag.0 & 0xffff) as usize;
            let stream = &mut streams[number];
            stream.outstanding -= 1;
            stream.idle.push_back(Actor((tag.0 >> 16) as u16));
            if number == 0 {
                first_done += 1;
                if first_done == length.before {
                    start = finished;
                }
            }
            if first_done > length.before {
                stream.latencies.push(finished.since(issued));
            }
        }
    }
    let seconds = engine.now().since(start) as f64 / 1e9;
    while streams.iter().any(|stream| stream.outstanding > 0) {
        engine.wait(Instant::NEVER, &mut done);
        for Completion { tag, .. } in done.drain(..) {
            streams[(tag.0 & 0xffff) as usize].outstanding -= 1;
        }
    }
    let seen = streams.into_iter().map(|mut stream| {
        stream.latencies.sort_unstable();
        LoadSeen { latencies: stream.latencies, seconds }
    });
    Ok(seen.collect())
}
