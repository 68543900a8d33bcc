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

use super::{
    io::{Why, extent},
    log::Log,
    requests::Requests,
};
use crate::{
    buffers::bytes,
    format::{Entry, Kind, block_crc, decode_chunk},
    layout::Layout,
    map::LOST,
    segments::State,
    shape::BLOCK_BYTES,
};
use block::{Data, Instant, IoError, Payload};
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

#[derive(Clone, Debug)]
pub(super) struct Scrub {
    plan: Option<Scrubbing>,
    /// When it wants to be woken.
    alarm: Instant,
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
#[derive(Clone, Debug)]
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
    pub fn new(log: &mut Log) -> Self {
        log.blocks.watch_segment(0);
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

    /// Goes on with this segment.
    fn watch(&mut self, log: &mut Log, segment: u32) {
        (self.segment, self.at) = (segment, 0);
        log.blocks.watch_segment(segment);
    }

    /// A segment that was opened anew: what was known of it is of the past.
    fn forget_reopened(&mut self, log: &Log) {
        if !log.blocks.segments().is_watched(self.segment) {
            self.pieces.clear();
            self.at = u32::MAX;
        }
    }

    /// When it wants to be woken.
    pub fn alarm(&self) -> Instant {
        self.alarm
    }

    /// From now on it is scrubbed so, or not any more.
    pub fn set(&mut self, now: Instant, plan: Option<Scrubbing>) {
        assert!(plan.is_none_or(|plan| plan.bytes_per_s > 0), "nothing would ever be read");
        self.plan = plan;
        (self.pass_began, self.next_at) = (now, now);
        self.alarm = if plan.is_some() { now } else { Instant::NEVER };
    }

    /// How far it has come, if it is scrubbed.
    pub fn report(&self, log: &Log) -> Option<ScrubReport> {
        self.plan?;
        let mut damaged: Vec<Range<u32>> = Vec::new();
        let found = self.found.iter();
        for (&block, _) in found.filter(|(block, at)| is_still_damaged(log, **block, **at)) {
            match damaged.last_mut().filter(|range| range.end == block) {
                Some(range) => range.end += 1,
                None => damaged.push(block..block + 1),
            }
        }
        let segments = log.blocks.layout.segments;
        let segments_done = self.segment.min(segments);
        Some(ScrubReport { segments_done, segments, damaged, ..self.report })
    }

    /// Reads on, if it is time for that.
    pub fn pump(&mut self, log: &mut Log, requests: &Requests) {
        self.alarm = Instant::NEVER;
        let Some(plan) = self.plan else { return };
        let may_read = (log.mode.is_open() || log.mode.is_read_only())
            && !log.mode.is_settling()
            && log.io.data() == Data::Stored;
        if self.is_reading || !may_read {
            return;
        }
        loop {
            let due = self.due(requests);
            if log.io.now() < due {
                self.alarm = due;
                return;
            }
            if self.go_on(log, plan) {
                return;
            }
        }
    }

    /// When the next read may begin: not before its rate allows it, and a little later for clients.
    fn due(&self, requests: &Requests) -> Instant {
        let next_at = self.next_at;
        let latest = next_at.after(YIELD_NS);
        match requests.is_quiet() {
            true => next_at.max(latest.min(requests.last_at().after(QUIET_NS))),
            false => latest,
        }
    }

    /// One step: asks for something to be read, or looks further. Whether it asked.
    fn go_on(&mut self, log: &mut Log, plan: Scrubbing) -> bool {
        self.forget_reopened(log);
        while let Some(mut piece) = self.pieces.pop_front() {
            piece.alive.retain(|alive| is_alive(log, alive));
            if !piece.alive.is_empty() {
                self.ask_piece(log, plan, piece);
                return true;
            }
        }
        if self.segment >= log.blocks.layout.segments {
            self.end_pass(log, plan);
            return false;
        }
        let entry = log.blocks.segment(self.segment);
        let is_written = matches!(entry.state, State::Open | State::Closed | State::Retired);
        let is_settled = entry.live > 0 && entry.held == 0 && !entry.emptying;
        if !is_written || !is_settled || self.at >= entry.blocks {
            self.watch(log, self.segment + 1);
            return false;
        }
        let location = log.blocks.layout.location(self.segment) + self.at;
        let header_blocks = log.blocks.layout.header_blocks;
        self.ask(log, plan, Why::ScrubHeader { location }, location, header_blocks);
        true
    }

    fn end_pass(&mut self, log: &mut Log, plan: Scrubbing) {
        self.found.retain(|&block, at| is_still_damaged(log, block, *at));
        self.report.passes += 1;
        self.watch(log, 0);
        // Never at once, or a volume that holds nothing would be scrubbed without an end.
        let every_ns = plan.every_ns.max(YIELD_NS);
        let began = self.pass_began.after(every_ns).max(log.io.now().after(QUIET_NS));
        (self.pass_began, self.next_at) = (began, began);
    }

    fn ask_piece(&mut self, log: &mut Log, plan: Scrubbing, piece: Piece) {
        let (start, length) = (piece.start(), piece.length());
        self.reading = Some(piece);
        self.ask(log, plan, Why::ScrubPiece { location: start }, start, length);
    }

    fn ask(&mut self, log: &mut Log, plan: Scrubbing, why: Why, location: u32, blocks: u32) {
        assert!(!self.is_reading, "one read at a time");
        let at = extent(location, blocks);
        // Until it is read the segment is not set free.
        log.blocks.pin(location);
        let ns = u128::from(at.bytes) * 1_000_000_000 / u128::from(plan.bytes_per_s);
        self.is_reading = true;
        self.next_at = log.io.now().after(ns.min(u128::from(u64::MAX / 2)) as u64);
        self.report.bytes_read += u64::from(at.bytes);
        log.io.read(why, at);
    }

    pub fn header_read(
        &mut self,
        log: &mut Log,
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.end_read(log, location);
        if result == Err(IoError::Offline) {
            return self.pause(log, payload);
        }
        let segment = log.blocks.layout.segment_of(location);
        let header = bytes(&payload).filter(|_| result.is_ok()).and_then(|bytes| {
            let length = log.blocks.layout.header_blocks as usize * BLOCK_BYTES as usize;
            decode_chunk(log.id(), Layout::offset(location), &bytes[..length])
        });
        log.io.give(payload);
        self.forget_reopened(log);
        if segment != self.segment || self.at == u32::MAX {
            return; // It was opened anew meanwhile.
        }
        match header {
            Some((header, entries)) => {
                self.at += header.blocks.max(1);
                self.pieces = pieces(alive_of_chunk(log, location, &entries));
            }
            None => {
                // A segment is retired because a chunk did not arrive.
                let retired = log.blocks.segment(segment).state == State::Retired;
                self.report.headers_damaged += u64::from(!retired);
                self.at = u32::MAX;
                self.pieces = pieces(alive_behind(log, segment, location).into_iter());
            }
        }
    }

    pub fn piece_read(
        &mut self,
        log: &mut Log,
        location: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.end_read(log, location);
        let piece = self.reading.take().expect("it was asked for");
        if result == Err(IoError::Offline) {
            self.pieces.push_front(piece);
            return self.pause(log, payload);
        }
        match (result, bytes(&payload)) {
            // One bad block does not take its neighbours with it.
            (Err(_), _) if piece.alive.len() > 1 => {
                for alive in piece.alive.into_iter().rev() {
                    self.pieces.push_front(Piece { alive: vec![alive] });
                }
            }
            (Ok(()), Some(data)) => {
                for alive in &piece.alive {
                    let from = (alive.location - location) as usize * BLOCK_BYTES as usize;
                    self.hold_against(log, alive, Some(&data[from..from + BLOCK_BYTES as usize]));
                }
            }
            _ => piece.alive.iter().for_each(|alive| self.hold_against(log, alive, None)),
        }
        log.io.give(payload);
    }

    /// A drive that is not there has lost nothing: it is asked again later.
    fn pause(&mut self, log: &mut Log, payload: Payload) {
        log.io.give(payload);
        self.next_at = log.io.now().after(OFFLINE_NS);
    }

    fn end_read(&mut self, log: &mut Log, location: u32) {
        assert!(self.is_reading, "a read is answered once");
        self.is_reading = false;
        log.blocks.unpin(location);
    }

    /// Notes whether data are what they should be; `None` are those that cannot be read.
    fn hold_against(&mut self, log: &mut Log, alive: &Alive, data: Option<&[u8]>) {
        if !is_alive(log, alive) {
            return;
        }
        let number = match alive.what {
            What::Block(number) | What::Page(number) => number,
        };
        let seen = data.map(|data| block_crc(number, data));
        let is_good = seen.is_some_and(|seen| alive.crc.is_none_or(|crc| crc == seen));
        if let What::Block(block) = alive.what {
            self.found.remove(&block);
        }
        if is_good {
            match alive.what {
                What::Block(_) => self.report.blocks_verified += u64::from(alive.crc.is_some()),
                What::Page(_) => self.report.pages_verified += 1,
            }
            return;
        }
        self.report.errors += 1;
        if seen.is_some() {
            log.io.count_checksum_error();
        }
        match alive.what {
            What::Block(block) if self.found.len() < FOUND_MAX => {
                self.found.insert(block, alive.location);
            }
            What::Block(_) => {}
            What::Page(page) => {
                self.report.pages_damaged += 1;
                log.blocks.rewrite_page(page);
            }
        }
    }
}

/// Whether a block that was damaged at a place was not written since. The cleaner calls what it
/// cannot copy lost.
fn is_still_damaged(log: &Log, block: u32, at: u32) -> bool {
    [at, LOST].contains(&log.blocks.map().get(block).0)
}

fn is_alive(log: &Log, alive: &Alive) -> bool {
    match alive.what {
        What::Block(block) => log.blocks.map().get(block).0 == alive.location,
        What::Page(page) => log.blocks.map().directory()[page as usize].0 == alive.location,
    }
}

/// What of a chunk is alive.
fn alive_of_chunk<'a>(
    log: &'a Log,
    place: u32,
    entries: &'a [Entry],
) -> impl Iterator<Item = Alive> + 'a {
    let with_data = entries.iter().filter(|entry| entry.kind.has_data());
    let blocks = with_data.zip(place + log.blocks.layout.header_blocks..);
    blocks.filter_map(|(entry, location)| {
        let what = match entry.kind {
            Kind::Page => What::Page(entry.block),
            _ => What::Block(entry.block),
        };
        let is_inside = match what {
            What::Block(block) => block < log.blocks.layout.exported_blocks,
            What::Page(page) => (page as usize) < log.blocks.map().directory().len(),
        };
        let alive = Alive { location, what, crc: Some(entry.crc) };
        (is_inside && is_alive(log, &alive)).then_some(alive)
    })
}

/// What the map and the directory have in the segment from `place` on. Looks through all of
/// both: for a segment with a damaged header.
fn alive_behind(log: &Log, segment: u32, place: u32) -> Vec<Alive> {
    let is_there = |location: u32| {
        location > LOST && location >= place && log.blocks.layout.segment_of(location) == segment
    };
    let blocks = log.blocks.map().iter().filter(|&(_, location)| is_there(location));
    let blocks = blocks.map(|(block, location)| Alive {
        location,
        what: What::Block(block),
        crc: log.blocks.map().get(block).1,
    });
    let pages = (0..).zip(log.blocks.map().directory()).filter(|(_, page)| is_there(page.0));
    let pages = pages.map(|(number, &(location, crc))| Alive {
        location,
        what: What::Page(number),
        crc: Some(crc),
    });
    let mut alive: Vec<Alive> = blocks.chain(pages).collect();
    alive.sort_unstable_by_key(|alive| alive.location);
    alive
}
