//! The engine without a device: everything completes at the next wait. What a run on it costs is
//! the harness's own cost, the zero line of every measurement.

use crate::{Clock, limits::Limits};
use block::{Completion, Drive, Engine, Geometry, Instant, Request};
use std::os::fd::BorrowedFd;

/// Completes every request at the next [`wait`](Engine::wait); bytes pass through untouched.
///
/// Budget: one clock read a batch. Completions are made once, in the vector that the caller gets.
pub struct Null {
    clock: Clock,
    limits: Limits,
    now: Instant,
    outstanding: Vec<Completion>,
}

impl Null {
    /// An engine of any geometry, at any depth. It stores nothing whatever `geometry.data` says:
    /// `Stored` only means that transfers carry memory.
    pub fn new(clock: Clock, geometry: Geometry) -> Self {
        let limits = Limits::new(geometry, u32::MAX);
        let outstanding = Vec::with_capacity(geometry.queue_depth as usize);
        Self { clock, limits, now: clock.now(), outstanding }
    }
}

impl Engine for Null {
    #[inline]
    fn geometry(&self, _: Drive) -> Geometry {
        self.limits.geometry
    }

    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline(always)]
    fn submit(&mut self, Request { tag, command, .. }: Request) {
        let queue_depth = self.limits.geometry.queue_depth as usize;
        assert!(self.outstanding.len() < queue_depth, "queue depth {queue_depth} exceeded");
        let result = self.limits.check(&command);
        let (issued, finished) = (self.now, self.now);
        let payload = command.into_payload();
        // Known to fit, it is made in place: no way to grow the vector is compiled in.
        assert!(self.outstanding.len() < self.outstanding.capacity(), "room for queue_depth");
        self.outstanding.push(Completion { tag, issued, finished, result, payload });
    }

    /// A wait does the work.
    fn start(&mut self) {}

    #[inline(always)]
    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        if self.outstanding.is_empty() {
            self.now = self.clock.sleep_until(until);
            return;
        }
        self.now = self.clock.now();
        for completion in &mut self.outstanding {
            completion.finished = self.now;
        }
        if done.is_empty() && done.capacity() >= self.outstanding.capacity() {
            std::mem::swap(done, &mut self.outstanding);
        } else {
            done.append(&mut self.outstanding);
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.outstanding.is_empty() { Instant::NEVER } else { self.now }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
