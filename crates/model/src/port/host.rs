//! The host's side of a port: what asking costs a thread, and the one resource that all commands
//! pass.

use super::PortParams;
use block::{Actor, Instant};

/// What one thread asks for in one instant: one system call, or one request that the array above
/// cut. Its commands are held back until the thread has handed over the last (the plugged queue of
/// Linux 2.6 block layers; `blk_start_plug` since 2.6.39), and the thread's own time is spent once.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) actor: Actor,
    opened: Instant,
    /// When the thread was done with what it asked for before.
    thread_free_at: Instant,
    bytes: u64,
    /// The longest time that one of its requests costs the thread.
    own_ns: u64,
    pub(super) released_at: Instant,
    /// Ends of the list of requests.
    pub(super) first: u32,
    pub(super) last: u32,
}

/// A request as its thread sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// What it moves; nothing for a flush or a discard.
    pub(super) bytes: u64,
    pub(super) writes: bool,
}

/// Threads and the serial resource.
#[derive(Clone, Debug)]
pub(super) struct Host {
    threads: Vec<Thread>,
    serial_free_at: Instant,
    serial_down_ns: u64,
    serial_up_ns: u64,
    own_ns: u64,
    own_write_ns: u64,
    own_ns_per_kib: u64,
    first_command_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    open: Option<u32>,
    free_at: Instant,
}

impl Host {
    pub(super) fn new(params: &PortParams) -> Self {
        let serial_ns = params.serial_ns.unwrap_or(0);
        let driver_ns = if params.serial_ns.is_some() { 0 } else { params.driver_ns };
        Self {
            threads: Vec::new(),
            serial_free_at: Instant(0),
            serial_down_ns: serial_ns / 2,
            serial_up_ns: serial_ns - serial_ns / 2,
            own_ns: params.own_ns + driver_ns,
            own_write_ns: params.own_write_ns.unwrap_or(params.own_ns) + driver_ns,
            own_ns_per_kib: params.own_ns_per_kib,
            first_command_bytes: u64::from(params.transfer_bytes_max),
        }
    }

    /// The batch that `actor` has not closed yet.
    pub(super) fn open_batch(&mut self, actor: Actor) -> Option<u32> {
        self.thread(actor).open
    }

    /// A batch of the one request `slot`, numbered `number` by the caller.
    pub(super) fn begin(&mut self, now: Instant, actor: Actor, slot: u32) -> Batch {
        let thread_free_at = self.thread(actor).free_at.max(now);
        let (first, last) = (slot, slot);
        Batch {
            actor,
            opened: now,
            thread_free_at,
            bytes: 0,
            own_ns: 0,
            released_at: now,
            first,
            last,
        }
    }

    /// Whether `batch` takes in what its thread asks for at `now`.
    pub(super) fn takes(&self, batch: &Batch, now: Instant) -> bool {
        batch.opened == now
    }

    /// Hands over a request of so many commands: when the batch can go follows.
    pub(super) fn hand_over(
        &mut self,
        now: Instant,
        batch: &mut Batch,
        commands: u64,
        asked: &Asked,
    ) {
        self.serial_free_at = self.serial_free_at.max(now).after(commands * self.serial_down_ns);
        let handed_over = if self.serial_down_ns > 0 { self.serial_free_at } else { now };
        batch.bytes += asked.bytes;
        batch.own_ns = batch.own_ns.max(if asked.writes { self.own_write_ns } else { self.own_ns });
        let first_bytes = batch.bytes.min(self.first_command_bytes);
        let own_ns = batch.own_ns + self.own_ns_per_kib * first_bytes / 1024;
        batch.released_at = handed_over.max(batch.thread_free_at).after(own_ns);
        let released_at = batch.released_at;
        self.thread(batch.actor).free_at = released_at;
    }

    /// Remembers or forgets which batch of `actor` is open.
    pub(super) fn set_open(&mut self, actor: Actor, batch: Option<u32>) {
        self.thread(actor).open = batch;
    }

    /// Passes one command's answer up; says when it is through.
    pub(super) fn pass_up(&mut self, now: Instant) -> Instant {
        if self.serial_up_ns == 0 {
            return now;
        }
        self.serial_free_at = self.serial_free_at.max(now).after(self.serial_up_ns);
        self.serial_free_at
    }

    fn thread(&mut self, actor: Actor) -> &mut Thread {
        let number = usize::from(actor.0);
        if number >= self.threads.len() {
            self.threads.resize(number + 1, Thread::default());
        }
        &mut self.threads[number]
    }
}
