//! Flash in front of disks: a cache of blocks, by any policy of the room `cache`.
//!
//! ```text
//!   request -> pieces, one a block, each with its lock             operate.rs, locks.rs
//!     read     what flash has from there, the rest from the disks, then onto flash
//!     write    back: flash | through: both | around: the disks     writes.rs
//!     flush    the disks; where writes go back, the map, too       commit.rs, map.rs
//!   neighbours that wait for the same drive go as one command      merge.rs
//!   cleaner    dirty blocks to the disks, in the order of their place     clean.rs
//!   fill       the rest of a new block from the disks, if whole ones are taken
//!   below: drive 0 are the disks, drive 1 is flash
//! ```
//!
//! A block on flash is cut into units, of which each is there or not and, where writes go back,
//! dirty or not. What is not there is on the disks and nowhere else: so a part of a unit is never
//! written to flash alone.
//!
//! **What a power cut leaves.** Clean blocks are forgotten. Where writes go through or around, the
//! disks have every flushed write. Where they go back, a flush first makes the data durable on
//! both, then the map's entries; and a place whose durable entry says dirty holds no other block
//! before the disks are flushed and the entry is replaced. With the map in memory, what was dirty
//! is lost, though it was flushed.

mod clean;
mod commit;
mod locks;
mod map;
mod merge;
mod operate;
mod params;
mod writes;

pub use params::{BLOCKS_MAX, BLOCKS_MIN, MapPlace, SsdCacheParams, Takes, WriteMode};

use crate::{kind::Kind, slab::Slab, streams::Streams};
use block::{
    Actor, Buf, Command, Completion, Data, Drive, Durability, Effects, Engine, Extent, Geometry,
    Instant, IoError, Machine, Payload, Request, Tag,
};
use cache::{Replacement, Table};
use commit::Commit;
use locks::Locks;
use merge::Part;
use params::Shape;
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
};

/// The disks below.
const DISKS: Drive = Drive(0);
/// The flash drive below.
const FLASH: Drive = Drive(1);
/// Longest request, bytes: bm-flash asks for 4 MiB.
const TRANSFER_BYTES_MAX: u32 = 4 << 20;

/// What a cache has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SsdCacheCounters {
    /// Bytes that were read of it.
    pub read_bytes: u64,
    /// Bytes read that flash had.
    pub hit_bytes: u64,
    /// Bytes read that it had not.
    pub missed_bytes: u64,
    /// Bytes that were written to it.
    pub written_bytes: u64,
    /// Of them, to blocks of which flash had some.
    pub write_hit_bytes: u64,
    /// Bytes that passed it by, as a part of a long stream or for want of room.
    pub bypassed_bytes: u64,
    /// Bytes written to flash, the map's among them.
    pub flash_written_bytes: u64,
    /// Bytes that were written back to the disks.
    pub cleaned_bytes: u64,
    /// Blocks that are dirty now.
    pub dirty_blocks: u64,
}

/// What a cache has done so far, for whoever looks at it beside its requests. The number of dirty
/// blocks is not among it.
#[derive(Clone, Debug, Default)]
pub struct SsdCacheTally(Rc<Cell<SsdCacheCounters>>);

impl SsdCacheTally {
    /// At this moment.
    pub fn counters(&self) -> SsdCacheCounters {
        self.0.get()
    }

    fn add(&self, add: impl FnOnce(&mut SsdCacheCounters)) {
        let mut counters = self.0.get();
        add(&mut counters);
        self.0.set(counters);
    }
}

/// A place on flash.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    block: u64,
    /// Units that are there.
    valid: u64,
    /// Units that the disks lack.
    dirty: u64,
}

/// The cache, a machine over disks and flash. Budget: 1 us a block of a request.
pub struct SsdCache {
    params: SsdCacheParams,
    shape: Shape,
    geometry: Geometry,
    depth: [u32; 2],
    transfer_bytes_max: [u32; 2],
    unit_bytes: u64,
    policy: Box<dyn Replacement>,
    table: Table,
    slots: Vec<Slot>,
    free: Vec<u32>,
    dirty: BTreeSet<u64>,
    /// Of a cache of writes alone: who became dirty, the earliest first, some of them clean again.
    by_age: VecDeque<u64>,
    /// From which block on the cleaner goes on.
    sweep: u64,
    cleaning: u32,
    /// Blocks on their way to the disks that may be written meanwhile, and whether they were.
    open: BTreeMap<u64, bool>,
    /// Writes that go by, and when the cleaner may go on after the last one, if it pauses for them.
    passing: u32,
    pause_ends: Option<Instant>,
    /// More were dirty than may be, and so few as are to be left are not reached.
    cleans_down: bool,
    locks: Locks,
    streams: Streams,
    parents: Slab<Parent>,
    pieces: Slab<Piece>,
    sent: Slab<Sent>,
    merged: Slab<Vec<Part>>,
    waiting: [VecDeque<(Request, Sent)>; 2],
    under_way: [u32; 2],
    commit: Commit,
    /// Places of which a discard took something.
    forgotten: Vec<u32>,
    /// A discard that has everything to itself, and who waits for its end.
    barrier: Option<u32>,
    held: VecDeque<Request>,
    buffers: Vec<Buf>,
    tally: SsdCacheTally,
}

/// A request from above.
#[derive(Debug)]
struct Parent {
    tag: Tag,
    actor: Actor,
    issued: Instant,
    kind: Kind,
    offset: u64,
    bytes: u64,
    payload: Payload,
    outstanding: u32,
    error: Option<IoError>,
    bypasses: bool,
    /// A durable write, which the map on flash may contradict still: of what is on flash alone it
    /// says nothing, and of what went to the disks it may say that older bytes are dirty.
    needs_map: bool,
}

/// What is done about a block, or about several that are not cached.
#[derive(Debug)]
struct Piece {
    parent: Option<u32>,
    job: Job,
    first: u64,
    last: u64,
    offset: u64,
    bytes: u64,
    slot: Option<u32>,
    step: Step,
    outstanding: u32,
    error: Option<IoError>,
    /// Units that this changes.
    units: u64,
    /// They become dirty.
    dirties: bool,
    /// What the cleaner carries to the disks: where, and the bytes.
    carried: Vec<(Extent, Payload)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Job {
    Read,
    Write,
    /// To the disks with it; and out of the cache, if it leaves.
    Clean {
        leaves: bool,
    },
    /// What flash lacks of it comes from the disks.
    Fill,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Waiting for its lock.
    Queued,
    First,
    /// Of a read and a fill: onto flash; of the cleaner: to the disks.
    Second,
    /// Of the cleaner, which let others at the block meanwhile: it has the block again.
    Third,
}

/// Who waits for a command below.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// A piece: where in its parent's payload the bytes lie.
    Piece {
        piece: u32,
        at: u64,
        bytes: u64,
    },
    Parent(u32),
    Commit,
    /// Several pieces, as one command.
    Merged(u32),
}

impl SsdCache {
    /// An empty cache. `disks` and `flash` are the contracts of drive 0 and 1 below.
    ///
    /// # Panics
    /// When it does not fit on `flash`, or one of the two stores bytes and the other does not.
    pub fn new(params: SsdCacheParams, disks: Geometry, flash: Geometry) -> Self {
        let shape = params.shape(&flash);
        assert_eq!(disks.data, flash.data, "one keeps bytes and the other does not");
        let block_bytes = disks.block_bytes.max(flash.block_bytes);
        let transfer = disks.transfer_bytes_max.min(TRANSFER_BYTES_MAX);
        assert!(params.block_bytes <= transfer.min(flash.transfer_bytes_max), "a block's transfer");
        assert!(disks.queue_depth > 1 && flash.queue_depth > 1, "drives that take one request");
        let unit_bytes = u64::from(params.block_bytes / 64).max(u64::from(block_bytes));
        assert!(u64::from(params.block_bytes).is_multiple_of(unit_bytes), "units of a block");
        Self {
            geometry: Geometry { block_bytes, transfer_bytes_max: transfer, ..disks },
            depth: [disks.queue_depth, flash.queue_depth],
            transfer_bytes_max: [transfer, flash.transfer_bytes_max.min(TRANSFER_BYTES_MAX)],
            unit_bytes,
            policy: params.policy.cache(shape.blocks),
            table: Table::new(shape.slots as usize),
            slots: vec![Slot::default(); shape.slots as usize],
            free: (0..shape.slots).rev().collect(),
            dirty: BTreeSet::new(),
            by_age: VecDeque::new(),
            sweep: 0,
            cleaning: 0,
            open: BTreeMap::new(),
            passing: 0,
            pause_ends: None,
            cleans_down: false,
            locks: Locks::default(),
            streams: Streams::default(),
            parents: Slab::default(),
            pieces: Slab::default(),
            sent: Slab::default(),
            merged: Slab::default(),
            waiting: [VecDeque::new(), VecDeque::new()],
            under_way: [0; 2],
            commit: Commit::new(&shape),
            forgotten: Vec::new(),
            barrier: None,
            held: VecDeque::new(),
            buffers: Vec::new(),
            tally: SsdCacheTally::default(),
            params,
            shape,
        }
    }

    /// A cache with what its map on flash says: after a power cut, the restart. On flash that was
    /// never used it is empty.
    ///
    /// # Errors
    /// When flash does not answer.
    ///
    /// # Panics
    /// As [`SsdCache::new`].
    pub fn open<E: Engine>(params: SsdCacheParams, engine: &mut E) -> Result<Self, IoError> {
        let mut new = Self::new(params, engine.geometry(DISKS), engine.geometry(FLASH));
        if new.geometry.data == Data::Stored && new.keeps_map() {
            new.recover(engine)?;
        }
        Ok(new)
    }

    /// What it has done so far.
    pub fn counters(&self) -> SsdCacheCounters {
        SsdCacheCounters { dirty_blocks: self.dirty.len() as u64, ..self.tally.counters() }
    }

    /// What it has done, and will have.
    pub fn tally(&self) -> SsdCacheTally {
        self.tally.clone()
    }

    /// Whether entries of the map are written to flash.
    fn keeps_map(&self) -> bool {
        self.params.mode == WriteMode::Back && self.params.map == MapPlace::Persistent
    }

    fn find(&self, block: u64) -> Option<u32> {
        self.table.get(block, |slot| self.slots[slot as usize].block == block)
    }

    /// Sends a command, or keeps it until the drive takes it.
    fn send(&mut self, drive: Drive, actor: Actor, command: Command, sent: Sent) {
        if let (FLASH, Command::Write { at, .. }) = (drive, &command) {
            self.tally.add(|sum| sum.flash_written_bytes += u64::from(at.bytes));
        }
        let request = Request { tag: Tag(0), actor, drive, command };
        self.waiting[usize::from(drive.0)].push_back((request, sent));
    }

    fn pump(&mut self, effects: &mut Effects) {
        for side in 0..2 {
            while self.under_way[side] < self.depth[side]
                && let Some((request, sent)) = self.next_merged(side)
            {
                self.under_way[side] += 1;
                // The low bit says which drive answers.
                let tag = Tag(u64::from(self.sent.insert(sent)) << 1 | side as u64);
                effects.down.push(Request { tag, ..request });
            }
        }
    }

    /// Memory for a transfer, where bytes are kept.
    fn buffer(&mut self, bytes: u64) -> Payload {
        if self.geometry.data == Data::TimingOnly {
            return Payload::None;
        }
        let block = u64::from(self.params.block_bytes.max(map::PAGE_BYTES as u32));
        let pooled = if bytes <= block { self.buffers.pop() } else { None };
        Payload::Bytes(pooled.unwrap_or_else(|| Buf::zeroed(bytes.max(block) as usize)))
    }

    fn give_back(&mut self, payload: Payload) {
        let block = self.params.block_bytes.max(map::PAGE_BYTES as u32) as usize;
        if let Payload::Bytes(buffer) = payload
            && buffer.bytes().len() == block
        {
            self.buffers.push(buffer);
        }
    }

    fn accept(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let (kind, offset, bytes, payload) = Kind::split(request.command);
        assert!(offset + bytes <= self.geometry.capacity_bytes, "outside of the volume");
        assert!(!matches!(payload, Payload::Stamp(_)), "a cache carries bytes");
        let parent = self.parents.insert(Parent {
            tag: request.tag,
            actor: request.actor,
            issued: now,
            kind,
            offset,
            bytes,
            payload,
            outstanding: 0,
            error: None,
            bypasses: false,
            needs_map: kind == Kind::Write(Durability::Fua),
        });
        self.policy.pass_time(now.0);
        match kind {
            Kind::Read | Kind::Write(_) => self.cut(parent),
            Kind::Flush => self.flush(parent),
            Kind::Discard => {
                self.barrier = Some(parent);
                self.discard_alone();
            }
        }
        self.end_idle(now, effects);
        self.pump(effects);
    }

    /// A discard begins when nothing else is under way.
    fn discard_alone(&mut self) {
        let Some(parent) = self.barrier else { return };
        if !self.pieces.is_empty() || self.parents.get_mut(parent).outstanding > 0 {
            return;
        }
        let Parent { offset, bytes, actor, .. } = *self.parents.get_mut(parent);
        let block = u64::from(self.params.block_bytes);
        for slot in 0..self.shape.slots {
            let Slot { block: number, valid, .. } = self.slots[slot as usize];
            let (from, to) = (number * block, (number + 1) * block);
            if valid != 0 && from < offset + bytes && offset < to {
                self.forget_units(slot, offset.max(from), (offset + bytes).min(to));
            }
        }
        self.parents.get_mut(parent).outstanding = 1;
        self.send(DISKS, actor, Command::Discard { offset, len: bytes }, Sent::Parent(parent));
    }

    /// A range is no longer needed. Of a unit that it only touches, what is dirty stays.
    fn forget_units(&mut self, slot: u32, from: u64, to: u64) {
        let block = self.slots[slot as usize].block;
        let within = self.units_within(block, from, to - from);
        let touched = self.units_touched(block, from, to - from);
        let place = &mut self.slots[slot as usize];
        place.valid &= !(within | touched & !place.dirty);
        place.dirty &= !within;
        if place.dirty == 0 {
            self.dirty.remove(&block);
        }
        self.commit.changed(slot);
        self.forgotten.push(slot);
    }

    /// A request is answered.
    fn answer(&mut self, now: Instant, parent: u32, effects: &mut Effects) {
        let Parent { tag, issued, payload, error, kind, .. } = self.parents.remove(parent);
        let result = error.map_or(Ok(()), Err);
        effects.up.push(Completion { tag, issued, finished: now, result, payload });
        if kind == Kind::Discard {
            self.barrier = None;
            for slot in std::mem::take(&mut self.forgotten) {
                self.leave_if_clean(slot);
            }
            self.commit_what_waits();
            self.clean_some(now);
            while self.barrier.is_none()
                && let Some(request) = self.held.pop_front()
            {
                self.accept(now, request, effects);
            }
        }
    }

    /// What a request waited for is done.
    fn one_less(&mut self, now: Instant, parent: u32, effects: &mut Effects) {
        let waiting = self.parents.get_mut(parent);
        waiting.outstanding -= 1;
        if waiting.outstanding > 0 {
            return;
        }
        let is_durable = waiting.kind == Kind::Write(Durability::Fua) && waiting.needs_map;
        if is_durable && waiting.error.is_none() {
            waiting.needs_map = false;
            if self.keeps_map() {
                self.parents.get_mut(parent).outstanding = 1;
                return self.join_commit(parent);
            }
        }
        self.answer(now, parent, effects);
    }
}

/// Bits from `first` to before `end`, of 64.
fn bits(first: u64, end: u64) -> u64 {
    if first >= end {
        return 0;
    }
    u64::MAX >> (64 - (end - first)) << first
}

impl Machine for SsdCache {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        if self.barrier.is_some() {
            self.held.push_back(request);
        } else {
            self.accept(now, request, effects);
        }
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let Completion { tag, result, payload, .. } = completion;
        let side = (tag.0 & 1) as usize;
        self.under_way[side] -= 1;
        let sent = self.sent.remove(u32::try_from(tag.0 >> 1).expect("our own tag"));
        match sent {
            Sent::Piece { piece, at, bytes } => {
                self.came_back(now, piece, (at, bytes), side, result, payload, effects);
            }
            Sent::Parent(parent) => {
                let waiting = self.parents.get_mut(parent);
                waiting.error = waiting.error.or(result.err());
                self.one_less(now, parent, effects);
            }
            Sent::Commit => {
                self.give_back(payload);
                self.commit_went_on(now, result, effects);
            }
            Sent::Merged(parts) => {
                for part in self.split(parts, &payload) {
                    let Part { piece, at, bytes, payload } = part;
                    self.came_back(now, piece, (at, bytes), side, result, payload, effects);
                }
            }
        }
        self.end_idle(now, effects);
        self.discard_alone();
        self.pump(effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        if self.pause_ends.is_some_and(|ends| ends <= now) {
            self.pause_ends = None;
            // A discard has everything to itself; the cleaner goes on behind it.
            if self.barrier.is_none() {
                self.clean_some(now);
            }
            self.end_idle(now, effects);
            self.pump(effects);
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.pause_ends.unwrap_or(Instant::NEVER)
    }
}
