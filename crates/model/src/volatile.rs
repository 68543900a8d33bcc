//! A volatile write cache in front of whatever is below: what no flush covered is lost when the
//! process dies.
//!
//! Killing a process is not a power cut: what it wrote is in the page cache, and the kernel keeps
//! it. With this in between it is one. Acknowledged writes stay in the process's own memory until a
//! flush, except for those that, drawn from a seed, go down early: whole, or torn, one part down
//! and one part kept. So a kill leaves below what a drive's power cut leaves: of the writes since
//! the last flush any subset, in any order.
//!
//! ```text
//!   write -> cells in memory -- flush: all of them, then a flush below -->  what is below
//!     `---- drawn from the seed, and FUA ------------------------------->
//! ```
//!
//! A flush or discard waits until nothing is under way, and everything else waits for it: simple,
//! and slow.

use crate::Outbox;
use block::{
    Actor, Buf, Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant,
    IoError, Machine, Payload, Request, Rng, Slots, Tag,
};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    rc::Rc,
};

/// What is kept or lost whole.
pub const CELL_BYTES: u32 = 4096;

/// A cell that is not below yet. Two versions of one cell are told apart by their memory.
type Cell = Rc<[u8]>;

/// A write cache of unlimited size on Drive(0) of what lies below.
#[derive(Debug)]
pub struct VolatileCache {
    geometry: Geometry,
    rng: Rng,
    cells: BTreeMap<u64, Cell>,
    /// What is under way below.
    flights: Slots<Flight>,
    /// What came while a flush or discard had everything to itself.
    held: VecDeque<Request>,
    alone: Option<Alone>,
    answers: Outbox,
}

#[derive(Debug)]
struct Flight {
    tag: Tag,
    issued: Instant,
    job: Job,
}

#[derive(Debug)]
enum Job {
    /// The cells that the cache had, newer than what is below.
    Read { at: Extent, newer: Vec<(u64, Cell)> },
    /// Cells that are superseded when this is done. `whole` comes back in the answer if only a part
    /// went down.
    Write { older: Vec<(u64, Cell)>, whole: Option<Payload> },
    /// A part of what a flush writes.
    Drain,
    /// The flush or discard itself.
    Alone,
}

/// A flush or discard that waits for its turn, or has it.
#[derive(Debug)]
struct Alone {
    request: Request,
    issued: Instant,
    /// Runs of cells not sent down yet; none before its turn.
    runs: Option<VecDeque<Range<u64>>>,
    failure: Option<IoError>,
}

impl VolatileCache {
    /// In front of a drive like `below`; what goes down early is drawn from `seed`.
    ///
    /// # Panics
    /// If below are only times, or blocks that do not divide a cell.
    pub fn new(below: Geometry, seed: u64) -> Self {
        assert!(below.data == Data::Stored, "nothing is kept below");
        assert!(CELL_BYTES.is_multiple_of(below.block_bytes), "cells of {CELL_BYTES} bytes");
        let cell = u64::from(CELL_BYTES);
        Self {
            geometry: Geometry {
                capacity_bytes: below.capacity_bytes / cell * cell,
                block_bytes: CELL_BYTES,
                transfer_bytes_max: below.transfer_bytes_max / CELL_BYTES * CELL_BYTES,
                ..below
            },
            rng: Rng::new(seed, 0x766f_6c61),
            cells: BTreeMap::new(),
            flights: Slots::new(below.queue_depth),
            held: VecDeque::with_capacity(below.queue_depth as usize),
            alone: None,
            answers: Outbox::new(below.queue_depth),
        }
    }

    /// Cells that would be lost now.
    pub fn unflushed(&self) -> usize {
        self.cells.len()
    }

    fn accept(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        match request.command {
            Command::Read { at, into } => self.read(now, request.tag, at, into, effects),
            Command::Write { at, from, durability } => {
                self.write(now, request.tag, at, from, durability, effects);
            }
            Command::Flush | Command::Discard { .. } => {
                self.alone = Some(Alone { request, issued: now, runs: None, failure: None });
            }
        }
    }

    fn read(
        &mut self,
        now: Instant,
        tag: Tag,
        at: Extent,
        mut into: Payload,
        effects: &mut Effects,
    ) {
        let newer = self.cells_of(at);
        if newer.len() == cells(at).count() {
            overlay(&mut into, at, &newer);
            return self.answer(now, tag, now, Ok(()), into);
        }
        let job = Job::Read { at, newer };
        self.send(now, tag, job, Command::Read { at, into }, effects);
    }

    fn write(
        &mut self,
        now: Instant,
        tag: Tag,
        at: Extent,
        from: Payload,
        durability: Durability,
        effects: &mut Effects,
    ) {
        let early = match durability {
            Durability::Fua => at,
            Durability::Cached => self.draw_early(at),
        };
        let bytes = payload_bytes(&from);
        for cell in cells(at).filter(|cell| !cells(early).contains(cell)) {
            let start = (cell * u64::from(CELL_BYTES) - at.offset) as usize;
            self.cells.insert(cell, bytes[start..start + CELL_BYTES as usize].into());
        }
        if early.bytes == 0 {
            return self.answer(now, tag, now, Ok(()), from);
        }
        let older = self.cells_of(early);
        let (from, whole) = if early == at {
            (from, None)
        } else {
            let start = (early.offset - at.offset) as usize;
            let mut part = Buf::zeroed(early.bytes as usize);
            part.bytes_mut()[..early.bytes as usize]
                .copy_from_slice(&bytes[start..start + early.bytes as usize]);
            (Payload::Bytes(part), Some(from))
        };
        let command = Command::Write { at: early, from, durability };
        self.send(now, tag, Job::Write { older, whole }, command, effects);
    }

    /// What of a write goes down at once: as often nothing as something, and then as often all of
    /// it as a part.
    fn draw_early(&mut self, at: Extent) -> Extent {
        let count = cells(at).count() as u64;
        let cut = match self.rng.below(4) {
            0 | 1 => return Extent { offset: at.offset, bytes: 0 },
            2 => return at,
            _ => self.rng.below(count + 1) as u32 * CELL_BYTES,
        };
        match self.rng.below(2) {
            0 => Extent { offset: at.offset, bytes: cut },
            _ => Extent { offset: at.offset + u64::from(cut), bytes: at.bytes - cut },
        }
    }

    fn cells_of(&self, at: Extent) -> Vec<(u64, Cell)> {
        self.cells.range(cells(at)).map(|(&cell, bytes)| (cell, Rc::clone(bytes))).collect()
    }

    fn send(
        &mut self,
        issued: Instant,
        tag: Tag,
        job: Job,
        command: Command,
        effects: &mut Effects,
    ) {
        let slot = self.flights.insert(Flight { tag, issued, job });
        let (tag, actor, drive) = (Tag(slot.into()), Actor(0), Drive(0));
        effects.down.push(Request { tag, actor, drive, command });
    }

    /// Answers an instant later, so that answers from memory do not keep what is below from being
    /// asked.
    fn answer(
        &mut self,
        now: Instant,
        tag: Tag,
        issued: Instant,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.answers.put(Completion { tag, issued, finished: now.after(1), result, payload });
    }

    /// Lets a flush or discard go on, and after it whoever waited.
    fn settle(&mut self, now: Instant, effects: &mut Effects) {
        loop {
            if self.alone.is_some() {
                self.go_on_alone(now, effects);
            }
            if self.alone.is_some() {
                return;
            }
            let Some(request) = self.held.pop_front() else { return };
            self.accept(now, request, effects);
        }
    }

    fn go_on_alone(&mut self, now: Instant, effects: &mut Effects) {
        let Some(alone) = &mut self.alone else { return };
        if alone.runs.is_none() {
            if !self.flights.is_empty() {
                return;
            }
            alone.runs = Some(match alone.request.command {
                Command::Flush => runs_of(self.cells.keys(), self.geometry.transfer_bytes_max),
                _ => VecDeque::new(),
            });
        }
        while self.flights.len() < self.flights.capacity()
            && let Some(run) =
                self.alone.as_mut().and_then(|alone| alone.runs.as_mut()?.pop_front())
        {
            self.drain(now, run, effects);
        }
        let Some(alone) = &mut self.alone else { return };
        if !self.flights.is_empty() {
            return;
        }
        if let Some(error) = alone.failure {
            let Some(alone) = self.alone.take() else { return };
            return self.answer(now, alone.request.tag, alone.issued, Err(error), Payload::None);
        }
        let command = match alone.request.command {
            Command::Discard { offset, len } => {
                let cell = u64::from(CELL_BYTES);
                let gone = offset.div_ceil(cell)..(offset + len) / cell;
                self.cells.retain(|cell, _| !gone.contains(cell));
                Command::Discard { offset, len }
            }
            _ => {
                self.cells.clear();
                Command::Flush
            }
        };
        let (tag, issued) = (alone.request.tag, alone.issued);
        self.send(issued, tag, Job::Alone, command, effects);
    }

    fn drain(&mut self, now: Instant, run: Range<u64>, effects: &mut Effects) {
        let cell = u64::from(CELL_BYTES);
        let at = Extent { offset: run.start * cell, bytes: ((run.end - run.start) * cell) as u32 };
        let mut from = Payload::Bytes(Buf::zeroed(at.bytes as usize));
        overlay(&mut from, at, &self.cells_of(at));
        let command = Command::Write { at, from, durability: Durability::Cached };
        self.send(now, Tag(0), Job::Drain, command, effects);
    }
}

impl Machine for VolatileCache {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.held.push_back(request);
        self.settle(now, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let Flight { tag, issued, job } = self.flights.remove(completion.tag.0 as u32);
        let Completion { result, mut payload, .. } = completion;
        match job {
            Job::Read { at, newer } => {
                overlay(&mut payload, at, &newer);
                self.answer(now, tag, issued, result, payload);
            }
            Job::Write { older, whole } => {
                let superseded = if result.is_ok() { older } else { Vec::new() };
                for (cell, bytes) in superseded {
                    if self.cells.get(&cell).is_some_and(|now| Rc::ptr_eq(now, &bytes)) {
                        self.cells.remove(&cell);
                    }
                }
                self.answer(now, tag, issued, result, whole.unwrap_or(payload));
            }
            Job::Drain => {
                let alone = self.alone.as_mut().expect("a flush writes");
                alone.failure = alone.failure.or(result.err());
            }
            Job::Alone => {
                self.alone = None;
                self.answer(now, tag, issued, result, Payload::None);
            }
        }
        self.settle(now, effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.answers.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.answers.next()
    }
}

/// Numbers of the cells of a range.
fn cells(at: Extent) -> Range<u64> {
    let cell = u64::from(CELL_BYTES);
    at.offset / cell..(at.offset + u64::from(at.bytes)) / cell
}

/// Cells that lie side by side, as far as one transfer takes them.
fn runs_of<'a>(cells: impl Iterator<Item = &'a u64>, bytes_max: u32) -> VecDeque<Range<u64>> {
    let count_max = u64::from(bytes_max / CELL_BYTES);
    let mut runs: VecDeque<Range<u64>> = VecDeque::new();
    for &cell in cells {
        match runs.back_mut() {
            Some(run) if run.end == cell && run.end - run.start < count_max => run.end += 1,
            _ => runs.push_back(cell..cell + 1),
        }
    }
    runs
}

fn overlay(payload: &mut Payload, at: Extent, newer: &[(u64, Cell)]) {
    let Payload::Bytes(buffer) = payload else { unreachable!("transfers carry memory") };
    for (cell, bytes) in newer {
        let start = (cell * u64::from(CELL_BYTES) - at.offset) as usize;
        buffer.bytes_mut()[start..start + CELL_BYTES as usize].copy_from_slice(bytes);
    }
}

fn payload_bytes(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Bytes(buffer) => buffer.bytes(),
        Payload::None | Payload::Stamp(_) => unreachable!("transfers carry memory"),
    }
}
