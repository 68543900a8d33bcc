//! What a machine has to do of its own accord, and when.

use block::Instant;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Things to do by time; equal times in the order they were noted.
#[derive(Clone, Debug)]
pub(super) struct Agenda<T> {
    heap: BinaryHeap<Reverse<(Instant, u64, T)>>,
    sequence: u64,
}

impl<T: Ord + Copy> Agenda<T> {
    /// For about `capacity` things at a time.
    pub(super) fn new(capacity: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(capacity), sequence: 0 }
    }

    /// Notes `thing` for `at`.
    #[inline]
    pub(super) fn put(&mut self, at: Instant, thing: T) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, thing)));
    }

    /// The first thing whose time has come.
    #[inline]
    pub(super) fn due(&mut self, now: Instant) -> Option<T> {
        let Reverse((at, _, thing)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        let thing = *thing;
        self.heap.pop();
        Some(thing)
    }

    /// When the next thing is due.
    #[inline]
    pub(super) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _, _))| *at)
    }
}
