//! Where a file's bytes lie, and where it has none (FIEMAP, `SEEK_HOLE`).

use super::device::ioctl;
use block::Allocation;
use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};
use std::{fs::File, io, ops::Range};

/// `_IOWR('f', 11, struct fiemap)` with a header of 32 bytes (linux/fs.h).
const FS_IOC_FIEMAP: u32 = 0xc020_660b;
const EXTENTS_PER_CALL: usize = 128;

/// One stretch of a file that its file system has mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileExtent {
    /// First byte, from the start of the file.
    pub offset: u64,
    /// First byte on the device, where [`ExtentFlags::UNKNOWN`] does not say otherwise.
    pub device_offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// What is special about it.
    pub flags: ExtentFlags,
}

/// The `FIEMAP_EXTENT_*` flags of linux/fiemap.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentFlags(pub u32);

impl ExtentFlags {
    /// The last extent of the file.
    pub const LAST: Self = Self(0x0001);
    /// Its place on the device is not known (yet).
    pub const UNKNOWN: Self = Self(0x0002);
    /// Written to the cache, not yet given a place.
    pub const DELALLOC: Self = Self(0x0004);
    /// Compressed or encrypted: the device holds other bytes than the file.
    pub const ENCODED: Self = Self(0x0008);
    /// Inside the file system's metadata.
    pub const INLINE: Self = Self(0x0200);
    /// Allocated but never written: reads are answered with zeros without touching the device.
    pub const UNWRITTEN: Self = Self(0x0800);
    /// Shared with another file (a reflink or snapshot).
    pub const SHARED: Self = Self(0x2000);

    /// Whether any of `flags` is set.
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` of linux/fiemap.h, with its array.
#[repr(C)]
struct RawMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [RawExtent; EXTENTS_PER_CALL],
}

/// All mapped extents of a file in order of offset; what lies between them is a hole. What the
/// cache holds is not written out first: sync the file to see the places of
/// [`ExtentFlags::DELALLOC`].
///
/// # Errors
/// EOPNOTSUPP or ENOTTY where the file system has no FIEMAP.
pub fn extents(file: &File) -> io::Result<Vec<FileExtent>> {
    let mut all: Vec<FileExtent> = Vec::new();
    loop {
        let start = all.last().map_or(0, |last| last.offset + last.bytes);
        let mut map = RawMap {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped_extents: 0,
            extent_count: EXTENTS_PER_CALL as u32,
            reserved: 0,
            extents: [RawExtent {
                logical: 0,
                physical: 0,
                length: 0,
                reserved64: [0; 2],
                flags: 0,
                reserved: [0; 3],
            }; EXTENTS_PER_CALL],
        };
        // SAFETY: FIEMAP fills at most `extent_count` extents behind the header, and they are
        // there.
        unsafe { ioctl(file, FS_IOC_FIEMAP, (&raw mut map).cast()) }?;
        let seen = &map.extents[..map.mapped_extents as usize];
        all.extend(seen.iter().map(|raw| FileExtent {
            offset: raw.logical,
            device_offset: raw.physical,
            bytes: raw.length,
            flags: ExtentFlags(raw.flags),
        }));
        let stuck = all.last().is_none_or(|last| last.offset + last.bytes <= start);
        if stuck || all.last().is_some_and(|last| last.flags.has(ExtentFlags::LAST)) {
            return Ok(all);
        }
    }
}

/// How many bytes of `range` lie in holes, by `SEEK_HOLE` and `SEEK_DATA`; beyond the end of the
/// file nothing counts. A file system that does not track holes calls everything data. The file's
/// position is put back.
///
/// # Errors
/// Those of lseek(2).
pub fn holes(file: &File, range: Range<u64>) -> io::Result<u64> {
    let position = seek(file, SeekFrom::Current(0))?;
    let counted = count_holes(file, range);
    seek(file, SeekFrom::Start(position))?;
    counted
}

/// What lies at `offset` and for how many of the `len` bytes from there on, by `SEEK_DATA` and
/// `SEEK_HOLE`: a hole reads as zeroes. What cannot be told is data. Moves the file's position.
pub fn allocation(file: &File, offset: u64, len: u64) -> (Allocation, u64) {
    let (kind, until) = match seek(file, SeekFrom::Data(offset)) {
        Ok(data) if data > offset => (Allocation::Hole, data),
        Ok(_) => {
            let hole = seek(file, SeekFrom::Hole(offset));
            (Allocation::Data, hole.ok().filter(|&hole| hole > offset).unwrap_or(u64::MAX))
        }
        Err(Errno::NXIO) => (Allocation::Hole, u64::MAX), // Nothing but hole to the end of the file.
        Err(_) => (Allocation::Data, u64::MAX),
    };
    (kind, (until - offset).min(len))
}

fn count_holes(file: &File, range: Range<u64>) -> io::Result<u64> {
    let end = range.end.min(seek(file, SeekFrom::End(0))?);
    let (mut at, mut bytes) = (range.start, 0);
    while at < end {
        let hole = seek(file, SeekFrom::Hole(at))?.min(end);
        if hole == end {
            break;
        }
        at = match seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(end),
            Err(Errno::NXIO) => end, // Nothing but hole to the end of the file.
            Err(error) => return Err(error.into()),
        };
        bytes += at - hole;
    }
    Ok(bytes)
}
