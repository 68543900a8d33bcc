//! The memory of a RAID controller that a battery keeps: a write-back cache above an array.
//!
//! ```text
//!   write -> lines in memory, answered     memory.rs
//!               |  rows by place: whole ones as they are, parts alone or with the rest read
//!               v                          destage.rs
//!            the array -- then a flush of it --> the lines are given up
//!   read  -> the array, what is newer laid over it; or memory alone, where it has everything
//! ```
//!
//! What the members hold in volatile caches is not theirs yet: a line is given up only when a flush
//! that began after its write has ended. So the members' caches may be on, a flush from above has
//! nothing to wait for, and a power cut leaves in memory whatever the members may have lost. After
//! it each row that memory has a part of is written whole, for its parity may be older than its
//! data. A discard waits until memory is empty, and the battery remembers it until a flush has
//! followed it: one that a power cut interrupted is done again, or copies would differ.
//!
//! It is no read cache: what the members hold for sure is read from them. Not modelled: a battery
//! that runs out or is being charged, a second controller, writes that pass the memory by.

mod destage;
mod memory;
mod params;

pub use memory::BatteryMemory;
pub use params::{BatteryCacheParams, GatheredRow};

use crate::{FastCache, FastCacheKind, Outbox, nanoseconds_for, slab::Slab};
use block::{
    Actor, Command, Completion, Data, Drive, Effects, Extent, Geometry, Instant, IoError, Machine,
    Payload, Request, Tag,
};
use destage::Destaging;
use memory::{Kept, LINE_BYTES, Memory, overlay};
use std::collections::VecDeque;

/// What refusing a request takes, ns: no answer may come in no time.
const REFUSAL_NS: u64 = 1_000;

/// What the memory holds at first.
#[derive(Debug)]
pub enum Origin {
    /// Nothing.
    Nothing,
    /// What the battery kept.
    PowerCut(BatteryMemory),
}

/// The cache, a machine over Drive(0), an array. Budget: 2 us a line of a request.
#[derive(Debug)]
pub struct BatteryCache {
    params: BatteryCacheParams,
    geometry: Geometry,
    memory: Memory,
    destaging: Destaging,
    flights: Slab<Flight>,
    /// Writes that wait for room.
    waiting: VecDeque<Waiting>,
    /// A discard that waits until memory is empty, and what came after it.
    alone: Option<Waiting>,
    held: VecDeque<Waiting>,
    /// What is being discarded: the battery keeps it until all members have done so for sure.
    discarding: Option<Discarding>,
    answers: Outbox,
    /// Until when the controller works on answers from memory.
    busy_until: Instant,
    counters: BatteryCacheCounters,
}

/// What a cache has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BatteryCacheCounters {
    /// Bytes that memory took.
    pub taken_bytes: u64,
    /// Writes that had to wait for room.
    pub waited: u64,
    /// Rows that were written whole out of memory.
    pub whole_rows: u64,
    /// Rows that were written whole after what memory lacked of them had been read.
    pub filled_rows: u64,
    /// Rows of which parts were written.
    pub part_rows: u64,
    /// Flushes of what lies below.
    pub flushes: u64,
}

/// A discard on its way to the members.
#[derive(Clone, Copy, Debug)]
struct Discarding {
    /// First byte, and how many.
    at: (u64, u64),
    /// It went down. One that a power cut interrupted did so in another life.
    is_sent: bool,
}

/// A request from above.
#[derive(Debug)]
struct Waiting {
    issued: Instant,
    request: Request,
}

/// A command below.
#[derive(Debug)]
enum Flight {
    Read {
        tag: Tag,
        issued: Instant,
        at: Extent,
        newer: Vec<(u64, Kept)>,
    },
    /// Of a job: what it lacked of a row, read into this range.
    Fill {
        job: u32,
        at: Extent,
    },
    Write {
        job: u32,
    },
    Flush,
    Discard,
    /// The flush after a discard.
    Discarded,
}

impl BatteryCache {
    /// Over an array with this contract.
    ///
    /// # Panics
    /// When the memory is smaller than sixteen rows, or a row is not of whole lines or longer than
    /// a transfer.
    pub fn new(params: BatteryCacheParams, below: Geometry, origin: Origin) -> Self {
        let row_bytes = params.row.bytes();
        // One request leaves room for others.
        let quarter = params.size_bytes / 4 / LINE_BYTES * LINE_BYTES;
        let transfer = u64::from(below.transfer_bytes_max).min(quarter);
        assert!(row_bytes.is_multiple_of(LINE_BYTES), "rows of {row_bytes} B");
        assert!(row_bytes <= transfer, "rows of {row_bytes} B, transfers of {transfer} B");
        assert!(params.size_bytes >= 16 * row_bytes, "{} B of memory", params.size_bytes);
        assert!(params.rows_max > 0 && params.bytes_per_s > 0, "a cache that writes nothing");
        // What the cache asks for itself: half of what the array takes at most, and a flush.
        let own = params.rows_max.min((below.queue_depth - 1) / 2).max(1);
        let queue_depth = below.queue_depth.saturating_sub(own + 1);
        assert!(queue_depth > 0, "the array takes {} requests", below.queue_depth);
        let lines_max = params.size_bytes / LINE_BYTES;
        let interrupted = match &origin {
            Origin::Nothing => None,
            Origin::PowerCut(kept) => kept.discard,
        };
        Self {
            geometry: Geometry {
                capacity_bytes: below.capacity_bytes / LINE_BYTES * LINE_BYTES,
                transfer_bytes_max: transfer as u32,
                queue_depth,
                ..below
            },
            memory: Memory::new(lines_max, row_bytes / LINE_BYTES, origin),
            destaging: Destaging::new(own),
            flights: Slab::default(),
            waiting: VecDeque::new(),
            alone: None,
            held: VecDeque::new(),
            discarding: interrupted.map(|at| Discarding { at, is_sent: false }),
            answers: Outbox::new(queue_depth),
            busy_until: Instant(0),
            counters: BatteryCacheCounters::default(),
            params,
        }
    }

    /// What the battery keeps if the power goes now.
    pub fn kept(&self) -> BatteryMemory {
        let discard = self.discarding.map(|it| it.at);
        BatteryMemory { lines: self.memory.kept(), discard }
    }

    /// What it has done so far.
    pub fn counters(&self) -> BatteryCacheCounters {
        self.counters
    }

    /// How the memory stands.
    pub fn fast_cache(&self) -> FastCache {
        FastCache {
            kind: FastCacheKind::Memory,
            capacity_bytes: self.memory.lines_max * LINE_BYTES,
            held_bytes: self.memory.dirty() * LINE_BYTES,
            taken_bytes: self.counters.taken_bytes,
        }
    }

    fn accept(&mut self, now: Instant, asked: Waiting, effects: &mut Effects) {
        let Waiting { issued, request } = asked;
        match request.command {
            Command::Read { at, into } => {
                let (tag, actor) = (request.tag, request.actor);
                self.read(now, (tag, actor, issued), at, into, effects);
            }
            Command::Write { .. } => {
                self.waiting.push_back(Waiting { issued, request });
                let before = self.waiting.len();
                self.take_in(now);
                self.counters.waited += u64::from(self.waiting.len() == before);
            }
            // The battery has what a flush is to save.
            Command::Flush => self.answer(now, request.tag, issued, Ok(()), Payload::None, 0),
            Command::Discard { .. } => self.alone = Some(Waiting { issued, request }),
        }
    }

    fn read(
        &mut self,
        now: Instant,
        (tag, actor, issued): (Tag, Actor, Instant),
        at: Extent,
        mut into: Payload,
        effects: &mut Effects,
    ) {
        if self.memory.holds(at) {
            self.memory.overlay(&mut into, at);
            return self.answer(now, tag, issued, Ok(()), into, at.bytes.into());
        }
        // What is newer now: by the time of the answer memory may have given it up.
        let newer = match self.geometry.data {
            Data::Stored => self.memory.newer(at),
            Data::TimingOnly => Vec::new(),
        };
        let flight = self.flights.insert(Flight::Read { tag, issued, at, newer });
        let command = Command::Read { at, into };
        let tag = Tag(flight.into());
        effects.down.push(Request { tag, actor, drive: Drive(0), command });
    }

    /// Takes in writes as long as there is room, in the order in which they came.
    fn take_in(&mut self, now: Instant) {
        while let Some(first) = self.waiting.front() {
            let Command::Write { at, .. } = first.request.command else {
                unreachable!("writes wait for room")
            };
            if !self.memory.takes(at) {
                return;
            }
            let Some(Waiting { issued, request }) = self.waiting.pop_front() else { return };
            let from = request.command.into_payload();
            self.memory.put(now, at, &from);
            self.counters.taken_bytes += u64::from(at.bytes);
            self.answer(now, request.tag, issued, Ok(()), from, at.bytes.into());
        }
    }

    /// Answers when the controller has come to it.
    fn answer(
        &mut self,
        now: Instant,
        tag: Tag,
        issued: Instant,
        result: Result<(), IoError>,
        payload: Payload,
        bytes: u64,
    ) {
        let takes = self.params.command_ns + nanoseconds_for(bytes, self.params.bytes_per_s);
        let finished = self.busy_until.max(now).after(takes.max(1));
        self.busy_until = finished;
        self.answers.put(Completion { tag, issued, finished, result, payload });
    }

    /// Lets everything go on that can.
    fn go_on(&mut self, now: Instant, effects: &mut Effects) {
        loop {
            self.take_in(now);
            self.destage(now, effects);
            if !self.is_at_rest() {
                return;
            }
            // Nothing is under way and nothing can begin: who still waits waits for ever.
            if let Some(error) = self.destaging.failure {
                self.give_up_waiting(now, error);
            }
            self.discard(now, effects);
            if self.discards() || self.held.is_empty() {
                return;
            }
            // A discard that was refused has kept them waiting.
            self.let_held_go_on(now, effects);
        }
    }

    /// Whether a discard has everything to itself, or waits for that.
    fn discards(&self) -> bool {
        self.alone.is_some() || self.discarding.is_some()
    }

    fn give_up_waiting(&mut self, now: Instant, error: IoError) {
        while let Some(Waiting { issued, request }) = self.waiting.pop_front() {
            let (tag, payload) = (request.tag, request.command.into_payload());
            self.refuse(now, tag, issued, error, payload);
        }
    }

    /// A discard goes down when memory is empty; it fails where that cannot be. One that a power
    /// cut interrupted goes down again: some members may have done it, and others not.
    fn discard(&mut self, now: Instant, effects: &mut Effects) {
        if self.discarding.is_none()
            && let Some(Waiting { issued, request }) = &self.alone
        {
            let (tag, issued) = (request.tag, *issued);
            let Command::Discard { offset, len } = request.command else {
                unreachable!("discards have everything to themselves")
            };
            if self.memory.len() > 0 {
                let error = self.destaging.failure.unwrap_or(IoError::Offline);
                self.alone = None;
                return self.refuse(now, tag, issued, error, Payload::None);
            }
            self.discarding = Some(Discarding { at: (offset, len), is_sent: false });
        }
        let Some(Discarding { at, is_sent: false }) = self.discarding else { return };
        self.discarding = Some(Discarding { at, is_sent: true });
        let command = Command::Discard { offset: at.0, len: at.1 };
        self.send(Flight::Discard, command, effects);
    }

    /// The members hold what was discarded as discarded, or one of them failed to.
    fn discarded(&mut self, result: Result<(), IoError>, now: Instant, effects: &mut Effects) {
        self.discarding = None;
        if let Some(Waiting { issued, request }) = self.alone.take() {
            let (tag, payload) = (request.tag, Payload::None);
            effects.up.push(Completion { tag, issued, finished: now, result, payload });
        }
        self.let_held_go_on(now, effects);
    }

    fn refuse(
        &mut self,
        now: Instant,
        tag: Tag,
        issued: Instant,
        error: IoError,
        payload: Payload,
    ) {
        let (finished, result) = (now.after(REFUSAL_NS), Err(error));
        self.answers.put(Completion { tag, issued, finished, result, payload });
    }

    fn let_held_go_on(&mut self, now: Instant, effects: &mut Effects) {
        while !self.discards()
            && let Some(asked) = self.held.pop_front()
        {
            self.accept(now, asked, effects);
        }
    }

    /// The answer to what went down.
    fn came_back(
        &mut self,
        now: Instant,
        flight: Flight,
        completion: Completion,
        effects: &mut Effects,
    ) {
        let Completion { result, mut payload, finished, .. } = completion;
        match flight {
            Flight::Read { tag, issued, at, newer } => {
                overlay(&mut payload, at, newer.iter().map(|(line, kept)| (*line, kept)));
                effects.up.push(Completion { tag, issued, finished, result, payload });
            }
            Flight::Fill { job, at } => self.was_filled(job, at, result, payload),
            Flight::Write { job } => self.was_written(job, result),
            Flight::Flush => self.was_flushed(result),
            Flight::Discard => match result {
                Ok(()) => self.send(Flight::Discarded, Command::Flush, effects),
                Err(_) => self.discarded(result, now, effects),
            },
            Flight::Discarded => self.discarded(result, now, effects),
        }
    }
}

impl Machine for BatteryCache {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        assert!(
            !matches!(
                request.command,
                Command::Read { into: Payload::Stamp(_), .. }
                    | Command::Write { from: Payload::Stamp(_), .. }
            ),
            "a cache carries bytes"
        );
        let asked = Waiting { issued: now, request };
        if self.discards() {
            self.held.push_back(asked);
        } else {
            self.accept(now, asked, effects);
        }
        self.go_on(now, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let flight = u32::try_from(completion.tag.0).expect("our own tag");
        let flight = self.flights.remove(flight);
        self.came_back(now, flight, completion, effects);
        self.go_on(now, effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.answers.release(now, effects);
        self.go_on(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        match self.discarding {
            Some(Discarding { is_sent: false, .. }) => Instant(0),
            _ => self.answers.next().min(self.next_by_age()),
        }
    }
}
