//! One act of a worker: the steps it consists of, and how each is taken.
//!
//! A step is taken again and again until it is through: it looks whether what it waits for is
//! there, and asks for it once. So nothing needs to know who waits for what.

use super::{
    Ask, FileTree, Owner, Urgency,
    journal::{INODE_BYTES, PIECE_BYTES},
    map::Block,
    pages::Item,
    pieces,
};
use crate::{
    fs::{
        Kind, LazyCount, PAGE_BYTES,
        layout::{FIRST, SECOND},
    },
    nanoseconds_for,
};
use block::{Completion, Drive, Instant, IoError, Payload, Tag};
use std::collections::VecDeque;

/// Reads of one file that are under way at a time: a window of read-ahead and the next one.
const READS_AHEAD: u32 = 2;

/// What is done to a file or a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileOp {
    /// A new file is written.
    Create,
    /// All of a file is written over.
    Overwrite,
    /// All of a file is read.
    Read,
    /// A file's inode is looked at.
    Stat,
    /// A directory is listed.
    List,
    /// A file gets another name in its directory.
    Rename,
    /// A file gets a second name.
    Link,
    /// A name goes: the second one if there is one, else with the file.
    Unlink,
    /// An empty directory is made.
    Mkdir,
    /// It is removed.
    Rmdir,
    /// Everything becomes durable.
    SyncAll,
}

impl FileOp {
    /// Processor time beyond copies, ns: of ext4 under Linux 6.18 on a host of 2026, as the method
    /// `bonnie` found it (docs/reference/tree-workloads.md); those in one line are assumed alike.
    fn cpu_ns(self) -> u64 {
        match self {
            Self::Create | Self::Rename | Self::Link | Self::Mkdir | Self::Rmdir => 21_000,
            Self::Unlink => 23_000,
            Self::Overwrite | Self::Read | Self::List => 2_100,
            Self::Stat | Self::SyncAll => 1_500,
        }
    }
}

/// A name in a listing takes so long, ns (`getdents64`, the same page).
const NAME_NS: u64 = 260;

/// What is durable when an act is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durable {
    /// Nothing.
    Nothing,
    /// The file.
    File,
    /// The directory that has the name.
    Directory,
    /// Both, in that order.
    Both,
}

/// One act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileAct {
    /// What.
    pub op: FileOp,
    /// To which file; of a listing nothing.
    pub file: u32,
    /// The directory that has it.
    pub directory: u32,
    /// The file's size.
    pub bytes: u64,
    /// What must be durable in the end.
    pub durable: Durable,
}

/// What it consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A block of metadata is in memory.
    Need(Block),
    /// No write of the file is under way.
    Settled,
    /// Memory and the running transaction take more.
    Room,
    /// It is done, in memory.
    Do,
    /// The file's data is in memory.
    Fetch,
    /// The file's data, or everybody's, is on its drive.
    Out,
    AllOut,
    /// A drive is flushed, or the one of the file's data if that is not the journal's.
    Flush(Drive),
    FlushData,
    /// What changed the file, its directory or anything is durable.
    Commit(Whose),
}

/// Whose changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    File,
    Directory,
    All,
}

/// A worker at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Task {
    tag: Tag,
    issued: Instant,
    act: FileAct,
    steps: VecDeque<Step>,
    /// Whether the step in front has asked for what it waits for.
    has_asked: bool,
    /// The transaction that it waits for.
    transaction: Option<u64>,
    /// It was this worker who began that transaction's commit.
    leads: bool,
    /// When a processor takes it up again, that transaction being durable.
    pub goes_on_at: Option<Instant>,
    /// Bytes of the file that were asked for.
    asked_bytes: u64,
    /// Requests of its own under way.
    pub pending: u32,
    pub result: Result<(), IoError>,
}

impl Task {
    pub fn new(tag: Tag, issued: Instant, steps: VecDeque<Step>, act: FileAct) -> Self {
        Self {
            tag,
            issued,
            act,
            steps,
            has_asked: false,
            transaction: None,
            leads: false,
            goes_on_at: None,
            asked_bytes: 0,
            pending: 0,
            result: Ok(()),
        }
    }
}

impl FileTree {
    /// The steps of an act: what it looks up, what it does, what it makes durable.
    pub(super) fn steps_of(&self, act: FileAct) -> VecDeque<Step> {
        if act.op == FileOp::SyncAll {
            let has_small = self.placement.small_bytes > 0;
            let flush = has_small.then_some(Step::Flush(SECOND));
            let steps = [Step::AllOut].into_iter().chain(flush);
            return steps.chain([Step::Commit(Whose::All)]).collect();
        }
        let mut steps: VecDeque<Step> = VecDeque::new();
        let map = &self.map;
        let own = map.inode(map.directory_inode(act.directory));
        steps.push_back(Step::Need(own));
        match act.op {
            FileOp::List => steps.extend(map.listing(act.directory).map(Step::Need)),
            FileOp::Stat | FileOp::Read | FileOp::Overwrite => {
                let name = self.name_of(act.file);
                steps.extend(map.entry(act.directory, act.file, name).map(Step::Need));
                steps.push_back(Step::Need(map.inode(map.file_inode(act.file))));
            }
            _ => steps.extend(self.changes(act).into_iter().map(|(block, _)| Step::Need(block))),
        }
        match act.op {
            FileOp::Read => steps.push_back(Step::Fetch),
            FileOp::Stat | FileOp::List => {}
            _ => steps.extend([Step::Room, Step::Settled, Step::Do]),
        }
        let moves_bytes = matches!(act.op, FileOp::Create | FileOp::Overwrite);
        if moves_bytes && matches!(act.durable, Durable::File | Durable::Both) {
            steps.push_back(Step::Out);
            // xfs_file_fsync flushes the drive of the data before it forces a log on another one.
            if let Kind::Xfs { .. } = self.params.kind {
                steps.push_back(Step::FlushData);
            }
            steps.push_back(Step::Commit(Whose::File));
        }
        if matches!(act.durable, Durable::Directory | Durable::Both) {
            steps.push_back(Step::Commit(Whose::Directory));
        }
        steps
    }

    /// Which of its names a file goes by.
    fn name_of(&self, file: u32) -> u64 {
        u64::from(self.files[file as usize].renamed)
    }

    /// The blocks that an act changes, each with what XFS logs of it.
    fn changes(&self, act: FileAct) -> Vec<(Block, u64)> {
        let (map, file) = (&self.map, &self.files[act.file as usize]);
        let directory = map.inode(map.directory_inode(act.directory));
        let mut changes = vec![(directory, INODE_BYTES)];
        let mut pieces = |blocks: &mut dyn Iterator<Item = Block>| {
            changes.extend(blocks.map(|block| (block, PIECE_BYTES)));
        };
        const SECOND_NAME: u64 = 2;
        const MADE_NAME: u64 = 3;
        let name = self.name_of(act.file);
        let mut entry = |name| pieces(&mut map.entry(act.directory, act.file, name));
        let number = match act.op {
            FileOp::Mkdir | FileOp::Rmdir => map.made_inode(act.file),
            _ => map.file_inode(act.file),
        };
        let inode = map.inode(number);
        let last = act.op == FileOp::Unlink && !file.linked;
        match act.op {
            FileOp::Create => entry(name),
            FileOp::Unlink if file.linked => entry(SECOND_NAME),
            FileOp::Unlink => entry(name),
            FileOp::Rename => {
                entry(name);
                entry(1 - name);
            }
            FileOp::Link => entry(SECOND_NAME),
            FileOp::Mkdir | FileOp::Rmdir => {
                entry(MADE_NAME);
                pieces(&mut [map.made_block(act.file)].into_iter());
            }
            _ => return vec![(inode, INODE_BYTES)],
        }
        if last || matches!(act.op, FileOp::Create | FileOp::Mkdir | FileOp::Rmdir) {
            pieces(&mut map.inode_map(number).into_iter());
            // The list of unlinked inodes begins in the superblock; with `lazy-count=0` it counts.
            let superblock = match self.params.kind {
                Kind::Xfs { lazy_count } => lazy_count == LazyCount::Off,
                _ => last,
            };
            pieces(&mut superblock.then_some(0).into_iter());
        }
        changes.push((inode, INODE_BYTES));
        changes
    }

    /// Takes a worker's steps as far as they go; whether any was taken.
    pub(super) fn step(&mut self, worker: usize) -> bool {
        let mut any = false;
        loop {
            let Some(task) = &self.tasks[worker] else { return any };
            let next = if task.result.is_ok() { task.steps.front().copied() } else { None };
            let Some(step) = next else {
                if task.pending == 0 {
                    self.finish(worker);
                    return true;
                }
                return any;
            };
            if !self.is_through(worker, step) {
                return any;
            }
            any = true;
            let task = self.tasks[worker].as_mut().expect("it goes on");
            task.steps.pop_front();
            (task.has_asked, task.leads) = (false, false);
            (task.transaction, task.goes_on_at) = (None, None);
        }
    }

    fn is_through(&mut self, worker: usize, step: Step) -> bool {
        let act = self.tasks[worker].as_ref().expect("a worker at it").act;
        let file = act.file as usize;
        match step {
            Step::Need(block) => self.has_block(block),
            Step::Settled => self.files[file].writing == 0,
            Step::Room => self.has_room(),
            Step::Do => {
                self.carry_out(worker, act);
                true
            }
            Step::Fetch => self.has_fetched(worker, act),
            Step::Out => self.is_out(worker, act.file),
            Step::AllOut => {
                self.write_all(Urgency::Now);
                self.writing == 0
            }
            Step::Flush(drive) => !self.has_barriers() || self.has_flushed(worker, drive),
            Step::FlushData => {
                let drive = if self.files[file].on_second { SECOND } else { FIRST };
                let is_needed = self.has_barriers() && drive != self.map.journal_drive;
                !is_needed || self.has_flushed(worker, drive)
            }
            Step::Commit(whose) => self.has_committed(worker, act, whose),
        }
    }

    fn has_block(&mut self, block: Block) -> bool {
        if self.pages.uses(Item::Metadata(block)) {
            return true;
        }
        if !self.known.contains(&block) {
            // Its group's map tells that nothing in it is in use: it is made, not read.
            self.pages.insert(Item::Metadata(block), self.map.block_bytes(block));
            return true;
        }
        if self.reading.insert(block) {
            let ask = Ask::Read { offset: block, bytes: self.map.block_bytes(block) };
            self.ask(self.map.metadata_drive, ask, Owner::Metadata(block), Urgency::Now);
        }
        false
    }

    /// A block could not be read.
    pub(super) fn fail_who_needs(&mut self, block: Block, error: IoError) {
        for task in self.tasks.iter_mut().flatten() {
            if task.steps.front() == Some(&Step::Need(block)) {
                task.result = Err(error);
            }
        }
    }

    fn has_room(&mut self) -> bool {
        if self.journal.is_full() {
            self.begin_commit();
        }
        let limit = self.share_of_ram(self.params.dirty_percent);
        let unwritten = self.dirty_bytes + self.writing_bytes;
        if unwritten > limit {
            self.write_all(Urgency::Background);
        }
        unwritten <= limit && !self.journal.is_full()
    }

    /// Does the act, in memory.
    fn carry_out(&mut self, worker: usize, act: FileAct) {
        for (block, logged_bytes) in self.changes(act) {
            self.change(block, logged_bytes);
        }
        let transaction = self.journal.running();
        let file = &mut self.files[act.file as usize];
        file.transaction = transaction;
        if act.op != FileOp::Overwrite {
            self.directories[act.directory as usize] = transaction;
        }
        match act.op {
            FileOp::Create => {
                let old = std::mem::take(file);
                assert!(old.places.is_empty() && !old.is_dirty, "a file is created twice");
                file.transaction = transaction;
                file.bytes = act.bytes;
                self.make_dirty(worker, act.file);
            }
            FileOp::Overwrite => self.make_dirty(worker, act.file),
            FileOp::Rename => file.renamed = !file.renamed,
            FileOp::Link => file.linked = true,
            FileOp::Unlink if file.linked => file.linked = false,
            FileOp::Unlink => self.free(act.file),
            _ => {}
        }
    }

    fn make_dirty(&mut self, worker: usize, number: u32) {
        let file = &mut self.files[number as usize];
        let bytes = file.bytes;
        if bytes == 0 || std::mem::replace(&mut file.is_dirty, true) {
            return;
        }
        self.pages.insert(Item::File(number), bytes.next_multiple_of(PAGE_BYTES));
        self.pages.hold(Item::File(number));
        self.dirty.insert(number);
        self.dirty_bytes += bytes;
        self.dirty_since.get_or_insert(self.now);
        // ext3 finds a place when it is written to memory.
        if let Kind::Ext3 { .. } = self.params.kind
            && let Err(error) = self.find_place(number)
        {
            let task = self.tasks[worker].as_mut().expect("a worker at it");
            task.result = Err(error);
        }
    }

    /// A file goes with its data.
    fn free(&mut self, number: u32) {
        let file = std::mem::take(&mut self.files[number as usize]);
        if file.is_dirty {
            self.dirty.remove(&number);
            self.dirty_bytes -= file.bytes;
            if self.dirty.is_empty() {
                self.dirty_since = None;
            }
        }
        self.pages.remove(Item::File(number));
        self.change_space_maps(file.on_second, &file.places);
        let drive = if file.on_second { SECOND } else { FIRST };
        self.map.give_back(drive, &file.places);
    }

    fn has_fetched(&mut self, worker: usize, act: FileAct) -> bool {
        let file = &self.files[act.file as usize];
        let bytes = file.bytes.next_multiple_of(PAGE_BYTES);
        let task = self.tasks[worker].as_mut().expect("a worker at it");
        if task.asked_bytes == 0 && (bytes == 0 || self.pages.uses(Item::File(act.file))) {
            return true;
        }
        let window = self.params.read_ahead_bytes.max(PAGE_BYTES);
        let window = window.min(self.params.request_bytes_max.into());
        let drive = if file.on_second { SECOND } else { FIRST };
        let mut asks = Vec::new();
        while task.asked_bytes < bytes && task.pending < READS_AHEAD {
            let end = (task.asked_bytes + window).min(bytes);
            let more = pieces(&file.places, task.asked_bytes, end, window);
            task.pending += more.len() as u32;
            task.asked_bytes = end;
            asks.extend(more);
        }
        let is_through = task.pending == 0;
        for ask in asks {
            self.ask(drive, ask, Owner::Worker(worker), Urgency::Now);
        }
        if is_through {
            self.pages.insert(Item::File(act.file), bytes);
        }
        is_through
    }

    fn is_out(&mut self, worker: usize, number: u32) -> bool {
        self.write_file(number, Urgency::Now);
        let file = &mut self.files[number as usize];
        if file.writing > 0 {
            return false;
        }
        let failed = file.failed.take();
        let task = self.tasks[worker].as_mut().expect("a worker at it");
        task.result = task.result.and(failed.map_or(Ok(()), Err));
        true
    }

    fn has_flushed(&mut self, worker: usize, drive: Drive) -> bool {
        let task = self.tasks[worker].as_mut().expect("a worker at it");
        if !std::mem::replace(&mut task.has_asked, true) {
            task.pending += 1;
            self.ask(drive, Ask::Flush, Owner::Worker(worker), Urgency::Now);
        }
        self.tasks[worker].as_ref().is_some_and(|task| task.pending == 0)
    }

    /// Whoever comes while a commit runs joins the next one. What is durable already costs a flush
    /// of the drive that has it (`ext4_fsync_journal`). For a directory ext4 commits whatever
    /// anybody changed, since Linux 6.4 (`ext4_force_commit`), and nothing where nobody did; of XFS
    /// one that is durable costs nothing (`xfs_dir_fsync`).
    fn has_committed(&mut self, worker: usize, act: FileAct, whose: Whose) -> bool {
        let wanted = match whose {
            Whose::File => self.files[act.file as usize].transaction,
            Whose::Directory if self.params.kind != Kind::Ext4 => {
                self.directories[act.directory as usize]
            }
            Whose::Directory | Whose::All => self.journal.last(),
        };
        let is_free_if_durable =
            whose == Whose::Directory && matches!(self.params.kind, Kind::Ext4 | Kind::Xfs { .. });
        let drive = match whose {
            Whose::File if self.files[act.file as usize].on_second => SECOND,
            Whose::File | Whose::All => FIRST,
            Whose::Directory => self.map.metadata_drive,
        };
        let (has, aborted) = (self.journal.has_committed(wanted), self.journal.aborted);
        let task = self.tasks[worker].as_mut().expect("a worker at it");
        if aborted.is_err() {
            task.result = task.result.and(aborted);
            return true;
        }
        if task.transaction.is_none() && has {
            let is_needed = self.has_barriers() && !is_free_if_durable;
            return !is_needed || self.has_flushed(worker, drive);
        }
        let wanted = *task.transaction.get_or_insert(wanted);
        if self.journal.has_committed(wanted) {
            return self.has_woken(worker)
                && (!self.flushes_after(worker, whose, drive) || self.has_flushed(worker, drive));
        }
        let leads = !self.journal.is_committing();
        self.begin_commit();
        self.tasks[worker].as_mut().expect("a worker at it").leads |= leads;
        false
    }

    /// Whether a sync flushes the drive once more when its commit is durable: that of a file on XFS
    /// does, where another has begun the commit (`log_flushed` of `xfs_file_fsync`).
    fn flushes_after(&self, worker: usize, whose: Whose, drive: Drive) -> bool {
        whose == Whose::File
            && matches!(self.params.kind, Kind::Xfs { .. })
            && self.has_barriers()
            && drive == self.map.journal_drive
            && self.tasks[worker].as_ref().is_some_and(|task| !task.leads)
    }

    /// A commit wakes all who wait for it, and one after the other goes on: whoever is first does
    /// its next act before the next one has a processor, which then finds other changes.
    fn has_woken(&mut self, worker: usize) -> bool {
        let now = self.now;
        let task = self.tasks[worker].as_mut().expect("a worker at it");
        let at = *task.goes_on_at.get_or_insert_with(|| {
            let Some(free) = self.processors.iter_mut().min() else { return now };
            let at = now.max(*free);
            // Until it waits again: what its next act takes, which begins as this one ends.
            *free = at.after(task.act.op.cpu_ns() + 1);
            at
        });
        at <= now
    }

    /// A worker is done; its processor time remains.
    fn finish(&mut self, worker: usize) {
        let Some(Task { tag, issued, act, result, .. }) = self.tasks[worker].take() else { return };
        let moved = match act.op {
            FileOp::Create | FileOp::Overwrite | FileOp::Read => act.bytes,
            _ => 0,
        };
        let names = if act.op == FileOp::List { self.map.names() } else { 0 };
        let copied = nanoseconds_for(moved, self.params.copy_bytes_per_s);
        let finished = self.now.after(act.op.cpu_ns() + copied + names * NAME_NS);
        self.outbox.put(Completion { tag, issued, finished, result, payload: Payload::None });
    }
}
