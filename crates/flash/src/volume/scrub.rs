//! Scrubbing: while the volume is used, everything that is alive is read at a set rate and held
//! against its checksum, so that damage is known while there is still a backup.
//!
//! ```text
//!   segment:  chunk -- header read --> what of it is alive -- read in turn --> checksums
//! ```
//!
//! It stands back for clients: while their requests are under way, or came a moment ago, a read
//! waits for them, but no longer than [`YIELD_NS`], so that a volume that is never quiet is
//! scrubbed too. Nothing is repaired but pages of the map, whose contents are in memory: the next
//! checkpoint writes a damaged one anew. Chunks that are still in memory are passed over, and so is
//! a segment that the cleaner is at, which reads it all and verifies it.

use super::core::{Core, Gate, Why};
use crate::{
    buffers::bytes,
    format::{Entry, Kind, block_crc, decode_chunk},
    layout::{BLOCK_BYTES, Layout},
    map::LOST,
    segments::State,
};
use block::{Command, Data, Extent, Instant, IoError, Payload};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
};

/// Blocks of one read at most: 256 KiB, which a client's read waits for if it comes just behind.
const READ_BLOCKS_MAX: u32 = 64;
/// Holes that are read along, in blocks.
const HOLE_BLOCKS: u32 = 8;
/// A read that is due waits so long at most for clients' requests to end, in nanoseconds.
const YIELD_NS: u64 = 100_000_000;
/// After a client's request the next one is expected for so long, in nanoseconds.
const QUIET_NS: u64 = 2_000_000;
/// A drive that is offline is asked again after so long, in nanoseconds.
const OFFLINE_NS: u64 = 1_000_000_000;
/// Damaged blocks that are kept by number; all are counted.
const FOUND_MAX: usize = 1 << 16;

/// How a volume is scrubbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scrubbing {
    /// What is read in a second, B; at least 1.
    pub bytes_per_s: u64,
    /// A pass begins so long after the one before began, or when that is done: in nanoseconds.
    pub every_ns: u64,
}

/// How far scrubbing has come, and what it found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScrubReport {
    /// Passes over the whole volume that are done.
    pub passes: u64,
    /// Segments of this pass that are done.
    pub segments_done: u32,
    /// Segments of the drive.
    pub segments: u32,
    /// Blocks that fitted their checksum, in all passes.
    pub blocks_verified: u64,
    /// Pages of the map that did.
    pub pages_verified: u64,
    /// Read for it.
    pub bytes_read: u64,
    /// Times that a block or a page did not fit its checksum, or could not be read.
    pub errors: u64,
    /// Headers of chunks that could not be read; their blocks were found by the map.
    pub headers_damaged: u64,
    /// Pages of the map among the errors: they are written anew.
    pub pages_damaged: u64,
    /// Blocks that were damaged when they were last looked at, and were not written since.
    pub damaged: Vec<Range<u32>>,
}

#[derive(Debug)]
pub(super) struct Scrub {
    pub plan: Option<Scrubbing>,
    /// When it wants to be woken.
    pub alarm: Instant,
    /// No read begins before.
    next_at: Instant,
    pass_began: Instant,
    /// Where the next chunk is: a segment, and a block of it.
    segment: u32,
    at: u32,
    pieces: VecDeque<Piece>,
    reading: Option<Piece>,
    is_reading: bool,
    /// Damaged blocks, and where they were.
    found: BTreeMap<u32, u32>,
    report: ScrubReport,
}

/// Blocks of one read.
#[derive(Debug)]
struct Piece {
    alive: Vec<Alive>,
}

/// A block of the drive that the map or the directory points to.
#[derive(Clone, Copy, Debug)]
struct Alive {
    location: u32,
    what: What,
    /// None where neither header nor map knows one.
    crc: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Block(u32),
    Page(u32),
}

impl Piece {
    fn start(&self) -> u32 {
        self.alive[0].location
    }

    fn length(&self) -> u32 {
        self.alive[self.alive.len() - 1].location + 1 - self.start()
    }
}

/// Joins blocks in order of location.
fn pieces(alive: impl Iterator<Item = Alive>) -> VecDeque<Piece> {
    let mut pieces: VecDeque<Piece> = VecDeque::new();
    for next in alive {
        let last = pieces.back_mut().filter(|piece| {
            let end = piece.start() + piece.length();
            next.location - end <= HOLE_BLOCKS
                && next.location + 1 - piece.start() <= READ_BLOCKS_MAX
        });
        match last {
            Some(piece) => piece.alive.push(next),
            None => pieces.push_back(Piece { alive: vec![next] }),
        }
    }
    pieces
}

impl Scrub {
    /// Of a volume that is not scrubbed yet.
    pub fn new() -> Self {
        Self {
            plan: None,
            alarm: Instant::NEVER,
            next_at: Instant(0),
            pass_began: Instant(0),
            segment: 0,
            at: 0,
            pieces: VecDeque::new(),
            reading: None,
            is_reading: false,
            found: BTreeMap::new(),
            report: ScrubReport::default(),
        }
    }

    /// A segment is opened anew: what was known of it is of the past.
    pub fn forget(&mut self, segment: u32) {
        if segment == self.segment {
            self.pieces.clear();
            self.at = u32::MAX;
        }
    }

    fn next_segment(&mut self) {
        (self.segment, self.at) = (self.segment + 1, 0);
    }
}

impl Core {
    /// From now on it is scrubbed so, or not any more.
    pub fn set_scrubbing(&mut self, plan: Option<Scrubbing>) {
        assert!(plan.is_none_or(|plan| plan.bytes_per_s > 0), "nothing would ever be read");
        self.scrub.plan = plan;
        (self.scrub.pass_began, self.scrub.next_at) = (self.now, self.now);
        self.scrub.alarm = if plan.is_some() { self.now } else { Instant::NEVER };
    }

    /// How far it has come, if it is scrubbed.
    pub fn scrub_report(&self) -> Option<ScrubReport> {
        self.scrub.plan?;
        let mut damaged: Vec<Range<u32>> = Vec::new();
        let found = self.scrub.found.iter();
        for (&block, _) in found.filter(|(block, at)| self.is_still_damaged(**block, **at)) {
            match damaged.last_mut().filter(|range| range.end == block) {
                Some(range) => range.end += 1,
                None => damaged.push(block..block + 1),
            }
        }
        let segments = self.layout.segments;
        let segments_done = self.scrub.segment.min(segments);
        Some(ScrubReport { segments_done, segments, damaged, ..self.scrub.report })
    }

    /// Reads on, if it is time for that.
    pub fn pump_scrub(&mut self) {
        self.scrub.alarm = Instant::NEVER;
        let Some(plan) = self.scrub.plan else { return };
        let may_read = matches!(self.gate, Gate::Open | Gate::ReadOnly)
            && !self.is_settling()
            && self.data == Data::Stored;
        if self.scrub.is_reading || !may_read {
            return;
        }
        loop {
            let due = self.scrub_due();
            if self.now < due {
                self.scrub.alarm = due;
                return;
            }
            if self.scrub_on(plan) {
                return;
            }
        }
    }

    /// When the next read may begin: not before its rate allows it, and a little later for clients.
    fn scrub_due(&self) -> Instant {
        let next_at = self.scrub.next_at;
        let latest = next_at.after(YIELD_NS);
        match self.ops.is_empty() {
            true => next_at.max(latest.min(self.pacer.last_request.after(QUIET_NS))),
            false => latest,
        }
    }

    /// One step: asks for something to be read, or looks further. Whether it asked.
    fn scrub_on(&mut self, plan: Scrubbing) -> bool {
        while let Some(mut piece) = self.scrub.pieces.pop_front() {
            piece.alive.retain(|alive| self.is_alive(alive));
            if !piece.alive.is_empty() {
                self.ask_piece(plan, piece);
                return true;
            }
        }
        if self.scrub.segment >= self.layout.segments {
            self.end_pass(plan);
            return false;
        }
        let entry = self.segments.get(self.scrub.segment);
        let is_written = matches!(entry.state, State::Open | State::Closed | State::Retired);
        let is_settled = entry.live > 0 && entry.held == 0 && !entry.emptying;
        if !is_written || !is_settled || self.scrub.at >= entry.blocks {
            self.scrub.next_segment();
            return false;
        }
        let location = self.layout.location(self.scrub.segment) + self.scrub.at;
        self.ask_scrub(plan, Why::ScrubHeader { location }, location, self.layout.header_blocks);
        true
    }

    fn end_pass(&mut self, plan: Scrubbing) {
        let mut found = std::mem::take(&mut self.scrub.found);
        found.retain(|&block, at| self.is_still_damaged(block, *at));
        self.scrub.found = found;
        self.scrub.report.passes += 1;
        (self.scrub.segment, self.scrub.at) = (0, 0);
        // Never at once, or a volume that holds nothing would be scrubbed without an end.
        let every_ns = plan.every_ns.max(YIELD_NS);
        let began = self.scrub.pass_began.after(every_ns).max(self.now.after(QUIET_NS));
        (self.scrub.pass_began, self.scrub.next_at) = (began, began);
    }

    fn ask_piece(&mut self, plan: Scrubbing, piece: Piece) {
        let (start, length) = (piece.start(), piece.length());
        self.scrub.reading = Some(piece);
        self.ask_scrub(plan, Why::ScrubPiece { location: start }, start, length);
    }

    fn ask_scrub(&mut self, plan: Scrubbing, why: Why, location: u32, blocks: u32) {
        let bytes = blocks * BLOCK_BYTES as u32;
        let at = Extent { offset: Layout::offset(location), bytes };
        let into = self.buffers.take(u64::from(bytes));
        // Until it is read the segment is not set free.
        self.segments.get_mut(self.layout.segment_of(location)).pins += 1;
        let ns = u128::from(bytes) * 1_000_000_000 / u128::from(plan.bytes_per_s);
        let scrub = &mut self.scrub;
        scrub.is_reading = true;
        scrub.next_at = self.now.after(ns.min(u128::from(u64::MAX / 2)) as u64);
        scrub.report.bytes_read += u64::from(bytes);
        self.down.send(why, Command::Read { at, into });
    }

    pub fn scrub_header_read(
        &mut self,
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.end_scrub_read(location);
        if result == Err(IoError::Offline) {
            return self.pause_scrub(payload);
        }
        let segment = self.layout.segment_of(location);
        let header = bytes(&payload).filter(|_| result.is_ok()).and_then(|bytes| {
            let length = self.layout.header_blocks as usize * BLOCK_BYTES as usize;
            decode_chunk(self.superblock.id, Layout::offset(location), &bytes[..length])
        });
        self.buffers.give(payload);
        if segment != self.scrub.segment || self.scrub.at == u32::MAX {
            return; // It was opened anew meanwhile.
        }
        match header {
            Some((header, entries)) => {
                self.scrub.at += header.blocks.max(1);
                self.scrub.pieces = pieces(self.alive_of_chunk(location, &entries));
            }
            None => {
                // A segment is retired because a chunk did not arrive.
                let retired = self.segments.get(segment).state == State::Retired;
                self.scrub.report.headers_damaged += u64::from(!retired);
                self.scrub.at = u32::MAX;
                self.scrub.pieces = pieces(self.alive_behind(segment, location).into_iter());
            }
        }
    }

    pub fn scrub_piece_read(
        &mut self,
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.end_scrub_read(location);
        let piece = self.scrub.reading.take().expect("it was asked for");
        if result == Err(IoError::Offline) {
            self.scrub.pieces.push_front(piece);
            return self.pause_scrub(payload);
        }
        match (result, bytes(&payload)) {
            // One bad block does not take its neighbours with it.
            (Err(_), _) if piece.alive.len() > 1 => {
                for alive in piece.alive.into_iter().rev() {
                    self.scrub.pieces.push_front(Piece { alive: vec![alive] });
                }
            }
            (Ok(()), Some(data)) => {
                for alive in &piece.alive {
                    let from = (alive.location - location) as usize * BLOCK_BYTES as usize;
                    self.hold_against(alive, Some(&data[from..from + BLOCK_BYTES as usize]));
                }
            }
            _ => piece.alive.iter().for_each(|alive| self.hold_against(alive, None)),
        }
        self.buffers.give(payload);
    }

    /// A drive that is not there has lost nothing: it is asked again later.
    fn pause_scrub(&mut self, payload: Payload) {
        self.buffers.give(payload);
        self.scrub.next_at = self.now.after(OFFLINE_NS);
    }

    fn end_scrub_read(&mut self, location: u32) {
        self.scrub.is_reading = false;
        self.unpin(location);
    }

    /// Notes whether data are what they should be; `None` are those that cannot be read.
    fn hold_against(&mut self, alive: &Alive, data: Option<&[u8]>) {
        if !self.is_alive(alive) {
            return;
        }
        let number = match alive.what {
            What::Block(number) | What::Page(number) => number,
        };
        let seen = data.map(|data| block_crc(number, data));
        let is_good = seen.is_some_and(|seen| alive.crc.is_none_or(|crc| crc == seen));
        let scrub = &mut self.scrub;
        if let What::Block(block) = alive.what {
            scrub.found.remove(&block);
        }
        if is_good {
            match alive.what {
                What::Block(_) => scrub.report.blocks_verified += u64::from(alive.crc.is_some()),
                What::Page(_) => scrub.report.pages_verified += 1,
            }
            return;
        }
        scrub.report.errors += 1;
        self.counters.checksum_errors += u64::from(seen.is_some());
        match alive.what {
            What::Block(block) if scrub.found.len() < FOUND_MAX => {
                scrub.found.insert(block, alive.location);
            }
            What::Block(_) => {}
            What::Page(page) => {
                scrub.report.pages_damaged += 1;
                self.map.mark_dirty(page);
            }
        }
    }

    /// Whether a block that was damaged at a place was not written since. The cleaner calls what it
    /// cannot copy lost.
    fn is_still_damaged(&self, block: u32, at: u32) -> bool {
        [at, LOST].contains(&self.map.get(block).0)
    }

    fn is_alive(&self, alive: &Alive) -> bool {
        match alive.what {
            What::Block(block) => self.map.get(block).0 == alive.location,
            What::Page(page) => self.map.directory[page as usize].0 == alive.location,
        }
    }

    /// What of a chunk is alive.
    fn alive_of_chunk<'a>(
        &'a self,
        place: u32,
        entries: &'a [Entry],
    ) -> impl Iterator<Item = Alive> + 'a {
        let with_data = entries.iter().filter(|entry| entry.kind.has_data());
        let blocks = with_data.zip(place + self.layout.header_blocks..);
        blocks.filter_map(|(entry, location)| {
            let what = match entry.kind {
                Kind::Page => What::Page(entry.block),
                _ => What::Block(entry.block),
            };
            let is_inside = match what {
                What::Block(block) => block < self.layout.exported_blocks,
                What::Page(page) => (page as usize) < self.map.directory.len(),
            };
            let alive = Alive { location, what, crc: Some(entry.crc) };
            (is_inside && self.is_alive(&alive)).then_some(alive)
        })
    }

    /// What the map and the directory have in the segment from `place` on. Looks through all of
    /// both: for a segment with a damaged header.
    fn alive_behind(&self, segment: u32, place: u32) -> Vec<Alive> {
        let is_there = |location: u32| {
            location > LOST && location >= place && self.layout.segment_of(location) == segment
        };
        let blocks = self.map.iter().filter(|&(_, location)| is_there(location));
        let blocks = blocks.map(|(block, location)| Alive {
            location,
            what: What::Block(block),
            crc: self.map.get(block).1,
        });
        let pages = (0..).zip(&self.map.directory).filter(|(_, page)| is_there(page.0));
        let pages = pages.map(|(number, &(location, crc))| Alive {
            location,
            what: What::Page(number),
            crc: Some(crc),
        });
        let mut alive: Vec<Alive> = blocks.chain(pages).collect();
        alive.sort_unstable_by_key(|alive| alive.location);
        alive
    }
}
