//! A directory of empty files: what creating and deleting them writes, and when.
//!
//! ```text
//!   create, delete --> running transaction -commit--> journal ... in place, when the journal fills
//!     directory block,   ext3: whole blocks,   one write, then a commit record, every 5 s
//!     inode, bitmaps     XFS: changed bytes,   a log buffer of 32 KiB whenever one is full
//! ```
//!
//! What decides: ext3 gathers for five seconds and writes a block once, however many files changed
//! it; XFS before delayed logging (2.6.35) logs every change anew, and with barriers fences every
//! log buffer. What a stat asks for is in memory, for the same program made the files.
//!
//! Left out: allocation of inodes and of directory blocks beyond their place, locks, reading of
//! metadata that memory has lost, `nobh` (memory only), and the order of names: ext3 with its index
//! and XFS both place an entry by the hash of its name.

use super::{
    Barrier, FileSystemParams, Kind, LazyCount, PAGE_BYTES,
    layout::{Layout, SECTOR_BYTES},
};
use block::split_mix;
use std::collections::{BTreeMap, BTreeSet};

/// A log buffer of XFS, bytes (`logbsize`), and how many there are (`logbufs`).
const LOG_BUFFER_BYTES: u64 = 32 << 10;
/// See `LOG_BUFFER_BYTES`.
pub const LOG_BUFFERS: usize = 8;
/// Blocks that one descriptor of JBD names: 8 bytes each, after the header and an identity.
const DESCRIBED_BLOCKS: u64 = 508;
/// Entries of a directory block: assumed, blocks half full of names of 12 letters. Inodes of a
/// block: ext3's 128 bytes; XFS writes its 256-byte inodes in clusters of 32.
const ENTRIES_PER_BLOCK: u64 = 100;
const INODES_PER_BLOCK: u64 = 32;
const CLUSTER_BYTES: u64 = 8 << 10;

/// What is done to one file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Act {
    /// It is created, empty.
    Create,
    /// Its inode is looked at.
    Stat,
    /// It is unlinked.
    Delete,
}

impl Act {
    /// Processor time on the host of [`super::Memory::AMD_X2`], ns: the same for every file system,
    /// so that what differs is what they write. Assumed.
    pub fn cpu_ns(self) -> u64 {
        match self {
            Self::Create => 20_000,
            Self::Stat => 3_000,
            Self::Delete => 15_000,
        }
    }
}

/// One thing to ask of the drive, after everything before it has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Write so many bytes there.
    Write {
        /// Where.
        offset: u64,
        /// How many.
        bytes: u32,
    },
    /// Flush the drive.
    Flush,
}

/// The metadata of a directory, as the journal sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    kind: Kind,
    barrier: Barrier,
    layout: Layout,
    request_bytes: u64,
    leaves: u64,
    /// Blocks that the running transaction changed, by offset, each with its bytes.
    running: BTreeMap<u64, u64>,
    /// Bytes of the log that it needs: XFS.
    logged_bytes: u64,
    /// Bytes ever written to the journal.
    head: u64,
    /// Blocks that only the journal has, each with its bytes and where the journal began to.
    pinned: BTreeMap<u64, (u64, u64)>,
    /// Commits so far.
    commits: u64,
}

impl Tree {
    /// An empty directory for `files` files, on a device of `device_bytes`.
    ///
    /// # Panics
    /// Of ext2, which has no journal.
    pub fn new(params: &FileSystemParams, device_bytes: u64, files: u64) -> Self {
        assert!(params.kind != Kind::Ext2, "a tree without a journal is not modelled");
        Self {
            kind: params.kind,
            barrier: params.barrier,
            layout: Layout::new(params.kind, device_bytes),
            request_bytes: u64::from(params.request_bytes_max),
            leaves: files.div_ceil(ENTRIES_PER_BLOCK).max(1),
            running: BTreeMap::new(),
            logged_bytes: 0,
            head: 0,
            pinned: BTreeMap::new(),
            commits: 0,
        }
    }

    /// Does `act` to a file, in memory.
    pub fn apply(&mut self, act: Act, file: u64) {
        if act == Act::Stat {
            return;
        }
        let base = self.layout.data_start;
        // Where the hash of its name falls.
        let leaf = base + split_mix(&mut { file }) % self.leaves * PAGE_BYTES;
        let inodes = base + self.leaves * 2 * PAGE_BYTES;
        let headers = self.layout.inode();
        match self.kind {
            Kind::Xfs { lazy_count } => {
                let entry = base + (self.leaves + file / ENTRIES_PER_BLOCK) * PAGE_BYTES;
                let inode = inodes + file / INODES_PER_BLOCK * CLUSTER_BYTES;
                for (offset, bytes) in [
                    (leaf, PAGE_BYTES),
                    (entry, PAGE_BYTES),
                    (inode, CLUSTER_BYTES),
                    (headers, PAGE_BYTES),
                    (headers + PAGE_BYTES, PAGE_BYTES),
                ] {
                    self.running.insert(offset, bytes);
                }
                if lazy_count == LazyCount::Off {
                    self.running.insert(0, PAGE_BYTES);
                }
                self.logged_bytes += log_bytes(act, lazy_count);
            }
            _ => {
                let inode = inodes + file / INODES_PER_BLOCK * PAGE_BYTES;
                let group = inode / (128 << 20) * 2 * PAGE_BYTES;
                // Directory, inode, the directory's own, bitmap, descriptor; and the superblock,
                // where the list of unlinked inodes begins.
                let mut changed = BTreeSet::from([leaf, inode, headers]);
                changed.extend([headers + PAGE_BYTES + group, headers + 2 * PAGE_BYTES + group]);
                changed.extend((act == Act::Delete).then_some(0));
                self.running.extend(changed.into_iter().map(|offset| (offset, PAGE_BYTES)));
            }
        }
    }

    /// Whether there is anything to commit.
    pub fn is_dirty(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether the running transaction must be committed though its time has not come: XFS has a
    /// log buffer full, JBD a quarter of the journal.
    pub fn is_full(&self) -> bool {
        match self.kind {
            Kind::Xfs { .. } => self.logged_bytes >= LOG_BUFFER_BYTES,
            _ => self.running.len() as u64 * PAGE_BYTES >= self.layout.journal_bytes / 4,
        }
    }

    /// Commits the running transaction: what to write, and flushes around it with barriers. Before
    /// that, if the journal is three quarters full, what makes half of it free.
    pub fn commit(&mut self, traffic: &mut Vec<Traffic>) {
        self.make_room(traffic);
        let fence = (self.barrier == Barrier::On).then_some(Traffic::Flush);
        let began = self.head;
        match self.kind {
            Kind::Xfs { .. } => {
                traffic.extend(fence);
                self.append(self.logged_bytes, traffic);
            }
            _ => {
                let blocks = self.running.len() as u64;
                self.append((blocks + blocks.div_ceil(DESCRIBED_BLOCKS)) * PAGE_BYTES, traffic);
                traffic.extend(fence);
                self.append(PAGE_BYTES, traffic);
            }
        }
        traffic.extend(fence);
        for (offset, bytes) in std::mem::take(&mut self.running) {
            self.pinned.entry(offset).or_insert((bytes, began));
        }
        self.logged_bytes = 0;
        self.commits += 1;
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Bytes of the journal that cannot be written over yet.
    pub fn journal_used(&self) -> u64 {
        let oldest = self.pinned.values().map(|(_, began)| *began).min();
        oldest.map_or(0, |began| self.head - began)
    }

    /// Writes in place, in the order of the device, what holds the oldest part of the journal.
    fn make_room(&mut self, traffic: &mut Vec<Traffic>) {
        if self.journal_used() < self.layout.journal_bytes / 4 * 3 {
            return;
        }
        let kept = self.head.saturating_sub(self.layout.journal_bytes / 2);
        let mut piece: Option<(u64, u64)> = None;
        let request_bytes = self.request_bytes;
        let write = |(offset, bytes)| Traffic::Write { offset, bytes: bytes as u32 };
        self.pinned.retain(|&offset, &mut (bytes, began)| {
            if began >= kept {
                return true;
            }
            match &mut piece {
                Some((start, length))
                    if *start + *length == offset && *length + bytes <= request_bytes =>
                {
                    *length += bytes;
                }
                _ => traffic.extend(piece.replace((offset, bytes)).map(write)),
            }
            false
        });
        traffic.extend(piece.map(write));
    }

    fn append(&mut self, bytes: u64, traffic: &mut Vec<Traffic>) {
        let mut left = bytes.next_multiple_of(SECTOR_BYTES);
        while left > 0 {
            let at = self.head % self.layout.journal_bytes;
            let piece = left.min(self.request_bytes).min(self.layout.journal_bytes - at);
            let offset = self.layout.journal_start + at;
            traffic.push(Traffic::Write { offset, bytes: piece as u32 });
            self.head += piece;
            left -= piece;
        }
    }
}

/// What XFS logs for one file, bytes. An inode is its format, its core and their heads (200), a
/// piece of a buffer 128 and its format and heads (48); a transaction has 56 of its own
/// (`xfs_trans_resv`, `xfs_log_format.h`). A create logs two inodes and five pieces: directory
/// data, its leaf, its free space, the group's header, the inode B-tree. A delete is two
/// transactions: the entry and the list of unlinked inodes, then the inode itself.
fn log_bytes(act: Act, lazy_count: LazyCount) -> u64 {
    const INODE: u64 = 200;
    const PIECE: u64 = 128 + 48;
    const TRANSACTION: u64 = 56;
    let (transactions, inodes, pieces) = match act {
        Act::Create => (1, 2, 5),
        Act::Delete => (2, 3, 7),
        Act::Stat => (0, 0, 0),
    };
    let superblocks = if lazy_count == LazyCount::Off { 1 } else { 0 };
    transactions * TRANSACTION + inodes * INODE + (pieces + superblocks) * PIECE
}

#[cfg(test)]
mod tests {
    use super::{super::Kernel, *};

    const FILES: u64 = 16_384;
    const XFS: Kind = Kind::Xfs { lazy_count: LazyCount::On };
    const EXT3: Kind = Kind::Ext3 { data: super::super::DataMode::Ordered };

    fn params(kind: Kind) -> FileSystemParams {
        FileSystemParams::of(Kernel::Linux2_6_22, kind, 1 << 30)
    }

    /// Creates all files; the tree, and what was written while there was cause to.
    fn create_all(params: &FileSystemParams) -> (Tree, Vec<Traffic>) {
        let mut tree = Tree::new(params, 32_000_000_000, FILES);
        let mut traffic = Vec::new();
        for file in 0..FILES {
            tree.apply(Act::Create, file);
            if tree.is_full() {
                tree.commit(&mut traffic);
            }
        }
        (tree, traffic)
    }

    fn written(traffic: &[Traffic]) -> u64 {
        let bytes = |step: &Traffic| match step {
            Traffic::Write { bytes, .. } => u64::from(*bytes),
            Traffic::Flush => 0,
        };
        traffic.iter().map(bytes).sum()
    }

    #[test]
    fn ext3_gathers_and_writes_a_changed_block_once() {
        let (mut tree, mut traffic) = create_all(&params(EXT3));
        assert!(traffic.is_empty() && tree.commits() == 0);
        tree.commit(&mut traffic);
        // 164 leaves, 512 blocks of inodes and a few more, the descriptors and the record.
        let blocks = written(&traffic) / PAGE_BYTES;
        assert!((164 + 512..164 + 512 + 12).contains(&blocks), "{blocks}");
        assert!(!tree.is_dirty());
    }

    #[test]
    fn xfs_logs_every_change_and_commits_once_a_log_buffer() {
        let (tree, traffic) = create_all(&params(XFS));
        let a_file = log_bytes(Act::Create, LazyCount::On);
        let expected = FILES / LOG_BUFFER_BYTES.div_ceil(a_file);
        assert_eq!(tree.commits(), expected);
        assert!(written(&traffic) >= expected * LOG_BUFFER_BYTES);
        // XFS has barriers unless it is told: two flushes a commit.
        let flushes = traffic.iter().filter(|step| **step == Traffic::Flush).count() as u64;
        assert_eq!(flushes, 2 * expected);
    }

    #[test]
    fn counters_in_the_superblock_are_logged_with_every_change() {
        let without = Kind::Xfs { lazy_count: LazyCount::Off };
        assert!(create_all(&params(without)).0.commits() > create_all(&params(XFS)).0.commits());
    }

    #[test]
    fn a_stat_writes_nothing() {
        let mut tree = Tree::new(&params(XFS), 32_000_000_000, FILES);
        (0..FILES).for_each(|file| tree.apply(Act::Stat, file));
        assert!(!tree.is_dirty() && !tree.is_full());
    }

    #[test]
    fn a_journal_never_holds_more_than_it_has() {
        let mut tree = Tree::new(&params(XFS), 64 << 20, FILES);
        let mut traffic = Vec::new();
        for file in 0..20 * FILES {
            tree.apply(Act::Create, file % FILES);
            if tree.is_full() {
                tree.commit(&mut traffic);
            }
            assert!(tree.journal_used() <= tree.layout.journal_bytes);
        }
        let in_place = traffic.iter().filter(|step| match step {
            Traffic::Write { offset, .. } => *offset < tree.layout.journal_start,
            Traffic::Flush => false,
        });
        assert!(in_place.count() > 0);
    }
}
