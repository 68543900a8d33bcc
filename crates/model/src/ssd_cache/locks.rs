//! Who works on which block: readers together, everyone else alone, in the order they came.

use std::collections::{BTreeMap, VecDeque};

/// How a block is worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    Shared,
    Alone,
}

#[derive(Debug)]
struct Lock {
    holders: u32,
    hold: Hold,
    waiting: VecDeque<u32>,
}

/// The blocks that somebody works on.
#[derive(Debug, Default)]
pub(super) struct Locks(BTreeMap<u64, Lock>);

impl Locks {
    /// Whether nobody works on a block.
    pub fn is_free(&self, block: u64) -> bool {
        !self.0.contains_key(&block)
    }

    /// Whether a reader may join, before all who wait.
    pub fn takes_a_reader(&self, block: u64) -> bool {
        let lock = self.0.get(&block);
        lock.is_none_or(|lock| lock.hold == Hold::Shared && lock.waiting.is_empty())
    }

    /// Gives `piece` the block, or lets it wait. Who waits gets it alone.
    pub fn acquire(&mut self, block: u64, hold: Hold, piece: u32) -> bool {
        let Some(lock) = self.0.get_mut(&block) else {
            self.0.insert(block, Lock { holders: 1, hold, waiting: VecDeque::new() });
            return true;
        };
        if hold == Hold::Shared && lock.hold == Hold::Shared && lock.waiting.is_empty() {
            lock.holders += 1;
            return true;
        }
        lock.waiting.push_back(piece);
        false
    }

    /// Takes a block back; who has it now, if somebody waited.
    pub fn release(&mut self, block: u64) -> Option<u32> {
        let lock = self.0.get_mut(&block).expect("somebody holds it");
        lock.holders -= 1;
        if lock.holders > 0 {
            return None;
        }
        let Some(next) = lock.waiting.pop_front() else {
            self.0.remove(&block);
            return None;
        };
        (lock.holders, lock.hold) = (1, Hold::Alone);
        Some(next)
    }
}
