//! Which block comes next: one [`Offsets`] a worker, a few nanoseconds a draw.
//!
//! All patterns draw from an *area*, a range of the target cut into whole blocks. Workers of one
//! stream share the area: sequential ones take equal slices of it, a permutation deals its blocks
//! out in turn, and the others draw from all of it.

use super::{Scatter, Zipf, Zones, zones::ZoneWalk};
use block::Rng;
use std::fmt;

/// How a stream walks its area.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// Ascending, then again from the start.
    Sequential,
    /// Descending, then again from the end.
    Backward,
    /// Every `stride` blocks; a wrap starts one block later, so that all blocks have their turn.
    Strided {
        /// Distance between two accesses, in blocks (IOzone: 17).
        stride: u64,
    },
    /// Always the block in the middle of the area.
    Rewrite,
    /// Uniform, with repetitions.
    Random,
    /// Uniform, each block exactly once a round.
    Permutation,
    /// Rank `k` with a probability proportional to `k^-theta`; the ranks are scattered over the
    /// area.
    Zipf {
        /// Skew; 0.99 is YCSB's.
        theta: f64,
    },
    /// `hot_percent` of the blocks take `access_percent` of the accesses; hot blocks are scattered.
    HotCold {
        /// Share of the blocks, in percent.
        hot_percent: f64,
        /// Share of the accesses that they take, in percent.
        access_percent: f64,
    },
    /// Parts of the area, from its beginning, each with its share of the accesses.
    Zones(Zones),
}

impl Pattern {
    /// The word in method files, records and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sequential => "seq",
            Self::Backward => "backward",
            Self::Strided { .. } => "strided",
            Self::Rewrite => "rewrite",
            Self::Random => "random",
            Self::Permutation => "permutation",
            Self::Zipf { .. } => "zipf",
            Self::HotCold { .. } => "hot_cold",
            Self::Zones(_) => "zones",
        }
    }

    /// Every name that [`Pattern::parse`] knows.
    pub const NAMES: &[&str] = &[
        "seq",
        "random",
        "permutation",
        "zipf",
        "hot_cold",
        "backward",
        "strided",
        "rewrite",
        "zones",
    ];

    /// Reads `seq`, `random`, `zipf:0.99`, `hot_cold:20/80`, `strided:17`...; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let number = |otherwise: f64| match settings {
            "" => Some(otherwise),
            text => text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0),
        };
        Some(match name {
            "seq" | "sequential" => Self::Sequential,
            "backward" => Self::Backward,
            "strided" => {
                let stride = number(17.0)?;
                (stride >= 1.0 && stride.fract() == 0.0).then_some(())?;
                Self::Strided { stride: stride as u64 }
            }
            "rewrite" => Self::Rewrite,
            "random" => Self::Random,
            "permutation" => Self::Permutation,
            "zipf" => Self::Zipf { theta: number(0.99).filter(|theta| *theta < 10.0)? },
            "zones" => Self::Zones(Zones::parse(settings)?),
            "hot_cold" => {
                let (hot, access) = settings.split_once('/').unwrap_or(("20", "80"));
                let percent = |text: &str| {
                    text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value < 100.0)
                };
                Self::HotCold { hot_percent: percent(hot)?, access_percent: percent(access)? }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())?;
        match self {
            Self::Strided { stride } => write!(formatter, ":{stride}"),
            Self::Zipf { theta } => write!(formatter, ":{theta}"),
            Self::HotCold { hot_percent, access_percent } => {
                write!(formatter, ":{hot_percent}/{access_percent}")
            }
            Self::Zones(zones) => write!(formatter, ":{zones}"),
            _ => Ok(()),
        }
    }
}

/// Marks the draws that decide which steps are sequential.
const SHARES: u64 = 1 << 40;
/// Marks the keys of hot spots that have moved.
const MOVES: u64 = 1 << 41;

/// A range of the target, cut into blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Area {
    /// First byte.
    pub offset: u64,
    /// Length in bytes; a rest smaller than a block is left alone.
    pub bytes: u64,
}

/// One worker's place among the workers of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// This worker, from 0.
    pub worker: u64,
    /// Of how many.
    pub of: u64,
}

/// An endless sequence of block offsets.
#[derive(Clone, Debug)]
pub struct Offsets {
    base: u64,
    block_bytes: u64,
    blocks: u64,
    walk: Walk,
}

#[derive(Clone, Debug)]
enum Walk {
    Ascending { next: u64 },
    Descending { next: u64 },
    Strided { next: u64, stride: u64, round: u64 },
    Fixed { block: u64 },
    Uniform { rng: Rng },
    Permutation { scatter: Scatter, next: u64, share: Share, rng: Rng },
    Zipf { zipf: Zipf, scatter: Scatter, rng: Rng },
    HotCold { scatter: Scatter, rng: Rng, hot_blocks: u64, hot_threshold: u64 },
    Listed { blocks: Vec<u64>, next: usize },
    Zones(Box<ZoneWalk>),
    Partly(Box<Partly>),
    Moving(Box<Moving>),
}

/// Another walk, some of whose steps follow the one before instead.
#[derive(Clone, Debug)]
struct Partly {
    walk: Walk,
    /// Draws up to this follow.
    threshold: u64,
    /// The block after the last one.
    follows: Option<u64>,
    rng: Rng,
}

/// A skewed walk whose hot blocks change.
#[derive(Clone, Debug)]
struct Moving {
    walk: Walk,
    seed: u64,
    /// How often they did.
    moved: u64,
    /// Draws between two changes.
    every: u64,
    left: u64,
}

impl Offsets {
    /// These blocks, counted in their length, in this order; then again from the first.
    ///
    /// # Panics
    /// Without any.
    pub fn listed(blocks: Vec<u64>, block_bytes: u64) -> Self {
        assert!(!blocks.is_empty(), "a list of blocks has some");
        let count = blocks.len() as u64;
        Self { base: 0, block_bytes, blocks: count, walk: Walk::Listed { blocks, next: 0 } }
    }

    /// The walk of one worker. Equal arguments give equal walks.
    ///
    /// # Panics
    /// If the worker's part of the area holds no whole block: the plan checks that first.
    pub fn new(pattern: Pattern, area: Area, block_bytes: u64, share: Share, seed: u64) -> Self {
        let all = area.bytes / block_bytes;
        assert!(all > 0, "an area of {} B holds no block of {block_bytes} B", area.bytes);
        let mut rng = Rng::new(seed, share.worker);
        let shared_key = Rng::new(seed, u64::MAX).next();
        let (first, count) = match pattern {
            Pattern::Sequential | Pattern::Backward | Pattern::Strided { .. } => slice(all, share),
            _ => (0, all),
        };
        let walk = match pattern {
            Pattern::Sequential => Walk::Ascending { next: 0 },
            Pattern::Backward => Walk::Descending { next: count },
            Pattern::Strided { stride } => Walk::Strided { next: 0, stride, round: 0 },
            Pattern::Rewrite => Walk::Fixed { block: all / 2 },
            Pattern::Random => Walk::Uniform { rng },
            Pattern::Permutation => {
                // All workers of the stream deal from the same shuffled deck, so their generators
                // of later keys must agree too.
                rng = Rng::new(seed, u64::MAX - 1);
                let scatter = Scatter::new(all, shared_key);
                Walk::Permutation { scatter, next: share.worker, share, rng }
            }
            Pattern::Zipf { theta } => Walk::Zipf {
                zipf: Zipf::new(all, theta),
                scatter: Scatter::new(all, shared_key),
                rng,
            },
            Pattern::Zones(zones) => Walk::Zones(Box::new(ZoneWalk::new(&zones, all, rng))),
            Pattern::HotCold { hot_percent, access_percent } => Walk::HotCold {
                scatter: Scatter::new(all, shared_key),
                rng,
                hot_blocks: ((all as f64 * hot_percent / 100.0) as u64).clamp(1, all),
                hot_threshold: (access_percent / 100.0 * u64::MAX as f64) as u64,
            },
        };
        Self { base: area.offset + first * block_bytes, block_bytes, blocks: count, walk }
    }

    /// The same walk, of whose steps so many percent go to the block after the one before, around
    /// the end of the area.
    pub fn partly_sequential(self, percent: f64, seed: u64, worker: u64) -> Self {
        let threshold = (percent / 100.0 * u64::MAX as f64) as u64;
        let rng = Rng::new(seed, SHARES | worker);
        let partly = Partly { walk: self.walk, threshold, follows: None, rng };
        Self { walk: Walk::Partly(Box::new(partly)), ..self }
    }

    /// The same skewed walk, whose hot blocks are others after every so many draws. Walks of one
    /// seed have the same hot blocks after as many moves.
    pub fn moving(self, seed: u64, every: u64) -> Self {
        let moving = Moving { walk: self.walk, seed, moved: 0, every, left: every };
        Self { walk: Walk::Moving(Box::new(moving)), ..self }
    }

    /// The hot blocks are those after so many moves.
    pub fn move_to(&mut self, moved: u64) {
        let blocks = self.blocks;
        match &mut self.walk {
            Walk::Moving(moving) => moving.move_to(moved, blocks),
            Walk::Partly(partly) => {
                if let Walk::Moving(moving) = &mut partly.walk {
                    moving.move_to(moved, blocks);
                }
            }
            _ => {}
        }
    }

    /// How many blocks this worker's part holds: one round of a sequential walk.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The next offset, in bytes.
    #[inline]
    #[allow(clippy::should_implement_trait)] // Endless: an `Option` would be checked for nothing.
    pub fn next(&mut self) -> u64 {
        let block = self.walk.next(self.blocks);
        self.base + block * self.block_bytes
    }
}

impl Offsets {
    /// The offset of the next operation, of so many bytes: a multiple of the block, and all of it
    /// lies in the worker's part. In sequence it starts where the one before ended.
    #[inline(never)]
    pub fn next_of(&mut self, bytes: u64) -> u64 {
        let units = bytes / self.block_bytes;
        self.base + self.walk.next_of(units, self.blocks) * self.block_bytes
    }
}

impl Walk {
    /// The first of so many neighbouring blocks. A draw at random that leaves too few behind it is
    /// moved up to the last place where they fit.
    fn next_of(&mut self, units: u64, blocks: u64) -> u64 {
        let last = blocks.saturating_sub(units);
        match self {
            Walk::Ascending { next } => {
                let first = if *next > last { 0 } else { *next };
                *next = first + units;
                first
            }
            Walk::Descending { next } => {
                *next = if *next < units { blocks } else { *next }.saturating_sub(units);
                *next
            }
            Walk::Partly(partly) => partly.next_of(units, blocks),
            other => other.next(blocks).min(last),
        }
    }

    /// The next of so many blocks.
    #[inline]
    fn next(&mut self, blocks: u64) -> u64 {
        match self {
            Walk::Uniform { rng } => rng.below(blocks),
            Walk::Ascending { next } => {
                let block = *next;
                *next = if block + 1 == blocks { 0 } else { block + 1 };
                block
            }
            Walk::Descending { next } => {
                *next = if *next == 0 { blocks } else { *next } - 1;
                *next
            }
            Walk::Strided { next, stride, round } => {
                let block = *next;
                *next += *stride;
                if *next >= blocks {
                    *round = (*round + 1) % (*stride).min(blocks);
                    *next = *round;
                }
                block
            }
            Walk::Fixed { block } => *block,
            Walk::Permutation { scatter, next, share, rng } => {
                if *next >= blocks {
                    *next = share.worker % blocks;
                    *scatter = Scatter::new(blocks, rng.next());
                }
                let block = scatter.place(*next);
                *next += share.of;
                block
            }
            Walk::Zipf { zipf, scatter, rng } => scatter.place(zipf.draw(rng)),
            Walk::HotCold { scatter, rng, hot_blocks, hot_threshold } => {
                let rank = if rng.next() <= *hot_threshold || *hot_blocks == blocks {
                    rng.below(*hot_blocks)
                } else {
                    *hot_blocks + rng.below(blocks - *hot_blocks)
                };
                scatter.place(rank)
            }
            Walk::Listed { blocks, next } => {
                let block = blocks[*next];
                *next = if *next + 1 == blocks.len() { 0 } else { *next + 1 };
                block
            }
            Walk::Zones(zones) => zones.next(),
            Walk::Partly(partly) => partly.next(blocks),
            Walk::Moving(moving) => moving.next(blocks),
        }
    }
}

impl Partly {
    #[inline(never)]
    fn next(&mut self, blocks: u64) -> u64 {
        self.next_of(1, blocks)
    }

    fn next_of(&mut self, units: u64, blocks: u64) -> u64 {
        let last = blocks.saturating_sub(units);
        let first = match self.follows.filter(|_| self.rng.next() <= self.threshold) {
            Some(next) if next > last => 0,
            Some(next) => next,
            None => self.walk.next_of(units, blocks),
        };
        self.follows = Some(first + units);
        first
    }
}

impl Moving {
    #[inline(never)]
    fn next(&mut self, blocks: u64) -> u64 {
        if self.left == 0 {
            self.left = self.every;
            self.move_to(self.moved + 1, blocks);
        }
        self.left -= 1;
        self.walk.next(blocks)
    }

    fn move_to(&mut self, moved: u64, blocks: u64) {
        if std::mem::replace(&mut self.moved, moved) == moved {
            return;
        }
        if let Walk::Zipf { scatter, .. } | Walk::HotCold { scatter, .. } = &mut self.walk {
            *scatter = Scatter::new(blocks, Rng::new(self.seed, MOVES + moved).next());
        }
    }
}

/// First block and count of a worker's slice; a worker beyond the blocks shares the last one.
fn slice(blocks: u64, share: Share) -> (u64, u64) {
    let first = blocks * share.worker / share.of;
    let end = blocks * (share.worker + 1) / share.of;
    if end > first { (first, end - first) } else { (first.min(blocks - 1), 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const ONE: Share = Share { worker: 0, of: 1 };

    fn walk(pattern: Pattern, blocks: u64, share: Share, count: usize) -> Vec<u64> {
        let area = Area { offset: 8192, bytes: blocks * 512 + 100 };
        let mut offsets = Offsets::new(pattern, area, 512, share, 11);
        (0..count).map(|_| (offsets.next() - 8192) / 512).collect()
    }

    #[test]
    fn sequential_and_backward_wrap_around() {
        assert_eq!(walk(Pattern::Sequential, 4, ONE, 6), [0, 1, 2, 3, 0, 1]);
        assert_eq!(walk(Pattern::Backward, 4, ONE, 6), [3, 2, 1, 0, 3, 2]);
    }

    #[test]
    fn a_stride_visits_every_block_once_before_it_repeats() {
        for blocks in [5, 17, 18, 100, 289] {
            let mut seen = walk(Pattern::Strided { stride: 17 }, blocks, ONE, blocks as usize);
            assert_eq!(
                &seen[..3.min((blocks / 17) as usize)],
                &[0, 17, 34][..3.min((blocks / 17) as usize)]
            );
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..blocks), "{blocks}: {seen:?}");
        }
    }

    #[test]
    fn workers_of_a_sequential_stream_take_disjoint_slices_that_cover_the_area() {
        let mut seen = Vec::new();
        for worker in 0..3 {
            let (_, count) = slice(100, Share { worker, of: 3 });
            seen.extend(walk(Pattern::Sequential, 100, Share { worker, of: 3 }, count as usize));
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..100));
    }

    #[test]
    fn a_permutation_deals_every_block_once_a_round_over_all_workers() {
        for (blocks, of) in [(1, 1), (2, 1), (7, 1), (64, 4), (1000, 1), (1023, 3)] {
            let mut seen = Vec::new();
            for worker in 0..of {
                let count = (blocks + of - 1 - worker) / of;
                seen.extend(walk(
                    Pattern::Permutation,
                    blocks,
                    Share { worker, of },
                    count as usize,
                ));
            }
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..blocks), "{blocks} blocks over {of} workers");
        }
    }

    #[test]
    fn two_rounds_of_a_permutation_differ() {
        let seen = walk(Pattern::Permutation, 512, ONE, 1024);
        assert_ne!(seen[..512], seen[512..]);
    }

    #[test]
    fn hot_blocks_take_their_share() {
        let pattern = Pattern::HotCold { hot_percent: 10.0, access_percent: 90.0 };
        let mut counts = BTreeMap::new();
        for block in walk(pattern, 1000, ONE, 100_000) {
            *counts.entry(block).or_insert(0u64) += 1;
        }
        let mut counts: Vec<_> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u64 = counts.iter().take(100).sum();
        assert!((88_000..92_000).contains(&hot), "{hot}");
    }

    /// A fio job with `percentage_random=30` could not be said: a stream was all random or none.
    #[test]
    fn a_share_of_steps_follows_the_one_before() {
        let area = Area { offset: 8192, bytes: 1000 * 512 };
        for percent in [10.0, 70.0, 100.0] {
            let walk = Offsets::new(Pattern::Random, area, 512, ONE, 11);
            let mut walk = walk.partly_sequential(percent, 11, 0);
            let (mut last, mut follow) = (walk.next(), 0u64);
            for _ in 0..100_000 {
                let next = walk.next();
                assert!(next >= 8192 && next < 8192 + area.bytes);
                let expected = if last + 512 == 8192 + area.bytes { 8192 } else { last + 512 };
                follow += u64::from(next == expected);
                last = next;
            }
            // One in a thousand random steps follows by chance.
            let found = follow as f64 / 1000.0;
            assert!((found - percent).abs() < 0.6, "{found} % of {percent} %");
        }
    }

    #[test]
    fn a_hot_spot_moves_and_all_workers_agree_where() {
        let area = Area { offset: 0, bytes: 1000 * 512 };
        let pattern = Pattern::HotCold { hot_percent: 1.0, access_percent: 99.0 };
        let hot = |worker, round: usize| {
            let share = Share { worker, of: 2 };
            let mut walk = Offsets::new(pattern, area, 512, share, 5).moving(5, 5000);
            let seen: Vec<u64> = (0..20_000).map(|_| walk.next() / 512).collect();
            let mut counts = BTreeMap::new();
            for block in &seen[round * 5000..(round + 1) * 5000] {
                *counts.entry(*block).or_insert(0u64) += 1;
            }
            Vec::from_iter(counts.into_iter().filter(|(_, n)| *n > 100).map(|(block, _)| block))
        };
        for round in 0..4 {
            assert_eq!(hot(0, round), hot(1, round), "round {round}");
            assert_eq!(hot(0, round).len(), 10);
        }
        assert!((0..3).all(|round| hot(0, round) != hot(0, round + 1)));
        // The first spot is that of a walk that never moves.
        let mut still = Offsets::new(pattern, area, 512, ONE, 5);
        let mut moving = Offsets::new(pattern, area, 512, ONE, 5).moving(5, 5000);
        assert!((0..5000).all(|_| still.next() == moving.next()));
    }

    #[test]
    fn uniform_draws_reach_the_whole_area_and_nothing_else() {
        let seen = walk(Pattern::Random, 50, ONE, 5_000);
        assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&0), Some(&49)));
    }

    #[test]
    fn patterns_are_read_as_they_are_written() {
        for text in ["seq", "random", "zipf:0.99", "hot_cold:20/80", "strided:17", "permutation"] {
            assert_eq!(Pattern::parse(text).expect(text).to_string(), text);
        }
        for text in ["zipf:x", "hot_cold:0/80", "strided:0", "rand", "zipf:-1", "hot_cold:20/100"] {
            assert_eq!(Pattern::parse(text), None, "{text}");
        }
    }
}
