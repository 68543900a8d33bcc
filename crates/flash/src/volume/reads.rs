//! Reads: from the map to the drive, to a chunk in memory, or to nothing at all.

use super::core::{Core, Op, Why};
use super::log::Held;
use crate::broken::{Rule, broken};
use crate::{
    buffers::{Buffers, bytes, bytes_mut},
    format::block_crc,
    layout::{BLOCK_BYTES, Layout},
    map::{LOST, UNMAPPED},
};
use block::{Allocation, Command, Data, Extent, Instant, IoError, Payload, Tag};

const EINVAL: IoError = IoError::Os(22);
/// So many mapped blocks, one after the other, are looked at to answer what is allocated: a few
/// microseconds.
const LOOK_BLOCKS_MAX: u32 = 8192;

/// Memory for reads whose blocks lie apart, and so cannot go into the reader's own: 64 of 128 KiB
/// at a time. A longer one goes alone.
pub(crate) const PIECES_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct ReadOp {
    pub tag: Tag,
    pub issued: Instant,
    at: Extent,
    pub into: Payload,
    pieces: Pieces,
    left: u32,
    pub result: Result<(), IoError>,
}

/// Where on the drive the blocks of a read are. Taken from a store and given back, so that reads
/// allocate nothing.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    runs: Vec<Run>,
    /// Of all runs, as the map had them when the read began; empty without checksums in the map.
    crcs: Vec<u32>,
}

/// Blocks that lie one after the other on the drive too.
#[derive(Clone, Copy, Debug)]
struct Run {
    block: u32,
    location: u32,
    count: u32,
    /// Its first block's place among the checksums.
    crcs_at: usize,
}

impl Pieces {
    fn clear(&mut self) {
        self.runs.clear();
        self.crcs.clear();
    }

    /// What reading them takes, each into memory of its own, B.
    fn memory_bytes(&self) -> u64 {
        self.runs.iter().map(|run| Buffers::size(u64::from(run.count) * BLOCK_BYTES)).sum()
    }

    /// Whether these are the data that the map meant.
    fn verify(&self, run: &Run, data: &[u8]) -> bool {
        let blocks = data.chunks_exact(BLOCK_BYTES as usize).zip(run.block..);
        let crcs = self.crcs.iter().skip(run.crcs_at).take(run.count as usize);
        blocks.zip(crcs).all(|((data, block), &crc)| block_crc(block, data) == crc)
            || broken(Rule::ReadChecksum)
    }

    fn extend(&mut self, block: u32, location: u32, crc: Option<u32>, layout: &Layout) {
        let last = self.runs.last_mut().filter(|run| {
            run.block + run.count == block
                && run.location + run.count == location
                && layout.segment_of(run.location) == layout.segment_of(location)
        });
        match last {
            Some(run) => run.count += 1,
            None => {
                self.runs.push(Run { block, location, count: 1, crcs_at: self.crcs.len() });
            }
        }
        self.crcs.extend(crc);
    }
}

impl Core {
    pub fn accept_read(&mut self, tag: Tag, at: Extent, into: Payload) {
        if !self.is_inside(at.offset, u64::from(at.bytes)) {
            return self.answer(tag, self.now, Err(EINVAL), into);
        }
        let issued = self.now;
        let pieces = self.spare_pieces.pop().unwrap_or_default();
        let read = ReadOp { tag, issued, at, into, pieces, left: 0, result: Ok(()) };
        let slot = self.ops.insert(Op::Read(read));
        self.begin_read(slot);
    }

    /// Whether a range is of whole sectors of the volume.
    pub fn is_inside(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.checked_add(bytes);
        let inside = end.is_some_and(|end| end <= self.layout.shape.exported_bytes);
        inside && bytes > 0 && offset.is_multiple_of(512) && bytes.is_multiple_of(512)
    }

    /// What is mapped from `offset` on, and for how many of `len` bytes it goes on like this.
    pub fn allocation(&self, offset: u64, len: u64) -> (Allocation, u64) {
        let first = (offset / BLOCK_BYTES) as u32;
        let end = (offset + len).div_ceil(BLOCK_BYTES) as u32;
        let kept = self.ring.kept.range(first..end).next().map(|(&block, _)| block);
        if kept == Some(first) {
            return (Allocation::Data, (BLOCK_BYTES - offset % BLOCK_BYTES).min(len));
        }
        let end = kept.unwrap_or(end);
        let (kind, until) = match self.map.next_mapped(first, end) {
            None => (Allocation::Hole, end),
            Some(mapped) if mapped > first => (Allocation::Hole, mapped),
            Some(_) => {
                let end = end.min(first.saturating_add(LOOK_BLOCKS_MAX));
                let hole = (first..end).find(|&block| self.map.get(block).0 == UNMAPPED);
                (Allocation::Data, hole.unwrap_or(end))
            }
        };
        (kind, (u64::from(until) * BLOCK_BYTES - offset).min(len))
    }

    /// Where a block is now; none while its chunk is on its way.
    pub fn locate(&self, block: u32) -> Option<(u32, Held)> {
        let location = self.map.get(block).0;
        if self.ring.kept.contains_key(&block) {
            return Some((location, Held::Kept(block)));
        }
        if location <= LOST {
            return Some((location, Held::OnDrive));
        }
        if self.segments.get(self.layout.segment_of(location)).held == 0 {
            return Some((location, Held::OnDrive));
        }
        match self.log.held(location) {
            _ if broken(Rule::Held) => Some((location, Held::OnDrive)),
            Held::Away => None,
            held => Some((location, held)),
        }
    }

    /// The data of a block that memory holds.
    fn held_block(&self, held: &Held) -> Option<&[u8]> {
        match held {
            Held::Kept(block) => self.ring.kept.get(block).map(|data| &**data),
            _ => self.log.block(held),
        }
    }

    pub fn begin_read(&mut self, slot: u32) {
        let Op::Read(mut read) = std::mem::replace(self.ops.get_mut(slot), Op::Busy) else {
            unreachable!("the slot is a read's")
        };
        let (start, end) = (read.at.offset, read.at.offset + u64::from(read.at.bytes));
        let blocks = (start / BLOCK_BYTES) as u32..end.div_ceil(BLOCK_BYTES) as u32;
        for block in blocks.clone() {
            let Some((location, held)) = self.locate(block) else {
                // All of it is looked up again: until then blocks may have moved.
                read.pieces.clear();
                read.result = Ok(());
                *self.ops.get_mut(slot) = Op::Read(read);
                self.parked.push_back(slot);
                return;
            };
            let (from, to) = span(block, start, end);
            let within = (u64::from(block) * BLOCK_BYTES).max(start) % BLOCK_BYTES;
            match (location, self.held_block(&held)) {
                (_, Some(data)) => {
                    let part = &data[within as usize..within as usize + to - from];
                    if let Some(into) = bytes_mut(&mut read.into) {
                        into[from..to].copy_from_slice(part);
                    }
                }
                (LOST, _) => read.result = Err(IoError::Medium),
                (UNMAPPED, _) => {
                    if let Some(into) = bytes_mut(&mut read.into) {
                        into[from..to].fill(0);
                    }
                }
                (_, None) if !matches!(held, Held::OnDrive) => {} // In memory, of a run that only times.
                (_, None) => {
                    read.pieces.extend(block, location, self.map.get(block).1, &self.layout);
                }
            }
        }
        self.send_read(slot, read, blocks.len() as u32);
    }

    fn send_read(&mut self, slot: u32, mut read: ReadOp, blocks: u32) {
        if read.pieces.runs.is_empty() || read.result.is_err() {
            self.ops.remove(slot);
            return self.end_read(read);
        }
        let runs = &read.pieces.runs;
        let whole_blocks = u64::from(read.at.bytes) == u64::from(blocks) * BLOCK_BYTES;
        let in_one = runs[0].count == blocks && whole_blocks;
        let memory = if in_one { 0 } else { read.pieces.memory_bytes() };
        if memory > 0 && self.must_wait_for_memory(read.issued, memory) {
            // All of it is looked up again: until then blocks may have moved.
            read.pieces.clear();
            self.short_reads.push_back((read.issued, slot));
            *self.ops.get_mut(slot) = Op::Read(read);
            return;
        }
        self.piece_bytes += memory;
        let runs = &read.pieces.runs;
        read.left = runs.len() as u32;
        for run in runs {
            self.segments.get_mut(self.layout.segment_of(run.location)).pins += 1;
        }
        if in_one {
            let location = runs[0].location;
            let into = std::mem::replace(&mut read.into, Payload::None);
            let at = Extent { offset: Layout::offset(location), bytes: read.at.bytes };
            self.down.send(Why::Whole { op: slot, location }, Command::Read { at, into });
        } else {
            for (run, piece) in runs.iter().zip(0..) {
                let bytes = run.count * BLOCK_BYTES as u32;
                let into = self.buffers.take(u64::from(bytes));
                let at = Extent { offset: Layout::offset(run.location), bytes };
                self.down.send(Why::Piece { op: slot, piece }, Command::Read { at, into });
            }
        }
        *self.ops.get_mut(slot) = Op::Read(read);
    }

    /// Whether a read in pieces may not begin: there is no memory for its pieces, or an older read
    /// waits for some.
    fn must_wait_for_memory(&self, issued: Instant, bytes: u64) -> bool {
        let older = self.short_reads.front().is_some_and(|&(other, _)| other < issued);
        let fits = self.piece_bytes == 0 || self.piece_bytes + bytes <= PIECES_BYTES_MAX;
        self.data == Data::Stored && (older || !fits)
    }

    /// Begins the reads that waited for memory, the oldest first.
    pub fn pump_short_reads(&mut self) {
        for _ in 0..self.short_reads.len() {
            if self.piece_bytes >= PIECES_BYTES_MAX {
                return;
            }
            let waiting = self.short_reads.len();
            let Some((_, slot)) = self.short_reads.pop_front() else { return };
            self.begin_read(slot);
            if self.short_reads.len() == waiting {
                // It waits on, before all others.
                return self.short_reads.rotate_right(1);
            }
        }
    }

    pub fn whole_read(
        &mut self,
        slot: u32,
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.unpin(location);
        let Op::Read(mut read) = self.ops.remove(slot) else {
            unreachable!("the slot is a read's")
        };
        read.result = result;
        if let Some(data) = bytes(&payload)
            && result.is_ok()
            && !read.pieces.verify(&read.pieces.runs[0], &data[..read.at.bytes as usize])
        {
            self.counters.checksum_errors += 1;
            read.result = Err(IoError::Medium);
        }
        read.into = payload;
        self.end_read(read);
    }

    pub fn piece_read(
        &mut self,
        slot: u32,
        piece: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        let Op::Read(read) = self.ops.get_mut(slot) else { unreachable!("the slot is a read's") };
        let run = read.pieces.runs[piece as usize];
        let location = run.location;
        let (start, end) = (read.at.offset, read.at.offset + u64::from(read.at.bytes));
        match (result, bytes(&payload)) {
            (Err(error), _) => read.result = Err(error),
            (Ok(()), Some(data))
                if !read
                    .pieces
                    .verify(&run, &data[..(run.count as u64 * BLOCK_BYTES) as usize]) =>
            {
                self.counters.checksum_errors += 1;
                read.result = Err(IoError::Medium);
            }
            (Ok(()), Some(data)) => {
                let blocks = data.chunks_exact(BLOCK_BYTES as usize).take(run.count as usize);
                for (data, block) in blocks.zip(run.block..) {
                    let (from, to) = span(block, start, end);
                    let within =
                        ((u64::from(block) * BLOCK_BYTES).max(start) % BLOCK_BYTES) as usize;
                    if let Some(into) = bytes_mut(&mut read.into) {
                        into[from..to].copy_from_slice(&data[within..within + to - from]);
                    }
                }
            }
            (Ok(()), None) => {}
        }
        read.left -= 1;
        self.piece_bytes -= Buffers::size(u64::from(run.count) * BLOCK_BYTES);
        let last = read.left == 0;
        self.buffers.give(payload);
        self.unpin(location);
        if last {
            let Op::Read(read) = self.ops.remove(slot) else {
                unreachable!("the slot is a read's")
            };
            self.end_read(read);
        }
    }

    pub fn end_read(&mut self, read: ReadOp) {
        let ReadOp { tag, issued, into, mut pieces, result, .. } = read;
        pieces.clear();
        self.spare_pieces.push(pieces);
        self.answer(tag, issued, result, into);
    }

    pub fn unpin(&mut self, location: u32) {
        let segment = self.segments.get_mut(self.layout.segment_of(location));
        segment.pins = segment.pins.checked_sub(1).expect("the reader had pinned it");
    }

    /// Tries again what waited for another operation.
    pub fn pump_parked(&mut self) {
        for _ in 0..self.parked.len() {
            let Some(slot) = self.parked.pop_front() else { return };
            match self.ops.get_mut(slot) {
                Op::Read(_) => self.begin_read(slot),
                _ => self.begin_write(slot),
            }
        }
    }
}

/// The part of a request from `start` to `end` that is the block's, counted from the request's
/// start.
pub(super) fn span(block: u32, start: u64, end: u64) -> (usize, usize) {
    let first = u64::from(block) * BLOCK_BYTES;
    ((first.max(start) - start) as usize, ((first + BLOCK_BYTES).min(end) - start) as usize)
}
