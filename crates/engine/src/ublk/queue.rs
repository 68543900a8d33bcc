//! The queue of a device: what is asked of its disk, and the answers.
//!
//! ```text
//!   Buf -> fetch -> [kernel holds it] -> take -> Asked {what, where, Buf} -> whoever serves
//!            ^                                                                   |
//!            +------------------------ answer {tag, result, Buf} <---------------+
//! ```
//!
//! Each place of the queue has a buffer of its own. The kernel fills it before a write is taken and
//! empties it after a read is answered, both while the queue's thread is in a system call, so it
//! holds the buffer all the time between an answer and the next request.
//!
//! The kernel's part of this is done when the thread asks for it (deferred task work), and a bell
//! tells that there is some. So little of it is left undone when the process is killed, which Linux
//! 6.7 to 6.14.5 may not survive (CVE-2025-37906). See docs/reference/ublk.md.

use super::uapi::{self, IoCommand, IoDesc};
use crate::uring::{Feature, UringOptions, set_up};
use block::Buf;
use io_uring::{IoUring, opcode, types::Fd};
use rustix::{
    event::{EventfdFlags, eventfd},
    mm::{MapFlags, ProtFlags, mmap, munmap},
};
use std::{
    ffi::c_void,
    fs::File,
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    ptr::{self, NonNull},
};

const PAGE_BYTES: usize = 4096;
const SECTOR_BYTES: u64 = 512;

/// What is asked of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Fill the buffer.
    Read,
    /// Store the buffer.
    Write,
    /// Make durable what was answered.
    Flush,
    /// The range is no longer needed.
    Discard,
    /// Make the range read as zeroes.
    WriteZeroes,
    /// What this program does not know.
    Unknown(u8),
}

/// One request.
#[derive(Debug)]
pub struct Asked {
    /// Its place in the queue, which the answer names.
    pub tag: u16,
    /// For what.
    pub operation: Operation,
    /// It is to be durable when it is answered (`UBLK_IO_F_FUA`).
    pub forced: bool,
    /// Zeroes must stay allocated (`UBLK_IO_F_NOUNMAP`).
    pub no_hole: bool,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; no more than the buffer for what moves data.
    pub bytes: u64,
    /// The memory of its place, with the bytes of a write.
    pub buffer: Buf,
}

enum Place {
    /// The kernel holds it, for the next request.
    Fetching(Buf),
    /// Whoever serves has its buffer.
    Taken,
    /// The kernel gives it no request any more.
    Closed,
}

/// The one queue of a device. The thread that opens it serves it to the end.
pub struct Queue {
    device: File,
    ring: IoUring,
    places: Vec<Place>,
    closed: usize,
    descriptions: Descriptions,
    /// Rings when the kernel has something to do or has answered.
    bell: OwnedFd,
    /// Entries that the kernel has not seen yet.
    unsubmitted: usize,
}

impl Queue {
    /// Opens the queue of device `id`, and asks for a request for each of `buffers`.
    ///
    /// # Errors
    /// EBUSY if the device has a server, those of io_uring, NotFound without /dev/ublkcN.
    pub fn open(id: u32, buffers: Vec<Buf>) -> io::Result<Self> {
        let depth = buffers.len();
        let device = File::options().read(true).write(true).open(format!("/dev/ublkc{id}"))?;
        let descriptions = Descriptions::map(&device, depth)?;
        let entries = (depth as u32).next_power_of_two();
        let (ring, features) = set_up(entries, &UringOptions::default())
            .map_err(|error| io::Error::from_raw_os_error(error.errno()))?;
        if features.uses(Feature::SingleIssuer) {
            ring.submitter().register_enable_rings()?;
        }
        // Deferred work wakes nobody who sleeps on the ring itself.
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ring.submitter().register_eventfd(bell.as_raw_fd())?;
        let places = (0..depth).map(|_| Place::Taken).collect();
        let mut queue =
            Self { device, ring, places, closed: 0, descriptions, bell, unsubmitted: 0 };
        for (tag, buffer) in buffers.into_iter().enumerate() {
            queue.hand_over(uapi::FETCH_REQ, tag as u16, 0, buffer);
        }
        queue.submit()?;
        Ok(queue)
    }

    /// Appends what has come to `asked`.
    ///
    /// # Errors
    /// The system's.
    pub fn take(&mut self, asked: &mut Vec<Asked>) -> io::Result<()> {
        self.work_off()?;
        let Self { ring, places, closed, descriptions, .. } = self;
        for entry in ring.completion() {
            let tag = entry.user_data() as u16;
            let place = &mut places[usize::from(tag)];
            if entry.result() != 0 {
                *place = Place::Closed;
                *closed += 1;
                continue;
            }
            let Place::Fetching(buffer) = mem::replace(place, Place::Taken) else {
                unreachable!("the kernel answers what was handed over, once")
            };
            asked.push(descriptions.read(tag, buffer));
        }
        Ok(())
    }

    /// Answers the request of place `tag`: `result` is the length of a read or write in bytes, 0
    /// for anything else that was done, and a negative error number for what was not. On its way
    /// with the next [`submit`](Self::submit).
    pub fn answer(&mut self, tag: u16, result: i32, buffer: Buf) {
        assert!(matches!(self.places[usize::from(tag)], Place::Taken), "an answer to a request");
        self.hand_over(uapi::COMMIT_AND_FETCH_REQ, tag, result, buffer);
    }

    /// Hands answers to the kernel, all in one call.
    ///
    /// # Errors
    /// The system's; nothing is lost, and another call goes on.
    pub fn submit(&mut self) -> io::Result<()> {
        while self.unsubmitted > 0 {
            self.enter()?;
        }
        Ok(())
    }

    /// Readable when there is something to take.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Whether nothing will come any more, and nothing is left to be answered: the disk was
    /// stopped.
    pub fn is_closed(&self) -> bool {
        self.closed == self.places.len()
    }

    /// Has the kernel do what waits for it, until nothing does and the bell is silent.
    fn work_off(&mut self) -> io::Result<()> {
        loop {
            if self.ring.submission().taskrun() {
                self.enter()?;
            }
            // What the kernel posted rang it as well. What comes after this look rings it anew.
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
            if !self.ring.submission().taskrun() {
                return Ok(());
            }
        }
    }

    fn enter(&mut self) -> io::Result<()> {
        match self.ring.submit() {
            Ok(submitted) => self.unsubmitted -= submitted,
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn hand_over(&mut self, number: u32, tag: u16, result: i32, mut buffer: Buf) {
        let addr = buffer.bytes_mut().as_mut_ptr() as u64;
        let command = IoCommand { q_id: 0, tag, result, addr };
        let entry = opcode::UringCmd16::new(Fd(self.device.as_raw_fd()), number)
            .cmd(command.bytes())
            .build()
            .user_data(tag.into());
        self.places[usize::from(tag)] = Place::Fetching(buffer);
        // SAFETY: the place owns the buffer until the kernel has given it back, and `drop` leaks
        // what it has not; the device is open as long as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the submission queue holds an entry for each place");
        self.unsubmitted += 1;
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if !self.is_closed() {
            // The kernel may write to what it holds until it has noticed that the ring is closed.
            mem::forget(mem::take(&mut self.places));
        }
    }
}

/// Signals, and a kernel that is short of something for a moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// What the kernel says of each place's request, in memory of its own.
struct Descriptions {
    start: NonNull<c_void>,
    bytes: usize,
    count: usize,
}

impl Descriptions {
    fn map(device: &File, count: usize) -> io::Result<Self> {
        let bytes = (count * size_of::<IoDesc>()).next_multiple_of(PAGE_BYTES);
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ, flags, device, 0) }?;
        let start = NonNull::new(start).expect("a mapping is not at 0");
        Ok(Self { start, bytes, count })
    }

    /// The request of a place whose turn it is.
    fn read(&self, tag: u16, buffer: Buf) -> Asked {
        assert!(usize::from(tag) < self.count, "place {tag} of {}", self.count);
        // SAFETY: within the mapping, by the assertion, and aligned, since the mapping is to a
        // page. The kernel wrote it before it completed the command, and leaves it alone until the
        // answer.
        let desc = unsafe { self.start.cast::<IoDesc>().add(usize::from(tag)).read_volatile() };
        asked(desc, tag, buffer)
    }
}

impl Drop for Descriptions {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map` and is not used again.
        let _ = unsafe { munmap(self.start.as_ptr(), self.bytes) };
    }
}

fn asked(desc: IoDesc, tag: u16, buffer: Buf) -> Asked {
    Asked {
        tag,
        operation: match desc.op_flags & 0xff {
            uapi::OP_READ => Operation::Read,
            uapi::OP_WRITE => Operation::Write,
            uapi::OP_FLUSH => Operation::Flush,
            uapi::OP_DISCARD => Operation::Discard,
            uapi::OP_WRITE_ZEROES => Operation::WriteZeroes,
            other => Operation::Unknown(other as u8),
        },
        forced: desc.op_flags & uapi::IO_F_FUA != 0,
        no_hole: desc.op_flags & uapi::IO_F_NOUNMAP != 0,
        offset: desc.start_sector.saturating_mul(SECTOR_BYTES),
        bytes: u64::from(desc.nr_sectors) * SECTOR_BYTES,
        buffer,
    }
}
