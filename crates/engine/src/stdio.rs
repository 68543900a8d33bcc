//! `fread` and `fwrite`: what a program sees that goes through the C library's buffer.

use crate::{
    Access, Caching, Clock, Create, OpenError, Syncing,
    limits::{Limits, io_error, memory},
    open_file,
};
use block::{Command, Completion, Drive, Durability, Engine, Geometry, Instant, IoError, Request};
use std::{
    fs::File,
    io,
    os::fd::{BorrowedFd, IntoRawFd},
    path::Path,
    ptr::NonNull,
};

/// One request at a time through a `FILE` with a buffer of one's own or its default one: in glibc
/// of `st_blksize` bytes, but never more than BUFSIZ, 8192 (`_IO_file_doallocate` in
/// libio/filedoalloc.c), so 4096 on most file systems. Smaller writes and reads are joined in it.
///
/// It seeks only when a request does not go on where the last one ended, or turns from reading to
/// writing or back, as the C standard demands (C17, 7.21.5.3). A flush is `fflush` and `fdatasync`;
/// a discard is refused with `EOPNOTSUPP`, since stdio has no such call.
pub struct Stdio {
    clock: Clock,
    limits: Limits,
    now: Instant,
    queued: Option<Request>,
    stream: NonNull<libc::FILE>,
    /// What [`Stdio::with_buffer`] lent to the stream.
    buffer: Option<Box<[u8]>>,
    /// Where the stream stands, unknown after an error.
    position: Option<u64>,
    last: Last,
}

/// What the stream did last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Read,
    Write,
}

// SAFETY: the stream belongs to this engine alone, and the C library's streams may be used from any
// thread.
unsafe impl Send for Stdio {}

impl Stdio {
    /// Opens an existing file.
    ///
    /// # Errors
    /// As [`open_file`].
    ///
    /// # Panics
    /// If the geometry's queue depth is not 1 or its data are not stored.
    pub fn open(
        clock: Clock,
        path: &Path,
        access: Access,
        geometry: Geometry,
    ) -> Result<Self, OpenError> {
        let file = open_file(path, access, Caching::Buffered, Syncing::None, Create::Existing)?;
        Ok(Self::on(clock, file, access, geometry))
    }

    /// On an open file, which was opened for `access`, through the page cache.
    ///
    /// # Panics
    /// As [`open`](Self::open).
    pub fn on(clock: Clock, file: File, access: Access, geometry: Geometry) -> Self {
        let limits = Limits::for_stored(geometry, 1);
        let mode = match access {
            Access::Read => c"r",
            Access::ReadWrite => c"r+",
        };
        // SAFETY: the descriptor is open and given away here; the mode is a C string that fits it.
        let stream = unsafe { libc::fdopen(file.into_raw_fd(), mode.as_ptr()) };
        let stream = NonNull::new(stream).expect("fdopen only fails without memory");
        let now = clock.now();
        let (buffer, position, last) = (None, Some(0), Last::Nothing);
        Self { clock, limits, now, queued: None, stream, buffer, position, last }
    }

    /// A buffer of so many bytes in place of the default one, as setvbuf(3) gives it.
    ///
    /// # Panics
    /// Behind the first operation, or without bytes.
    pub fn with_buffer(mut self, bytes: usize) -> Self {
        assert!(self.last == Last::Nothing && self.queued.is_none() && bytes > 0, "a new stream");
        let buffer = self.buffer.insert(vec![0; bytes].into_boxed_slice());
        // SAFETY: the stream is open and has done nothing yet; the memory stays where it is until
        // `drop` has closed it.
        let set = unsafe {
            let memory = buffer.as_mut_ptr().cast();
            libc::setvbuf(self.stream.as_ptr(), memory, libc::_IOFBF, bytes)
        };
        assert_eq!(set, 0, "setvbuf only fails for an unknown mode");
        self
    }

    fn perform(&mut self, command: &mut Command) -> Result<(), IoError> {
        self.limits.check(command)?;
        match command {
            Command::Read { at, into } => {
                self.seek(at.offset, Last::Read)?;
                self.read(&mut memory(into).bytes_mut()[..at.bytes as usize])?;
                self.position = Some(at.offset + u64::from(at.bytes));
                Ok(())
            }
            Command::Write { at, from, durability } => {
                self.seek(at.offset, Last::Write)?;
                self.write(&memory(from).bytes()[..at.bytes as usize])?;
                self.position = Some(at.offset + u64::from(at.bytes));
                match durability {
                    Durability::Cached => Ok(()),
                    Durability::Fua => self.flush(),
                }
            }
            Command::Flush => self.flush(),
            Command::Discard { .. } => Err(IoError::Os(libc::EOPNOTSUPP)),
        }
    }

    /// Leaves the position unknown until the transfer has succeeded.
    #[inline]
    fn seek(&mut self, offset: u64, next: Last) -> Result<(), IoError> {
        let turns = self.last != next && self.last != Last::Nothing;
        let stands_there = self.position.take() == Some(offset);
        self.last = next;
        if stands_there && !turns {
            return Ok(());
        }
        let offset = libc::off_t::try_from(offset).map_err(|_| IoError::Os(libc::EOVERFLOW))?;
        // SAFETY: the stream is open.
        match unsafe { libc::fseeko(self.stream.as_ptr(), offset, libc::SEEK_SET) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }

    #[inline]
    fn read(&mut self, into: &mut [u8]) -> Result<(), IoError> {
        let stream = self.stream.as_ptr();
        // SAFETY: the stream is open and `into` is valid for its length.
        let moved = unsafe { libc::fread(into.as_mut_ptr().cast(), 1, into.len(), stream) };
        if moved == into.len() {
            return Ok(());
        }
        let error = last_error();
        // SAFETY: the stream is open; both only look at and clear its state.
        let failed = unsafe {
            let failed = libc::ferror(stream) != 0;
            libc::clearerr(stream);
            failed
        };
        Err(if failed { error } else { IoError::Short })
    }

    #[inline]
    fn write(&mut self, from: &[u8]) -> Result<(), IoError> {
        let stream = self.stream.as_ptr();
        // SAFETY: the stream is open and `from` is valid for its length.
        let moved = unsafe { libc::fwrite(from.as_ptr().cast(), 1, from.len(), stream) };
        if moved == from.len() {
            return Ok(());
        }
        let error = last_error();
        // SAFETY: the stream is open.
        unsafe { libc::clearerr(stream) };
        Err(error)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        let stream = self.stream.as_ptr();
        // SAFETY: the stream is open, and so is the descriptor it holds.
        let synced =
            unsafe { libc::fflush(stream) == 0 && libc::fdatasync(libc::fileno(stream)) == 0 };
        if synced { Ok(()) } else { Err(last_error()) }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // Who wants to know whether the last bytes went out calls `hand_over`.
        // SAFETY: the stream is open, and this is the last that is done with it.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}

impl Engine for Stdio {
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
        let result = self.perform(&mut command);
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

    fn hand_over(&mut self) -> Result<(), IoError> {
        // fflush would set a reading stream's descriptor back to where its reader stands.
        if self.last != Last::Write {
            return Ok(());
        }
        // SAFETY: the stream is open.
        let handed_over = unsafe { libc::fflush(self.stream.as_ptr()) } == 0;
        self.now = self.clock.now();
        if handed_over { Ok(()) } else { Err(last_error()) }
    }
}

fn last_error() -> IoError {
    io_error(io::Error::last_os_error().raw_os_error().expect("errno is a number"))
}
