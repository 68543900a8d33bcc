//! Calls on a file or device: alignment, advice, holes, ownership.

use super::discard_device;
use rustix::{
    fs::{AtFlags, FallocateFlags, FlockOperation, StatxFlags, fallocate, flock, statx},
    io::{Errno, FdFlags, fcntl_setfd},
};
use std::{
    fs::File,
    io,
    num::NonZeroU64,
    ops::Range,
    os::{
        fd::{BorrowedFd, FromRawFd, OwnedFd},
        unix::fs::FileTypeExt,
    },
    path::Path,
};

/// What direct I/O asks of memory and offsets, both in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectAlignment {
    /// Memory addresses are multiples of this.
    pub memory_bytes: u32,
    /// Offsets and lengths are multiples of this.
    pub offset_bytes: u32,
}

/// The alignment direct I/O needs (`STATX_DIOALIGN`, Linux 6.1), `None` where the file system does
/// not say or has no direct I/O on this file.
///
/// # Errors
/// Those of statx(2).
pub fn direct_alignment(file: &File) -> io::Result<Option<DirectAlignment>> {
    let facts = match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(facts) => facts,
        Err(Errno::NOSYS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let known = facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && facts.stx_dio_mem_align > 0;
    Ok(known.then_some(DirectAlignment {
        memory_bytes: facts.stx_dio_mem_align,
        offset_bytes: facts.stx_dio_offset_align,
    }))
}

/// What the page cache may expect (posix_fadvise(2)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Drop clean pages of the range; dirty ones stay, so sync first.
    DontNeed,
    /// No read-ahead: the whole open file, whatever the range.
    Random,
    /// More read-ahead: the whole open file, whatever the range.
    Sequential,
    /// The default read-ahead again.
    Normal,
}

/// Advises the page cache about `range` of the file; an end of `u64::MAX` is the end of the file.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn advise(file: &File, range: Range<u64>, advice: Advice) -> io::Result<()> {
    let advice = match advice {
        Advice::DontNeed => rustix::fs::Advice::DontNeed,
        Advice::Random => rustix::fs::Advice::Random,
        Advice::Sequential => rustix::fs::Advice::Sequential,
        Advice::Normal => rustix::fs::Advice::Normal,
    };
    // No length means "to the end" there.
    let bytes = match range.end {
        u64::MAX => None,
        end => match NonZeroU64::new(end.saturating_sub(range.start)) {
            None => return Ok(()),
            bytes => bytes,
        },
    };
    Ok(rustix::fs::fadvise(file, range.start, bytes, advice)?)
}

/// Frees the blocks behind a range of a file; its size stays and the range reads as zeros.
///
/// # Errors
/// EOPNOTSUPP where the file system cannot.
pub fn punch_hole(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, mode, offset, len)?)
}

/// Gives a file its size, with all its space taken: writes into it do not fail for want of room.
///
/// # Errors
/// ENOSPC where there is not so much; EOPNOTSUPP where the file system cannot promise.
pub fn allocate(file: &File, len: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, len)?)
}

/// Makes a name durable: a new, renamed or removed file survives a power cut only when the
/// directory that it is in was flushed as well (fsync(2)).
///
/// # Errors
/// The system's. A file system that flushes no directories is none.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    };
    match File::open(directory)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Gives a range up: punches a hole in a file, sends a discard (TRIM, UNMAP) to a block device.
///
/// # Errors
/// Those of [`punch_hole`] and [`discard_device`].
pub fn discard(file: &File, offset: u64, len: u64) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        discard_device(file, offset..offset.saturating_add(len))
    } else {
        punch_hole(file, offset, len)
    }
}

/// Makes a range read as zeroes by one command; its room is kept. A file system notes it, a device
/// is sent Write Zeroes or, where it knows none, zeroes (`fallocate` with `FALLOC_FL_ZERO_RANGE`).
///
/// # Errors
/// EOPNOTSUPP if the file system cannot.
pub fn zero_range(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let mode = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, mode, offset, len)?)
}

/// Whether a lock was had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileLock {
    /// It is ours until every descriptor of this open file is closed, which the end of the process
    /// does too.
    Acquired,
    /// Somebody else holds it.
    HeldByAnother,
}

/// Takes the exclusive advisory lock (flock(2)) on a file without waiting: how a scratch file shows
/// that its owner still lives.
///
/// # Errors
/// Those of flock(2), but not that the lock is taken.
pub fn try_lock(file: &File) -> io::Result<FileLock> {
    try_flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// As [`try_lock`], beside others who lock it so, and never beside an exclusive lock.
///
/// # Errors
/// Those of flock(2), but not that the lock is taken.
pub fn try_lock_shared(file: &File) -> io::Result<FileLock> {
    try_flock(file, FlockOperation::NonBlockingLockShared)
}

fn try_flock(file: &File, operation: FlockOperation) -> io::Result<FileLock> {
    match flock(file, operation) {
        Ok(()) => Ok(FileLock::Acquired),
        Err(Errno::WOULDBLOCK) => Ok(FileLock::HeldByAnother),
        Err(error) => Err(error.into()),
    }
}

/// Takes over the descriptor of this number, which the process was started with: it is closed when
/// the value is dropped, and no program that is started inherits it. Call it before the process
/// opens anything, or the number may mean something of its own.
///
/// # Errors
/// If it is not open, or is one of the three standard ones, which others use.
pub fn take_descriptor(number: i32) -> io::Result<OwnedFd> {
    const STANDARD: i32 = 2;
    if number <= STANDARD {
        return Err(Errno::BADF.into());
    }
    // SAFETY: a number over 2 is not -1, and fcntl(2) only looks it up: where nothing is open it
    // says so.
    let there = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(there, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, as the line above showed, and by the contract above nothing in this
    // process owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
