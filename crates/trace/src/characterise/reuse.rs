//! Blocks: how many, how often, and how many others lie between two accesses to the same one.
//!
//! The reuse distance is the LRU stack distance (Mattson et al., 1970): a cache of C blocks that
//! evicts the least recently used has a block at its next access exactly when that is at most C. So
//! one pass gives the misses of caches of every size.
//!
//! ```text
//!   slot     0  1  2  3  4  5  6 ...     each tracked block marks the slot of its last access
//!   marked      x     x  x     x         distance = marks behind the block's slot, and itself
//! ```
//!
//! A block is tracked while its hash is not above a threshold. When more than the limit are, the
//! one with the highest hash goes, and the threshold falls below it (SHARDS with a fixed size):
//! what stays is a uniform sample of all blocks, each with its whole history. A distance in the
//! sample counts for 1 over the sample's rate, in length and in number; as in SHARDS-adj, what the
//! counts miss of the true number of accesses is given to the shortest distance.

use crate::access::{Access, Op};
use std::collections::BTreeMap;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 4096;
/// Blocks of which everything is known: 1 GiB, some 20 MiB of memory.
pub const BLOCKS_TRACKED: usize = 1 << 18;

/// Buckets of distances: 16 to a power of two, exact below.
const SUB_BITS: u32 = 4;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

/// A cache of a size, and what it would miss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CachePoint {
    /// The cache's size, bytes.
    pub cache_bytes: u64,
    /// Share of all block accesses that it misses.
    pub misses: f64,
    /// Share of the blocks read that it misses; `None` where nothing is read.
    pub read_misses: Option<f64>,
}

/// What is known of blocks.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// Blocks that were accessed.
    pub unique: f64,
    /// Those that were read.
    pub read: f64,
    /// Those that were written.
    pub written: f64,
    /// Accesses to blocks: an access of 64 KiB is 16.
    pub accesses: u64,
    /// Share of the blocks that the estimates are made of; 1 where everything is exact.
    pub sampled: f64,
    /// Share of block accesses that are the first to their block.
    pub first: f64,
    /// The reuse distance that half of the accesses to known blocks do not exceed, bytes.
    pub reuse_median_bytes: Option<u64>,
    /// Shares of accesses by reuse distance: the longest distance of a class in bytes, and how
    /// many of all block accesses are in it; powers of two.
    pub reuse: Vec<(u64, f64)>,
    /// Misses of LRU caches of growing size, up to one that holds every block.
    pub caches: Vec<CachePoint>,
    /// Shares of the writes that the hottest 1, 10 and 20 % of the written blocks take; `None`
    /// where nothing is written.
    pub hot_writes: Option<[f64; 3]>,
}

#[derive(Clone, Copy)]
struct Block {
    slot: u32,
    reads: u32,
    writes: u32,
}

/// Weights by distance in blocks, and of first accesses.
struct Distances {
    weights: Vec<f64>,
    first: f64,
    accesses: u64,
}

impl Distances {
    fn new() -> Self {
        Self { weights: vec![0.0; BUCKETS], first: 0.0, accesses: 0 }
    }

    /// How many accesses there were is known; what the sample's weights lack is the shortest's.
    fn adjust(&mut self) {
        let sum = self.first + self.weights.iter().sum::<f64>();
        self.weights[0] = (self.weights[0] + self.accesses as f64 - sum).max(0.0);
    }

    fn total(&self) -> f64 {
        self.first + self.weights.iter().sum::<f64>()
    }

    /// Share of accesses that a cache of so many blocks misses; a power of two.
    fn misses(&self, blocks: u64) -> f64 {
        let hits: f64 = self.weights[..bucket(blocks)].iter().sum();
        ((self.total() - hits) / self.total()).clamp(0.0, 1.0)
    }
}

/// The bucket of a distance, from 0: how many other blocks lie between.
fn bucket(distance: u64) -> usize {
    let bits = (64 - distance.leading_zeros()).saturating_sub(SUB_BITS + 1);
    ((u64::from(bits) << SUB_BITS) + (distance >> bits)) as usize
}

/// The least distance of a bucket.
fn lower(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let bits = (bucket >> SUB_BITS).saturating_sub(1);
    (bucket - (bits << SUB_BITS)) << bits
}

/// A number for a block that looks like chance: the finaliser of splitmix64, which no two numbers
/// share.
fn hash(block: u64) -> u64 {
    let mut mixed = block.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Which slots hold a block's last access: counted by prefix (Fenwick's tree).
struct Marks(Vec<u32>);

impl Marks {
    fn add(&mut self, slot: u32, by: i32) {
        let mut at = slot as usize + 1;
        while at < self.0.len() {
            self.0[at] = self.0[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }

    /// Marks in the slots up to and with this one.
    fn upto(&self, slot: u32) -> u64 {
        let (mut at, mut sum) = (slot as usize + 1, 0);
        while at > 0 {
            sum += u64::from(self.0[at]);
            at &= at - 1;
        }
        sum
    }
}

/// The blocks that are tracked.
pub(super) struct Sample {
    limit: usize,
    threshold: u64,
    blocks: BTreeMap<u64, Block>,
    marks: Marks,
    next_slot: u32,
    all: Distances,
    reads: Distances,
}

impl Sample {
    pub fn new(limit: usize) -> Self {
        assert!((1..1 << 30).contains(&limit), "a sample of {limit} blocks");
        Self {
            limit,
            threshold: u64::MAX,
            blocks: BTreeMap::new(),
            marks: Marks(vec![0; limit * 2 + 2]),
            next_slot: 0,
            all: Distances::new(),
            reads: Distances::new(),
        }
    }

    /// Share of all blocks that is tracked.
    fn rate(&self) -> f64 {
        match self.threshold {
            u64::MAX => 1.0,
            threshold => threshold as f64 / 2f64.powi(64),
        }
    }

    /// Takes a read or a write of at least one byte.
    pub fn add(&mut self, access: &Access) {
        let (first, last) = (access.offset / BLOCK_BYTES, (access.end() - 1) / BLOCK_BYTES);
        let is_read = access.op == Op::Read;
        self.all.accesses += last - first + 1;
        self.reads.accesses += if is_read { last - first + 1 } else { 0 };
        // Volumes lie apart: a block's number needs 52 bits, and mixed in is the volume's.
        let volume = u64::from(access.volume).wrapping_mul(0xd6e8_feb8_6659_fd93);
        for block in first..=last {
            let hash = hash(block ^ volume);
            if hash <= self.threshold {
                self.add_block(hash, is_read);
            }
        }
    }

    fn add_block(&mut self, hash: u64, is_read: bool) {
        if self.next_slot as usize == self.marks.0.len() - 1 {
            self.close_gaps();
        }
        let (slot, weight) = (self.next_slot, 1.0 / self.rate());
        let tracked = self.blocks.len() as u64;
        if let Some(block) = self.blocks.get_mut(&hash) {
            let between = tracked - self.marks.upto(block.slot);
            self.marks.add(block.slot, -1);
            block.slot = slot;
            block.reads = block.reads.saturating_add(u32::from(is_read));
            block.writes = block.writes.saturating_add(u32::from(!is_read));
            let bucket = bucket((between as f64 * weight) as u64).min(BUCKETS - 1);
            self.all.weights[bucket] += weight;
            self.reads.weights[bucket] += if is_read { weight } else { 0.0 };
        } else {
            let (reads, writes) = (u32::from(is_read), u32::from(!is_read));
            self.blocks.insert(hash, Block { slot, reads, writes });
            self.all.first += weight;
            self.reads.first += if is_read { weight } else { 0.0 };
        }
        self.marks.add(slot, 1);
        self.next_slot += 1;
        if self.blocks.len() > self.limit {
            let (highest, block) = self.blocks.pop_last().expect("more than the limit");
            self.marks.add(block.slot, -1);
            self.threshold = highest - 1;
        }
    }

    /// Numbers the slots anew, in their order, so that there is room for as many again.
    fn close_gaps(&mut self) {
        let mut blocks: Vec<&mut Block> = self.blocks.values_mut().collect();
        blocks.sort_unstable_by_key(|block| block.slot);
        self.marks.0.fill(0);
        for (slot, block) in (0..).zip(blocks) {
            block.slot = slot;
        }
        let count = self.blocks.len() as u32;
        (0..count).for_each(|slot| self.marks.add(slot, 1));
        self.next_slot = count;
    }

    pub fn conclude(mut self) -> Blocks {
        self.all.adjust();
        self.reads.adjust();
        let rate = self.rate();
        let count = |is_counted: fn(&Block) -> bool| {
            self.blocks.values().filter(|block| is_counted(block)).count() as f64 / rate
        };
        let unique = count(|_| true);
        let total = self.all.total();
        Blocks {
            unique,
            read: count(|block| block.reads > 0),
            written: count(|block| block.writes > 0),
            accesses: self.all.accesses,
            sampled: rate,
            first: if total > 0.0 { self.all.first / total } else { 0.0 },
            reuse_median_bytes: self.median(),
            reuse: self.classes(),
            caches: self.caches(unique),
            hot_writes: self.hot_writes(),
        }
    }

    fn median(&self) -> Option<u64> {
        let reused: f64 = self.all.weights.iter().sum();
        let mut seen = 0.0;
        let middle = self.all.weights.iter().position(|weight| {
            seen += weight;
            seen * 2.0 >= reused && reused > 0.0
        });
        middle.map(|bucket| lower(bucket).saturating_add(1).saturating_mul(BLOCK_BYTES))
    }

    fn classes(&self) -> Vec<(u64, f64)> {
        let total = self.all.total();
        let mut classes = Vec::new();
        let mut from = 0;
        for power in 0..52 {
            let to = bucket(1 << power);
            let share: f64 = self.all.weights[from..to].iter().sum();
            classes.push((BLOCK_BYTES << power, share / total.max(1.0)));
            from = to;
        }
        while classes.last().is_some_and(|(_, share)| *share == 0.0) {
            classes.pop();
        }
        classes
    }

    fn caches(&self, unique: f64) -> Vec<CachePoint> {
        if self.all.accesses == 0 {
            return Vec::new();
        }
        let point = |power: u32| CachePoint {
            cache_bytes: BLOCK_BYTES << power,
            misses: self.all.misses(1 << power),
            read_misses: (self.reads.accesses > 0).then(|| self.reads.misses(1 << power)),
        };
        let last = (unique.max(1.0) as u64).next_power_of_two().ilog2().min(51);
        (0..=last).map(point).collect()
    }

    fn hot_writes(&self) -> Option<[f64; 3]> {
        let mut writes: Vec<u32> = self.blocks.values().map(|block| block.writes).collect();
        writes.retain(|writes| *writes > 0);
        writes.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |writes: &[u32]| writes.iter().map(|writes| f64::from(*writes)).sum::<f64>();
        let all = sum(&writes);
        let share = |percent: usize| {
            let hottest = (writes.len() * percent).div_ceil(100);
            sum(&writes[..hottest]) / all
        };
        (!writes.is_empty()).then(|| [1, 10, 20].map(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_from_its_least_distance_to_the_next_ones() {
        for at in 0..BUCKETS - 1 {
            assert_eq!(bucket(lower(at)), at);
            assert_eq!(bucket(lower(at + 1) - 1), at, "the last of bucket {at}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
