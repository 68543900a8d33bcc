//! The system calls of this crate that rustix lacks, each behind a safe function.

use std::{fs::File, io, os::fd::AsRawFd};

/// Extents asked for in one call: about 14 KiB of answers.
const EXTENTS_A_CALL: usize = 256;
/// `FS_IOC_FIEMAP`, `_IOWR('f', 11, struct fiemap)`, from linux/fs.h; the same on every architecture
/// with the generic ioctl encoding (x86-64, aarch64).
const FS_IOC_FIEMAP: u32 = 0xc020_660b;
/// Write dirty pages first, so that delayed allocation is no hole. linux/fiemap.h.
const FIEMAP_FLAG_SYNC: u32 = 0x1;
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_ENCODED: u32 = 0x8;
const FIEMAP_EXTENT_DATA_INLINE: u32 = 0x200;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with room for the answers.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; EXTENTS_A_CALL],
}

/// Where a piece of a file lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileExtent {
    /// First byte in the file.
    pub start: u64,
    /// Length; the last extent may reach beyond the end of the file.
    pub bytes: u64,
    /// What reading it would do.
    pub state: ExtentState,
}

/// What an extent holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtentState {
    /// Data on the device, as written.
    Written,
    /// Data on the device, compressed or encrypted by the file system.
    Encoded,
    /// Data inside the file system's metadata.
    Inline,
    /// Space without data: reads give zeros from memory.
    Unwritten,
}

impl ExtentState {
    fn from_flags(flags: u32) -> Self {
        if flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            Self::Unwritten
        } else if flags & FIEMAP_EXTENT_DATA_INLINE != 0 {
            Self::Inline
        } else if flags & FIEMAP_EXTENT_ENCODED != 0 {
            Self::Encoded
        } else {
            Self::Written
        }
    }
}

/// The file's extents in order, after its dirty pages were written. Holes are what is missing.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` where the file system has no map (tmpfs, NFS, FUSE); else the system's error.
pub(crate) fn extents(file: &File) -> io::Result<Vec<FileExtent>> {
    let mut found = Vec::new();
    let mut start = 0u64;
    loop {
        let mut map = Box::new(Fiemap {
            start,
            length: u64::MAX - start,
            flags: FIEMAP_FLAG_SYNC,
            mapped_extents: 0,
            extent_count: EXTENTS_A_CALL as u32,
            reserved: 0,
            extents: [FiemapExtent::default(); EXTENTS_A_CALL],
        });
        // SAFETY: `map` is a `struct fiemap` followed by `extent_count` extents, exclusively ours for
        // the length of the call; the kernel fills at most that many. The descriptor is open.
        let code = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut *map) };
        if code < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = (map.mapped_extents as usize).min(EXTENTS_A_CALL);
        for extent in &map.extents[..count] {
            found.push(FileExtent {
                start: extent.logical,
                bytes: extent.length,
                state: ExtentState::from_flags(extent.flags),
            });
            start = extent.logical.saturating_add(extent.length);
        }
        let last = count == 0 || map.extents[count - 1].flags & FIEMAP_EXTENT_LAST != 0;
        if last || start == u64::MAX {
            return Ok(found);
        }
    }
}
