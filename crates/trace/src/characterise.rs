//! What a workload is like, from one pass over its accesses in bounded memory.
//!
//! ```text
//!   Access -> Analysis { counts, sizes, streams, bursts, rate, blocks } -> Characterisation
//! ```
//!
//! Blocks are of 4 KiB. Up to [`BLOCKS_TRACKED`] of them everything is exact; of more a sample of
//! that size is kept, by the hash of the block (SHARDS, Waldspurger et al., FAST '15), and what is
//! said of blocks is an estimate.

mod bursts;
mod over_time;
mod reuse;
mod sizes;
mod streams;

pub use bursts::Burst;
pub use over_time::{OverTime, Slice};
pub use reuse::{BLOCK_BYTES, BLOCKS_TRACKED, Blocks, CachePoint};
pub use sizes::{SizeCount, Sizes};
pub use streams::{RECENT_STREAMS, Sequential};

use crate::access::{Access, Op};
use bursts::Bins;
use over_time::Slices;
use reuse::Sample;
use sizes::Sizing;
use std::collections::BTreeMap;
use streams::Streams;

/// Widths at which bursts are looked for, ns: 1 ms, 100 ms, 1 s.
const BURST_NS: [u64; 3] = [1_000_000, 100_000_000, 1_000_000_000];

/// How many accesses, and how many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Accesses.
    pub operations: u64,
    /// Bytes they cover.
    pub bytes: u64,
}

/// What a workload is like.
#[derive(Clone, PartialEq, Debug)]
pub struct Characterisation {
    /// Reads, writes, flushes, trims.
    pub counts: [Count; 4],
    /// Time of the first access, ns, on the trace's own clock.
    pub first_ns: u64,
    /// From the first to the last access, ns.
    pub duration_ns: u64,
    /// The byte behind the last one that was accessed.
    pub end_bytes: u64,
    /// The same of every volume, added up: what a drive must hold that takes their place.
    pub room_bytes: u64,
    /// Reads and writes whose offset and length are whole blocks.
    pub aligned: u64,
    /// How long they are.
    pub sizes: [Sizes; 2],
    /// How many go on where an earlier one ended: reads, writes.
    pub sequential: [Sequential; 2],
    /// How unevenly they come, at 1 ms, 100 ms and 1 s.
    pub bursts: [Burst; 3],
    /// The rate over time.
    pub over_time: OverTime,
    /// Which blocks, how often, and when again.
    pub blocks: Blocks,
}

impl Characterisation {
    /// Of one operation.
    pub fn of(&self, op: Op) -> Count {
        self.counts[op as usize]
    }

    /// All accesses.
    pub fn operations(&self) -> u64 {
        self.counts.iter().map(|count| count.operations).sum()
    }

    /// Reads and writes.
    pub fn transfers(&self) -> u64 {
        self.of(Op::Read).operations + self.of(Op::Write).operations
    }

    /// Seconds from the first to the last access.
    pub fn seconds(&self) -> f64 {
        self.duration_ns as f64 / 1e9
    }

    /// Something over the time of the trace, a second; `None` where all of it is of one moment.
    pub fn per_second(&self, what: u64) -> Option<f64> {
        (self.duration_ns > 0).then(|| what as f64 / self.seconds())
    }
}

/// Accesses seen so far.
pub struct Analysis {
    counts: [Count; 4],
    first_ns: Option<u64>,
    last_ns: u64,
    ends: BTreeMap<u32, u64>,
    aligned: u64,
    sizing: [Sizing; 2],
    streams: [Streams; 2],
    bins: [Bins; 3],
    slices: Slices,
    sample: Sample,
}

impl Default for Analysis {
    fn default() -> Self {
        Self::new(BLOCKS_TRACKED)
    }
}

impl Analysis {
    /// Nothing seen yet; keeps what it knows of so many blocks.
    pub fn new(blocks_tracked: usize) -> Self {
        Self {
            counts: [Count::default(); 4],
            first_ns: None,
            last_ns: 0,
            ends: BTreeMap::new(),
            aligned: 0,
            sizing: [Sizing::default(), Sizing::default()],
            streams: [Streams::default(), Streams::default()],
            bins: BURST_NS.map(Bins::new),
            slices: Slices::default(),
            sample: Sample::new(blocks_tracked),
        }
    }

    /// Takes the next access, in the order of time.
    pub fn add(&mut self, access: &Access) {
        let first_ns = *self.first_ns.get_or_insert(access.at_ns);
        let since_ns = access.at_ns.saturating_sub(first_ns);
        self.last_ns = self.last_ns.max(access.at_ns);
        let end = self.ends.entry(access.volume).or_insert(0);
        *end = access.end().max(*end);
        let count = &mut self.counts[access.op as usize];
        count.operations += 1;
        count.bytes = count.bytes.saturating_add(access.bytes);
        self.bins.iter_mut().for_each(|bins| bins.add(since_ns));
        self.slices.add(since_ns, access);
        if access.op.is_transfer() && access.bytes > 0 {
            let of = usize::from(access.op == Op::Write);
            let is_whole = (access.offset | access.bytes).is_multiple_of(BLOCK_BYTES);
            self.aligned += u64::from(is_whole);
            self.sizing[of].add(access.bytes);
            self.streams[of].add(access);
            self.sample.add(access);
        }
    }

    /// What was seen.
    pub fn conclude(self) -> Characterisation {
        let first_ns = self.first_ns.unwrap_or(0);
        Characterisation {
            counts: self.counts,
            first_ns,
            duration_ns: self.last_ns.saturating_sub(first_ns),
            end_bytes: self.ends.values().copied().max().unwrap_or(0),
            room_bytes: self.ends.values().fold(0, |sum, end| sum.saturating_add(*end)),
            aligned: self.aligned,
            sizes: self.sizing.map(Sizing::conclude),
            sequential: self.streams.map(|streams| streams.seen()),
            bursts: self.bins.map(Bins::conclude),
            over_time: self.slices.conclude(),
            blocks: self.sample.conclude(),
        }
    }
}
