//! A tree of many files on a file system: what is done to whole files, and what that asks of one
//! drive or of two.
//!
//! ```text
//!   FileAct (create, read, unlink ...)   act.rs: a row of steps a worker, taken as they can be
//!      |  what memory lacks              pages.rs: whole files, blocks of metadata, one LRU
//!      |  changed metadata --> Journal   journal.rs: commits, writes in place
//!      |  dirty files                    write-back: at a sync, with age, above a limit
//!   Lane, Lane                           one a drive: syncs before write-back, so many at it
//!      |                                 map.rs: what lies where, and on which drive
//!   drive 0, drive 1
//! ```
//!
//! What decides: how many writes and flushes a durable create costs, on which drive; that metadata
//! is written twice, in the journal and later in place, here and there; and what is read again when
//! memory has lost it.
//!
//! Left out: the kernel's elevator, but for writes of neighbouring files, which are merged; locks;
//! extent blocks of large files; the spread of directories over groups (Orlov) or allocation
//! groups; discards; and XFS before delayed logging (2.6.39).

mod act;
mod journal;
mod map;
mod pages;

pub use act::{Durable, FileAct, FileOp};
pub use map::{Placement, TreeSize};

use super::{
    Barrier, DataMode, FileSystemParams, Kind, PAGE_BYTES,
    layout::{FIRST, SECOND},
};
use crate::Outbox;
use act::Task;
use block::{
    Actor, Command, Completion, Drive, Durability, Effects, Extent, Geometry, Instant, IoError,
    Payload, Request, Tag,
};
use journal::Journal;
use map::{Block, Map};
use pages::{Item, Pages};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Requests of the tree have this in their tags.
pub(super) const TREE_TAG: u64 = 1 << 40;
/// Most requests at the second drive at a time: what a queue of NVMe is set to by a usual host.
const SECOND_DEPTH: u32 = 128;

/// One file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct File {
    /// The last transaction that changed its inode.
    transaction: u64,
    places: Vec<(u64, u64)>,
    on_second: bool,
    renamed: bool,
    linked: bool,
    is_dirty: bool,
    /// Its place holds nothing of it before the first write of it has ended.
    is_unwritten: bool,
    bytes: u64,
    /// Writes of it under way.
    writing: u32,
    /// One that failed, and of which nobody was told.
    failed: Option<IoError>,
}

/// What a drive is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ask {
    Read { offset: u64, bytes: u64 },
    Write { offset: u64, bytes: u64 },
    Flush,
}

/// Whom the answer concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    /// Memory: a block of metadata is read.
    Metadata(Block),
    /// A worker.
    Worker(usize),
    /// A file's data is written.
    Data(u32),
    /// The running commit.
    Commit,
    /// Metadata is written in place.
    InPlace,
}

/// A request, waiting or at its drive.
#[derive(Clone, Debug)]
struct Pending {
    owner: Owner,
    /// Files whose data it writes as well: the block layer merges neighbours that wait.
    merged: Vec<u32>,
    ask: Ask,
    drive: Drive,
    generation: u32,
}

/// Whether somebody waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Urgency {
    Now,
    Background,
}

/// What waits for one drive, and how much is at it.
#[derive(Clone, Debug, Default)]
struct Lane {
    urgent: VecDeque<u64>,
    background: VecDeque<u64>,
    at_drive: u32,
    depth: u32,
    /// Whom the flush at the drive answers, and the next one: Linux has one at a time, and all who
    /// come meanwhile share the next (`block/blk-flush.c`).
    flushes: Vec<u64>,
    flushes_next: Vec<u64>,
}

impl Lane {
    /// The next request to send; of flushes one.
    fn next(&mut self, pending: &BTreeMap<u64, Pending>) -> Option<u64> {
        if self.flushes.is_empty() && !self.flushes_next.is_empty() {
            std::mem::swap(&mut self.flushes, &mut self.flushes_next);
            return self.flushes.first().copied();
        }
        loop {
            let number = self.urgent.pop_front().or_else(|| self.background.pop_front())?;
            if pending[&number].ask != Ask::Flush {
                return Some(number);
            }
            if self.flushes.is_empty() {
                self.flushes.push(number);
                return Some(number);
            }
            self.flushes_next.push(number);
        }
    }
}

/// The tree. Budget: 2 us an act that memory answers, 1 us a request.
#[derive(Debug)]
pub(super) struct FileTree {
    params: FileSystemParams,
    placement: Placement,
    map: Map,
    pages: Pages,
    journal: Journal,
    files: Vec<File>,
    /// The last transaction that changed a directory.
    directories: Vec<u64>,
    /// Blocks of metadata that hold anything: the others need not be read.
    known: BTreeSet<Block>,
    /// Blocks that are being read.
    reading: BTreeSet<Block>,
    dirty: BTreeSet<u32>,
    dirty_bytes: u64,
    dirty_since: Option<Instant>,
    /// Writes of data under way, and the bytes of their files.
    writing: u32,
    writing_bytes: u64,
    lanes: [Lane; 2],
    pending: BTreeMap<u64, Pending>,
    number: u64,
    /// Counts trees, so that an answer for an earlier one is known.
    generation: u32,
    tasks: Vec<Option<Task>>,
    /// When each processor has done with whom a commit woke; empty where each worker has its own.
    processors: Vec<Instant>,
    outbox: Outbox,
    now: Instant,
}

impl FileTree {
    /// An empty tree on `drives`, one or two of them.
    ///
    /// # Errors
    /// When there is no room for its metadata.
    pub fn new(
        params: &FileSystemParams,
        placement: Placement,
        drives: &[Geometry],
        size: TreeSize,
        workers_max: u32,
    ) -> Result<Self, IoError> {
        let map = Map::new(params.kind, placement, drives, size)?;
        let depth =
            |drive: usize, most: u32| drives.get(drive).map_or(0, |it| it.queue_depth.min(most));
        let depths = [depth(0, params.device_queue_depth), depth(1, SECOND_DEPTH)];
        let has_second = placement.metadata || placement.journal || placement.small_bytes > 0;
        assert!(!has_second || drives.len() == 2, "a place on a second drive, and no such drive");
        Ok(Self {
            placement,
            pages: Pages::new(params.ram_bytes),
            journal: Journal::new(params, &map),
            files: vec![File::default(); size.files as usize],
            directories: vec![0; size.directories as usize],
            known: BTreeSet::new(),
            reading: BTreeSet::new(),
            dirty: BTreeSet::new(),
            dirty_bytes: 0,
            dirty_since: None,
            writing: 0,
            writing_bytes: 0,
            lanes: depths.map(|depth| Lane { depth, ..Lane::default() }),
            pending: BTreeMap::new(),
            number: 0,
            generation: 0,
            tasks: Vec::new(),
            processors: vec![Instant(0); params.processors as usize],
            outbox: Outbox::new(workers_max),
            now: Instant(0),
            params: params.clone(),
            map,
        })
    }

    /// Makes it anew and empty, in no time: what was dirty is forgotten.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// With an act under way.
    pub fn replant(&mut self, drives: &[Geometry], size: TreeSize) -> Result<(), IoError> {
        assert!(self.tasks.iter().all(Option::is_none), "a tree is removed under an act");
        self.map = Map::new(self.params.kind, self.placement, drives, size)?;
        self.generation += 1;
        for lane in &mut self.lanes {
            let waiting = lane.urgent.drain(..).chain(lane.background.drain(..));
            for number in waiting.chain(lane.flushes_next.drain(..)) {
                self.pending.remove(&number);
            }
        }
        self.pages.forget_all();
        self.journal = Journal::new(&self.params, &self.map);
        self.files = vec![File::default(); size.files as usize];
        self.directories = vec![0; size.directories as usize];
        self.known.clear();
        self.reading.clear();
        self.dirty.clear();
        (self.dirty_bytes, self.dirty_since) = (0, None);
        (self.writing, self.writing_bytes) = (0, 0);
        Ok(())
    }

    /// Forgets what is not dirty.
    pub fn forget_clean(&mut self) {
        self.pages.forget_clean();
    }

    /// Bytes of files that are dirty or on their way to a drive.
    pub fn unwritten_bytes(&self) -> u64 {
        self.dirty_bytes + self.writing_bytes
    }

    /// A worker begins an act.
    pub fn begin(&mut self, now: Instant, request: &Request, act: FileAct, effects: &mut Effects) {
        self.now = now;
        let worker = usize::from(request.actor.0);
        if self.tasks.len() <= worker {
            self.tasks.resize_with(worker + 1, || None);
        }
        assert!(self.tasks[worker].is_none(), "a worker does one thing at a time");
        self.tasks[worker] = Some(Task::new(request.tag, now, self.steps_of(act), act));
        self.settle(effects);
    }

    /// A drive has answered.
    pub fn on_completion(&mut self, now: Instant, done: &Completion, effects: &mut Effects) {
        self.now = now;
        let number = done.tag.0 & (TREE_TAG - 1);
        let pending = self.pending.remove(&number).expect("it was asked for");
        let lane = &mut self.lanes[usize::from(pending.drive.0)];
        lane.at_drive -= 1;
        let shares = match pending.ask {
            Ask::Flush => std::mem::take(&mut lane.flushes),
            Ask::Read { .. } | Ask::Write { .. } => Vec::new(),
        };
        self.ended(pending, done.result);
        for other in shares {
            if let Some(pending) = self.pending.remove(&other) {
                self.ended(pending, done.result);
            }
        }
        self.settle(effects);
    }

    /// The alarm has come.
    pub fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.now = now;
        self.outbox.release(now, effects);
        self.settle(effects);
    }

    pub fn next_wakeup(&self) -> Instant {
        let age = |since: Option<Instant>, ns| since.map_or(Instant::NEVER, |it| it.after(ns));
        let data = age(self.dirty_since, self.params.dirty_expire_ns);
        let woken = self.tasks.iter().flatten().filter_map(|task| task.goes_on_at);
        let woken = woken.filter(|at| *at > self.now).min().unwrap_or(Instant::NEVER);
        let due = self.journal.commit_due().min(self.journal.in_place_due());
        self.outbox.next().min(due).min(data).min(woken)
    }

    /// Takes everything as far as it goes now.
    fn settle(&mut self, effects: &mut Effects) {
        loop {
            self.start_what_is_due();
            let mut any = self.step_commit();
            for worker in 0..self.tasks.len() {
                any |= self.step(worker);
            }
            if !any {
                break;
            }
        }
        self.dispatch(effects);
    }

    fn start_what_is_due(&mut self) {
        let data_due = self.dirty_since.map(|since| since.after(self.params.dirty_expire_ns));
        let background = self.share_of_ram(self.params.dirty_background_percent);
        if data_due.is_some_and(|due| due <= self.now) || self.dirty_bytes > background {
            self.write_all(Urgency::Background);
        }
        if self.journal.commit_due() <= self.now {
            self.begin_commit();
        }
        if self.journal.in_place_due() <= self.now {
            let writes = self.journal.begin_in_place(u64::MAX, &self.map);
            self.write_in_place(writes, Urgency::Background);
        }
    }

    fn share_of_ram(&self, percent: u32) -> u64 {
        self.params.ram_bytes / 100 * u64::from(percent)
    }

    fn write_in_place(&mut self, writes: Vec<(u64, u64)>, urgency: Urgency) {
        for (offset, bytes) in writes {
            let ask = Ask::Write { offset, bytes };
            self.ask(self.map.metadata_drive, ask, Owner::InPlace, urgency);
        }
    }

    /// Every dirty file on its way, in the order of their numbers.
    fn write_all(&mut self, urgency: Urgency) {
        for file in std::mem::take(&mut self.dirty) {
            self.write_file(file, urgency);
        }
        self.dirty_since = None;
    }

    /// A dirty file on its way; ext4 and XFS find its place only now.
    fn write_file(&mut self, file: u32, urgency: Urgency) {
        self.dirty.remove(&file);
        if self.dirty.is_empty() {
            self.dirty_since = None;
        }
        if !std::mem::take(&mut self.files[file as usize].is_dirty) {
            return;
        }
        self.dirty_bytes -= self.files[file as usize].bytes;
        if let Err(error) = self.find_place(file) {
            self.files[file as usize].failed = Some(error);
            return self.pages.release(Item::File(file));
        }
        let it = &self.files[file as usize];
        let drive = if it.on_second { SECOND } else { FIRST };
        self.writing_bytes += it.bytes;
        for ask in pieces(&it.places, 0, u64::MAX, self.params.request_bytes_max.into()) {
            let Ask::Read { offset, bytes } = ask else { unreachable!("pieces are reads") };
            if !self.merges(drive, (offset, bytes), file, urgency) {
                self.ask(drive, Ask::Write { offset, bytes }, Owner::Data(file), urgency);
            }
            self.files[file as usize].writing += 1;
            self.writing += 1;
        }
    }

    /// Whether the last that waits is a write of data that ends where this one begins: then it
    /// becomes a part of that.
    fn merges(&mut self, drive: Drive, at: (u64, u64), file: u32, urgency: Urgency) -> bool {
        let lane = &self.lanes[usize::from(drive.0)];
        let last = match urgency {
            Urgency::Now => lane.urgent.back(),
            Urgency::Background => lane.background.back(),
        };
        let Some(last) = last.and_then(|number| self.pending.get_mut(number)) else { return false };
        let (Ask::Write { offset, bytes }, Owner::Data(_)) = (&mut last.ask, last.owner) else {
            return false;
        };
        let most = u64::from(self.params.request_bytes_max);
        if *offset + *bytes != at.0 || *bytes + at.1 > most {
            return false;
        }
        *bytes += at.1;
        last.merged.push(file);
        true
    }

    /// Gives a file its place, on the second drive if it is small and there is room.
    fn find_place(&mut self, file: u32) -> Result<(), IoError> {
        let it = &self.files[file as usize];
        if !it.places.is_empty() {
            return Ok(());
        }
        let bytes = it.bytes.next_multiple_of(PAGE_BYTES);
        let is_small = it.bytes <= self.placement.small_bytes;
        let second = is_small.then(|| self.map.allocate(SECOND, bytes).ok()).flatten();
        let (on_second, places) = match second {
            Some(places) => (true, places),
            None => (false, self.map.allocate(FIRST, bytes)?),
        };
        self.change_space_maps(on_second, &places);
        self.change(self.map.inode(self.map.file_inode(file)), journal::INODE_BYTES);
        let it = &mut self.files[file as usize];
        it.transaction = self.journal.running();
        (it.on_second, it.places) = (on_second, places);
        it.is_unwritten = !matches!(self.params.kind, Kind::Ext3 { .. });
        Ok(())
    }

    fn change_space_maps(&mut self, on_second: bool, places: &[(u64, u64)]) {
        let drive = if on_second { SECOND } else { FIRST };
        for (offset, _) in places {
            for block in self.map.space_map(drive, *offset) {
                self.change(block, journal::PIECE_BYTES);
            }
        }
    }

    /// A block of metadata changes, and with it so many bytes of XFS' log.
    fn change(&mut self, block: Block, logged_bytes: u64) {
        assert!(block.is_multiple_of(PAGE_BYTES), "{block} is no block's place");
        let bytes = self.map.block_bytes(block);
        if !self.pages.uses(Item::Metadata(block)) {
            self.pages.insert(Item::Metadata(block), bytes);
        }
        self.known.insert(block);
        if self.journal.change(block, logged_bytes, bytes, self.now) {
            self.pages.hold(Item::Metadata(block));
        }
    }

    fn ask(&mut self, drive: Drive, ask: Ask, owner: Owner, urgency: Urgency) {
        let number = self.number;
        self.number += 1;
        let generation = self.generation;
        self.pending.insert(number, Pending { owner, merged: Vec::new(), ask, drive, generation });
        let lane = &mut self.lanes[usize::from(drive.0)];
        match urgency {
            Urgency::Now => lane.urgent.push_back(number),
            Urgency::Background => lane.background.push_back(number),
        }
    }

    fn dispatch(&mut self, effects: &mut Effects) {
        for lane in &mut self.lanes {
            while lane.at_drive < lane.depth
                && let Some(number) = lane.next(&self.pending)
            {
                lane.at_drive += 1;
                effects.down.push(self.pending[&number].request(number));
            }
        }
    }

    /// A request has come back; of an earlier tree it concerns nobody.
    fn ended(&mut self, pending: Pending, result: Result<(), IoError>) {
        if pending.generation != self.generation {
            return;
        }
        match pending.owner {
            Owner::Metadata(block) => {
                self.reading.remove(&block);
                match result {
                    Ok(()) => {
                        self.pages.insert(Item::Metadata(block), self.map.block_bytes(block));
                    }
                    Err(error) => self.fail_who_needs(block, error),
                }
            }
            Owner::Worker(worker) => {
                let task = self.tasks[worker].as_mut().expect("it waits for this");
                task.pending -= 1;
                task.result = task.result.and(result);
            }
            Owner::Data(file) => {
                for file in pending.merged.into_iter().chain([file]) {
                    self.written(file, result);
                }
            }
            Owner::Commit => self.journal.end_commit_step(result),
            Owner::InPlace => {
                for block in self.journal.end_in_place(result) {
                    self.pages.release(Item::Metadata(block));
                }
            }
        }
    }

    /// A write of a file's data has ended. Of ext4 and XFS its extents are written from now on,
    /// which changes the inode once more: a commit that began meanwhile is not the file's.
    fn written(&mut self, file: u32, result: Result<(), IoError>) {
        let it = &mut self.files[file as usize];
        it.writing -= 1;
        self.writing -= 1;
        it.failed = it.failed.or(result.err());
        if it.writing == 0 {
            self.writing_bytes -= it.bytes;
            self.pages.release(Item::File(file));
            if it.failed.is_none() && std::mem::take(&mut it.is_unwritten) {
                it.transaction = self.journal.running();
                self.change(self.map.inode(self.map.file_inode(file)), journal::INODE_BYTES);
            }
        }
    }

    /// Whether a commit writes all data first.
    fn is_ordered(&self) -> bool {
        self.params.kind == Kind::Ext3 { data: DataMode::Ordered }
    }

    fn has_barriers(&self) -> bool {
        self.params.barrier == Barrier::On
    }
}

impl Pending {
    fn request(&self, number: u64) -> Request {
        let at = |offset, bytes| Extent {
            offset,
            bytes: u32::try_from(bytes).expect("cut to the largest request"),
        };
        let (from, durability) = (Payload::None, Durability::Cached);
        let command = match self.ask {
            Ask::Read { offset, bytes } => {
                Command::Read { at: at(offset, bytes), into: Payload::None }
            }
            Ask::Write { offset, bytes } => {
                Command::Write { at: at(offset, bytes), from, durability }
            }
            Ask::Flush => Command::Flush,
        };
        Request { tag: Tag(TREE_TAG | number), actor: Actor(0), drive: self.drive, command }
    }
}

/// Bytes `from..to` of what lies at `places`, in reads of at most `most`.
fn pieces(places: &[(u64, u64)], from: u64, to: u64, most: u64) -> Vec<Ask> {
    let (mut asks, mut begin) = (Vec::with_capacity(1), 0);
    for &(offset, length) in places {
        let (mut at, end) = (from.max(begin), to.min(begin + length));
        while at < end {
            let bytes = most.min(end - at);
            asks.push(Ask::Read { offset: offset + at - begin, bytes });
            at += bytes;
        }
        begin += length;
    }
    asks
}
