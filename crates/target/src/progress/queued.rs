//! Drives of memory behind a software queue, as io_uring's: what is submitted lies still until it
//! is handed over. What was handed over is done at once, and the descriptor says so. So there is
//! never anything outstanding that is neither announced nor forgotten, and no clock is needed to
//! tell.

use block::{Completion, Drive, Engine, Geometry, Instant, Request};
use engine::{Clock, Memory};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub struct Queued {
    drives: Vec<Memory>,
    geometry: Geometry,
    queued: Vec<Request>,
    /// Handed over and not yet taken.
    under_way: usize,
    bell: OwnedFd,
}

impl Queued {
    pub fn new(clock: Clock, geometry: Geometry, drives: u16) -> Self {
        Self {
            drives: (0..drives).map(|_| Memory::new(clock, geometry)).collect(),
            geometry,
            queued: Vec::new(),
            under_way: 0,
            bell: eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor"),
        }
    }
}

impl Engine for Queued {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn now(&self) -> Instant {
        self.drives[0].now()
    }

    fn submit(&mut self, request: Request) {
        self.queued.push(request);
    }

    fn start(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        self.under_way += self.queued.len();
        for request in self.queued.drain(..) {
            self.drives[usize::from(request.drive.0)].submit(request);
        }
        rustix::io::write(&self.bell, &1u64.to_ne_bytes()).expect("a bell rings");
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        self.start();
        let before = done.len();
        if self.under_way == 0 {
            return self.drives[0].wait(until, done);
        }
        // The first one's time is that of all.
        for drive in self.drives.iter_mut().rev() {
            drive.wait(Instant(0), done);
        }
        self.under_way -= done.len() - before;
        assert_eq!(self.under_way, 0, "all that was handed over is done");
        // Nothing to be read is as good.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }

    fn next_wakeup(&self) -> Instant {
        if self.queued.is_empty() { Instant::NEVER } else { self.now() }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }
}
