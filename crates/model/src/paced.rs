//! A machine under the wall clock: a model that answers when the drive would, for servers and for
//! eyes.
//!
//! The machine lives on its own timeline, which is exact: a wakeup that is noticed late is given
//! the time it was due at, so lateness never adds up. What the caller sees is late by the pacing's
//! error, and every error is kept in a [`Lateness`].

use crate::Lateness;
use block::{Completion, Drive, Effects, Engine, Geometry, Instant, Machine, Request};
use std::os::fd::BorrowedFd;

/// The clock that a [`Paced`] needs; this crate reads none itself.
pub trait WallClock {
    /// The time. Never runs backwards.
    fn now(&self) -> Instant;

    /// Waits until then, never less, and returns the time it is; a past instant returns at once.
    /// How much of the wait is slept and how much spun is the clock's to decide, and with it the
    /// pacing's error.
    fn sleep_until(&self, until: Instant) -> Instant;
}

/// A machine whose completions are handed out when their time has come on the wall clock.
#[derive(Debug)]
pub struct Paced<M, C> {
    /// What lives in this time.
    pub machine: M,
    clock: C,
    now: Instant,
    effects: Effects,
    lateness: Lateness,
}

impl<M: Machine, C: WallClock> Paced<M, C> {
    /// Starts at the clock's time.
    pub fn new(machine: M, clock: C) -> Self {
        let now = clock.now();
        Self { machine, clock, now, effects: Effects::default(), lateness: Lateness::default() }
    }

    /// By how much completions were handed out late so far.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Lets the machine do everything that is due by now.
    fn catch_up(&mut self) {
        loop {
            let due = self.machine.next_wakeup();
            if due > self.now {
                return;
            }
            self.machine.on_wakeup(due, &mut self.effects);
            assert!(self.effects.down.is_empty(), "a drive model has nothing below it");
            assert!(self.machine.next_wakeup() > due, "a wakeup moves the alarm forward");
        }
    }

    fn hand_out(&mut self, done: &mut Vec<Completion>) {
        for completion in self.effects.up.drain(..) {
            self.lateness.take_in(self.now.since(completion.finished));
            done.push(Completion { finished: self.now, ..completion });
        }
    }
}

impl<M: Machine, C: WallClock> Engine for Paced<M, C> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.machine.geometry(drive)
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) {
        // The machine's time must not fall behind what it did already.
        self.now = self.clock.now();
        self.catch_up();
        self.machine.on_request(self.now, request, &mut self.effects);
    }

    fn start(&mut self) {}

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        self.now = self.clock.now();
        self.catch_up();
        while self.effects.up.is_empty() && self.now < until {
            let next = self.machine.next_wakeup().min(until);
            assert!(next != Instant::NEVER, "stalled: nothing will ever happen");
            self.now = self.clock.sleep_until(next);
            self.catch_up();
        }
        self.hand_out(done);
    }

    fn next_wakeup(&self) -> Instant {
        if self.effects.up.is_empty() { self.machine.next_wakeup() } else { self.now }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
