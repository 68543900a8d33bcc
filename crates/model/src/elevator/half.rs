//! Requests of one direction, or of one process: by place, and by age.

use super::entry::Direction;
use block::Instant;
use std::{
    collections::VecDeque,
    ops::{Index, IndexMut},
};

/// Reads and writes, each by themselves.
#[derive(Debug, Default)]
pub(super) struct Halves([Half; 2]);

impl Index<Direction> for Halves {
    type Output = Half;

    fn index(&self, direction: Direction) -> &Half {
        &self.0[direction as usize]
    }
}

impl IndexMut<Direction> for Halves {
    fn index_mut(&mut self, direction: Direction) -> &mut Half {
        &mut self.0[direction as usize]
    }
}

/// Requests by number, in two orders.
#[derive(Debug, Default)]
pub(super) struct Half {
    /// By first byte; of equal ones the first to come stands first.
    sorted: Vec<(u64, u32)>,
    /// By age, each with the time from which it is overdue.
    ages: VecDeque<(Instant, u32)>,
}

impl Half {
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub fn insert(&mut self, offset: u64, number: u32, overdue: Instant) {
        self.place(offset, number);
        self.ages.push_back((overdue, number));
    }

    /// # Panics
    /// When `number` is not here.
    pub fn remove(&mut self, number: u32) {
        self.sorted.remove(self.rank(number));
        self.ages.remove(self.age(number));
    }

    /// `number` starts at `offset` from now on.
    pub fn moved(&mut self, number: u32, offset: u64) {
        self.sorted.remove(self.rank(number));
        self.place(offset, number);
    }

    /// `gone` has become part of `number`, which is then as old as the older of them.
    pub fn joined(&mut self, number: u32, gone: u32) {
        let (kept, lost) = (self.age(number), self.age(gone));
        if lost < kept {
            let (overdue, _) = self.ages[lost];
            self.ages[kept].0 = overdue;
            self.ages.swap(kept, lost);
        }
        self.remove(gone);
    }

    /// The oldest, and from when on it is overdue.
    pub fn oldest(&self) -> Option<(Instant, u32)> {
        self.ages.front().copied()
    }

    /// The first one at `offset` or beyond.
    pub fn from(&self, offset: u64) -> Option<(u64, u32)> {
        let at = self.sorted.partition_point(|&(other, _)| other < offset);
        self.sorted.get(at).copied()
    }

    /// The last one below `offset`.
    pub fn below(&self, offset: u64) -> Option<(u64, u32)> {
        let at = self.sorted.partition_point(|&(other, _)| other < offset);
        at.checked_sub(1).map(|at| self.sorted[at])
    }

    /// The one that follows `number` on the device.
    pub fn following(&self, number: u32) -> Option<u32> {
        self.sorted.get(self.rank(number) + 1).map(|&(_, number)| number)
    }

    fn place(&mut self, offset: u64, number: u32) {
        let at = self.sorted.partition_point(|&(other, _)| other <= offset);
        self.sorted.insert(at, (offset, number));
    }

    fn rank(&self, number: u32) -> usize {
        let found = self.sorted.iter().position(|&(_, other)| other == number);
        found.expect("a request that waits has a place")
    }

    fn age(&self, number: u32) -> usize {
        let found = self.ages.iter().position(|&(_, other)| other == number);
        found.expect("a request that waits has an age")
    }
}
