//! A trace, read once: what it is like, and which blocks a cache would be asked for.
//!
//! ```text
//!   access -> pieces, one a block of the cache -> kept while the block is in the sample
//!          -> counts by region of the disks, of all requests                   regions.rs
//! ```
//!
//! The sample is of blocks, each with its whole history; when it grows too large, half of its
//! blocks go. A request that is long and goes on where another ended is marked: caches pass it by.

use crate::{HybridError, regions::Regions};
use cache::is_sampled;
use run::{CannotTrace, ReplayOrder, Surveyed, Volume};
use std::{panic::resume_unwind, sync::mpsc::sync_channel, thread};
use trace::{Access, Analysis, Characterisation, Op, page::Subject};

/// Accesses that one thread hands to the other at once.
const BATCH: usize = 1 << 10;
/// Most batches that wait.
const BATCHES: usize = 16;

/// Most pieces that are kept: some 50 MB.
const PIECES_MAX: usize = 1 << 20;
/// Units that a block is cut into at most, as the layer does.
const UNITS: u64 = 64;
/// None is smaller than a sector.
const UNIT_BYTES_MIN: u64 = 512;
/// Streams that a cache tells apart.
const STREAMS: usize = 16;
/// A stream is long from here on.
const LONG_BYTES: u64 = 4 << 20;

/// What of one request lies in one block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Piece {
    /// Which block.
    pub block: u64,
    /// Units of it that are touched, a bit each.
    pub touched: u64,
    /// Those that are touched whole.
    pub whole: u64,
    /// Which part of its request it is.
    pub weight: f32,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is of a stream that caches pass by.
    pub is_long: bool,
}

/// A trace as a cache sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What it is like.
    pub like: Characterisation,
    /// What it is called.
    pub subject: Subject,
    /// Bytes of a block of the cache.
    pub block_bytes: u64,
    /// A sample of its pieces, in order.
    pub pieces: Vec<Piece>,
    /// Share of all blocks that is in the sample, 0 to 1.
    pub sampled: f64,
    /// Where on the disks it asks.
    pub regions: Regions,
}

impl Seen {
    /// Reads all of what is to be replayed.
    ///
    /// # Errors
    /// A trace that cannot be read, or that neither reads nor writes.
    pub fn read(order: &ReplayOrder, block_bytes: u64) -> Result<(Self, Surveyed), HybridError> {
        let file = &order.trace;
        let mut analysis = Analysis::default();
        let mut sampler = Sampler::new(block_bytes);
        let mut first_volume = None;
        let surveyed = survey_beside(order, |access| {
            // Of several volumes of which none was named an error is told in the end.
            let is_first = *first_volume.get_or_insert(access.volume) == access.volume;
            if file.volume != Volume::Only || is_first {
                analysis.add(access);
                sampler.add(access);
            }
        })?;
        let trace = &surveyed.trace;
        let like = analysis.conclude();
        if like.transfers() == 0 {
            return Err(HybridError::NoTransfers(file.name()));
        }
        let subject = Subject {
            name: file.name(),
            format: trace.format(),
            volume: file.chosen().map(str::to_owned),
            volumes: trace.volumes().by_count().len(),
            remarks: trace.remarks(),
        };
        let Sampler { pieces, rate: sampled, regions, .. } = sampler;
        Ok((Self { like, subject, block_bytes, pieces, sampled, regions }, surveyed))
    }

    /// Bytes of the blocks that are touched.
    pub fn footprint_bytes(&self) -> u64 {
        let mut blocks: Vec<u64> = self.pieces.iter().map(|piece| piece.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        (blocks.len() as f64 / self.sampled) as u64 * self.block_bytes
    }

    /// Requests that the sample stands for.
    pub fn requests(&self) -> f64 {
        self.like.transfers() as f64
    }
}

/// Surveys a trace on a thread of its own, and has all of it looked at here, in order.
fn survey_beside(
    order: &ReplayOrder,
    mut look: impl FnMut(&Access),
) -> Result<Surveyed, CannotTrace> {
    let (sink, source) = sync_channel::<Vec<Access>>(BATCHES);
    let survey = move || {
        let send = |batch| sink.send(batch).expect("it is listened to as long as this thread runs");
        let mut batch = Vec::with_capacity(BATCH);
        let surveyed = order.survey(|access| {
            batch.push(*access);
            if batch.len() == BATCH {
                send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
            }
        })?;
        send(batch);
        Ok(surveyed)
    };
    thread::scope(|scope| {
        let surveying = scope.spawn(survey);
        source.iter().for_each(|batch| batch.iter().for_each(&mut look));
        surveying.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Cuts requests into pieces and keeps a sample of the blocks.
struct Sampler {
    block_bytes: u64,
    unit_bytes: u64,
    pieces: Vec<Piece>,
    rate: f64,
    /// Where recent streams ended, and how long they are; the latest last.
    ends: Vec<(u64, u64)>,
    regions: Regions,
}

impl Sampler {
    fn new(block_bytes: u64) -> Self {
        let unit_bytes = (block_bytes / UNITS).max(UNIT_BYTES_MIN);
        let regions = Regions::new(block_bytes);
        let (pieces, ends) = (Vec::new(), Vec::new());
        Self { block_bytes, unit_bytes, pieces, rate: 1.0, ends, regions }
    }

    fn add(&mut self, access: &Access) {
        if !access.op.is_transfer() || access.bytes == 0 {
            return;
        }
        let is_long = self.goes_on(access) >= LONG_BYTES;
        self.regions.add(access, is_long);
        let (first, last) =
            (access.offset / self.block_bytes, (access.end() - 1) / self.block_bytes);
        let weight = 1.0 / (last - first + 1) as f32;
        for block in first..=last {
            if !is_sampled(block, self.rate) {
                continue;
            }
            let start = block * self.block_bytes;
            let from = access.offset.max(start) - start;
            let to = access.end().min(start + self.block_bytes) - start;
            let unit = self.unit_bytes;
            self.pieces.push(Piece {
                block,
                touched: mask(from / unit, to.div_ceil(unit)),
                whole: mask(from.div_ceil(unit), to / unit),
                weight,
                writes: access.op == Op::Write,
                is_long,
            });
        }
        while self.pieces.len() > PIECES_MAX {
            self.rate /= 2.0;
            let rate = self.rate;
            self.pieces.retain(|piece| is_sampled(piece.block, rate));
        }
    }

    /// Bytes of the stream that this goes on with, before it.
    fn goes_on(&mut self, access: &Access) -> u64 {
        let found = self.ends.iter().rposition(|(end, _)| *end == access.offset);
        let before = match found {
            Some(at) => self.ends.remove(at).1,
            None => {
                if self.ends.len() == STREAMS {
                    self.ends.remove(0);
                }
                0
            }
        };
        self.ends.push((access.end(), before + access.bytes));
        before
    }
}

/// Bits from `from` up to `to`.
fn mask(from: u64, to: u64) -> u64 {
    let below = |bits: u64| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    if from >= to { 0 } else { below(to) & !below(from) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A trace that was not read from a file.
    pub fn made(accesses: &[Access], block_bytes: u64) -> Seen {
        let mut analysis = Analysis::default();
        let mut sampler = Sampler::new(block_bytes);
        for access in accesses {
            analysis.add(access);
            sampler.add(access);
        }
        let subject = Subject {
            name: "made".to_owned(),
            format: trace::Format::Msr,
            volume: None,
            volumes: 1,
            remarks: Default::default(),
        };
        let Sampler { pieces, rate: sampled, regions, .. } = sampler;
        Seen { like: analysis.conclude(), subject, block_bytes, pieces, sampled, regions }
    }

    pub fn access(at_ns: u64, op: Op, offset: u64, bytes: u64) -> Access {
        Access { at_ns, op, volume: 0, offset, bytes }
    }

    #[test]
    fn a_request_is_cut_at_blocks_and_its_units_are_whole_or_not() {
        // Blocks of 64 KiB have units of 1 KiB: 512 B into unit 62 up to the middle of unit 1.
        let seen = made(&[access(0, Op::Write, 62 * 1024 + 512, 3072)], 65_536);
        let [a, b] = seen.pieces[..] else { panic!("{:?}", seen.pieces) };
        assert_eq!((a.block, a.touched, a.whole), (0, 3 << 62, 1 << 63));
        assert_eq!((b.block, b.touched, b.whole), (1, 3, 1));
        assert!((a.weight - 0.5).abs() < 1e-6 && a.writes && !a.is_long);
    }

    #[test]
    fn a_stream_is_long_behind_its_first_four_mebibytes() {
        let accesses: Vec<Access> =
            (0..10).map(|at| access(at, Op::Read, at << 20, 1 << 20)).collect();
        let seen = made(&accesses, 1 << 20);
        let long: Vec<bool> = seen.pieces.iter().map(|piece| piece.is_long).collect();
        assert_eq!(long.iter().position(|is_long| *is_long), Some(4));
        assert_eq!(long.iter().filter(|is_long| **is_long).count(), 6);
    }

    #[test]
    fn a_large_trace_is_sampled_and_its_footprint_is_still_known() {
        let blocks = 3 << 20;
        let accesses = (0..blocks).map(|at| access(at, Op::Read, at * 8192, 4096));
        let seen = made(&accesses.collect::<Vec<_>>(), 4096);
        assert!(seen.pieces.len() <= PIECES_MAX && seen.sampled < 1.0);
        let off = seen.footprint_bytes() as f64 / (blocks * 4096) as f64;
        assert!((off - 1.0).abs() < 0.01, "{off}");
    }
}
