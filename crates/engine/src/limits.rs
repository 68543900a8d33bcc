//! The limits of a device that every engine holds a request against before it touches the device,
//! and how it words an answer.

use crate::raw;
use block::{Buf, Command, Data, Geometry, IoError, Payload};
use std::fs::File;

/// The contract of one engine, ready to be checked with a few compares.
pub(crate) struct Limits {
    pub geometry: Geometry,
    block_mask: u64,
    needs_memory: bool,
}

impl Limits {
    pub fn new(geometry: Geometry, queue_depth_max: u32) -> Self {
        let depth = geometry.queue_depth;
        assert!((1..=queue_depth_max).contains(&depth), "queue depth {depth} of {queue_depth_max}");
        let block_bytes = geometry.block_bytes;
        assert!(block_bytes.is_power_of_two(), "a block of {block_bytes} bytes");
        Self {
            geometry,
            block_mask: u64::from(block_bytes) - 1,
            needs_memory: geometry.data == Data::Stored,
        }
    }

    /// Like [`new`](Self::new), for an engine that moves real bytes.
    pub fn for_stored(geometry: Geometry, queue_depth_max: u32) -> Self {
        assert!(geometry.data == Data::Stored, "a real engine stores its data");
        Self::new(geometry, queue_depth_max)
    }

    /// Refuses what lies outside the drive ([`IoError::Short`]) or splits a block (`EINVAL`, as the
    /// kernel would say).
    ///
    /// # Panics
    /// On a transfer of nothing, of more than `transfer_bytes_max`, or without its memory: the
    /// caller's bugs.
    #[inline(always)]
    pub fn check(&self, command: &Command) -> Result<(), IoError> {
        let (offset, bytes) = match command {
            Command::Read { at, into: payload } | Command::Write { at, from: payload, .. } => {
                let allowed = at.bytes > 0 && at.bytes <= self.geometry.transfer_bytes_max;
                assert!(allowed, "a transfer of {} bytes", at.bytes);
                match payload {
                    Payload::Bytes(buffer) => {
                        assert!(buffer.bytes().len() >= at.bytes as usize, "a buffer too small");
                    }
                    Payload::None | Payload::Stamp(_) => {
                        assert!(!self.needs_memory, "an engine that stores data got no buffer");
                    }
                }
                (at.offset, u64::from(at.bytes))
            }
            Command::Discard { offset, len } => (*offset, *len),
            Command::Flush => return Ok(()),
        };
        if (offset | bytes) & self.block_mask != 0 {
            return Err(IoError::Os(libc::EINVAL));
        }
        match offset.checked_add(bytes) {
            Some(end) if end <= self.geometry.capacity_bytes => Ok(()),
            _ => Err(IoError::Short),
        }
    }
}

/// The memory of a transfer that passed [`Limits::check`].
#[inline]
pub(crate) fn memory(payload: &mut Payload) -> &mut Buf {
    match payload {
        Payload::Bytes(buffer) => buffer,
        Payload::None | Payload::Stamp(_) => unreachable!("a transfer that passed has memory"),
    }
}

/// An errno of the data path in the vocabulary's words. The block layer reports a medium error as
/// ENODATA, a failed checksum as EILSEQ and a lost device as ENODEV (`blk_errors` in Linux's
/// block/blk-core.c).
pub(crate) fn io_error(errno: i32) -> IoError {
    match errno {
        libc::ENODATA | libc::EILSEQ => IoError::Medium,
        libc::ENODEV => IoError::Offline,
        other => IoError::Os(other),
    }
}

/// As [`io_error`], for the rest of a transfer of which `moved` bytes already went through: a
/// direct transfer that the end of a file cut short cannot go on at an odd offset.
pub(crate) fn transfer_error(errno: i32, moved: usize) -> IoError {
    if errno == libc::EINVAL && moved > 0 { IoError::Short } else { io_error(errno) }
}

/// What an error means where the device is no longer there: a read beyond the end of a drive that
/// was pulled out is none. Asks the system, so it is for requests that failed.
#[cold]
pub(crate) fn or_offline(error: IoError, file: &File) -> IoError {
    let may_be_gone = match error {
        IoError::Short => true,
        IoError::Os(errno) => {
            [libc::EIO, libc::ENXIO, libc::ENOSPC, libc::EROFS, libc::EBADF].contains(&errno)
        }
        IoError::Medium | IoError::Offline | IoError::Altered => false,
    };
    if may_be_gone && raw::is_gone(file) { IoError::Offline } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Durability, Extent};

    fn limits(data: Data) -> Limits {
        let geometry = Geometry {
            capacity_bytes: 1 << 20,
            block_bytes: 512,
            transfer_bytes_max: 65_536,
            queue_depth: 1,
            data,
        };
        Limits::new(geometry, 1)
    }

    fn read(offset: u64, bytes: u32) -> Command {
        Command::Read { at: Extent { offset, bytes }, into: Payload::None }
    }

    #[test]
    fn what_lies_outside_or_splits_a_block_is_refused() {
        let limits = limits(Data::TimingOnly);
        let cases = [
            (0, 512, Ok(())),
            ((1 << 20) - 512, 512, Ok(())),
            ((1 << 20) - 512, 1024, Err(IoError::Short)),
            (1 << 20, 512, Err(IoError::Short)),
            (u64::MAX - 511, 512, Err(IoError::Short)),
            (1, 512, Err(IoError::Os(libc::EINVAL))),
            (512, 100, Err(IoError::Os(libc::EINVAL))),
        ];
        for (offset, bytes, verdict) in cases {
            assert_eq!(limits.check(&read(offset, bytes)), verdict, "{offset} + {bytes}");
        }
        assert_eq!(limits.check(&Command::Flush), Ok(()));
        let discard = Command::Discard { offset: 1 << 19, len: 1 << 20 };
        assert_eq!(limits.check(&discard), Err(IoError::Short));
    }

    #[test]
    #[should_panic(expected = "got no buffer")]
    fn a_transfer_without_memory_is_a_bug_where_data_are_stored() {
        let at = Extent { offset: 0, bytes: 512 };
        let write = Command::Write { at, from: Payload::None, durability: Durability::Cached };
        let _ = limits(Data::Stored).check(&write);
    }

    #[test]
    #[should_panic(expected = "a buffer too small")]
    fn memory_shorter_than_the_transfer_is_a_bug() {
        let at = Extent { offset: 0, bytes: 8192 };
        let _ = limits(Data::Stored)
            .check(&Command::Read { at, into: Payload::Bytes(Buf::zeroed(4096)) });
    }

    #[test]
    #[should_panic(expected = "a transfer of 131072 bytes")]
    fn a_transfer_beyond_the_agreed_length_is_a_bug() {
        let _ = limits(Data::TimingOnly).check(&read(0, 131_072));
    }

    #[test]
    fn the_block_layers_error_numbers_get_their_names() {
        assert_eq!(io_error(libc::ENODATA), IoError::Medium);
        assert_eq!(io_error(libc::ENODEV), IoError::Offline);
        assert_eq!(io_error(libc::EIO), IoError::Os(libc::EIO));
        assert_eq!(transfer_error(libc::EINVAL, 0), IoError::Os(libc::EINVAL));
        assert_eq!(transfer_error(libc::EINVAL, 100), IoError::Short);
    }
}
