//! `pread` and `pwrite`: one request at a time, the way most programs do I/O.

use crate::{
    Clock,
    limits::{Limits, io_error, memory, or_offline, transfer_error},
    raw,
};
use block::{
    Allocation, Command, Completion, Drive, Durability, Engine, Geometry, Instant, IoError, Request,
};
use rustix::io::{Errno, ReadWriteFlags, pread, pwrite, pwritev2};
use std::{
    fs::File,
    io::{self, IoSlice},
    os::fd::BorrowedFd,
};

/// One request at a time through blocking system calls.
///
/// A forced write is `pwritev2` with `RWF_DSYNC` (on a kernel without it, write and `fdatasync`); a
/// flush is `fdatasync`; a discard punches a hole in a file or is `BLKDISCARD` on a device.
///
/// Budget: the system call and one clock read an I/O, since the end of one is the start of the
/// next.
pub struct Sync {
    clock: Clock,
    file: File,
    limits: Limits,
    now: Instant,
    queued: Option<Request>,
    forced_writes: ForcedWrites,
    zeroing: bool,
}

/// How a write is made durable before it is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForcedWrites {
    OneCall,
    ThenSync,
}

impl Sync {
    /// An engine on `file`, opened for what will be asked of it.
    ///
    /// # Panics
    /// If the geometry's queue depth is not 1 or its data are not stored.
    pub fn new(clock: Clock, file: File, geometry: Geometry) -> Self {
        let limits = Limits::for_stored(geometry, 1);
        let forced_writes = ForcedWrites::OneCall;
        let (now, queued, zeroing) = (clock.now(), None, false);
        Self { clock, file, limits, now, queued, forced_writes, zeroing }
    }

    /// The same, whose discards zero the range instead, and keep its room.
    pub fn zeroing(self) -> Self {
        Self { zeroing: true, ..self }
    }

    #[inline]
    fn perform(&mut self, command: &mut Command) -> Result<(), IoError> {
        self.limits.check(command)?;
        match command {
            Command::Read { at, into } => {
                self.read(&mut memory(into).bytes_mut()[..at.bytes as usize], at.offset)
            }
            Command::Write { at, from, durability } => {
                let bytes = &memory(from).bytes()[..at.bytes as usize];
                match durability {
                    Durability::Cached => self
                        .write(bytes, at.offset, |file, rest, offset| pwrite(file, rest, offset)),
                    Durability::Fua => self.force(bytes, at.offset),
                }
            }
            Command::Flush => self.file.sync_data().map_err(os_error),
            Command::Discard { offset, len } if self.zeroing => {
                raw::zero_range(&self.file, *offset, *len).map_err(os_error)
            }
            Command::Discard { offset, len } => {
                raw::discard(&self.file, *offset, *len).map_err(os_error)
            }
        }
    }

    #[inline]
    fn read(&self, into: &mut [u8], offset: u64) -> Result<(), IoError> {
        let mut moved = 0;
        while moved < into.len() {
            match pread(&self.file, &mut into[moved..], offset + moved as u64) {
                Ok(0) => return Err(IoError::Short),
                Ok(bytes) => moved += bytes,
                Err(Errno::INTR) => {}
                Err(error) => return Err(transfer_error(error.raw_os_error(), moved)),
            }
        }
        Ok(())
    }

    #[inline]
    fn write(
        &self,
        from: &[u8],
        offset: u64,
        call: impl Fn(&File, &[u8], u64) -> Result<usize, Errno>,
    ) -> Result<(), IoError> {
        let mut moved = 0;
        while moved < from.len() {
            match call(&self.file, &from[moved..], offset + moved as u64) {
                Ok(0) => return Err(IoError::Short),
                Ok(bytes) => moved += bytes,
                Err(Errno::INTR) => {}
                Err(error) => return Err(transfer_error(error.raw_os_error(), moved)),
            }
        }
        Ok(())
    }

    fn force(&mut self, from: &[u8], offset: u64) -> Result<(), IoError> {
        if self.forced_writes == ForcedWrites::OneCall {
            let outcome = self.write(from, offset, |file, rest, offset| {
                pwritev2(file, &[IoSlice::new(rest)], offset, ReadWriteFlags::DSYNC)
            });
            match outcome {
                Err(IoError::Os(libc::EOPNOTSUPP | libc::ENOSYS)) => {
                    self.forced_writes = ForcedWrites::ThenSync;
                }
                answered => return answered,
            }
        }
        self.write(from, offset, |file, rest, offset| pwrite(file, rest, offset))?;
        self.file.sync_data().map_err(os_error)
    }
}

impl Engine for Sync {
    #[inline]
    fn geometry(&self, _: Drive) -> Geometry {
        self.limits.geometry
    }

    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        assert!(self.queued.is_none(), "queue depth 1 exceeded");
        self.queued = Some(request);
    }

    /// A wait does the work.
    fn start(&mut self) {}

    #[inline]
    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        let Some(Request { tag, mut command, .. }) = self.queued.take() else {
            self.now = self.clock.sleep_until(until);
            return;
        };
        let issued = self.now;
        let result = self.perform(&mut command).map_err(|error| or_offline(error, &self.file));
        self.now = self.clock.now();
        let payload = command.into_payload();
        done.push(Completion { tag, issued, finished: self.now, result, payload });
    }

    fn next_wakeup(&self) -> Instant {
        if self.queued.is_none() { Instant::NEVER } else { self.now }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn allocation(&self, _: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        raw::allocation(&self.file, offset, len)
    }
}

fn os_error(error: io::Error) -> IoError {
    io_error(error.raw_os_error().expect("a system call's error has a number"))
}
