//! io_uring: many requests outstanding from one thread.
//!
//! ```text
//!   submit      slot table, nothing else
//!   start       queued slots -> submission entries -> io_uring_enter
//!   wait        queued slots -> submission entries -> one io_uring_enter -> completion entries
//! ```
//!
//! Reads that the page cache answers are complete when the call that submits them returns, so a
//! whole batch costs one system call.

mod entry;
mod features;
mod slots;

use crate::{
    Clock,
    clock::{SPIN_NS, make_timers_precise},
    limits::{Limits, or_offline, transfer_error},
    raw,
};
use block::{
    Allocation, Buf, Command, Completion, Drive, Engine, Geometry, Instant, IoError, Pages, Region,
    Request,
};
use entry::{Discards, EntryWriter};
pub(crate) use features::set_up;
pub use features::{Feature, Features, UringOptions, UringUnavailable};
use io_uring::{
    IoUring,
    types::{SubmitArgs, Timespec},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use slots::Slots;
use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::fs::FileTypeExt,
    },
    sync::Arc,
    thread::{self, ThreadId},
};

const QUEUE_DEPTH_MAX: u32 = 4096;
/// Further away than any caller's own work between two waits takes.
const FAR_NS: u64 = 10_000_000;
/// So many direct requests go to the kernel at once: each by itself, as programs hand them over. A
/// batch keeps the drive waiting for its first request while the last is written down: at depth 32
/// a virtual disk, which answers a batch at a time, gave a sixth less to whole batches and a
/// twentieth less to batches of eight (`docs/results/benchmark.md`). The page cache answers at
/// once: there a system call more is only a system call more.
const DIRECT_BATCH_MAX: u32 = 1;
/// `IORING_ENTER_GETEVENTS` of linux/io_uring.h.
const ENTER_GETEVENTS: u32 = 1;

/// Up to 4096 requests outstanding on one file or block device.
///
/// The first thread that waits owns the ring: build the engine anywhere, then keep it there. All
/// completions found together share `finished`. Dropping the engine waits for what is in flight.
///
/// Budget: two clock reads and one `io_uring_enter` a batch, or past the page cache one for every
/// eight requests; at depth 1 one clock read, since the end of one request is the start of the
/// next.
pub struct Uring {
    clock: Clock,
    file: File,
    limits: Limits,
    now: Instant,
    ring: IoUring,
    owner: Option<ThreadId>,
    features: Features,
    registered_file: bool,
    timed_wait: bool,
    batch_max: u32,
    options: UringOptions,
    slots: Slots,
    /// Not yet given to the kernel.
    queued: Vec<u16>,
    /// Answered without the kernel: refused by the limits, or discarded by a blocking call.
    answered: Vec<(u16, Result<(), IoError>)>,
    /// In the submission queue.
    unsubmitted: u32,
    /// There or with the kernel.
    outstanding: u32,
    region: Option<Arc<Region>>,
    discards: Discards,
}

impl Uring {
    /// An engine on `file`, opened for what will be asked of it. Whatever `options` forbid or the
    /// kernel refuses is done without, see [`features`](Self::features).
    ///
    /// # Errors
    /// [`UringUnavailable`] if there is no usable io_uring at all.
    ///
    /// # Panics
    /// If the geometry's queue depth is not 1 to 4096 or its data are not stored.
    pub fn new(
        clock: Clock,
        file: File,
        geometry: Geometry,
        options: UringOptions,
    ) -> Result<Self, UringUnavailable> {
        let limits = Limits::for_stored(geometry, QUEUE_DEPTH_MAX);
        let depth = geometry.queue_depth;
        let (ring, mut features) = set_up(depth.next_power_of_two(), &options)?;
        if options.forbids(Feature::RegisteredFile) {
            features.give_up(Feature::RegisteredFile, "forbidden".to_owned());
        } else {
            let outcome = ring.submitter().register_files(&[file.as_raw_fd()]);
            features.note(Feature::RegisteredFile, outcome);
        }
        let is_device = file.metadata().is_ok_and(|facts| facts.file_type().is_block_device());
        let batch_max = if is_direct(&file) { DIRECT_BATCH_MAX } else { u32::MAX };
        Ok(Self {
            clock,
            file,
            limits,
            now: clock.now(),
            ring,
            owner: None,
            registered_file: features.uses(Feature::RegisteredFile),
            timed_wait: features.uses(Feature::TimedWait),
            batch_max,
            features,
            options,
            slots: Slots::new(depth),
            queued: Vec::with_capacity(depth as usize),
            answered: Vec::with_capacity(depth as usize),
            unsubmitted: 0,
            outstanding: 0,
            region: None,
            discards: if is_device { Discards::Commanded } else { Discards::Punched },
        })
    }

    /// The same, whose discards zero the range instead, and keep its room.
    pub fn zeroing(mut self) -> Self {
        self.discards = Discards::Zeroed;
        self
    }

    /// What the ring uses and what was given up and why.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Moves what is queued into the submission queue, and all but the last batch on to the kernel.
    #[inline]
    fn issue(&mut self) {
        if self.limits.geometry.queue_depth > 1 {
            self.now = self.clock.now();
        }
        let writer = EntryWriter {
            file: self.file.as_raw_fd(),
            registered_file: self.registered_file,
            region: self.region.as_ref(),
        };
        let (submitter, mut submission, _) = self.ring.split();
        for number in self.queued.drain(..) {
            if self.unsubmitted >= self.batch_max {
                submission.sync();
                // What is refused now stays queued, and `enter` finds out why.
                self.unsubmitted -= submitter.submit().unwrap_or(0) as u32;
            }
            let (issued, &mut moved, command) = self.slots.get(number);
            if moved == 0 {
                *issued = self.now;
            }
            if let (Discards::Blocking, Command::Discard { offset, len }) =
                (self.discards, &*command)
            {
                let outcome = raw::discard_device(&self.file, *offset..*offset + *len);
                let result = outcome.map_err(|error| transfer_error(errno(&error), 0));
                self.answered.push((number, result));
                continue;
            }
            let entry = writer.entry(command, moved, self.discards).user_data(u64::from(number));
            // SAFETY: file and memory outlive the request: the slot owns the memory until the
            // completion is seen, and `drop` waits for that or leaks it.
            let pushed = unsafe { submission.push(&entry) };
            pushed.expect("the submission queue holds queue_depth entries");
            self.unsubmitted += 1;
            self.outstanding += 1;
        }
    }

    /// Takes every completion there is; says whether any request is done.
    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>) -> bool {
        let before = done.len();
        let completion = self.ring.completion();
        if completion.is_empty() && self.answered.is_empty() {
            return false;
        }
        self.now = self.clock.now();
        for entry in completion {
            self.outstanding -= 1;
            let number = entry.user_data() as u16;
            let (_, moved, command) = self.slots.get(number);
            let result = match (entry.result(), transfer_bytes(command)) {
                (bytes, Some(wanted)) if bytes >= 0 && *moved + bytes as u32 == wanted => Ok(()),
                (0, Some(_)) => Err(IoError::Short),
                (0.., None) => Ok(()),
                (bytes @ 1.., Some(_)) => {
                    *moved += bytes as u32;
                    self.queued.push(number); // The rest.
                    continue;
                }
                (refusal, _) if refusal == -libc::EINTR => {
                    self.queued.push(number);
                    continue;
                }
                (refusal, _)
                    if !matches!(self.discards, Discards::Punched | Discards::Zeroed)
                        && is_unknown(refusal, command) =>
                {
                    // Others of the batch may have been commanded too, and come here after this.
                    self.discards = Discards::Blocking;
                    self.queued.push(number);
                    continue;
                }
                (refusal, _) => Err(transfer_error(-refusal, *moved as usize)),
            };
            let result = result.map_err(|error| or_offline(error, &self.file));
            done.push(self.slots.complete(number, self.now, result));
        }
        for (number, result) in self.answered.drain(..) {
            done.push(self.slots.complete(number, self.now, result));
        }
        done.len() > before
    }

    /// Gives the kernel what is in the submission queue and waits for a completion until `until`,
    /// or somewhat less: the caller looks at the clock and comes back.
    #[inline]
    fn enter(&mut self, until: Instant) {
        if until == Instant::NEVER {
            let outcome = self.ring.submit_and_wait(1);
            return self.entered(outcome);
        }
        // `now` is as old as the caller's own work. Far from `until` that does not matter if only
        // half the time left is waited for; it saves a clock read.
        let left = until.since(self.now);
        if left > FAR_NS {
            return self.enter_for(left / 2);
        }
        match until.since(self.clock.now()) {
            0 => self.poll(),
            left if left > SPIN_NS => self.enter_for(left - SPIN_NS),
            _ => self.spin(until),
        }
    }

    /// Gives the kernel what is in the submission queue and waits at most `ns` for a completion.
    #[inline]
    fn enter_for(&mut self, ns: u64) {
        let (seconds, ns) = (ns / 1_000_000_000, (ns % 1_000_000_000) as u32);
        if self.timed_wait {
            let limit = Timespec::new().sec(seconds).nsec(ns);
            let limit = SubmitArgs::new().timespec(&limit);
            let outcome = self.ring.submitter().submit_with_args(1, &limit);
            return self.entered(outcome);
        }
        self.poll();
        if !self.ring.completion().is_empty() {
            return;
        }
        let limit = rustix::event::Timespec { tv_sec: seconds as i64, tv_nsec: ns.into() };
        let ring = self.descriptor();
        let polled = poll(&mut [PollFd::new(&ring, PollFlags::IN)], Some(&limit));
        // A signal may end it early.
        assert!(matches!(polled, Ok(_) | Err(Errno::INTR)), "the ring's descriptor can be polled");
    }

    /// Hands everything that is queued to the kernel and looks at no completion.
    fn hand_to_kernel(&mut self) {
        if self.owner.is_none() {
            self.claim();
        }
        self.issue();
        if self.unsubmitted > 0 {
            // SAFETY: no argument is passed; every entry in the queue was made by `issue`.
            let outcome = unsafe {
                self.ring.submitter().enter::<libc::sigset_t>(self.unsubmitted, 0, 0, None)
            };
            self.entered(outcome);
        }
    }

    /// Submits without waiting, and works off completions that wait in the kernel.
    fn poll(&mut self) {
        // SAFETY: no argument is passed; every entry in the queue was made by `issue`.
        let outcome = unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(self.unsubmitted, 0, ENTER_GETEVENTS, None)
        };
        self.entered(outcome);
    }

    /// Polls through the last 50 us before `until`, so that it is met.
    fn spin(&mut self, until: Instant) {
        loop {
            self.poll();
            if !self.ring.completion().is_empty() || self.clock.now() >= until {
                return;
            }
        }
    }

    #[inline]
    fn entered(&mut self, outcome: io::Result<usize>) {
        match outcome.map_err(|error| errno(&error)) {
            Ok(submitted) => self.unsubmitted -= submitted as u32,
            // A signal came, or the kernel is short of something: the caller's loop goes on. Had
            // anything been submitted, the call would have said so.
            Err(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => {
                self.unsubmitted = self.ring.submission().len() as u32;
            }
            Err(libc::EEXIST) => panic!("the ring belongs to the thread that waited first"),
            Err(number) => panic!("io_uring_enter: errno {number}"),
        }
    }

    /// The ring's descriptor: readable when completions wait.
    fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring, and with it its descriptor, is open as long as `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }

    /// Makes the calling thread the ring's owner.
    #[cold]
    fn claim(&mut self) {
        make_timers_precise();
        self.owner = Some(thread::current().id());
        if self.features.uses(Feature::SingleIssuer) {
            self.ring
                .submitter()
                .register_enable_rings()
                .expect("a disabled ring can be enabled once");
        }
    }

    /// Waits for all that the kernel still works on; false if that cannot be done.
    fn drain(&mut self) -> bool {
        while self.outstanding > 0 {
            match self.ring.submit_and_wait(1).map_err(|error| errno(&error)) {
                Ok(_) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                Err(_) => return false,
            }
            self.outstanding -= self.ring.completion().count() as u32;
        }
        true
    }
}

impl Engine for Uring {
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
        let verdict = self.limits.check(&request.command);
        let number = self.slots.insert(request);
        match verdict {
            Ok(()) => self.queued.push(number),
            Err(error) => {
                *self.slots.get(number).0 = self.now;
                self.answered.push((number, Err(error)));
            }
        }
    }

    #[inline]
    fn start(&mut self) {
        if self.queued.is_empty() && self.unsubmitted == 0 {
            return;
        }
        self.hand_to_kernel();
    }

    #[inline]
    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        if self.slots.is_empty() {
            self.now = self.clock.sleep_until(until);
            return;
        }
        if self.owner.is_none() {
            self.claim();
        }
        loop {
            if !self.queued.is_empty() {
                self.issue();
            }
            let something_there = !self.answered.is_empty() || !self.ring.completion().is_empty();
            if self.unsubmitted > 0 || !something_there {
                if something_there { self.poll() } else { self.enter(until) }
            }
            if self.reap(done) {
                // The rest of a short transfer must not lie still until the caller comes back.
                self.start();
                return;
            }
            if self.queued.is_empty() && until != Instant::NEVER {
                self.now = self.clock.now();
                if until <= self.now {
                    return;
                }
            }
        }
    }

    /// "Now" for what the kernel does not know of: not yet handed over, refused for want of memory,
    /// or answered without it.
    fn next_wakeup(&self) -> Instant {
        let all_known = self.queued.is_empty() && self.unsubmitted == 0 && self.answered.is_empty();
        if all_known { Instant::NEVER } else { self.now }
    }

    /// The ring's descriptor; none where completions are deferred, since they wake nobody who
    /// sleeps on it: see [`UringOptions::pollable`].
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        let wakes_sleepers = !self.features.uses(Feature::DeferTaskrun);
        wakes_sleepers.then(|| self.descriptor())
    }

    fn allocation(&self, _: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        raw::allocation(&self.file, offset, len)
    }

    fn pool(&mut self, count: usize, bytes: usize, pages: Pages) -> Vec<Buf> {
        let (region, buffers) = Buf::pool(count, bytes, pages);
        if self.region.is_some() {
            return buffers; // One region is registered already; these travel as plain memory.
        }
        if self.options.forbids(Feature::RegisteredBuffers) {
            self.features.give_up(Feature::RegisteredBuffers, "forbidden".to_owned());
            return buffers;
        }
        let vectors: Vec<libc::iovec> = region
            .buffers()
            .map(|(start, bytes)| libc::iovec { iov_base: start.cast(), iov_len: bytes })
            .collect();
        // SAFETY: the region lives as long as `self.region`, hence as the ring.
        let outcome = unsafe { self.ring.submitter().register_buffers(&vectors) };
        if outcome.is_ok() {
            self.region = Some(region);
        }
        self.features.note(Feature::RegisteredBuffers, outcome);
        buffers
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let ours = self.owner.is_none_or(|owner| owner == thread::current().id());
        if self.outstanding > 0 && !(ours && self.drain()) {
            // Another thread's ring cannot be waited for, and the kernel may write to the memory at
            // any time.
            self.slots.leak();
        }
    }
}

#[inline]
fn transfer_bytes(command: &Command) -> Option<u32> {
    match command {
        Command::Read { at, .. } | Command::Write { at, .. } => Some(at.bytes),
        Command::Flush | Command::Discard { .. } => None,
    }
}

/// Whether the kernel said that it does not know the discard command, rather than that it failed.
fn is_unknown(refusal: i32, command: &Command) -> bool {
    matches!(command, Command::Discard { .. })
        && matches!(-refusal, libc::EINVAL | libc::EOPNOTSUPP | libc::ENOTTY)
}

fn is_direct(file: &File) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::DIRECT))
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().expect("a system call's error has a number")
}
