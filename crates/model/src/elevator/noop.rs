//! First come, first served; what continues a waiting request joins it.

use super::{
    entry::{Direction, Entry},
    half::Halves,
    order::{Next, Order},
};
use block::{Actor, Instant, Slots};
use std::collections::VecDeque;

/// The kernel's `noop`: it joins to the back alone, as the block layer does for every elevator.
#[derive(Debug, Default)]
pub(super) struct Noop {
    queue: VecDeque<u32>,
    /// Where they lie, so that neighbours are found.
    halves: Halves,
}

impl Order for Noop {
    fn insert(&mut self, now: Instant, number: u32, entry: &Entry) {
        self.queue.push_back(number);
        self.halves[entry.direction()].insert(entry.offset, number, now);
    }

    fn neighbours(
        &self,
        direction: Direction,
        _: Actor,
        offset: u64,
        _: u64,
    ) -> (Option<u32>, Option<u32>) {
        let half = &self.halves[direction];
        (half.below(offset).map(|(_, number)| number), None)
    }

    fn moved(&mut self, _: u32, _: &Entry) {
        unreachable!("nothing joins to the front");
    }

    fn joined(&mut self, _: u32, _: u32, _: &Entry) {
        unreachable!("two that wait do not join");
    }

    fn next(&mut self, _: Instant, entries: &Slots<Entry>) -> Next {
        let Some(number) = self.queue.pop_front() else { return Next::Nothing };
        self.halves[entries.get(number).direction()].remove(number);
        Next::Take(number)
    }

    fn ended(&mut self, _: Instant, _: &Entry) {}
}
