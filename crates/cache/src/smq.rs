//! smq: what dm-cache of Linux holds since 4.12 (drivers/md/dm-cache-policy-smq.c), with clean
//! blocks alone.
//!
//! ```text
//!   hit  -> held, 64 levels: once a period a block rises by one,
//!           and who has stood there longest comes down for it
//!   miss -> regions of 16 blocks, 64 levels, who misses rises
//!             level high enough? no -> passes by
//!             there is room      -> taken in, at the highest level
//!             it is full         -> passes by; the oldest of the lowest level leaves for the next
//! ```
//!
//! How high is enough follows from how many of the last second's misses fell into regions of the
//! upper quarter of the levels: few, and nobody knows what is hot yet. Each period all levels are
//! made equally long again; but for the highest eight of the regions, which are shorter.
//!
//! It goes by time, as nothing else here does. Who does not tell it the time has 1,000 accesses a
//! second. A region is always 16 blocks: Linux takes fewer where all regions would be more than the
//! disks.

use crate::{
    replacement::{Access, Replacement},
    store::{Store, hash},
};

const LEVELS: u8 = 64;
const LEVELS_LEN: usize = LEVELS as usize;
/// The highest levels of regions are shorter.
const TOP: usize = 8;
/// From this level on a region is known to be hot: NR_HOTSPOT_LEVELS * 3 / 4.
const HOT_FROM: u8 = LEVELS / 4 * 3;
const REGION_BLOCKS: u64 = 16;
const REGIONS_MIN: usize = 1024;
/// HOTSPOT_UPDATE_PERIOD.
const REGIONS_PERIOD_NS: u64 = 1_000_000_000;
/// CACHE_UPDATE_PERIOD.
const HELD_PERIOD_NS: u64 = 10_000_000_000;
/// From one access to the next where nobody tells the time.
const ACCESS_NS: u64 = 1_000_000;
/// A block that rose in this period.
const ROSE: u8 = 1;

/// Blocks or regions on 64 levels; of each level, the tail has stood there longest.
#[derive(Debug)]
struct Levels {
    store: Store<LEVELS_LEN>,
    len: usize,
    /// How many the highest levels have together once all are made equally long.
    in_top: usize,
    top: usize,
}

impl Levels {
    fn new(limit: usize, top: usize, in_top: usize) -> Self {
        Self { store: Store::new(limit), len: 0, in_top, top }
    }

    fn insert(&mut self, block: u64, level: u8) {
        self.store.insert(block, level);
        self.len += 1;
    }

    fn remove(&mut self, slot: u32) -> u64 {
        self.len -= 1;
        self.store.remove(slot)
    }

    /// Who has stood longest on the lowest level of those before `end` that has anybody.
    fn lowest(&self, end: u8) -> Option<u32> {
        (0..end).find_map(|level| self.store.tail(level))
    }

    /// Moves up by so many levels, and who has stood there longest comes down.
    fn rise(&mut self, slot: u32, by: u8) {
        let from = self.store.list(slot);
        let to = from.saturating_add(by).min(LEVELS - 1);
        if to != from
            && let Some(down) = self.store.tail(to)
        {
            self.store.front(down, from);
        }
        self.store.front(slot, to);
    }

    /// How many are to be on a level.
    fn target(&self, level: usize) -> usize {
        let lower = LEVELS_LEN - self.top;
        let (among, levels, at) = if level < lower {
            (self.len.saturating_sub(self.in_top), lower, level)
        } else {
            (self.in_top, self.top, level - lower)
        };
        among / levels + usize::from(at < among % levels)
    }

    /// Makes the levels as long as they are to be, from the lowest on.
    fn level_out(&mut self) {
        for level in 0..LEVELS - 1 {
            let target = self.target(usize::from(level));
            while self.store.len(level) < target {
                let above = (level + 1..LEVELS).find_map(|level| self.store.tail(level));
                let Some(slot) = above else { break };
                self.store.front(slot, level);
            }
            while self.store.len(level) > target
                && let Some(slot) = self.store.head(level)
            {
                self.store.back(slot, level + 1);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Smq {
    held: Levels,
    capacity: usize,
    regions: Levels,
    regions_max: usize,
    /// Misses of this second, and those of them in hot regions.
    misses: u32,
    hot_misses: u32,
    /// So far a region rises at a miss.
    jump: u8,
    /// From this level of its region on a block is taken in.
    taken_from: u8,
    now_ns: u64,
    is_told_time: bool,
    regions_due_ns: u64,
    held_due_ns: u64,
}

impl Smq {
    pub fn new(capacity: usize) -> Self {
        let regions_max = (capacity / 4).max(REGIONS_MIN);
        let in_top = (regions_max / LEVELS_LEN).min(capacity / REGION_BLOCKS as usize);
        Self {
            held: Levels::new(capacity, 0, 0),
            capacity,
            regions: Levels::new(regions_max, TOP, in_top),
            regions_max,
            misses: 0,
            hot_misses: 0,
            jump: 1,
            taken_from: LEVELS,
            now_ns: 0,
            is_told_time: false,
            regions_due_ns: 0,
            held_due_ns: 0,
        }
    }

    /// A block of a region is missed; the region's level.
    fn miss_in(&mut self, region: u64) -> u8 {
        self.misses += 1;
        if let Some(slot) = self.regions.store.get(region) {
            self.hot_misses += u32::from(self.regions.store.list(slot) >= HOT_FROM);
            self.regions.rise(slot, self.jump);
            return self.regions.store.list(slot);
        }
        if self.regions.len == self.regions_max {
            let slot = self.regions.lowest(LEVELS).expect("there are regions");
            self.regions.remove(slot);
        }
        self.regions.insert(region, 0);
        0
    }

    fn take_in(&mut self, block: u64) -> Access {
        if self.held.len < self.capacity {
            self.held.insert(block, LEVELS - 1);
            return Access::Miss { evicted: None };
        }
        let lowest = self.held.lowest(LEVELS / 2);
        Access::Passed { evicted: lowest.map(|slot| self.held.remove(slot)) }
    }

    /// Four where few misses are in hot regions, two where some are, one where most are.
    fn doubt(&self) -> u8 {
        let of_256 = (u64::from(self.hot_misses) << 8).checked_div(self.misses.into());
        match of_256.unwrap_or(0) {
            0..16 => 4,
            16..32 => 2,
            _ => 1,
        }
    }

    /// Once an access is over.
    fn tick(&mut self) {
        if !self.is_told_time {
            self.now_ns += ACCESS_NS;
        }
        self.taken_from = LEVELS - LEVELS / self.doubt();
        if self.now_ns >= self.regions_due_ns {
            self.jump = self.doubt();
            self.regions.level_out();
            (self.misses, self.hot_misses) = (0, 0);
            self.regions_due_ns = self.now_ns + REGIONS_PERIOD_NS;
        }
        if self.now_ns >= self.held_due_ns {
            self.held.store.clear_marks();
            self.held.level_out();
            self.held_due_ns = self.now_ns + HELD_PERIOD_NS;
        }
    }
}

impl Replacement for Smq {
    fn access(&mut self, block: u64) -> Access {
        let answer = match self.held.store.get(block) {
            Some(slot) => {
                if self.held.store.mark(slot) != ROSE {
                    self.held.store.set_mark(slot, ROSE);
                    self.held.rise(slot, 1);
                }
                Access::Hit
            }
            None if self.miss_in(block / REGION_BLOCKS) >= self.taken_from => self.take_in(block),
            None => Access::Passed { evicted: None },
        };
        self.tick();
        answer
    }

    fn pass_time(&mut self, ns: u64) {
        self.is_told_time = true;
        self.now_ns = self.now_ns.max(ns);
    }

    /// At some level: which one it had is not written down.
    fn restore(&mut self, block: u64) {
        if self.held.len < self.capacity && !self.holds(block) {
            self.held.insert(block, hash(block) as u8 % LEVELS);
        }
    }

    fn holds(&self, block: u64) -> bool {
        self.held.store.get(block).is_some()
    }

    fn remove(&mut self, block: u64) -> bool {
        let slot = self.held.store.get(block);
        slot.map(|slot| self.held.remove(slot)).is_some()
    }

    fn len(&self) -> usize {
        self.held.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels as long as they were meant to be, and who stood longest on the tail.
    fn lengths(levels: &Levels) -> Vec<usize> {
        (0..LEVELS).map(|level| levels.store.len(level)).collect()
    }

    #[test]
    fn levels_are_made_equally_long_and_keep_their_order() {
        let mut levels = Levels::new(200, 0, 0);
        (0..130).for_each(|block| levels.insert(block, 63));
        levels.level_out();
        let lengths = lengths(&levels);
        assert_eq!((lengths[0], lengths[1], lengths[2], lengths[63]), (3, 3, 2, 2));
        // Who came first lies lowest.
        let level = |block| levels.store.list(levels.store.get(block).expect("it is there"));
        assert!((1..130).all(|block| level(block - 1) <= level(block)));
    }

    #[test]
    fn the_highest_levels_of_regions_are_shorter() {
        let mut levels = Levels::new(1024, TOP, 16);
        (0..1024).for_each(|region| levels.insert(region, 0));
        levels.level_out();
        let lengths = lengths(&levels);
        assert_eq!(lengths[..56], [18; 56]);
        assert_eq!(lengths[56..], [2; 8]);
    }

    /// A block that rises changes places with who stood longest above it.
    #[test]
    fn who_rises_sends_one_down() {
        let mut levels = Levels::new(4, 0, 0);
        levels.insert(1, 5);
        levels.insert(2, 6);
        levels.insert(3, 6);
        levels.rise(levels.store.get(1).expect("it is there"), 1);
        let level = |block| levels.store.list(levels.store.get(block).expect("it is there"));
        assert_eq!((level(1), level(2), level(3)), (6, 5, 6));
        levels.rise(levels.store.get(1).expect("it is there"), 200);
        assert_eq!(levels.store.list(levels.store.get(1).expect("it is there")), 63);
    }

    /// Full, dm-cache gives up a block for one that it wants, and takes in the next: half of what
    /// it wants. Ours took in every block that was missed and came out a quarter too slow.
    #[test]
    fn a_full_cache_takes_in_every_second_block_that_it_wants() {
        let mut smq = Smq::new(64);
        let (mut drawn, mut now_ns) = (1, 0);
        let mut access = |smq: &mut Smq| {
            drawn = hash(drawn);
            // 100 a period, of which no more than half of what is held can leave.
            now_ns += 100_000_000;
            smq.pass_time(now_ns);
            // Three of four in a few hot regions.
            let region = if drawn & 3 == 0 { drawn >> 8 & 63 } else { drawn >> 8 & 3 };
            smq.access(region * 1_000 + (drawn >> 20) % 16)
        };
        for _ in 0..20_000 {
            access(&mut smq);
        }
        assert_eq!(smq.doubt(), 1);
        let (mut taken, mut given_up, mut hits) = (0, 64 - smq.len(), 0);
        for _ in 0..20_000 {
            match access(&mut smq) {
                Access::Hit => hits += 1,
                Access::Miss { evicted: None } => taken += 1,
                Access::Passed { evicted: Some(_) } => given_up += 1,
                Access::Passed { evicted: None } => {}
                Access::Miss { evicted: Some(_) } => panic!("it gives up first"),
            }
        }
        assert!(hits > 5_000 && taken > 2_000, "{hits} hits, {taken} taken in");
        assert_eq!(given_up, taken + 64 - smq.len());
    }

    /// Nothing is known to be hot at first: what is asked for once passes by.
    #[test]
    fn a_cold_cache_takes_in_nothing_before_a_region_is_hot() {
        let mut smq = Smq::new(1_000);
        for block in 0..1_000 {
            smq.pass_time(block * 1_000);
            assert_eq!(smq.access(block * 1_000), Access::Passed { evicted: None });
        }
        assert!(smq.is_empty());
    }
}
