//! The one trait that waits.

use crate::{Actor, Buf, Command, Completion, Drive, Instant, IoError, Pages, Request, Tag};
use std::os::fd::BorrowedFd;

/// What a caller must know to submit correctly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Size in bytes.
    pub capacity_bytes: u64,
    /// Offsets and lengths must be multiples of this many bytes (1 for a buffered file).
    pub block_bytes: u32,
    /// Largest length of one request, in bytes.
    pub transfer_bytes_max: u32,
    /// How many requests may be outstanding. A contract: the engine panics when it is exceeded, so
    /// that no layer needs a "queue full" path.
    pub queue_depth: u32,
    /// Whether bytes are stored.
    pub data: Data,
}

/// Whether the bytes of a write can be read back. A timing model says no, and then requests carry
/// no payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    /// Reads return what was written; every transfer carries memory.
    Stored,
    /// Only the time is real.
    TimingOnly,
}

/// What a range of a drive holds, as far as can be told without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// Anything.
    Data,
    /// Nothing: it reads as zeroes.
    Hole,
}

/// Drives that share a clock, and the only thing in drivelab that waits.
///
/// Every real engine of a run reads the same clock, or their instants could not be compared.
///
/// # Progress
/// Whoever sleeps between two waits, as a server on its sockets, must be sure that nothing lies
/// still meanwhile. So while a request is outstanding, the caller's or one that a
/// [`Machine`](crate::Machine) made of it or for its own ends, one of these holds:
///
/// - [`next_wakeup`](Engine::next_wakeup) says when a wait will bring it forward; not later than
///   [`now`](Engine::now) says: wait at once;
/// - it is under way at something that makes [`poll_fd`](Engine::poll_fd) readable;
/// - there is no `poll_fd` and no wakeup ([`Instant::NEVER`]): only repeated waits will tell.
///
/// A request that was submitted but not yet handed to the system is none of these by itself: the
/// engine that queues it says "now" until [`wait`](Engine::wait) or [`start`](Engine::start) has
/// handed it over. A wait hands over what was submitted before it *and* while it lasted. A test in
/// `target` holds every engine and every layer to this.
pub trait Engine {
    /// The contract for submitting to `drive`.
    fn geometry(&self, drive: Drive) -> Geometry;

    /// The time at the end of the last [`wait`](Engine::wait) or [`start`](Engine::start): a field
    /// read, never a system call.
    fn now(&self) -> Instant;

    /// Queues a request. Never blocks and never fails; a refused request completes with an error.
    /// It is under way after the next [`wait`](Engine::wait) or [`start`](Engine::start).
    ///
    /// # Panics
    /// If more than `queue_depth` requests would be outstanding: that is the caller's bug.
    fn submit(&mut self, request: Request);

    /// Hands what is queued over to the system, as far as it takes it, without waiting and without
    /// looking at what is done. Nothing for an engine that does its work within
    /// [`wait`](Engine::wait): such a one says "now" by [`next_wakeup`](Engine::next_wakeup).
    fn start(&mut self);

    /// Lets time pass until a request completes or `until` arrives, whichever is first, and appends
    /// what completed to `done`. A past `until` polls. Nothing is left queued behind it.
    ///
    /// # Panics
    /// With nothing outstanding and `until` never: nothing could ever happen.
    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>);

    /// When the engine has something to do of its own accord, or with what is outstanding: at
    /// latest then [`wait`](Engine::wait) wants to be called. Not later than [`now`](Engine::now):
    /// at once.
    fn next_wakeup(&self) -> Instant;

    /// Readable when a completion may be waiting, so that a server can poll sockets and engine on
    /// one thread. After blocking there, poll the engine with a past `until` first: `now` is stale.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// What `offset` holds, and for how many of the `len` bytes from there on it goes on like this,
    /// as far as it cares to look: at least 1. What does not know calls everything data.
    fn allocation(&self, _drive: Drive, _offset: u64, len: u64) -> (Allocation, u64) {
        (Allocation::Data, len)
    }

    /// Passes on to the system what the engine itself still holds back, as a C library's buffer
    /// does; with nothing in flight. It is then where any other engine's writes are, and no more
    /// durable: that is a flush's business.
    ///
    /// # Errors
    /// The system's, for bytes whose writes were acknowledged already.
    fn hand_over(&mut self) -> Result<(), IoError> {
        Ok(())
    }

    /// A second engine that goes on from the state of this one, on a clock of its own; `None` of
    /// what there is only one of, as of a real drive, or where something is on its way up or down.
    /// Nothing that is in reach beside the requests, such as a meter, comes along.
    fn copy(&self) -> Option<Box<dyn Engine>> {
        None
    }

    /// `count` zeroed buffers of at least `bytes` each in such pages, all that the caller will ever
    /// need. An engine that can register memory with the kernel does it here. Call once, before
    /// submitting.
    fn pool(&mut self, count: usize, bytes: usize, pages: Pages) -> Vec<Buf> {
        Buf::pool(count, bytes, pages).1
    }
}

/// Submits one command to drive 0 and waits for its answer. For what is done now and then and with
/// nothing else under way: it allocates.
///
/// # Panics
/// If something else completes.
pub fn submit_and_wait(engine: &mut (impl Engine + ?Sized), command: Command) -> Completion {
    submit_to_and_wait(engine, Drive(0), command)
}

/// The same of any drive.
///
/// # Panics
/// As [`submit_and_wait`].
pub fn submit_to_and_wait(
    engine: &mut (impl Engine + ?Sized),
    drive: Drive,
    command: Command,
) -> Completion {
    engine.submit(Request { tag: Tag::OWN, actor: Actor(0), drive, command });
    let mut done = Vec::with_capacity(1);
    while done.is_empty() {
        engine.wait(Instant::NEVER, &mut done);
    }
    let completion = done.pop().expect("one completed");
    assert!(done.is_empty() && completion.tag == Tag::OWN, "something else was under way");
    completion
}
