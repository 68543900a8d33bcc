//! Drives that are measured, in reach while a stack stands on them: their caches are asked for.

use super::meter::Metered;
use block::{Completion, Drive, Effects, Geometry, Instant, Machine, Request};
use model::{Bank, Cached, FastCache};
use std::{cell::RefCell, rc::Rc};

/// All drives, counted in front.
pub(super) type Members = Metered<Bank<dyn Cached>>;

/// The drives; clones are the same ones. Budget: 1 ns a call.
#[derive(Clone)]
pub(super) struct Drives(Rc<RefCell<Members>>);

impl Drives {
    pub fn new(drives: Members) -> Self {
        Self(Rc::new(RefCell::new(drives)))
    }

    /// How the caches of all drives stand.
    pub fn fast_caches(&self, now: Instant) -> Vec<FastCache> {
        self.0.borrow().machine.fast_caches(now)
    }
}

impl Machine for Drives {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.0.borrow().geometry(drive)
    }

    #[inline]
    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.0.borrow_mut().on_request(now, request, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        self.0.borrow_mut().on_completion(now, completion, effects);
    }

    #[inline]
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.0.borrow_mut().on_wakeup(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.0.borrow().next_wakeup()
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        self.0.borrow().copy()
    }
}
