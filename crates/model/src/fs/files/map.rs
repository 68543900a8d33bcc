//! Where the metadata and the data of many files lie, and what of a drive is free.
//!
//! ```text
//!   the metadata's drive   | superblock, descriptors | maps | inodes | directories | ...
//!   one drive                ... data ... | journal, in the middle | ... data
//!   metadata on a second one ... | journal | small files, if they lie there
//!                            and the first one is data from its start
//! ```
//!
//! Assumed: all inodes and all directories lie together (as `mke2fs -E packed_meta_blocks` puts
//! the former); a group has 128 MiB and 8,192 inodes, as ext4's does.

use crate::fs::{
    Kind, PAGE_BYTES,
    layout::{FIRST, Layout, SECOND, journal_bytes},
};
use block::{Drive, Geometry, IoError, split_mix};
use std::collections::BTreeMap;

const GROUP_BYTES: u64 = 128 << 20;
const GROUP_INODES: u64 = 8192;
/// Descriptors of 64 bytes in a block.
const BLOCK_DESCRIPTORS: u64 = 64;
/// Entries of a directory's block: assumed, blocks that are two thirds full of names of 19 letters.
const BLOCK_ENTRIES: u64 = 100;
/// No room left on the device.
const NO_SPACE: IoError = IoError::Os(28);

/// Which files lie on a second drive, and whether the metadata and the journal do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Inodes, directories, maps and the journal.
    pub metadata: bool,
    /// The journal alone.
    pub journal: bool,
    /// The data of files of at most so many bytes; 0: of none.
    pub small_bytes: u64,
}

/// What a tree of files has at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeSize {
    /// Files, and directories made beside them.
    pub files: u32,
    /// Directories that hold them, in equal parts.
    pub directories: u32,
}

/// The map of both drives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Map {
    kind: Kind,
    pub metadata_drive: Drive,
    pub journal_drive: Drive,
    pub journal_start: u64,
    pub journal_bytes: u64,
    /// The sector of its drive.
    pub journal_block_bytes: u64,
    size: TreeSize,
    first_groups: u64,
    space_maps: u64,
    inode_maps: u64,
    inodes: u64,
    directories: u64,
    made: u64,
    leaves: u64,
    free: [Free; 2],
}

/// One block of metadata, by its place on the metadata's drive.
pub(super) type Block = u64;

impl Map {
    /// Of an empty tree.
    ///
    /// # Errors
    /// When a drive has no room for what lies there before any file.
    pub fn new(
        kind: Kind,
        placement: Placement,
        drives: &[Geometry],
        size: TreeSize,
    ) -> Result<Self, IoError> {
        let first = drives[0].capacity_bytes;
        let second = drives.get(1).map_or(0, |drive| drive.capacity_bytes);
        let (first_groups, groups) = (
            first.div_ceil(GROUP_BYTES),
            first.div_ceil(GROUP_BYTES) + second.div_ceil(GROUP_BYTES),
        );
        let (cluster, per_cluster) = inode_cluster(kind);
        let inodes_all = 1 + u64::from(size.directories) + 2 * u64::from(size.files);
        let in_each = u64::from(size.files).div_ceil(size.directories.into());
        let leaves = (2 * in_each).div_ceil(BLOCK_ENTRIES).max(1);
        let a_directory = leaves * if let Kind::Xfs { .. } = kind { 2 } else { 1 };
        let space_maps = PAGE_BYTES * (1 + groups.div_ceil(BLOCK_DESCRIPTORS));
        let inode_maps = space_maps + PAGE_BYTES * groups;
        let inodes = (inode_maps + PAGE_BYTES * groups).next_multiple_of(cluster);
        let directories = inodes + inodes_all.div_ceil(per_cluster) * cluster;
        let made = directories + u64::from(size.directories) * a_directory * PAGE_BYTES;
        let metadata_end = made + u64::from(size.files) * PAGE_BYTES;
        let mut map = Self {
            kind,
            metadata_drive: if placement.metadata { SECOND } else { FIRST },
            journal_drive: FIRST,
            journal_start: 0,
            journal_bytes: journal_bytes(first),
            journal_block_bytes: 0,
            size,
            first_groups,
            space_maps,
            inode_maps,
            inodes,
            directories,
            made,
            leaves,
            free: Default::default(),
        };
        let mut begin = [PAGE_BYTES, 0];
        begin[usize::from(map.metadata_drive.0)] = metadata_end;
        if placement.metadata {
            (map.journal_drive, map.journal_start) = (SECOND, metadata_end);
            begin[1] += map.journal_bytes;
        } else if placement.journal {
            let layout = Layout::of_placement(kind, placement, first, second);
            map.journal_drive = SECOND;
            map.journal_bytes = layout.journal_bytes / PAGE_BYTES * PAGE_BYTES;
            begin[1] = if placement.small_bytes > 0 { map.journal_bytes } else { second };
        } else {
            map.journal_start = (first / 2 / PAGE_BYTES * PAGE_BYTES).max(metadata_end);
        }
        let journal_drive = &drives[usize::from(map.journal_drive.0)];
        map.journal_block_bytes = journal_drive.block_bytes.into();
        for (drive, free) in map.free.iter_mut().enumerate() {
            let end = [first, second][drive] / PAGE_BYTES * PAGE_BYTES;
            free.give(begin[drive], end.checked_sub(begin[drive]).ok_or(NO_SPACE)?);
        }
        if map.journal_drive == FIRST {
            map.free[0].take_out(map.journal_start, map.journal_bytes).ok_or(NO_SPACE)?;
        }
        Ok(map)
    }

    /// The blocks that an allocation of `bytes` at `offset` changes: the map of its group and what
    /// counts the group's free blocks.
    pub fn space_map(&self, drive: Drive, offset: u64) -> [Block; 2] {
        let own = if drive == FIRST { 0 } else { self.first_groups };
        let group = own + offset / GROUP_BYTES;
        [self.space_maps + group * PAGE_BYTES, self.descriptor(group)]
    }

    fn descriptor(&self, group: u64) -> Block {
        PAGE_BYTES * (1 + group / BLOCK_DESCRIPTORS)
    }

    /// The same of an inode that is allocated or freed.
    pub fn inode_map(&self, inode: u64) -> [Block; 2] {
        let group = (inode / GROUP_INODES).min((self.inodes - self.inode_maps) / PAGE_BYTES - 1);
        [self.inode_maps + group * PAGE_BYTES, self.descriptor(group)]
    }

    /// Where an inode lies.
    pub fn inode(&self, inode: u64) -> Block {
        let (cluster, per_cluster) = inode_cluster(self.kind);
        self.inodes + inode / per_cluster * cluster
    }

    /// The number of a directory's inode, of a file's, and of that of a directory made beside it.
    pub fn directory_inode(&self, directory: u32) -> u64 {
        1 + u64::from(directory)
    }

    /// See [`directory_inode`](Self::directory_inode).
    pub fn file_inode(&self, file: u32) -> u64 {
        1 + u64::from(self.size.directories) + u64::from(file)
    }

    /// See [`directory_inode`](Self::directory_inode).
    pub fn made_inode(&self, file: u32) -> u64 {
        self.file_inode(file) + u64::from(self.size.files)
    }

    /// The blocks that hold one name: the one that its hash falls on, and with XFS, which keeps
    /// hashes and names apart, the one of the name.
    pub fn entry(&self, directory: u32, file: u32, name: u64) -> impl Iterator<Item = Block> {
        let mut state = u64::from(file) << 8 | name;
        let first = self.directory_start(directory);
        let leaf = first + split_mix(&mut state) % self.leaves * PAGE_BYTES;
        let data = if let Kind::Xfs { .. } = self.kind {
            let at = u64::from(file) / BLOCK_ENTRIES % self.leaves;
            Some(first + (self.leaves + at) * PAGE_BYTES)
        } else {
            None
        };
        [leaf].into_iter().chain(data)
    }

    fn directory_start(&self, directory: u32) -> u64 {
        let blocks = self.leaves * if let Kind::Xfs { .. } = self.kind { 2 } else { 1 };
        self.directories + u64::from(directory) * blocks * PAGE_BYTES
    }

    /// All blocks that a listing of a directory reads.
    pub fn listing(&self, directory: u32) -> impl Iterator<Item = Block> + use<> {
        let first = self.directory_start(directory);
        let skipped = if let Kind::Xfs { .. } = self.kind { self.leaves } else { 0 };
        (0..self.leaves).map(move |leaf| first + (skipped + leaf) * PAGE_BYTES)
    }

    /// Names that a listing finds at most.
    pub fn names(&self) -> u64 {
        u64::from(self.size.files).div_ceil(self.size.directories.into())
    }

    /// The only block of a directory that was made beside the files.
    pub fn made_block(&self, file: u32) -> Block {
        self.made + u64::from(file) * PAGE_BYTES
    }

    /// Bytes of a block of metadata: of XFS' inodes a cluster is read and written at a time.
    pub fn block_bytes(&self, block: Block) -> u64 {
        let is_inode = (self.inodes..self.directories).contains(&block);
        if is_inode { inode_cluster(self.kind).0 } else { PAGE_BYTES }
    }

    /// Places for `bytes` on `drive`: one, unless what is free is in pieces.
    ///
    /// # Errors
    /// When there is no room; then nothing is taken.
    pub fn allocate(&mut self, drive: Drive, bytes: u64) -> Result<Vec<(u64, u64)>, IoError> {
        self.free[usize::from(drive.0)].take(bytes).ok_or(NO_SPACE)
    }

    /// Gives places back.
    pub fn give_back(&mut self, drive: Drive, places: &[(u64, u64)]) {
        for (offset, bytes) in places {
            self.free[usize::from(drive.0)].give(*offset, *bytes);
        }
    }
}

/// Bytes that hold inodes and are read at a time, and how many inodes: ext3 has inodes of 128 B,
/// ext4 of 256 B; XFS reads clusters of 32 with 512 B each (`xfs_ialloc.c`).
fn inode_cluster(kind: Kind) -> (u64, u64) {
    match kind {
        Kind::Ext2 | Kind::Ext3 { .. } => (PAGE_BYTES, 32),
        Kind::Ext4 => (PAGE_BYTES, 16),
        Kind::Xfs { .. } => (16 << 10, 32),
    }
}

/// What is free of a drive, by offset; taken next-fit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Free {
    pieces: BTreeMap<u64, u64>,
    bytes: u64,
    next: u64,
}

impl Free {
    fn give(&mut self, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        let (mut start, mut length) = (offset, bytes);
        if let Some((&before, &had)) = self.pieces.range(..offset).next_back() {
            assert!(before + had <= offset, "{offset} is given back twice");
            if before + had == offset {
                (start, length) = (before, had + bytes);
            }
        }
        if let Some(behind) = self.pieces.remove(&(offset + bytes)) {
            length += behind;
        }
        self.pieces.insert(start, length);
    }

    fn take_out(&mut self, offset: u64, bytes: u64) -> Option<()> {
        let (&start, &length) = self.pieces.range(..=offset).next_back()?;
        (offset + bytes <= start + length).then_some(())?;
        self.pieces.remove(&start);
        self.bytes -= length;
        self.give(start, offset - start);
        self.give(offset + bytes, start + length - offset - bytes);
        Some(())
    }

    fn take(&mut self, bytes: u64) -> Option<Vec<(u64, u64)>> {
        if bytes > self.bytes {
            return None;
        }
        let fits = |(_, length): &(&u64, &u64)| **length >= bytes;
        let whole = self.pieces.range(self.next..).find(fits);
        let whole = whole.or_else(|| self.pieces.range(..self.next).find(fits));
        let mut places = Vec::with_capacity(1);
        if let Some((&offset, _)) = whole {
            self.take_out(offset, bytes)?;
            places.push((offset, bytes));
        } else {
            let mut left = bytes;
            while left > 0 {
                let (&offset, &length) = self.pieces.first_key_value()?;
                let piece = length.min(left);
                self.take_out(offset, piece)?;
                places.push((offset, piece));
                left -= piece;
            }
        }
        self.next = places.last().map_or(self.next, |(offset, length)| offset + length);
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_nobody_elses_until_it_is_given_back() {
        let mut free = Free::default();
        free.give(0, 40_960);
        free.take_out(16_384, 8192).expect("a journal");
        let a = free.take(8192).expect("room");
        let b = free.take(16_384).expect("room");
        let c = free.take(8192).expect("room");
        assert_eq!((&a, &b, &c), (&vec![(0, 8192)], &vec![(24_576, 16_384)], &vec![(8192, 8192)]));
        assert_eq!(free.take(4096), None);
        free.give(b[0].0, b[0].1);
        free.give(a[0].0, a[0].1);
        // In two pieces, around what is still taken.
        assert_eq!(free.take(24_576).expect("room"), [(0, 8192), (24_576, 16_384)]);
    }
}
