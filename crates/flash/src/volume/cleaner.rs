//! The cleaner: takes a segment, copies what is alive in it to a stream of its own, chunk by chunk.
//!
//! What a chunk holds is read from its header; where that is damaged, the map is searched. A copy is appended
//! only if the map still points to its source, and says where that was.

use super::core::{Core, Gate, Why};
use super::log::NoRoom;
use crate::{
    buffers::bytes,
    format::{Entry, Kind, block_crc, decode_chunk},
    layout::{BLOCK_BYTES, Layout},
    map::LOST,
    segments::State,
};
use block::{Command, Data, Extent, IoError, Payload};

/// A block that could not be read so often is lost.
const ATTEMPTS: u8 = 3;

/// How the next victim is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cleaning {
    /// The one that was filled first. For comparison with the closed form.
    Fifo,
    /// The one with the fewest live blocks.
    Greedy,
    /// The one with the most free space by age for the cost of reading and writing it: (1-u) age / (1+u)
    /// (Rosenblum and Ousterhout 1992).
    CostBenefit,
    /// By cost and benefit, and with classes by age: where the volume has them, writes of short-lived blocks go
    /// apart, and so do copies (Wang et al., SepBIT, FAST 2022).
    SepBit,
}

#[derive(Debug, Default)]
pub(super) struct Cleaner {
    victim: Option<Victim>,
    /// Grows with everything that happens here.
    pub progress: u64,
    /// A test wants a segment emptied, due or not.
    #[cfg(any(test, feature = "crash"))]
    pub asked: bool,
}

#[derive(Debug)]
struct Victim {
    segment: u32,
    /// Block of the segment at which the next chunk begins.
    at: u32,
    reading: u32,
    runs: Vec<Run>,
    /// The next block to be copied: a run, and a block of it.
    next: (usize, usize),
}

/// Live blocks that lie one after the other.
#[derive(Debug)]
struct Run {
    location: u32,
    /// Blocks and their checksums; none where neither header nor map knows one.
    blocks: Vec<(u32, Option<u32>)>,
    data: Payload,
    error: Option<IoError>,
    attempts: u8,
}

impl Cleaner {
    pub fn is_busy(&self) -> bool {
        self.victim.is_some()
    }
}

impl Core {
    /// Cleans while fewer segments are free, or will be, than the host can use until the next checkpoint.
    fn cleaning_is_due(&mut self) -> bool {
        #[cfg(any(test, feature = "crash"))]
        if std::mem::take(&mut self.cleaner.asked) {
            return true;
        }
        let coming = self.segments.queue.len() + self.segments.prefree.len();
        coming < self.layout.host_floor() + self.layout.ahead()
    }

    pub fn pump_cleaner(&mut self) {
        if self.gate != Gate::Open || self.is_settling() {
            return;
        }
        if self.cleaner.victim.is_none() {
            let due = self.cleaning_is_due();
            let Some(segment) = due.then(|| self.choose_victim()).flatten() else { return };
            self.cleaner.victim =
                Some(Victim { segment, at: 0, reading: 0, runs: Vec::new(), next: (0, 0) });
            self.cleaner.progress += 1;
            self.read_header();
        }
        let victim = self.cleaner.victim.as_ref().expect("there is one now");
        if victim.reading == 0 {
            let mut victim = self.cleaner.victim.take().expect("there is one");
            let copied = self.copy_runs(&mut victim);
            self.cleaner.victim = Some(victim);
            if copied.is_ok() {
                self.cleaner.progress += 1;
                self.read_header();
            }
        }
    }

    fn choose_victim(&self) -> Option<u32> {
        let victims = (0..self.layout.segments).filter(|&segment| self.is_victim(segment));
        let live = |segment: u32| self.segments.get(segment).live;
        let low = self.segments.queue.len() <= self.layout.cleaner_floor();
        // Full ones give nothing back: only FIFO may take them, as long as there is no need.
        let full = self.layout.segment_blocks / self.layout.chunk_blocks
            * (self.layout.chunk_blocks - self.layout.header_blocks);
        let worth = |&segment: &u32| {
            live(segment) < full || self.segments.get(segment).state == State::Retired
        };
        match self.settings.cleaning {
            Cleaning::Fifo if !low => {
                victims.min_by_key(|&segment| (self.segments.get(segment).last_seq, segment))
            }
            Cleaning::CostBenefit | Cleaning::SepBit if !low => {
                let now = self.log.last_seq;
                let all = u64::from(self.layout.segment_blocks);
                let benefit = |&segment: &u32| {
                    let (entry, live) = (self.segments.get(segment), u64::from(live(segment)));
                    let age = now - entry.last_seq + 1;
                    u128::from(all - live) * u128::from(age) * (1 << 32) / u128::from(all + live)
                };
                victims.filter(worth).max_by_key(benefit)
            }
            _ => victims.filter(worth).min_by_key(|&segment| (live(segment), segment)),
        }
    }

    /// On to the victim's next chunk, or to its end.
    fn read_header(&mut self) {
        let Some(victim) = &mut self.cleaner.victim else { return };
        let entry = self.segments.get(victim.segment);
        if entry.live == 0 || victim.at >= entry.blocks {
            let emptied = entry.live == 0;
            self.counters.cleaned += u64::from(emptied);
            if !emptied {
                // Its headers did not tell all: what the map knows of it is copied without them.
                let segment = victim.segment;
                let runs = self.runs_by_map(segment);
                return self.send_runs(runs);
            }
            self.cleaner.victim = None;
            return;
        }
        victim.reading = 1;
        let location = self.layout.location(victim.segment) + victim.at;
        let bytes = self.layout.header_blocks * BLOCK_BYTES as u32;
        let into = self.buffers.take(u64::from(bytes));
        let at = Extent { offset: Layout::offset(location), bytes };
        self.down.send(Why::VictimHeader, Command::Read { at, into });
    }

    pub fn victim_header_read(&mut self, result: Result<(), IoError>, payload: Payload) {
        let Some(victim) = &mut self.cleaner.victim else { return };
        victim.reading = 0;
        self.cleaner.progress += 1;
        let (segment, at) = (victim.segment, victim.at);
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
        let victim = self.cleaner.victim.as_mut().expect("it was there before");
        victim.at = next.max(at + 1);
        self.send_runs(runs);
    }

    /// What is alive of a chunk with these entries.
    fn runs_of_chunk(&self, place: u32, entries: &[Entry]) -> Vec<Run> {
        let with_data = entries.iter().filter(|entry| entry.kind.has_data());
        let blocks = with_data.zip(place + self.layout.header_blocks..);
        let live = blocks.filter(|(entry, location)| {
            entry.block < self.layout.exported_blocks && self.map.get(entry.block).0 == *location
        });
        runs(live.map(|(entry, location)| (location, entry.block, Some(entry.crc))))
    }

    fn runs_by_owner(&self, segment: u32, from: u32, end: u32) -> Vec<Run> {
        let owners = self.owners.as_ref().expect("a run that only times knows the owners");
        let first = self.layout.location(segment);
        let live = (first + from..first + end).filter_map(|location| {
            let block = owners[(location - self.layout.first_block) as usize];
            (self.map.get(block).0 == location).then_some((location, block, None))
        });
        runs(live)
    }

    /// What the map has in a segment whose headers are damaged.
    fn runs_by_map(&self, segment: u32) -> Vec<Run> {
        let within = self.map.iter().filter(|&(_, location)| {
            location > LOST && self.layout.segment_of(location) == segment
        });
        let mut live: Vec<(u32, u32, Option<u32>)> =
            within.map(|(block, location)| (location, block, self.map.get(block).1)).collect();
        live.sort_unstable();
        runs(live.into_iter())
    }

    fn send_runs(&mut self, runs: Vec<Run>) {
        let victim = self.cleaner.victim.as_mut().expect("runs are a victim's");
        (victim.runs, victim.next, victim.reading) = (runs, (0, 0), 0);
        for run in 0..victim.runs.len() {
            self.send_run(run);
        }
    }

    fn send_run(&mut self, number: usize) {
        let victim = self.cleaner.victim.as_mut().expect("runs are a victim's");
        victim.reading += 1;
        let run = &victim.runs[number];
        let bytes = run.blocks.len() as u32 * BLOCK_BYTES as u32;
        let at = Extent { offset: Layout::offset(run.location), bytes };
        let into = self.buffers.take(u64::from(bytes));
        self.down.send(Why::VictimRun { run: number as u32 }, Command::Read { at, into });
    }

    pub fn victim_run_read(&mut self, run: u32, result: Result<(), IoError>, payload: Payload) {
        let Some(victim) = &mut self.cleaner.victim else { return };
        self.cleaner.progress += 1;
        victim.reading -= 1;
        let number = run as usize;
        let run = &mut victim.runs[number];
        run.attempts += 1;
        run.data = payload;
        run.error = result.err();
        let Some(error) = run.error.filter(|&error| error != IoError::Offline) else {
            if result.is_err() {
                self.latch(IoError::Offline);
            }
            return;
        };
        if run.blocks.len() > 1 {
            // One bad block does not take its neighbours with it.
            let singles: Vec<Run> = run
                .blocks
                .drain(..)
                .zip(run.location..)
                .map(|(block, location)| Run::new(location, vec![block]))
                .collect();
            let first = victim.runs.len();
            let count = singles.len();
            victim.runs.extend(singles);
            (first..first + count).for_each(|single| self.send_run(single));
        } else if run.attempts < ATTEMPTS {
            self.send_run(number);
        } else {
            run.error = Some(error);
        }
    }

    /// Appends copies of what is still alive, as far as there is room.
    fn copy_runs(&mut self, victim: &mut Victim) -> Result<(), NoRoom> {
        while let Some(run) = victim.runs.get(victim.next.0) {
            let Some(&(block, crc)) = run.blocks.get(victim.next.1) else {
                let run = &mut victim.runs[victim.next.0];
                self.buffers.give(std::mem::replace(&mut run.data, Payload::None));
                victim.next = (victim.next.0 + 1, 0);
                continue;
            };
            let at = victim.next.1;
            if self.map.get(block).0 == run.location + at as u32 {
                self.copy_block(run, at, block, crc)?;
                self.cleaner.progress += 1;
            }
            victim.next.1 += 1;
        }
        victim.runs.clear();
        Ok(())
    }

    fn copy_block(
        &mut self,
        run: &Run,
        at: usize,
        block: u32,
        crc: Option<u32>,
    ) -> Result<(), NoRoom> {
        let argument = run.location + at as u32;
        let stream = self.stream_of_copy(self.layout.segment_of(argument));
        let start = at * BLOCK_BYTES as usize;
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
        self.remap(block, location, crc);
        Ok(())
    }
}

impl Run {
    fn new(location: u32, blocks: Vec<(u32, Option<u32>)>) -> Self {
        Self { location, blocks, data: Payload::None, error: None, attempts: 0 }
    }
}

/// Joins what lies one after the other: (location, block, checksum) in order of location.
fn runs(live: impl Iterator<Item = (u32, u32, Option<u32>)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (location, block, crc) in live {
        match runs.last_mut() {
            Some(run) if run.location + run.blocks.len() as u32 == location => {
                run.blocks.push((block, crc));
            }
            _ => runs.push(Run::new(location, vec![(block, crc)])),
        }
    }
    runs
}
