//! The journal of a tree: what a transaction gathers, what its commit asks of the drives, and what
//! is written in place later.
//!
//! ```text
//!   change --> running --commit--> pinned: only the journal has it --in place--> free again
//!                 5 s, 30 s, a sync, a quarter full         30 s, or three quarters full
//! ```

use super::{
    Ask, FileTree, Owner, Urgency,
    map::{Block, Map},
    pages::Item,
};
use crate::fs::{
    Barrier, FileSystemParams, Kind, PAGE_BYTES,
    layout::{FIRST, SECOND, SECTOR_BYTES},
};
use block::{Drive, Instant, IoError};
use std::collections::{BTreeMap, VecDeque};

/// What XFS logs of an inode, and of a piece of a buffer, bytes (see `fs::tree`).
pub(super) const INODE_BYTES: u64 = 200;
/// See [`INODE_BYTES`].
pub(super) const PIECE_BYTES: u64 = 176;
/// A record's header and a transaction's own, bytes.
const RECORD_BYTES: u64 = SECTOR_BYTES + 56;
/// Blocks that one descriptor of JBD names.
const DESCRIBED_BLOCKS: u64 = 508;

/// What a commit asks for at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// All data on the drives: ext3 `data=ordered`.
    Data,
    /// What holds the oldest part of the journal is written in place.
    Room,
    /// So many bytes into the journal.
    Append(u64),
    Flush(Drive),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Commit {
    number: u64,
    steps: VecDeque<Step>,
    /// Requests of the step under way.
    pending: u32,
    blocks: Vec<Block>,
    began: u64,
    result: Result<(), IoError>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Journal {
    kind: Kind,
    bytes: u64,
    interval_ns: u64,
    expire_ns: u64,
    request_bytes: u64,
    /// What a record of XFS is rounded up to: a sector of its drive, 512 B at least.
    sector_bytes: u64,
    /// Blocks that the running transaction changed, and what of them XFS logs.
    changed: BTreeMap<Block, u64>,
    changed_bytes: u64,
    since: Option<Instant>,
    /// The running transaction's number.
    number: u64,
    /// All up to this one are durable.
    committed: u64,
    /// Bytes ever appended.
    head: u64,
    commit: Option<Commit>,
    /// Blocks that only the journal has, and where it began to.
    pinned: BTreeMap<Block, u64>,
    pinned_since: Option<Instant>,
    /// Blocks that are being written in place, the oldest of their places, and how many writes are
    /// under way.
    in_place: Vec<Block>,
    in_place_began: u64,
    in_place_pending: u32,
    /// A commit failed: nothing more is acknowledged.
    pub aborted: Result<(), IoError>,
}

impl Journal {
    pub fn new(params: &FileSystemParams, map: &Map) -> Self {
        Self {
            kind: params.kind,
            bytes: map.journal_bytes,
            interval_ns: params.commit_interval_ns,
            expire_ns: params.dirty_expire_ns,
            request_bytes: params.request_bytes_max.into(),
            sector_bytes: map.journal_block_bytes.max(SECTOR_BYTES),
            changed: BTreeMap::new(),
            changed_bytes: 0,
            since: None,
            number: 1,
            committed: 0,
            head: 0,
            commit: None,
            pinned: BTreeMap::new(),
            pinned_since: None,
            in_place: Vec::new(),
            in_place_began: 0,
            in_place_pending: 0,
            aborted: Ok(()),
        }
    }

    /// The running transaction's number.
    pub fn running(&self) -> u64 {
        self.number
    }

    /// Whether a transaction is durable, or changed nothing.
    pub fn has_committed(&self, transaction: u64) -> bool {
        transaction <= self.committed
    }

    /// The last transaction that changed anything.
    pub fn last(&self) -> u64 {
        if self.changed.is_empty() { self.number - 1 } else { self.number }
    }

    pub fn is_committing(&self) -> bool {
        self.commit.is_some()
    }

    /// Whether the running transaction takes no more: a quarter of the journal; of XFS, whose
    /// changes gather in memory, an eighth (`XLOG_CIL_SPACE_LIMIT`).
    pub fn is_full(&self) -> bool {
        match self.kind {
            Kind::Xfs { .. } => self.changed_bytes >= self.bytes / 8,
            _ => self.changed_bytes >= self.bytes / 4,
        }
    }

    /// A block changes; whether it is new to the running transaction.
    pub fn change(&mut self, block: Block, logged: u64, block_bytes: u64, now: Instant) -> bool {
        let added = if let Kind::Xfs { .. } = self.kind { logged } else { block_bytes };
        self.since.get_or_insert(now);
        let (had, is_new) = match self.changed.get(&block) {
            Some(&had) => (had, false),
            None => (0, true),
        };
        let has = (had + added).min(block_bytes);
        self.changed.insert(block, has);
        self.changed_bytes += has - had;
        is_new
    }

    pub fn commit_due(&self) -> Instant {
        match self.since {
            Some(since) if self.commit.is_none() => since.after(self.interval_ns),
            _ => Instant::NEVER,
        }
    }

    pub fn in_place_due(&self) -> Instant {
        match self.pinned_since {
            Some(since) if self.in_place_pending == 0 => since.after(self.expire_ns),
            _ => Instant::NEVER,
        }
    }

    fn used(&self) -> u64 {
        let held = (self.in_place_pending > 0).then_some(self.in_place_began);
        let oldest = self.pinned.values().copied().chain(held).min();
        oldest.map_or(0, |began| self.head - began)
    }

    /// What must be written in place so that the journal before `kept` is free: whole blocks, in
    /// the order of the device, neighbours together.
    pub fn begin_in_place(&mut self, kept: u64, map: &Map) -> Vec<(u64, u64)> {
        assert!(self.in_place_pending == 0, "one round of writes in place at a time");
        let committing = self.commit.as_ref().map_or(&[][..], |commit| &commit.blocks);
        let (changed, in_place) = (&self.changed, &mut self.in_place);
        let mut oldest = u64::MAX;
        self.pinned.retain(|block, began| {
            // What a later transaction changes is written in place with that one.
            let stays = *began >= kept
                || (kept == u64::MAX
                    && (changed.contains_key(block) || committing.binary_search(block).is_ok()));
            if !stays {
                in_place.push(*block);
                oldest = oldest.min(*began);
            }
            stays
        });
        let mut writes: Vec<(u64, u64)> = Vec::new();
        for &block in &*in_place {
            let bytes = map.block_bytes(block);
            match writes.last_mut() {
                Some((offset, length))
                    if *offset + *length == block && *length + bytes <= self.request_bytes =>
                {
                    *length += bytes;
                }
                _ => writes.push((block, bytes)),
            }
        }
        self.in_place_began = oldest;
        self.in_place_pending = writes.len() as u32;
        if kept == u64::MAX {
            self.pinned_since = None;
        }
        writes
    }

    /// One write in place has ended: the blocks that the last of them made clean.
    pub fn end_in_place(&mut self, result: Result<(), IoError>) -> Vec<Block> {
        self.aborted = self.aborted.and(result);
        self.in_place_pending -= 1;
        match self.in_place_pending {
            0 => std::mem::take(&mut self.in_place),
            _ => Vec::new(),
        }
    }

    pub fn end_commit_step(&mut self, result: Result<(), IoError>) {
        let commit = self.commit.as_mut().expect("an answer belongs to a commit");
        commit.pending -= 1;
        commit.result = commit.result.and(result);
    }

    /// Bytes that the running transaction takes in the journal.
    fn transaction_bytes(&self) -> u64 {
        let blocks = self.changed.len() as u64;
        match self.kind {
            Kind::Xfs { .. } => {
                (self.changed_bytes + RECORD_BYTES).next_multiple_of(self.sector_bytes)
            }
            _ => (blocks + blocks.div_ceil(DESCRIBED_BLOCKS)) * PAGE_BYTES,
        }
    }
}

impl FileTree {
    /// Commits the running transaction, unless one is being committed or there is nothing.
    pub(super) fn begin_commit(&mut self) {
        if self.journal.is_committing() || self.journal.changed.is_empty() {
            return;
        }
        let steps = self.commit_steps();
        let journal = &mut self.journal;
        let blocks = std::mem::take(&mut journal.changed).into_keys().collect();
        journal.commit = Some(Commit {
            number: journal.number,
            steps,
            pending: 0,
            blocks,
            began: journal.head,
            result: journal.aborted,
        });
        (journal.changed_bytes, journal.since) = (0, None);
        journal.number += 1;
    }

    /// As `fs::layout::Journal::commit`: JBD2 flushes what has data before its record goes out, and
    /// the journal's drive before and after it; XFS has a record that needs none of its own.
    fn commit_steps(&self) -> VecDeque<Step> {
        let journal_drive = self.map.journal_drive;
        let is_far = |drive: Drive| drive != journal_drive && self.has_data_or_metadata(drive);
        let far = [FIRST, SECOND].into_iter().filter(|drive| is_far(*drive));
        let before: Vec<Drive> = match self.params.barrier {
            Barrier::On => far.chain([journal_drive]).collect(),
            Barrier::Off => Vec::new(),
        };
        let mut steps = VecDeque::new();
        steps.extend(self.is_ordered().then_some(Step::Data));
        steps.push_back(Step::Room);
        let bytes = self.journal.transaction_bytes();
        let before = before.into_iter().map(Step::Flush);
        match self.params.kind {
            Kind::Xfs { .. } => {
                steps.extend(before);
                steps.push_back(Step::Append(bytes));
            }
            _ => {
                steps.push_back(Step::Append(bytes));
                steps.extend(before);
                steps.push_back(Step::Append(PAGE_BYTES));
            }
        }
        steps.extend(self.has_barriers().then_some(Step::Flush(journal_drive)));
        steps
    }

    /// Whether anything of the tree but a journal lies on a drive.
    fn has_data_or_metadata(&self, drive: Drive) -> bool {
        drive == FIRST || self.placement.metadata || self.placement.small_bytes > 0
    }

    /// Takes the commit as far as it goes; whether it ended.
    pub(super) fn step_commit(&mut self) -> bool {
        loop {
            let Some(commit) = &mut self.journal.commit else { return false };
            if commit.pending > 0 {
                return false;
            }
            let next = if commit.result.is_ok() { commit.steps.front().copied() } else { None };
            let Some(step) = next else {
                self.end_commit();
                return true;
            };
            match step {
                Step::Data => {
                    self.write_all(Urgency::Now);
                    if self.writing > 0 {
                        return false;
                    }
                }
                Step::Room if !self.makes_room() => return false,
                Step::Room => {}
                Step::Append(bytes) => self.append(bytes),
                Step::Flush(drive) => self.ask_for_commit(drive, Ask::Flush),
            }
            let commit = self.journal.commit.as_mut().expect("it goes on");
            commit.steps.pop_front();
        }
    }

    /// Whether the journal has room; if not, makes half of it free, after which its drive is
    /// flushed: the journal may be written over only when what lies in place is durable.
    fn makes_room(&mut self) -> bool {
        let journal = &self.journal;
        if journal.used() < journal.bytes / 4 * 3 {
            return true;
        }
        if journal.in_place_pending == 0 {
            let kept = journal.head.saturating_sub(journal.bytes / 2);
            let writes = self.journal.begin_in_place(kept, &self.map);
            self.write_in_place(writes, Urgency::Now);
            if self.has_barriers() {
                let flush = Step::Flush(self.map.metadata_drive);
                let commit = self.journal.commit.as_mut().expect("it needs room");
                commit.steps.insert(1, flush);
            }
        }
        self.journal.in_place_pending == 0
    }

    fn append(&mut self, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let at = self.journal.head % self.map.journal_bytes;
            let piece = left.min(self.journal.request_bytes).min(self.map.journal_bytes - at);
            let offset = self.map.journal_start + at;
            self.ask_for_commit(self.map.journal_drive, Ask::Write { offset, bytes: piece });
            self.journal.head += piece;
            left -= piece;
        }
    }

    fn ask_for_commit(&mut self, drive: Drive, ask: Ask) {
        self.ask(drive, ask, Owner::Commit, Urgency::Now);
        self.journal.commit.as_mut().expect("it asks").pending += 1;
    }

    fn end_commit(&mut self) {
        let commit = self.journal.commit.take().expect("it ends");
        self.journal.aborted = self.journal.aborted.and(commit.result);
        self.journal.committed = commit.number;
        self.journal.pinned_since.get_or_insert(self.now);
        for block in commit.blocks {
            // A later transaction that has the block frees the earlier one's part of the journal.
            if self.journal.pinned.insert(block, commit.began).is_some() {
                self.pages.release(Item::Metadata(block));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Kernel, LazyCount, Placement, files::TreeSize};
    use block::{Data, Geometry};

    /// A record of XFS was rounded to 512 B, and split a sector on disks that have 4 KiB.
    #[test]
    fn a_record_is_of_whole_sectors_of_its_drive() {
        let kind = Kind::Xfs { lazy_count: LazyCount::On };
        let params = FileSystemParams::of(Kernel::Linux2_6_30, kind, 1 << 30);
        let drive = |block_bytes| Geometry {
            capacity_bytes: 1 << 30,
            block_bytes,
            transfer_bytes_max: 1 << 20,
            queue_depth: 32,
            data: Data::TimingOnly,
        };
        let placement = Placement { metadata: true, ..Placement::default() };
        let size = TreeSize { files: 1, directories: 1 };
        for (blocks, expected) in [([4096, 512], 1024), ([512, 4096], 4096)] {
            let map = Map::new(kind, placement, &blocks.map(drive), size).expect("room");
            let mut journal = Journal::new(&params, &map);
            journal.change(0, INODE_BYTES, PAGE_BYTES, Instant(0));
            assert_eq!(journal.transaction_bytes(), expected, "{blocks:?}");
        }
    }
}
