//! The cleaner: takes a segment, copies what is alive in it to streams of its own.
//!
//! ```text
//!   victim:  chunk -- header read --> runs -- read, a few at a time --> copied in order, as far
//!                                                                       as there is room
//!            chunk -- header read --> ...      several at once, so that the drive is never idle
//! ```
//!
//! What a chunk holds is read from its header; where that is damaged, the map is searched. A copy
//! is appended only if the map still points to its source, and says where that was. When a victim
//! is taken, and how fast the host may go on meanwhile, is in pacing.rs.

use super::{
    counters::Counters,
    io::{Why, extent},
    log::{Log, NoRoom},
    pacing::Pacer,
    placement::Placement,
    requests::Requests,
    runs::{Joining, Live, Reading, Run},
    settings::{Cleaning, Settings},
};
use crate::{
    buffers::bytes,
    format::{Entry, Kind, block_crc, decode_chunk},
    layout::Layout,
    map::LOST,
    shape::BLOCK_BYTES,
};
use block::{Data, IoError, Payload};
use std::collections::VecDeque;

/// A block that could not be read so often is lost.
const ATTEMPTS: u8 = 3;
/// Reads in flight at the same time. 16 of 8 KiB in 100 us each are 1.3 GB/s, and on a drive that
/// serves one request after the other the host's read waits for no more than these.
const READS: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Cleaner {
    /// Being emptied. A second one is begun while the last blocks of the first are copied.
    victims: VecDeque<Victim>,
    next_piece: u32,
    /// Reads in flight.
    reading: u32,
    /// Grows with everything that happens here.
    progress: u64,
    /// A test wants a segment emptied, due or not.
    asked: bool,
    /// The one that is emptied for that.
    obeying: Option<u32>,
    /// Chunks of victims in memory, at most.
    pieces_max: usize,
    joining: Joining,
    copied: u64,
    cleaned: u64,
    /// Reads of live blocks, and what they read.
    reads: u64,
    read_blocks: u64,
}

#[derive(Clone, Debug)]
struct Victim {
    segment: u32,
    /// Block of the segment at which the next chunk begins.
    at: u32,
    header_asked: bool,
    pieces: VecDeque<Piece>,
    /// Blocks it gives back for each one that is copied.
    gain: f64,
    /// Those that were not credited yet.
    gain_left: f64,
}

/// What is alive of a chunk.
#[derive(Clone, Debug)]
struct Piece {
    number: u32,
    runs: Vec<Run>,
    /// All runs before this one were asked for.
    next_read: usize,
    /// The next block to be copied: a run, and a block of it.
    next_copy: (usize, usize),
}

impl Victim {
    /// Whether nothing of it is being read.
    fn is_quiet(&self) -> bool {
        let mut runs = self.pieces.iter().flat_map(|piece| &piece.runs);
        !self.header_asked && runs.all(|run| run.state != Reading::Asked)
    }

    /// Whether all of it is known.
    fn is_scanned(&self, log: &Log) -> bool {
        let entry = log.blocks.segment(self.segment);
        !self.header_asked && (entry.live == 0 || self.at >= entry.blocks)
    }
}

impl Cleaner {
    pub fn new(settings: &Settings) -> Self {
        let hole = (settings.hole_bytes / BLOCK_BYTES).min(u64::from(u32::MAX)) as u32;
        Self {
            victims: VecDeque::new(),
            next_piece: 0,
            reading: 0,
            progress: 0,
            asked: false,
            obeying: None,
            pieces_max: settings.victim_chunks() as usize,
            joining: Joining { hole },
            copied: 0,
            cleaned: 0,
            reads: 0,
            read_blocks: 0,
        }
    }

    /// Whether a segment is being emptied.
    pub fn is_busy(&self) -> bool {
        !self.victims.is_empty()
    }

    /// Differs whenever something has moved.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// Segments that were emptied.
    pub fn cleaned(&self) -> u64 {
        self.cleaned
    }

    /// Empties a segment with the next request, whether that is due or not.
    #[cfg(feature = "testing")]
    pub fn ask(&mut self) {
        self.asked = true;
    }

    fn pieces(&self) -> usize {
        let pieces = |victim: &Victim| victim.pieces.len() + usize::from(victim.header_asked);
        self.victims.iter().map(pieces).sum()
    }

    fn piece(&mut self, number: u32) -> Option<&mut Piece> {
        let mut pieces = self.victims.iter_mut().flat_map(|victim| &mut victim.pieces);
        pieces.find(|piece| piece.number == number)
    }

    pub fn pump(
        &mut self,
        log: &mut Log,
        requests: &Requests,
        placement: &Placement,
        pacer: &mut Pacer,
    ) {
        if !log.mode.is_open() || log.mode.is_settling() {
            return;
        }
        while self.begin_victim(log, requests, placement, pacer)
            || self.copy_pieces(log, placement, pacer)
            || self.end_victims(log, pacer)
            || self.read_ahead(log, requests, pacer)
        {
            self.progress += 1;
        }
        pacer.set_cleaning(self.is_busy());
    }

    /// Takes one more victim where that is due and all of the last one is under way.
    fn begin_victim(
        &mut self,
        log: &mut Log,
        requests: &Requests,
        placement: &Placement,
        pacer: &Pacer,
    ) -> bool {
        let room = self.victims.len() < 2
            && self.victims.back().is_none_or(|victim| victim.is_scanned(log))
            && self.pieces() < self.pieces_max;
        if !room || !(pacer.may_clean(log, requests) || self.asked) {
            return false;
        }
        let chosen = choose(log, placement);
        let Some(segment) = chosen.filter(|&segment| self.asked || pacer.is_worth_it(log, segment))
        else {
            return false;
        };
        if std::mem::take(&mut self.asked) {
            self.obeying = Some(segment);
        }
        let live = log.blocks.segment(segment).live;
        let gain_left = f64::from(log.blocks.layout.data_blocks().saturating_sub(live));
        log.blocks.begin_emptying(segment);
        self.victims.push_back(Victim {
            segment,
            at: 0,
            header_asked: false,
            pieces: VecDeque::new(),
            gain: gain_left / f64::from(live),
            gain_left,
        });
        true
    }

    /// Asks for one more run, or the header of the next chunk.
    fn read_ahead(&mut self, log: &mut Log, requests: &Requests, pacer: &Pacer) -> bool {
        let may = pacer.may_clean(log, requests) || self.obeying.is_some();
        if self.reading >= READS || !may {
            return false;
        }
        for victim in &mut self.victims {
            let mut pieces = victim.pieces.iter_mut();
            let waiting = pieces.find(|piece| piece.next_read < piece.runs.len());
            if let Some(piece) = waiting {
                let number = piece.number;
                self.ask_run(log, number);
                return true;
            }
        }
        if self.pieces() >= self.pieces_max {
            return false;
        }
        match self.victims.back_mut() {
            Some(victim) if !victim.header_asked && !victim.is_scanned(log) => {
                victim.header_asked = true;
                let segment = victim.segment;
                let location = log.blocks.layout.location(segment) + victim.at;
                let at = extent(location, log.blocks.layout.header_blocks);
                self.reading += 1;
                log.io.read(Why::VictimHeader { segment }, at);
                true
            }
            _ => false,
        }
    }

    /// Asks for the piece's next run, if that is waiting.
    fn ask_run(&mut self, log: &mut Log, number: u32) {
        let piece = self.piece(number).expect("the piece is being read");
        let index = piece.next_read;
        piece.next_read += 1;
        let run = &mut piece.runs[index];
        if run.state == Reading::Waiting {
            run.state = Reading::Asked;
            let (at, length) = (run.extent(), run.length);
            self.reads += 1;
            self.read_blocks += u64::from(length);
            self.reading += 1;
            log.io.read(Why::VictimRun { piece: number, run: index as u32 }, at);
        }
    }

    fn count_read(&mut self) {
        self.reading = self.reading.checked_sub(1).expect("a read is answered once");
        self.progress += 1;
    }

    pub fn header_read(
        &mut self,
        log: &mut Log,
        segment: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.count_read();
        let victim = self.victims.back_mut().expect("its header was asked for");
        assert_eq!(victim.segment, segment);
        assert!(victim.header_asked, "the header of segment {segment} was asked for");
        victim.header_asked = false;
        let at = victim.at;
        let place = log.blocks.layout.location(segment) + at;
        let header = bytes(&payload).filter(|_| result.is_ok()).and_then(|bytes| {
            let length = log.blocks.layout.header_blocks as usize * BLOCK_BYTES as usize;
            decode_chunk(log.id(), Layout::offset(place), &bytes[..length])
        });
        let segment_blocks = log.blocks.layout.segment_blocks;
        let (runs, next) = match header {
            Some((header, entries)) => {
                (self.joining.of_chunk(log, place, &entries), at + header.blocks)
            }
            None if log.io.data() == Data::TimingOnly => {
                let end = (at + log.blocks.layout.chunk_blocks).min(segment_blocks);
                (self.joining.by_owner(log, segment, at, end), end)
            }
            None => (self.joining.by_map(log, segment), segment_blocks),
        };
        log.io.give(payload);
        victim.at = next.max(at + 1);
        self.add_piece(segment, runs);
    }

    fn add_piece(&mut self, segment: u32, runs: Vec<Run>) {
        let number = self.next_piece;
        self.next_piece = number.wrapping_add(1);
        let mut victims = self.victims.iter_mut();
        let victim = victims.find(|victim| victim.segment == segment).expect("runs are a victim's");
        victim.pieces.push_back(Piece { number, runs, next_read: 0, next_copy: (0, 0) });
    }

    pub fn run_read(
        &mut self,
        log: &mut Log,
        (piece, number): (u32, u32),
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.count_read();
        if result == Err(IoError::Offline) {
            log.mode.latch(IoError::Offline);
        }
        let piece = self.piece(piece).expect("a piece stays until it is read");
        let index = number as usize;
        let run = &mut piece.runs[index];
        assert!(run.state == Reading::Asked, "a run is answered once: {run:?}");
        run.attempts += 1;
        run.state = Reading::Here;
        run.data = payload;
        if result.is_ok() {
            return;
        }
        if run.length > 1 {
            // One bad block does not take its neighbours with it.
            let singles: Vec<Run> = run.live.drain(..).map(Run::new).collect();
            piece.runs.extend(singles);
        } else if run.attempts < ATTEMPTS {
            run.state = Reading::Waiting;
            let data = std::mem::replace(&mut run.data, Payload::None);
            piece.next_read = piece.next_read.min(index);
            log.io.give(data);
        } else {
            run.error = result.err();
        }
    }

    /// Copies what has been read, in order, as far as there is room. Whether anything moved.
    fn copy_pieces(&mut self, log: &mut Log, placement: &Placement, pacer: &mut Pacer) -> bool {
        let mut moved = false;
        for victim in &mut self.victims {
            let mut done = Ok(true);
            while let Some(piece) = victim.pieces.front_mut() {
                let before = piece.next_copy;
                let credit = (victim.gain, &mut victim.gain_left);
                done = copy_piece(log, placement, pacer, piece, credit, &mut self.copied);
                moved |= piece.next_copy != before;
                if done != Ok(true) {
                    break;
                }
                victim.pieces.pop_front();
                moved = true;
            }
            if done != Ok(true) {
                break;
            }
        }
        moved
    }

    /// Lets go of a victim that is empty. One whose headers did not tell all is copied by the map.
    fn end_victims(&mut self, log: &mut Log, pacer: &mut Pacer) -> bool {
        let Some(victim) = self.victims.front() else { return false };
        let segment = victim.segment;
        let empty = log.blocks.segment(segment).live == 0;
        if empty && victim.is_quiet() {
            let victim = self.victims.pop_front().expect("it was just looked at");
            for run in victim.pieces.into_iter().flat_map(|piece| piece.runs) {
                log.io.give(run.data);
            }
            pacer.credit_host(log, victim.gain_left);
            self.cleaned += 1;
            log.blocks.end_emptying(segment);
            self.obeying.take_if(|asked| *asked == segment);
            return true;
        }
        let at_its_end = victim.pieces.is_empty() && !empty;
        if !at_its_end || !victim.is_scanned(log) {
            return false;
        }
        let runs = self.joining.by_map(log, segment);
        self.add_piece(segment, runs);
        true
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.copied_blocks = self.copied;
        counters.cleaned = self.cleaned;
        counters.victim_reads = self.reads;
        counters.victim_read_blocks = self.read_blocks;
    }

    /// Counts everything anew and compares.
    ///
    /// # Panics
    /// If reads were forgotten, or a segment is emptied that is no victim.
    pub fn audit(&self, log: &Log) {
        let runs = self.victims.iter().flat_map(|victim| &victim.pieces);
        let asked =
            runs.flat_map(|piece| &piece.runs).filter(|run| run.state == Reading::Asked).count()
                + self.victims.iter().filter(|victim| victim.header_asked).count();
        assert_eq!(asked, self.reading as usize, "reads of victims on their way");
        let emptying = log.blocks.segments().iter().filter(|(_, entry)| entry.emptying);
        let mut emptying: Vec<u32> = emptying.map(|(number, _)| number).collect();
        let mut victims: Vec<u32> = self.victims.iter().map(|victim| victim.segment).collect();
        emptying.sort_unstable();
        victims.sort_unstable();
        assert_eq!(emptying, victims, "segments that are being emptied");
    }
}

/// The next victim, worth it or not.
fn choose(log: &Log, placement: &Placement) -> Option<u32> {
    let (segments, victims) = (log.blocks.segments(), log.blocks.segments().victims());
    let live = |segment: u32| segments.get(segment).live;
    // With the last free segments at stake only what gives most back will do.
    let low = segments.free() <= log.blocks.layout.cleaner_floor();
    match placement.policy() {
        Cleaning::Fifo if !low => victims.oldest(),
        Cleaning::CostBenefit | Cleaning::SepBit if !low => {
            let now = log.last_seq();
            let all = u64::from(log.blocks.layout.segment_blocks);
            let benefit = |&segment: &u32| {
                let (entry, live) = (segments.get(segment), u64::from(live(segment)));
                let age = now - entry.last_seq + 1;
                u128::from(all - live) * u128::from(age) * (1 << 32) / u128::from(all + live)
            };
            victims.oldest_of_each().max_by_key(benefit)
        }
        _ => victims.emptiest(live),
    }
}

/// Copies what has been read of the piece. Whether that is all of it. The host is credited what
/// each block gains, as far as something of that is left.
fn copy_piece(
    log: &mut Log,
    placement: &Placement,
    pacer: &mut Pacer,
    piece: &mut Piece,
    (gain, left): (f64, &mut f64),
    copied: &mut u64,
) -> Result<bool, NoRoom> {
    while let Some(run) = piece.runs.get_mut(piece.next_copy.0) {
        if run.state != Reading::Here {
            return Ok(false);
        }
        let Some(&live) = run.live.get(piece.next_copy.1) else {
            log.io.give(std::mem::replace(&mut run.data, Payload::None));
            piece.next_copy = (piece.next_copy.0 + 1, 0);
            continue;
        };
        if log.blocks.location(live.block) == live.location
            && copy_block(log, placement, run, live)?
        {
            *copied += 1;
            pacer.copied(log);
        }
        let credit = gain.min(*left);
        *left -= credit;
        pacer.credit_host(log, credit);
        piece.next_copy.1 += 1;
    }
    Ok(true)
}

/// Copies a block, or says that it is lost. Whether it was copied.
fn copy_block(log: &mut Log, placement: &Placement, run: &Run, live: Live) -> Result<bool, NoRoom> {
    let Live { location: argument, block, crc } = live;
    assert!(run.holds(argument), "block {block} is not in {run:?}");
    let stream = placement.stream_of_copy(log, log.blocks.layout.segment_of(argument));
    let start = (argument - run.location) as usize * BLOCK_BYTES as usize;
    let data = bytes(&run.data).map(|data| &data[start..start + BLOCK_BYTES as usize]);
    let seen = data.map_or(0, |data| block_crc(block, data));
    let damaged = data.is_some() && crc.is_some_and(|crc| crc != seen);
    if damaged || run.error.is_some() {
        let entry = Entry { block, kind: Kind::Lost, argument, crc: 0 };
        log.append(stream, entry, |_| unreachable!("nothing is left of it"))?;
        if damaged {
            log.io.count_checksum_error();
        }
        log.remap(block, LOST, 0);
        return Ok(false);
    }
    let entry = Entry { block, kind: Kind::Copy, argument, crc: crc.unwrap_or(seen) };
    let fill = |into: &mut [u8]| into.copy_from_slice(data.expect("a run that stores has data"));
    let (location, crc) = log.append(stream, entry, fill)?;
    log.remap(block, location, crc);
    Ok(true)
}
