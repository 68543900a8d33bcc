//! A machine under a virtual clock: time jumps to the next event, so an hour costs what its events
//! cost.

use block::{Completion, Drive, Effects, Engine, Geometry, Instant, Machine, Request};
use std::os::fd::BorrowedFd;

/// The virtual clock. Budget: 10 ns an operation beyond the machine's own.
#[derive(Debug)]
pub struct Sim<M> {
    /// What lives in this time.
    pub machine: M,
    now: Instant,
    effects: Effects,
}

impl<M: Machine> Sim<M> {
    /// Starts at time 0.
    pub fn new(machine: M) -> Self {
        Self { machine, now: Instant(0), effects: Effects::default() }
    }
}

impl<M: Machine> Engine for Sim<M> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.machine.geometry(drive)
    }

    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        self.machine.on_request(self.now, request, &mut self.effects);
    }

    #[inline]
    fn start(&mut self) {}

    #[inline]
    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        while self.effects.up.is_empty() {
            let next = self.machine.next_wakeup();
            assert!(next.min(until) != Instant::NEVER, "stalled: nothing will ever happen");
            if next > until {
                self.now = self.now.max(until);
                return;
            }
            self.now = self.now.max(next);
            self.machine.on_wakeup(self.now, &mut self.effects);
            assert!(self.effects.down.is_empty(), "a drive model has nothing below it");
            assert!(self.machine.next_wakeup() > self.now, "a wakeup moves the alarm forward");
        }
        done.append(&mut self.effects.up);
    }

    fn next_wakeup(&self) -> Instant {
        if self.effects.up.is_empty() { self.machine.next_wakeup() } else { self.now }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn copy(&self) -> Option<Box<dyn Engine>> {
        let machine = self.effects.is_empty().then(|| self.machine.copy())??;
        Some(Box::new(Sim { machine, now: self.now, effects: Effects::default() }))
    }
}
