//! Submission entries: a command in the kernel's words.

use crate::limits::memory;
use block::{Buf, Command, Durability, Region};
use io_uring::{
    opcode,
    squeue::{Entry, Flags},
    types::{Fd, FsyncFlags},
};
use std::{os::fd::RawFd, sync::Arc};

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)` of linux/blkdev.h (Linux 6.12).
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;

/// How a discard reaches the target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Discards {
    /// Holes are punched in a file.
    Punched,
    /// A range of a file or a device is zeroed, and keeps its room.
    Zeroed,
    /// A device is asked through the ring.
    Commanded,
    /// A device is asked by a blocking ioctl, since the kernel has no such command.
    Blocking,
}

/// What submission entries are made of.
pub(super) struct EntryWriter<'a> {
    pub file: RawFd,
    /// Whether the kernel knows the file as its number 0.
    pub registered_file: bool,
    /// The memory the kernel knows.
    pub region: Option<&'a Arc<Region>>,
}

impl EntryWriter<'_> {
    /// The entry for what is left of `command` after `moved` bytes.
    #[inline]
    pub fn entry(&self, command: &mut Command, moved: u32, discards: Discards) -> Entry {
        // The only registered file is number 0.
        let file = Fd(if self.registered_file { 0 } else { self.file });
        let entry = match command {
            Command::Read { at, into } => {
                let (buffer, left) = (memory(into), at.bytes - moved);
                let offset = at.offset + u64::from(moved);
                let registered = self.registered(buffer);
                let start = buffer.bytes_mut()[moved as usize..].as_mut_ptr();
                match registered {
                    Some(index) => {
                        opcode::ReadFixed::new(file, start, left, index).offset(offset).build()
                    }
                    None => opcode::Read::new(file, start, left).offset(offset).build(),
                }
            }
            Command::Write { at, from, durability } => {
                let (buffer, left) = (memory(from), at.bytes - moved);
                let offset = at.offset + u64::from(moved);
                let start = buffer.bytes()[moved as usize..].as_ptr();
                let flags = match durability {
                    Durability::Cached => 0,
                    Durability::Fua => libc::RWF_DSYNC,
                };
                match self.registered(buffer) {
                    Some(index) => opcode::WriteFixed::new(file, start, left, index)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    None => {
                        opcode::Write::new(file, start, left).offset(offset).rw_flags(flags).build()
                    }
                }
            }
            Command::Flush => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            Command::Discard { offset, len } => match discards {
                Discards::Punched => opcode::Fallocate::new(file, *len)
                    .offset(*offset)
                    .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                    .build(),
                Discards::Zeroed => opcode::Fallocate::new(file, *len)
                    .offset(*offset)
                    .mode(libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE)
                    .build(),
                Discards::Commanded | Discards::Blocking => {
                    // The offset goes in `addr`, the length in `addr3`, the first word behind it.
                    let mut length = [0; 16];
                    length[..8].copy_from_slice(&len.to_ne_bytes());
                    opcode::UringCmd16::new(file, BLOCK_URING_CMD_DISCARD)
                        .cmd(length)
                        .addr(Some(*offset))
                        .build()
                }
            },
        };
        if self.registered_file { entry.flags(Flags::FIXED_FILE) } else { entry }
    }

    /// The buffer's index, if the kernel knows its region.
    #[inline]
    fn registered(&self, buffer: &Buf) -> Option<u16> {
        let known = self.region.is_some_and(|region| Arc::ptr_eq(region, buffer.region()));
        known.then(|| buffer.index())
    }
}
