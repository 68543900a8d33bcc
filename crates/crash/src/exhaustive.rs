//! Short sequences of operations, all of them; each cut at every event, in every way there is to
//! lose, tear and keep what was at risk.
//!
//! Operations come one by one, or all in flight together, overlapping ones too. A sequence is cut
//! from its last operation on: what comes before is another, shorter sequence.

use super::{
    backing::{Backing, Below},
    bench::{Bench, cut, extent, flush, media, open, read_all, small, write},
    oracle::{Covered, Oracle, Order},
    point::{Reading, cut_recovery, every_state, recover},
    tally::{Doing, Tally},
};
use block::{Actor, Command, Completion, Drive, Durability, Engine, Instant, Request, Tag};
use flash::{Cleaning, Parity, Settings, Shape};
use model::Media;
use std::{collections::BTreeMap, ops::Range};

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Write(u64),
    /// Blocks 0 and 1: overlaps the others.
    Long,
    Fua(u64),
    Trim(u64),
    Flush,
    /// Two sectors in the middle of block 0.
    Split,
    /// The cleaner empties a segment.
    Clean,
    Checkpoint,
}

const STEPS: [Step; 9] = [
    Step::Write(0),
    Step::Write(1),
    Step::Long,
    Step::Fua(0),
    Step::Trim(0),
    Step::Flush,
    Step::Split,
    Step::Clean,
    Step::Checkpoint,
];

/// How operations follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Each when the one before has been answered.
    OneByOne,
    /// All in flight. Without operations that split blocks: those may be overtaken.
    Together,
}

/// One recovery in so many is cut at each of its events too, in every way.
const RECOVERIES_ONE_IN: u64 = 64;

pub(super) const BLOCKS: u64 = 16;
const SECTORS: u64 = BLOCKS * 8;

pub(super) fn settings() -> Settings {
    let (queue_depth, answer_ns, chunks) = (8, 500, 4);
    Settings { queue_depth, answer_ns, chunks, cleaning: Cleaning::Greedy, ..Settings::default() }
}

pub(super) fn tiny() -> Shape {
    Shape {
        device_bytes: 1 << 20,
        exported_bytes: SECTORS * 512,
        segment_bytes: 32 << 10,
        chunk_bytes: 16 << 10,
        ..small()
    }
}

/// Stripes of 32 KiB: the shortest power of two where a record of the ring is cheaper than closing
/// a chunk. And the fewest slots that are of use, so that a sequence fills the ring.
pub(super) fn tiny_with_ring() -> Shape {
    Shape {
        device_bytes: 3 << 19,
        stripe_bytes: 32 << 10,
        segment_bytes: 64 << 10,
        chunk_bytes: 32 << 10,
        ring_bytes: 4 * (32 << 10),
        parity: Parity::Protected,
        ..tiny()
    }
}

/// How many sequences of so many operations there are.
pub fn sequences(length: u32) -> u64 {
    (STEPS.len() as u64).pow(length)
}

/// A volume on which there is something to overwrite, to trim and to clean, all of it durable.
#[derive(Clone, Debug)]
pub struct Prologue(Media);

enum Issued {
    Change(Range<usize>, Durability),
    Flush(Covered),
    /// Asked so that the volume moves.
    Nudge,
}

/// A volume at work on a sequence.
struct Run {
    bench: Bench,
    oracle: Oracle,
    open: BTreeMap<u64, Issued>,
    next: u64,
    done: Vec<Completion>,
}

impl Default for Prologue {
    fn default() -> Self {
        Self::of(tiny())
    }
}
impl Run {
    fn new(bench: Bench, oracle: Oracle) -> Self {
        Self { bench, oracle, open: BTreeMap::new(), next: 1, done: Vec::new() }
    }

    fn begin(&mut self, step: Step) {
        let value = 1000 + self.next;
        let blocks = |first: u64, count: u64| first * 8..(first + count) * 8;
        let cached = Durability::Cached;
        match step {
            Step::Write(block) => self.write(blocks(block, 1), value, cached),
            Step::Long => self.write(blocks(0, 2), value, cached),
            Step::Fua(block) => self.write(blocks(block, 1), value, Durability::Fua),
            Step::Split => self.write(3..5, value, cached),
            Step::Trim(block) => {
                let offset = block * 4096;
                let issued = Issued::Change(self.oracle.issue(blocks(block, 1), 0), cached);
                self.submit(Command::Discard { offset, len: 4096 }, issued);
            }
            Step::Flush => {
                let covered = self.oracle.begin_flush();
                self.submit(Command::Flush, Issued::Flush(covered));
            }
            Step::Clean => {
                self.bench.machine.ask_for_cleaning();
                self.nudge();
            }
            Step::Checkpoint => {
                self.bench.machine.ask_for_checkpoint();
                self.nudge();
            }
        }
    }

    fn nudge(&mut self) {
        let read =
            Command::Read { at: extent(SECTORS - 8..SECTORS), into: super::bench::image(8, 77) };
        self.submit(read, Issued::Nudge);
    }

    fn write(&mut self, sectors: Range<u64>, value: u64, durability: Durability) {
        let issued = Issued::Change(self.oracle.issue(sectors.clone(), value), durability);
        self.submit(write(sectors, value, durability), issued);
    }

    fn submit(&mut self, command: Command, issued: Issued) {
        let tag = self.next;
        self.next += 1;
        self.open.insert(tag, issued);
        self.bench.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
    }

    fn is_quiet(&self) -> bool {
        let volume = &self.bench.machine;
        self.open.is_empty() && !volume.is_cleaning() && !volume.is_checkpointing()
    }

    /// Goes on until nothing is under way; `look` sees every state on the way, the first and the
    /// last too.
    fn finish(&mut self, look: &mut dyn FnMut(&Self)) {
        let mut revision = None;
        loop {
            let now = self.bench.engine.revision();
            if revision != Some(now) {
                revision = Some(now);
                look(self);
            }
            if self.is_quiet() {
                return;
            }
            let next = self.bench.next_wakeup();
            assert!(next < Instant::NEVER, "nothing will ever happen");
            let mut done = std::mem::take(&mut self.done);
            self.bench.wait(next.max(self.bench.now().after(1)), &mut done);
            done.drain(..).for_each(|completion| self.take(&completion));
            self.done = done;
        }
    }

    fn take(&mut self, completion: &Completion) {
        assert_eq!(completion.result, Ok(()));
        match self.open.remove(&completion.tag.0).expect("it was asked for") {
            Issued::Change(changes, Durability::Fua) => self.oracle.end_fua(changes),
            Issued::Change(changes, Durability::Cached) => self.oracle.acknowledge(changes),
            Issued::Flush(covered) => self.oracle.end_flush(&covered),
            Issued::Nudge => {}
        }
    }
}

impl Prologue {
    /// The same on stripes with parity, where a flush writes a record of the synchronous ring.
    pub fn with_ring() -> Self {
        Self::of(tiny_with_ring())
    }

    fn of(shape: Shape) -> Self {
        let mut bench = super::bench::create(media(&shape), shape, settings(), 1);
        for value in 1..20 {
            let block = value % 11;
            let at = write(block * 8..block * 8 + 8, value, Durability::Fua);
            super::bench::ask(&mut bench, at).result.expect("healthy");
        }
        bench.machine.ask_for_checkpoint();
        flush(&mut bench).expect("healthy");
        let mut run = Run::new(bench, Oracle::new(SECTORS, Order::Submission));
        run.finish(&mut |_| {});
        Self(cut(run.bench, 1))
    }

    /// Runs the sequence of that number and looks at every state that a cut from its last operation
    /// on can leave.
    ///
    /// # Panics
    /// When one of them is not as it should be.
    pub fn sequence(&self, length: u32, number: u64, pace: Pace) -> Tally {
        let digits = (0..length).scan(number, |rest, _| {
            let step = STEPS[(*rest % STEPS.len() as u64) as usize];
            *rest /= STEPS.len() as u64;
            Some(step)
        });
        self.run(&digits.collect::<Vec<_>>(), pace)
    }

    fn run(&self, steps: &[Step], pace: Pace) -> Tally {
        let mut tally = Tally { campaigns: 1, ..Tally::default() };
        if pace == Pace::Together && (steps.len() < 2 || steps.contains(&Step::Split)) {
            return tally;
        }
        let mut bench = open(self.0.clone(), settings(), 1);
        flush(&mut bench).expect("it opens");
        let mut oracle = Oracle::new(SECTORS, Order::Submission);
        oracle.restart(read_all(&mut bench, SECTORS).expect("healthy"));
        let mut run = Run::new(bench, oracle);
        let (last, before) = steps.split_last().expect("a sequence of something");
        for &step in before {
            run.begin(step);
            if pace == Pace::OneByOne {
                run.finish(&mut |_| {});
            }
        }
        run.begin(*last);
        run.finish(&mut |run| cut_here(run, &mut tally));
        tally.acknowledged = steps.len() as u64;
        tally
    }
}

fn cut_here(run: &Run, tally: &mut Tally) {
    let doing = Doing::of(&run.bench.machine);
    for state in every_state(&run.bench.engine.media()) {
        try_state(run, doing, &state, tally);
        if tally.total().is_multiple_of(RECOVERIES_ONE_IN) {
            cut_recovery(Backing::Single, state, settings(), 1, |step, _, media| {
                tally.positions += 1;
                for state in every_state(media) {
                    try_state(run, Doing::Recovery(step), &state, tally);
                }
            });
        }
    }
    tally.positions += 1;
}

fn try_state(run: &Run, doing: Doing, state: &[Media], tally: &mut Tally) {
    let medium = Backing::Single.flatten(state);
    let found = recover(&medium, settings(), &run.oracle, Reading::FromTheMedium, 1);
    *tally.points.entry(doing).or_default() += 1;
    tally.replayed += found.report.chunks_replayed;
    tally.torn += found.report.chunks_cut;
    tally.records += found.report.records_replayed;
    tally.records_torn += found.report.records_cut;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(prologue: &Prologue, lengths: std::ops::RangeInclusive<u32>, pace: Pace) -> Tally {
        let mut tally = Tally::default();
        for length in lengths {
            for number in 0..sequences(length) {
                tally.add(&prologue.sequence(length, number, pace));
            }
        }
        eprintln!("{pace:?}: {tally}");
        assert!(tally.total() > 25_000 && tally.inside() * 2 > tally.total(), "{tally}");
        for doing in [
            Doing::Serving,
            Doing::Cleaning,
            Doing::Checkpoint,
            Doing::Recovery(flash::Step::Epoch),
            Doing::Recovery(flash::Step::Checkpoint),
        ] {
            assert!(tally.points.contains_key(&doing), "no cut while {doing}");
        }
        tally
    }

    #[test]
    fn every_sequence_of_three_operations_survives_every_cut() {
        all(&Prologue::default(), 1..=3, Pace::OneByOne);
    }

    #[test]
    fn every_three_operations_in_flight_together_survive_every_cut() {
        all(&Prologue::default(), 2..=3, Pace::Together);
    }

    #[test]
    fn every_sequence_of_three_operations_survives_every_cut_with_a_ring() {
        let tally = all(&Prologue::with_ring(), 1..=3, Pace::OneByOne);
        assert!(tally.records > 1_000 && tally.records_torn > 10, "{tally}");
    }

    #[test]
    fn every_three_operations_in_flight_together_survive_every_cut_with_a_ring() {
        let tally = all(&Prologue::with_ring(), 2..=3, Pace::Together);
        assert!(tally.records > 1_000 && tally.records_torn > 10, "{tally}");
    }
}
