//! Where things lie on the device, and what a commit writes there.
//!
//! ```text
//!   0        data_start              middle     + journal                       end
//!   | inodes | file data, linear ... | journal  | ... file data goes on         |
//! ```
//!
//! The journal lies in the middle: mke2fs puts it into the middle block group since e2fsprogs 1.41,
//! and mkfs.xfs puts the log into the middle allocation group. A file of the studies lies near the
//! front, so a synchronous write on a disk seeks across half of it and back.
//!
//! On a second drive the journal is all of it, and the file has the first one to itself.

use super::{Barrier, FileSystemParams, Kind, LazyCount, PAGE_BYTES, Placement};
use block::Drive;

const MIB: u64 = 1 << 20;
/// A sector, the unit of XFS' log, bytes.
pub(super) const SECTOR_BYTES: u64 = 512;

/// The drive of the file, and the one that a journal may have to itself.
pub(super) const FIRST: Drive = Drive(0);
pub(super) const SECOND: Drive = Drive(1);
/// The most that XFS takes for its log, bytes (mkfs.xfs 6.1 says so of a larger device).
const XFS_LOG_BYTES_MAX: u64 = 2038 * MIB;

/// The map of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub data_start: u64,
    /// Where the file goes on behind the journal; never, if that is on a second drive.
    gap_start: u64,
    pub journal_drive: Drive,
    pub journal_start: u64,
    pub journal_bytes: u64,
    /// Largest size of the file.
    pub file_bytes_max: u64,
}

impl Layout {
    /// For a device of that size.
    ///
    /// # Panics
    /// Under 16 MiB: too small for a journal.
    pub fn new(kind: Kind, device_bytes: u64) -> Self {
        assert!(device_bytes >= 16 * MIB, "a file system needs 16 MiB, not {device_bytes} B");
        let journal_bytes = if kind == Kind::Ext2 { 0 } else { journal_bytes(device_bytes) };
        // Superblock, descriptors and inode tables of the first groups; aligned as partitions are
        // today.
        let data_start = (device_bytes / 64).min(32 * MIB) / PAGE_BYTES * PAGE_BYTES;
        let journal_start = device_bytes / 2 / PAGE_BYTES * PAGE_BYTES;
        let file_bytes_max = (device_bytes - data_start - journal_bytes) / PAGE_BYTES * PAGE_BYTES;
        Self {
            data_start,
            gap_start: journal_start,
            journal_drive: FIRST,
            journal_start,
            journal_bytes,
            file_bytes_max,
        }
    }

    /// For a device of that size, with the journal on a second one.
    ///
    /// # Panics
    /// Of ext2, which has none; as [`new`](Self::new).
    pub fn with_second(kind: Kind, device_bytes: u64, second_bytes: u64) -> Self {
        assert!(kind != Kind::Ext2, "ext2 has no journal");
        let inside = Self::new(kind, device_bytes);
        let most = if let Kind::Xfs { .. } = kind { XFS_LOG_BYTES_MAX } else { u64::MAX };
        Self {
            gap_start: u64::MAX,
            journal_drive: SECOND,
            journal_start: 0,
            journal_bytes: second_bytes.min(most),
            file_bytes_max: (device_bytes - inside.data_start) / PAGE_BYTES * PAGE_BYTES,
            ..inside
        }
    }

    /// For a device of that size and a second one with what `placement` says. A journal that is
    /// not alone there is as large as one inside.
    ///
    /// # Panics
    /// As [`with_second`](Self::with_second).
    pub fn of_placement(
        kind: Kind,
        placement: Placement,
        device_bytes: u64,
        second_bytes: u64,
    ) -> Self {
        if !placement.metadata && !placement.journal {
            return Self::new(kind, device_bytes);
        }
        let outside = Self::with_second(kind, device_bytes, second_bytes);
        let is_alone = !placement.metadata && placement.small_bytes == 0;
        let most = if is_alone { u64::MAX } else { journal_bytes(device_bytes) };
        Self { journal_bytes: outside.journal_bytes.min(most), ..outside }
    }

    /// Where the file's byte `offset` lies, and how many bytes from it on lie in one piece.
    #[inline]
    pub fn place(&self, offset: u64) -> (u64, u64) {
        let at = self.data_start + offset;
        if at < self.gap_start {
            (at, self.gap_start - at)
        } else {
            (at + self.journal_bytes, u64::MAX)
        }
    }

    /// Where the file's inode lies.
    pub fn inode(&self) -> u64 {
        self.data_start / 2 / PAGE_BYTES * PAGE_BYTES
    }
}

/// The default of mke2fs by size of the file system (`ext2fs_default_journal_size`); the log of
/// mkfs.xfs is of the same order.
pub(super) fn journal_bytes(device_bytes: u64) -> u64 {
    match device_bytes {
        0..0x0800_0000 => 4 * MIB,
        0x0800_0000..0x4000_0000 => 16 * MIB,
        0x4000_0000..0x8000_0000 => 32 * MIB,
        0x8000_0000..0x1_0000_0000 => 64 * MIB,
        _ => 128 * MIB,
    }
}

/// One thing that a commit does before it goes on to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Write so many bytes there.
    Write { on: Drive, offset: u64, bytes: u32 },
    /// Flush the drive.
    Flush { on: Drive },
}

/// What changed since the last commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Changes {
    /// The file's times.
    pub times: bool,
    /// Its size.
    pub size: bool,
    /// Blocks were allocated or freed.
    pub blocks: bool,
}

impl Changes {
    /// Whether the inode must be written for the data to be found.
    pub fn needed_for_data(self) -> bool {
        self.size || self.blocks
    }

    /// Whether there is anything to commit.
    pub fn any(self) -> bool {
        self.times || self.needed_for_data()
    }
}

/// Why a commit begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// The transaction has come of age.
    Interval,
    /// Somebody waits for it.
    Sync,
}

/// The journal's head, and how commits are made.
#[derive(Debug)]
pub(super) struct Journal {
    kind: Kind,
    barrier: Barrier,
    layout: Layout,
    block_bytes: u64,
    head: u64,
}

impl Journal {
    /// On a device that addresses blocks of `block_bytes`.
    pub fn new(params: &FileSystemParams, layout: Layout, block_bytes: u32) -> Self {
        let (kind, barrier, block_bytes) = (params.kind, params.barrier, u64::from(block_bytes));
        Self { kind, barrier, layout, block_bytes, head: 0 }
    }

    /// Whether there is one: ext2 writes its inode in place.
    pub fn exists(&self) -> bool {
        self.kind != Kind::Ext2
    }

    /// The steps of a commit of `changes`, for `steps`.
    ///
    /// * ext3, ext4 (`journal_commit_transaction` of JBD and JBD2): descriptor and metadata blocks
    ///   in one write, then the commit record; with barriers the record goes out as flush, write,
    ///   flush on a drive without FUA.
    /// * XFS (`xlog_sync`): one log record, with barriers as flush, write, flush.
    /// * ext2: the inode's block.
    ///
    /// With the journal on a second drive the file's drive is flushed before the commit record goes
    /// out (`jbd2_journal_commit_transaction` where `j_fs_dev` is not `j_dev`; `xlog_write_iclog`
    /// where the log has a device of its own), and the second one before and after it. A sync of
    /// XFS flushes the file's drive once more, before all of that (`xfs_file_fsync`).
    pub fn commit(&mut self, changes: Changes, cause: Cause, steps: &mut Vec<Step>) {
        let after = self.flush(self.layout.journal_drive);
        let data_flush = self.flush(FIRST).filter(|fence| after != Some(*fence));
        let before = [data_flush, after].into_iter().flatten();
        match self.kind {
            Kind::Ext2 => {
                let offset = self.layout.inode();
                steps.push(Step::Write { on: FIRST, offset, bytes: PAGE_BYTES as u32 });
            }
            Kind::Ext3 { .. } | Kind::Ext4 => {
                // Descriptor and inode; bitmap and group descriptor as well when blocks were
                // allocated.
                let blocks = if changes.blocks { 4 } else { 2 };
                steps.push(self.append(blocks * PAGE_BYTES));
                steps.extend(before);
                steps.push(self.append(PAGE_BYTES));
            }
            Kind::Xfs { lazy_count } => {
                steps.extend(data_flush.filter(|_| cause == Cause::Sync));
                steps.extend(before);
                steps.push(self.append(record_bytes(changes, lazy_count)));
            }
        }
        steps.extend(after);
    }

    /// What a sync does when there is nothing to commit.
    pub fn flush_only(&self, steps: &mut Vec<Step>) {
        steps.extend(self.flush(FIRST));
    }

    fn flush(&self, on: Drive) -> Option<Step> {
        (self.barrier == Barrier::On).then_some(Step::Flush { on })
    }

    fn append(&mut self, bytes: u64) -> Step {
        let bytes = bytes.next_multiple_of(self.block_bytes);
        if self.head + bytes > self.layout.journal_bytes {
            self.head = 0;
        }
        let offset = self.layout.journal_start + self.head;
        self.head += bytes;
        Step::Write { on: self.layout.journal_drive, offset, bytes: bytes as u32 }
    }
}

/// A log record of XFS: a header sector, then the transaction rounded up to sectors. The inode and
/// its headers fit one; an allocation adds the free-space headers and two B-tree blocks in pieces
/// of 128 bytes, and with lazy-count off the superblock: one more sector each (`xlog_sync`,
/// `xfs_trans_resv`).
fn record_bytes(changes: Changes, lazy_count: LazyCount) -> u64 {
    let allocation = u64::from(changes.blocks);
    let superblock = u64::from(changes.blocks && lazy_count == LazyCount::Off);
    SECTOR_BYTES * (2 + allocation + superblock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_flows_around_the_journal() {
        let layout = Layout::new(Kind::Ext4, 1 << 40);
        assert_eq!(layout.place(0), (32 * MIB, (1 << 39) - 32 * MIB));
        let last_before = (1 << 39) - 32 * MIB - 1;
        assert_eq!(layout.place(last_before), ((1 << 39) - 1, 1));
        assert_eq!(layout.place(last_before + 1).0, (1 << 39) + 128 * MIB);
        assert_eq!(layout.place(layout.file_bytes_max - 1).0, (1 << 40) - 1);
    }

    #[test]
    fn a_journal_goes_round() {
        let params = FileSystemParams::of(super::super::Kernel::Linux2_6_30, Kind::Ext4, 1 << 30);
        let layout = Layout::new(Kind::Ext4, 64 * MIB);
        let mut journal = Journal::new(&params, layout, 512);
        for _ in 0..10_000 {
            let mut steps = Vec::new();
            journal.commit(
                Changes { blocks: true, ..Changes::default() },
                Cause::Interval,
                &mut steps,
            );
            for step in steps {
                let Step::Write { offset, bytes, .. } = step else { continue };
                assert!(offset >= 32 * MIB && offset + u64::from(bytes) <= 36 * MIB);
            }
        }
    }
}
