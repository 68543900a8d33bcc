//! The cleaner: takes a segment, copies what is alive in it to streams of its own.
//!
//! ```text
//!   victim:  chunk -- header read --> runs -- read, a few at a time --> copied in order, as far as there is room
//!            chunk -- header read --> ...      several chunks at once, so that the drive is never idle
//! ```
//!
//! What a chunk holds is read from its header; where that is damaged, the map is searched. A copy
//! is appended only if the map still points to its source, and says where that was. When a victim
//! is taken, and how fast the host may go on meanwhile, is in pacing.rs.

use super::core::{Core, Gate, Why};
use super::log::NoRoom;
use super::runs::{Live, Reading, Run};
use crate::{
    buffers::bytes,
    format::{Entry, Kind, block_crc, decode_chunk},
    layout::{BLOCK_BYTES, Layout},
    map::LOST,
    predict,
};
use block::{Command, Data, Extent, IoError, Payload};
use std::collections::VecDeque;

/// A block that could not be read so often is lost.
const ATTEMPTS: u8 = 3;
/// Reads in flight at the same time. 16 of 8 KiB in 100 us each are 1.3 GB/s, and on a drive that
/// serves one request after the other the host's read waits for no more than these.
const READS: u32 = 16;
/// Below this write amplification greedy without classes is as good as anything (the flash
/// literature's policies differ by less than their classes cost).
const AUTO_AMPLIFICATION: f64 = 1.2;

/// How the next victim is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cleaning {
    /// The one that was filled first. For comparison with the closed form.
    Fifo,
    /// The one with the fewest live blocks.
    Greedy,
    /// The one with the most free space by age for the cost of reading and writing it: (1-u) age /
    /// (1+u) (Rosenblum and Ousterhout 1992).
    CostBenefit,
    /// By cost and benefit, and with classes by age: where the volume has them, writes of
    /// short-lived blocks go apart, and so do copies (Wang et al., SepBIT, FAST 2022).
    SepBit,
    /// SepBIT, or greedy without classes while a write amplification below 1.2 is predicted. Victim
    /// choice and separation change together: either alone gains nothing.
    Auto,
}

#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// Being emptied. A second one is begun while the last blocks of the first are copied.
    victims: VecDeque<Victim>,
    next_piece: u32,
    /// Reads in flight.
    reading: u32,
    /// Grows with everything that happens here.
    pub progress: u64,
    /// A test wants a segment emptied, due or not.
    pub asked: bool,
    /// The one that is emptied for that.
    obeying: Option<u32>,
}

#[derive(Debug)]
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
#[derive(Debug)]
struct Piece {
    number: u32,
    runs: Vec<Run>,
    /// All runs before this one were asked for.
    next_read: usize,
    /// The next block to be copied: a run, and a block of it.
    next_copy: (usize, usize),
}

impl Cleaner {
    pub fn is_busy(&self) -> bool {
        !self.victims.is_empty()
    }

    fn pieces(&self) -> usize {
        let pieces = |victim: &Victim| victim.pieces.len() + usize::from(victim.header_asked);
        self.victims.iter().map(pieces).sum()
    }

    fn piece(&mut self, number: u32) -> Option<&mut Piece> {
        let mut pieces = self.victims.iter_mut().flat_map(|victim| &mut victim.pieces);
        pieces.find(|piece| piece.number == number)
    }
}

impl Victim {
    /// Whether nothing of it is being read.
    fn is_quiet(&self) -> bool {
        let mut runs = self.pieces.iter().flat_map(|piece| &piece.runs);
        !self.header_asked && runs.all(|run| run.state != Reading::Asked)
    }
}

impl Core {
    pub fn pump_cleaner(&mut self) {
        if self.gate != Gate::Open || self.is_settling() {
            return;
        }
        while self.begin_victim() || self.copy_pieces() || self.end_victims() || self.read_ahead() {
            self.cleaner.progress += 1;
        }
    }

    /// Takes one more victim where that is due and all of the last one is under way.
    fn begin_victim(&mut self) -> bool {
        let under_way = |victim: &Victim| self.is_scanned(victim);
        let room = self.cleaner.victims.len() < 2
            && self.cleaner.victims.back().is_none_or(under_way)
            && self.cleaner.pieces() < self.settings.victim_chunks() as usize;
        if !room || !(self.may_clean() || self.cleaner.asked) {
            return false;
        }
        let Some(segment) = self.choose_victim() else { return false };
        if std::mem::take(&mut self.cleaner.asked) {
            self.cleaner.obeying = Some(segment);
        }
        let live = self.segments.get(segment).live;
        let gain_left = f64::from(self.layout.data_blocks().saturating_sub(live));
        self.segments.begin_emptying(segment);
        self.cleaner.victims.push_back(Victim {
            segment,
            at: 0,
            header_asked: false,
            pieces: VecDeque::new(),
            gain: gain_left / f64::from(live),
            gain_left,
        });
        true
    }

    fn choose_victim(&self) -> Option<u32> {
        let (segments, victims) = (&self.segments, &self.segments.victims);
        let live = |segment: u32| segments.get(segment).live;
        // With the last free segments at stake only what gives most back will do.
        let low = segments.queue.len() <= self.layout.cleaner_floor();
        let chosen = match self.policy() {
            Cleaning::Fifo if !low => victims.oldest(),
            Cleaning::CostBenefit | Cleaning::SepBit if !low => {
                let now = self.log.last_seq;
                let all = u64::from(self.layout.segment_blocks);
                let benefit = |&segment: &u32| {
                    let (entry, live) = (segments.get(segment), u64::from(live(segment)));
                    let age = now - entry.last_seq + 1;
                    u128::from(all - live) * u128::from(age) * (1 << 32) / u128::from(all + live)
                };
                victims.oldest_of_each().max_by_key(benefit)
            }
            _ => victims.emptiest(live),
        };
        chosen.filter(|&segment| self.cleaner.asked || self.is_worth_it(segment))
    }

    /// What [`Cleaning::Auto`] comes to now.
    pub fn policy(&self) -> Cleaning {
        match self.settings.cleaning {
            Cleaning::Auto => self.automatic,
            chosen => chosen,
        }
    }

    /// Predicts write amplification anew.
    pub fn choose_policy(&mut self) {
        let spare = self.layout.spare(u64::from(self.map.mapped()));
        let predicted = predict::write_amplification(spare);
        self.automatic =
            if predicted < AUTO_AMPLIFICATION { Cleaning::Greedy } else { Cleaning::SepBit };
    }

    fn is_scanned(&self, victim: &Victim) -> bool {
        let entry = self.segments.get(victim.segment);
        !victim.header_asked && (entry.live == 0 || victim.at >= entry.blocks)
    }

    /// Asks for one more run, or the header of the next chunk.
    fn read_ahead(&mut self) -> bool {
        if self.cleaner.reading >= READS || !(self.may_clean() || self.cleaner.obeying.is_some()) {
            return false;
        }
        for at in 0..self.cleaner.victims.len() {
            let pieces = &mut self.cleaner.victims[at].pieces;
            let waiting = pieces.iter_mut().find(|piece| piece.next_read < piece.runs.len());
            if let Some(piece) = waiting {
                let number = piece.number;
                return self.ask_run(number);
            }
        }
        if self.cleaner.pieces() >= self.settings.victim_chunks() as usize {
            return false;
        }
        match self.cleaner.victims.back() {
            Some(victim) if !victim.header_asked && !self.is_scanned(victim) => self.ask_header(),
            _ => false,
        }
    }

    fn ask_header(&mut self) -> bool {
        let victim = self.cleaner.victims.back_mut().expect("the caller looked");
        victim.header_asked = true;
        let segment = victim.segment;
        let location = self.layout.location(segment) + victim.at;
        let bytes = self.layout.header_blocks * BLOCK_BYTES as u32;
        let into = self.buffers.take(u64::from(bytes));
        let at = Extent { offset: Layout::offset(location), bytes };
        self.cleaner.reading += 1;
        self.down.send(Why::VictimHeader { segment }, Command::Read { at, into });
        true
    }

    /// Asks for the piece's next run. Whether there was one that was waiting.
    fn ask_run(&mut self, number: u32) -> bool {
        let piece = self.cleaner.piece(number).expect("the piece is being read");
        let index = piece.next_read;
        piece.next_read += 1;
        let run = &mut piece.runs[index];
        if run.state == Reading::Waiting {
            run.state = Reading::Asked;
            let at = run.extent();
            self.counters.victim_reads += 1;
            self.counters.victim_read_blocks += u64::from(run.length);
            self.cleaner.reading += 1;
            let into = self.buffers.take(u64::from(at.bytes));
            let why = Why::VictimRun { piece: number, run: index as u32 };
            self.down.send(why, Command::Read { at, into });
        }
        true
    }

    pub fn victim_header_read(
        &mut self,
        segment: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.cleaner.reading -= 1;
        self.cleaner.progress += 1;
        let victim = self.cleaner.victims.back_mut().expect("its header was asked for");
        assert_eq!(victim.segment, segment);
        victim.header_asked = false;
        let at = victim.at;
        let place = self.layout.location(segment) + at;
        let header = bytes(&payload).filter(|_| result.is_ok()).and_then(|bytes| {
            let length = self.layout.header_blocks as usize * BLOCK_BYTES as usize;
            decode_chunk(self.superblock.id, Layout::offset(place), &bytes[..length])
        });
        let (runs, next) = match header {
            Some((header, entries)) => (self.runs_of_chunk(place, &entries), at + header.blocks),
            None if self.data == Data::TimingOnly => {
                let end = (at + self.layout.chunk_blocks).min(self.layout.segment_blocks);
                (self.runs_by_owner(segment, at, end), end)
            }
            None => (self.runs_by_map(segment), self.layout.segment_blocks),
        };
        self.buffers.give(payload);
        let victim = self.cleaner.victims.back_mut().expect("it was there before");
        victim.at = next.max(at + 1);
        self.add_piece(segment, runs);
    }

    fn add_piece(&mut self, segment: u32, runs: Vec<Run>) {
        let number = self.cleaner.next_piece;
        self.cleaner.next_piece = number.wrapping_add(1);
        let mut victims = self.cleaner.victims.iter_mut();
        let victim = victims.find(|victim| victim.segment == segment).expect("runs are a victim's");
        victim.pieces.push_back(Piece { number, runs, next_read: 0, next_copy: (0, 0) });
    }

    pub fn victim_run_read(
        &mut self,
        piece: u32,
        number: u32,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.cleaner.reading -= 1;
        self.cleaner.progress += 1;
        if result == Err(IoError::Offline) {
            self.latch(IoError::Offline);
        }
        let piece = self.cleaner.piece(piece).expect("a piece stays until it is read");
        let index = number as usize;
        let run = &mut piece.runs[index];
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
            self.buffers.give(data);
        } else {
            run.error = result.err();
        }
    }

    /// Copies what has been read, in order, as far as there is room. Whether anything moved.
    fn copy_pieces(&mut self) -> bool {
        let mut victims = std::mem::take(&mut self.cleaner.victims);
        let mut moved = false;
        for victim in &mut victims {
            let mut done = Ok(true);
            while let Some(piece) = victim.pieces.front_mut() {
                let before = piece.next_copy;
                done = self.copy_piece(piece, victim.gain, &mut victim.gain_left);
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
        self.cleaner.victims = victims;
        moved
    }

    /// Whether all of the piece is copied.
    fn copy_piece(&mut self, piece: &mut Piece, gain: f64, left: &mut f64) -> Result<bool, NoRoom> {
        while let Some(run) = piece.runs.get_mut(piece.next_copy.0) {
            if run.state != Reading::Here {
                return Ok(false);
            }
            let Some(&live) = run.live.get(piece.next_copy.1) else {
                self.buffers.give(std::mem::replace(&mut run.data, Payload::None));
                piece.next_copy = (piece.next_copy.0 + 1, 0);
                continue;
            };
            if self.map.get(live.block).0 == live.location {
                self.copy_block(run, live)?;
            }
            let credit = gain.min(*left);
            *left -= credit;
            self.credit_host(credit);
            piece.next_copy.1 += 1;
        }
        Ok(true)
    }

    fn copy_block(&mut self, run: &Run, live: Live) -> Result<(), NoRoom> {
        let Live { location: argument, block, crc } = live;
        let stream = self.stream_of_copy(self.layout.segment_of(argument));
        let start = (argument - run.location) as usize * BLOCK_BYTES as usize;
        let data = bytes(&run.data).map(|data| &data[start..start + BLOCK_BYTES as usize]);
        let seen = data.map_or(0, |data| block_crc(block, data));
        let damaged = data.is_some() && crc.is_some_and(|crc| crc != seen);
        if damaged || run.error.is_some() {
            let entry = Entry { block, kind: Kind::Lost, argument, crc: 0 };
            self.append(stream, entry, |_| unreachable!("nothing is left of it"))?;
            self.counters.checksum_errors += u64::from(damaged);
            self.remap(block, LOST, 0);
            return Ok(());
        }
        let entry = Entry { block, kind: Kind::Copy, argument, crc: crc.unwrap_or(seen) };
        let fill =
            |into: &mut [u8]| into.copy_from_slice(data.expect("a run that stores has data"));
        let (location, crc) = self.append(stream, entry, fill)?;
        self.counters.copied_blocks += 1;
        self.pacer.copied(self.now);
        self.remap(block, location, crc);
        Ok(())
    }

    /// Lets go of a victim that is empty. One whose headers did not tell all is copied by the map.
    fn end_victims(&mut self) -> bool {
        let Some(victim) = self.cleaner.victims.front_mut() else { return false };
        let segment = victim.segment;
        let empty = self.segments.get(segment).live == 0;
        if empty && victim.is_quiet() {
            let victim = self.cleaner.victims.pop_front().expect("it was just looked at");
            for run in victim.pieces.into_iter().flat_map(|piece| piece.runs) {
                self.buffers.give(run.data);
            }
            self.credit_host(victim.gain_left);
            self.counters.cleaned += 1;
            self.segments.end_emptying(segment);
            self.cleaner.obeying.take_if(|asked| *asked == segment);
            return true;
        }
        let at_its_end = victim.pieces.is_empty() && !empty;
        if !at_its_end || !self.is_scanned(&self.cleaner.victims[0]) {
            return false;
        }
        let runs = self.runs_by_map(segment);
        self.add_piece(segment, runs);
        true
    }
}
