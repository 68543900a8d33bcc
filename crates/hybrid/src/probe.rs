//! A cache without time: what of a trace's requests it sends to flash and to the disks.
//!
//! It does what the layer does (`docs/reference/cache-layers.md`), block by block: reads take from
//! flash what is there and fill it with what was not, writes go where the mode says, dirty blocks
//! are written back when more than allowed are. Time is what it lacks: nothing passes by because
//! places are on their way out.

use crate::{mode::Mode, seen::Seen};
use cache::{Access, Policy, misses_min};
use std::collections::{HashMap, VecDeque};

/// A cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// Bytes of flash.
    pub size_bytes: u64,
    /// Which block goes.
    pub policy: Policy,
    /// What becomes of a write.
    pub mode: Mode,
    /// Share of the blocks that may be dirty, 0 to 1.
    pub dirty: f64,
}

/// What drives are asked for, per request of the trace.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Loads {
    /// Reads that flash answers.
    pub flash_reads: f64,
    /// Writes of the host that flash takes.
    pub flash_writes: f64,
    /// Writes that fill flash with what was read from the disks.
    pub fills: f64,
    /// Reads that the disks answer.
    pub disk_reads: f64,
    /// Writes of the host that the disks take.
    pub disk_writes: f64,
    /// Dirty blocks that are written back: each is a read of flash and a write to the disks.
    pub written_back: f64,
    /// Bytes that flash is written.
    pub flash_bytes: f64,
}

/// What of a block is on flash.
#[derive(Clone, Copy, Default)]
struct Held {
    valid: u64,
    dirty: u64,
}

impl Shape {
    /// What it makes of a trace, the first misses of every block among it.
    pub fn loads(&self, seen: &Seen) -> Loads {
        let blocks = self.size_bytes as f64 / seen.block_bytes as f64 * seen.sampled;
        let blocks = (blocks.round() as usize).max(1);
        let mut probe = Probe {
            blocks: self.policy.cache(blocks),
            held: HashMap::new(),
            dirty: VecDeque::new(),
            dirty_max: (blocks as f64 * self.dirty) as usize,
            unit_bytes: (seen.block_bytes / 64).max(512) as f64,
            loads: Loads::default(),
        };
        let mut writes = 0.0;
        for piece in &seen.pieces {
            let weight = f64::from(piece.weight);
            writes += if piece.writes { weight } else { 0.0 };
            if piece.is_long && !probe.blocks.holds(piece.block) {
                let loads = &mut probe.loads;
                *(if piece.writes { &mut loads.disk_writes } else { &mut loads.disk_reads }) +=
                    weight;
            } else if piece.writes {
                probe.write(piece.block, [piece.touched, piece.whole], weight, self.mode);
            } else {
                probe.read(piece.block, [piece.touched, piece.whole], weight);
            }
        }
        adjusted(probe.loads, seen, writes)
    }
}

/// Per request of the trace. What the sample's requests differ in number from what was expected
/// counts as hits: it is how often the hottest blocks happen to be in the sample (SHARDS-adj).
fn adjusted(found: Loads, seen: &Seen, writes: f64) -> Loads {
    let expected = seen.requests() * seen.sampled;
    let share = |count: u64| count as f64 / seen.requests();
    let is_read = share(seen.like.of(trace::Op::Read).operations);
    let is_write = share(seen.like.of(trace::Op::Write).operations);
    let per = |load: f64| load / expected;
    let disk_reads = per(found.disk_reads).min(is_read);
    let of_writes = |load: f64| if writes > 0.0 { load / writes * is_write } else { 0.0 };
    let (fills, written_back) = (per(found.fills), per(found.written_back));
    Loads {
        flash_reads: is_read - disk_reads,
        flash_writes: of_writes(found.flash_writes),
        fills,
        disk_reads,
        disk_writes: of_writes(found.disk_writes),
        written_back,
        flash_bytes: per(found.flash_bytes),
    }
}

struct Probe {
    blocks: Box<dyn cache::Replacement>,
    held: HashMap<u64, Held>,
    dirty: VecDeque<u64>,
    dirty_max: usize,
    unit_bytes: f64,
    loads: Loads,
}

impl Probe {
    /// Takes the block in; who goes for it is written back if it must be.
    fn take_in(&mut self, block: u64) {
        if let Access::Miss { evicted: Some(evicted) } = self.blocks.access(block)
            && let Some(held) = self.held.remove(&evicted)
            && held.dirty != 0
        {
            self.loads.written_back += 1.0;
        }
    }

    fn read(&mut self, block: u64, [touched, whole]: [u64; 2], weight: f64) {
        self.take_in(block);
        let held = self.held.entry(block).or_default();
        if touched & !held.valid == 0 {
            self.loads.flash_reads += weight;
            return;
        }
        self.loads.disk_reads += weight;
        let filled = whole & !held.valid;
        if filled != 0 {
            held.valid |= filled;
            self.loads.fills += weight;
            self.loads.flash_bytes += f64::from(filled.count_ones()) * self.unit_bytes;
        }
    }

    fn write(&mut self, block: u64, [touched, whole]: [u64; 2], weight: f64, mode: Mode) {
        if mode == Mode::Around {
            if let Some(held) = self.held.get_mut(&block) {
                held.valid &= !touched;
            }
            self.loads.disk_writes += weight;
            return;
        }
        self.take_in(block);
        let held = self.held.entry(block).or_default();
        // A part of a unit goes to flash where the rest of it is there.
        let taken = whole | (touched & held.valid);
        held.valid |= taken;
        if taken != 0 {
            self.loads.flash_writes += weight;
            self.loads.flash_bytes += f64::from(taken.count_ones()) * self.unit_bytes;
        }
        if mode == Mode::Through || touched & !taken != 0 {
            self.loads.disk_writes += weight;
        }
        if mode == Mode::Back && taken != 0 {
            if held.dirty == 0 {
                self.dirty.push_back(block);
            }
            held.dirty |= taken;
            while self.dirty.len() > self.dirty_max {
                let oldest = self.dirty.pop_front().expect("there are more than none");
                // One that went meanwhile was written back then.
                if let Some(held) = self.held.get_mut(&oldest).filter(|held| held.dirty != 0) {
                    held.dirty = 0;
                    self.loads.written_back += 1.0;
                }
            }
        }
    }
}

/// Share of all pieces that the best cache of these bytes misses, which knows the future.
pub fn misses_least(seen: &Seen, size_bytes: u64) -> f64 {
    let blocks: Vec<u64> = seen.pieces.iter().map(|piece| piece.block).collect();
    let capacity = size_bytes as f64 / seen.block_bytes as f64 * seen.sampled;
    let misses = misses_min(&blocks, (capacity.round() as usize).max(1));
    misses as f64 / blocks.len().max(1) as f64
}

/// Share of all pieces that a cache of these bytes misses by block, whatever is read of it.
pub fn misses(seen: &Seen, policy: Policy, size_bytes: u64) -> f64 {
    let capacity = size_bytes as f64 / seen.block_bytes as f64 * seen.sampled;
    let mut cache = policy.cache((capacity.round() as usize).max(1));
    let mut missed = 0_u64;
    for piece in &seen.pieces {
        missed += u64::from(cache.access(piece.block) != Access::Hit);
    }
    missed as f64 / seen.pieces.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::tests::{access, made};
    use trace::Op;

    const BLOCK: u64 = 65_536;

    fn shape(blocks: u64, mode: Mode) -> Shape {
        Shape { size_bytes: blocks * BLOCK, policy: Policy::Lru, mode, dirty: 0.1 }
    }

    #[test]
    fn what_is_read_again_is_read_from_flash_and_filled_once() {
        let accesses: Vec<_> =
            (0..400).map(|at| access(at, Op::Read, at % 4 * BLOCK, 4096)).collect();
        let seen = made(&accesses, BLOCK);
        let all = shape(4, Mode::Through).loads(&seen);
        assert!((all.disk_reads - 0.01).abs() < 1e-9 && (all.fills - 0.01).abs() < 1e-9);
        assert!((all.flash_bytes - 0.01 * 4096.0).abs() < 1e-6);
        // One block too few for a loop: LRU has each just after it went.
        assert!((shape(3, Mode::Through).loads(&seen).disk_reads - 1.0).abs() < 1e-9);
        assert!((misses_least(&seen, 4 * BLOCK) - 0.01).abs() < 1e-9);
        assert!(misses_least(&seen, 3 * BLOCK) < 0.4);
    }

    #[test]
    fn a_unit_that_was_not_read_is_no_hit_though_its_block_is_there() {
        let at = |at: u64| access(at, Op::Read, at % 16 * 4096, 4096);
        let seen = made(&(0..32).map(at).collect::<Vec<_>>(), BLOCK);
        let loads = shape(1, Mode::Through).loads(&seen);
        assert!((loads.disk_reads - 0.5).abs() < 1e-9, "{loads:?}");
    }

    #[test]
    fn writes_go_where_the_mode_says() {
        let accesses: Vec<_> =
            (0..1000).map(|at| access(at, Op::Write, at % 100 * BLOCK, 4096)).collect();
        let seen = made(&accesses, BLOCK);
        let through = shape(200, Mode::Through).loads(&seen);
        assert_eq!((through.disk_writes, through.flash_writes), (1.0, 1.0));
        let around = shape(200, Mode::Around).loads(&seen);
        assert_eq!((around.disk_writes, around.flash_writes), (1.0, 0.0));
        let back = shape(200, Mode::Back).loads(&seen);
        assert_eq!((back.disk_writes, back.flash_writes), (0.0, 1.0));
        // 20 may be dirty: of 1,000 writes to 100 blocks in turn all but those are written back.
        assert!((back.written_back - 0.98).abs() < 1e-9, "{back:?}");
        // With room for all of them no write is written back twice before its turn comes.
        let lazy = Shape { dirty: 1.0, ..shape(200, Mode::Back) }.loads(&seen);
        assert_eq!(lazy.written_back, 0.0);
    }

    #[test]
    fn half_a_unit_goes_to_the_disks_unless_the_rest_is_there() {
        let write = access(0, Op::Write, 256, 512);
        let only = made(&[write], BLOCK);
        let loads = shape(8, Mode::Back).loads(&only);
        assert_eq!((loads.disk_writes, loads.flash_writes), (1.0, 0.0));
        let behind = made(&[access(0, Op::Read, 0, 1024), write], BLOCK);
        let loads = shape(8, Mode::Back).loads(&behind);
        assert_eq!((loads.disk_writes, loads.flash_writes), (0.0, 0.5));
    }

    #[test]
    fn a_long_stream_passes_by() {
        let accesses: Vec<_> = (0..100).map(|at| access(at, Op::Read, at << 20, 1 << 20)).collect();
        let loads = shape(10_000, Mode::Through).loads(&made(&accesses, BLOCK));
        assert!((loads.fills - 0.04).abs() < 1e-6, "{loads:?}");
        assert!((loads.disk_reads - 1.0).abs() < 1e-6);
    }
}
