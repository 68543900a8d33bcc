//! Reads: from the map to the drive, to a chunk in memory, or to nothing at all.

use super::{
    io::{Why, extent},
    log::{Held, Log},
    requests::{Parked, Requests},
};
use crate::broken::{Rule, broken};
use crate::{
    buffers::{Buffers, bytes, bytes_mut},
    format::block_crc,
    layout::Layout,
    map::{LOST, UNMAPPED},
    shape::BLOCK_BYTES,
};
use block::{Command, Data, Extent, Instant, IoError, Payload, Slots, Tag};
use std::collections::VecDeque;

const EINVAL: IoError = IoError::Os(22);

/// Memory for reads whose blocks lie apart, and so cannot go into the reader's own: 64 of 128 KiB
/// at a time. A longer one goes alone.
pub(super) const PIECES_BYTES_MAX: u64 = 8 << 20;

#[derive(Clone, Debug)]
struct Read {
    tag: Tag,
    issued: Instant,
    at: Extent,
    into: Payload,
    pieces: Pieces,
    /// Runs that have not come.
    left: u32,
    result: Result<(), IoError>,
}

impl Read {
    fn end(&self) -> u64 {
        self.at.offset + u64::from(self.at.bytes)
    }

    /// Blocks that it touches.
    fn blocks(&self) -> std::ops::Range<u32> {
        (self.at.offset / BLOCK_BYTES) as u32..self.end().div_ceil(BLOCK_BYTES) as u32
    }

    /// Puts the data of a whole block to where they belong.
    fn fill(&mut self, block: u32, data: &[u8]) {
        let (from, to) = span(block, self.at.offset, self.end());
        let within = within(block, self.at.offset);
        if let Some(into) = bytes_mut(&mut self.into) {
            into[from..to].copy_from_slice(&data[within..within + to - from]);
        }
    }
}

/// Where on the drive the blocks of a read are. Taken from a store and given back, so that reads
/// allocate nothing.
#[derive(Clone, Debug, Default)]
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

    /// Whether these are the data that the map meant: of the blocks that were asked for.
    fn verify(&self, run: &Run, data: &[u8]) -> bool {
        assert!(data.len() as u64 >= u64::from(run.count) * BLOCK_BYTES, "{run:?}");
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

#[derive(Clone, Debug)]
pub(super) struct Reads {
    under_way: Slots<Read>,
    spare: Vec<Pieces>,
    /// Memory of the pieces that are being read, B.
    piece_bytes: u64,
    /// Reads in pieces that wait for memory, with the time of their request.
    short: VecDeque<(Instant, u32)>,
}

impl Reads {
    pub fn new(queue_depth: u32) -> Self {
        Self {
            under_way: Slots::new(queue_depth),
            spare: Vec::new(),
            piece_bytes: 0,
            short: VecDeque::new(),
        }
    }

    pub fn accept(
        &mut self,
        log: &mut Log,
        requests: &mut Requests,
        tag: Tag,
        at: Extent,
        into: Payload,
    ) {
        let issued = log.io.now();
        if !log.blocks.is_inside(at.offset, u64::from(at.bytes)) {
            return requests.answer(issued, tag, issued, Err(EINVAL), into);
        }
        let pieces = self.spare.pop().unwrap_or_default();
        assert!(pieces.runs.is_empty() && pieces.crcs.is_empty(), "what is spare was emptied");
        let read = Read { tag, issued, at, into, pieces, left: 0, result: Ok(()) };
        let slot = self.under_way.insert(read);
        self.begin(log, requests, slot);
    }

    /// Looks up every block, and asks the drive for those that are there; parks if one is on its
    /// way.
    pub fn begin(&mut self, log: &mut Log, requests: &mut Requests, slot: u32) {
        let read = self.under_way.get_mut(slot);
        assert_eq!(read.left, 0, "nothing of it is on its way");
        for block in read.blocks() {
            let Some((location, held)) = log.locate(block) else {
                // All of it is looked up again: until then blocks may have moved.
                read.pieces.clear();
                read.result = Ok(());
                return requests.park(Parked::Read(slot));
            };
            match (location, log.held_block(&held)) {
                (_, Some(data)) => read.fill(block, data),
                (LOST, _) => read.result = Err(IoError::Medium),
                (UNMAPPED, _) => {
                    let (from, to) = span(block, read.at.offset, read.end());
                    if let Some(into) = bytes_mut(&mut read.into) {
                        into[from..to].fill(0);
                    }
                }
                // In memory, of a run that only times.
                (_, None) if !matches!(held, Held::OnDrive) => {}
                (_, None) => {
                    let crc = log.blocks.map().get(block).1;
                    read.pieces.extend(block, location, crc, &log.blocks.layout);
                }
            }
        }
        self.send(log, requests, slot);
    }

    fn send(&mut self, log: &mut Log, requests: &mut Requests, slot: u32) {
        let read = self.under_way.get_mut(slot);
        if read.pieces.runs.is_empty() || read.result.is_err() {
            return self.end(log, requests, slot);
        }
        let blocks = read.blocks().len() as u32;
        let whole_blocks = u64::from(read.at.bytes) == u64::from(blocks) * BLOCK_BYTES;
        let in_one = read.pieces.runs[0].count == blocks && whole_blocks;
        let memory = if in_one { 0 } else { read.pieces.memory_bytes() };
        let issued = read.issued;
        if memory > 0 && self.must_wait_for_memory(log.io.data(), issued, memory) {
            // All of it is looked up again: until then blocks may have moved.
            self.under_way.get_mut(slot).pieces.clear();
            self.short.push_back((issued, slot));
            return;
        }
        self.piece_bytes += memory;
        let read = self.under_way.get_mut(slot);
        read.left = read.pieces.runs.len() as u32;
        for run in &read.pieces.runs {
            log.blocks.pin(run.location);
        }
        if in_one {
            let location = read.pieces.runs[0].location;
            let into = std::mem::replace(&mut read.into, Payload::None);
            let at = Extent { offset: Layout::offset(location), bytes: read.at.bytes };
            log.io.send(Why::Whole { op: slot, location }, Command::Read { at, into });
        } else {
            for (run, piece) in read.pieces.runs.iter().zip(0..) {
                log.io.read(Why::Piece { op: slot, piece }, extent(run.location, run.count));
            }
        }
    }

    /// Whether a read in pieces may not begin: there is no memory for its pieces, or an older read
    /// waits for some.
    fn must_wait_for_memory(&self, data: Data, issued: Instant, bytes: u64) -> bool {
        let older = self.short.front().is_some_and(|&(other, _)| other < issued);
        let fits = self.piece_bytes == 0 || self.piece_bytes + bytes <= PIECES_BYTES_MAX;
        data == Data::Stored && (older || !fits)
    }

    /// Begins the reads that waited for memory, the oldest first.
    pub fn pump_short(&mut self, log: &mut Log, requests: &mut Requests) {
        for _ in 0..self.short.len() {
            if self.piece_bytes >= PIECES_BYTES_MAX {
                return;
            }
            let waiting = self.short.len();
            let Some((_, slot)) = self.short.pop_front() else { return };
            self.begin(log, requests, slot);
            if self.short.len() == waiting {
                // It waits on, before all others.
                return self.short.rotate_right(1);
            }
        }
    }

    pub fn whole_read(
        &mut self,
        log: &mut Log,
        requests: &mut Requests,
        (slot, location): (u32, u32),
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        log.blocks.unpin(location);
        let read = self.under_way.get_mut(slot);
        assert_eq!((read.left, read.pieces.runs[0].location), (1, location), "what was asked for");
        (read.left, read.result) = (0, result);
        if let Some(data) = bytes(&payload)
            && result.is_ok()
            && !read.pieces.verify(&read.pieces.runs[0], &data[..read.at.bytes as usize])
        {
            log.io.count_checksum_error();
            read.result = Err(IoError::Medium);
        }
        read.into = payload;
        self.end(log, requests, slot);
    }

    pub fn piece_read(
        &mut self,
        log: &mut Log,
        requests: &mut Requests,
        (slot, piece): (u32, u32),
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        let read = self.under_way.get_mut(slot);
        let run = read.pieces.runs[piece as usize];
        let length = (u64::from(run.count) * BLOCK_BYTES) as usize;
        match (result, bytes(&payload)) {
            (Err(error), _) => read.result = Err(error),
            (Ok(()), Some(data)) if !read.pieces.verify(&run, &data[..length]) => {
                log.io.count_checksum_error();
                read.result = Err(IoError::Medium);
            }
            (Ok(()), Some(data)) => {
                let blocks = data[..length].chunks_exact(BLOCK_BYTES as usize);
                for (data, block) in blocks.zip(run.block..) {
                    read.fill(block, data);
                }
            }
            (Ok(()), None) => {}
        }
        read.left = read.left.checked_sub(1).expect("a piece comes once");
        let last = read.left == 0;
        let memory = Buffers::size(length as u64);
        self.piece_bytes = self.piece_bytes.checked_sub(memory).expect("it was counted");
        log.io.give(payload);
        log.blocks.unpin(run.location);
        if last {
            self.end(log, requests, slot);
        }
    }

    fn end(&mut self, log: &Log, requests: &mut Requests, slot: u32) {
        let Read { tag, issued, into, mut pieces, left, result, .. } = self.under_way.remove(slot);
        assert_eq!(left, 0, "all that was asked for has come");
        pieces.clear();
        self.spare.push(pieces);
        requests.answer(log.io.now(), tag, issued, result, into);
    }

    /// Counts everything anew and compares.
    ///
    /// # Panics
    /// If there is memory of pieces that no read under way has.
    pub fn audit(&self) {
        let reads = self.under_way.iter().filter(|(_, read)| read.left > 0);
        let asked: u64 = reads.map(|(_, read)| read.pieces.memory_bytes()).sum();
        assert!(self.piece_bytes <= asked, "{} B of pieces, {asked} B asked", self.piece_bytes);
        assert!(self.short.len() <= self.under_way.len(), "each waits once");
    }
}

/// The part of a request from `start` to `end` that is the block's, counted from the request's
/// start.
pub(super) fn span(block: u32, start: u64, end: u64) -> (usize, usize) {
    let first = u64::from(block) * BLOCK_BYTES;
    ((first.max(start) - start) as usize, ((first + BLOCK_BYTES).min(end) - start) as usize)
}

/// Where in the block that part begins.
pub(super) fn within(block: u32, start: u64) -> usize {
    ((u64::from(block) * BLOCK_BYTES).max(start) % BLOCK_BYTES) as usize
}
