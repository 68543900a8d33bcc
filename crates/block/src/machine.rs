//! Block logic that never waits, and the glue that sets it on something that does.

use crate::{
    Allocation, Buf, Completion, Drive, Engine, Geometry, Instant, IoError, Pages, Request,
};
use std::os::fd::BorrowedFd;

/// Block logic with neither I/O nor a clock. Requests arrive from above, completions from below; it
/// is told the time and answers with [`Effects`].
pub trait Machine {
    /// The contract for submitting to `drive`.
    fn geometry(&self, drive: Drive) -> Geometry;

    /// A request from above, at `now`.
    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects);

    /// The answer to a request that this machine sent down.
    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects);

    /// Called when [`Machine::next_wakeup`] has arrived, and never before it. Afterwards the next
    /// wakeup lies in the future.
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects);

    /// When the machine wants to be called of its own accord.
    fn next_wakeup(&self) -> Instant;

    /// As [`Engine::allocation`], of what the machine makes of the drives below it.
    fn allocation(&self, _drive: Drive, _offset: u64, len: u64) -> (Allocation, u64) {
        (Allocation::Data, len)
    }

    /// As [`Engine::copy`].
    fn copy(&self) -> Option<Box<dyn Machine>> {
        None
    }
}

impl<M: Machine + ?Sized> Machine for Box<M> {
    fn geometry(&self, drive: Drive) -> Geometry {
        (**self).geometry(drive)
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        (**self).on_request(now, request, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        (**self).on_completion(now, completion, effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        (**self).on_wakeup(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        (**self).next_wakeup()
    }

    fn allocation(&self, drive: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        (**self).allocation(drive, offset, len)
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        (**self).copy()
    }
}

/// What a machine wants done. Reused for the life of a stack, so that its steady state allocates
/// nothing.
#[derive(Default, Debug)]
pub struct Effects {
    /// Requests for the engine below. Always empty for a drive model: it is the bottom.
    pub down: Vec<Request>,
    /// Completions for whoever submitted from above.
    pub up: Vec<Completion>,
}

impl Effects {
    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.down.is_empty() && self.up.is_empty()
    }
}

/// So long a transfer keeps a drive busy for longer than a system call takes: it is not held back
/// for a batch.
const LONG_BYTES: u32 = 64 << 10;

/// A machine on top of an engine: itself an engine.
#[derive(Debug)]
pub struct Stack<M, E> {
    /// What answers requests from above.
    pub machine: M,
    /// What serves the machine's own.
    pub engine: E,
    effects: Effects,
    below: Vec<Completion>,
}

impl<M: Machine, E: Engine> Stack<M, E> {
    /// Sets `machine` on `engine`.
    pub fn new(machine: M, engine: E) -> Self {
        Self { machine, engine, effects: Effects::default(), below: Vec::new() }
    }

    /// As [`Engine::copy`], with this copy of the machine.
    pub fn copy_with<C: Machine>(&self, machine: C) -> Option<Stack<C, Box<dyn Engine>>> {
        let is_quiet = self.effects.is_empty() && self.below.is_empty();
        is_quiet.then(|| self.engine.copy())?.map(|engine| Stack::new(machine, engine))
    }

    /// Passes on what the machine asked for; whether a long transfer was among it.
    #[inline]
    fn pass_down(&mut self) -> bool {
        if self.effects.down.is_empty() {
            return false; // As a rule; to begin a drain and end it costs more than to ask.
        }
        let mut has_long = false;
        for request in self.effects.down.drain(..) {
            has_long |= request.command.transfer_bytes() >= LONG_BYTES;
            self.engine.submit(request);
        }
        has_long
    }
}

impl<M: Machine, E: Engine> Engine for Stack<M, E> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.machine.geometry(drive)
    }

    fn now(&self) -> Instant {
        self.engine.now()
    }

    fn submit(&mut self, request: Request) {
        self.machine.on_request(self.engine.now(), request, &mut self.effects);
        if self.pass_down() {
            // The drive works on it while the machine is busy with the next request.
            self.engine.start();
        }
    }

    fn start(&mut self) {
        self.engine.start();
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        while self.effects.up.is_empty() {
            self.engine.wait(until.min(self.machine.next_wakeup()), &mut self.below);
            let now = self.engine.now();
            for completion in self.below.drain(..) {
                self.machine.on_completion(now, completion, &mut self.effects);
            }
            if self.machine.next_wakeup() <= now {
                self.machine.on_wakeup(now, &mut self.effects);
                assert!(now < self.machine.next_wakeup(), "a wakeup moves the alarm forward");
            }
            self.pass_down();
            if until <= now {
                break;
            }
        }
        // The caller may sleep now: what the machine asked for last must not lie still until it
        // comes back.
        self.engine.start();
        done.append(&mut self.effects.up);
    }

    fn next_wakeup(&self) -> Instant {
        if !self.effects.up.is_empty() {
            return self.engine.now(); // Answers wait for whoever asks.
        }
        self.machine.next_wakeup().min(self.engine.next_wakeup())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.engine.poll_fd()
    }

    fn allocation(&self, drive: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        self.machine.allocation(drive, offset, len)
    }

    fn hand_over(&mut self) -> Result<(), IoError> {
        self.engine.hand_over()
    }

    fn copy(&self) -> Option<Box<dyn Engine>> {
        let copy = self.copy_with(self.machine.copy()?)?;
        Some(Box::new(copy))
    }

    fn pool(&mut self, count: usize, bytes: usize, pages: Pages) -> Vec<Buf> {
        self.engine.pool(count, bytes, pages)
    }
}
