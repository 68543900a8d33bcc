//! Commands that wait for the heads, in the order they came. When one leaves, numbers move up
//! behind it and the commands stay where they are.

use super::Held;
use block::Slots;

/// At most so many as the drive takes.
#[derive(Debug)]
pub(super) struct Queue {
    order: Vec<u32>,
    held: Slots<Held>,
}

impl Queue {
    /// An empty one.
    pub fn new(depth: u32) -> Self {
        Self { order: Vec::with_capacity(depth as usize), held: Slots::new(depth) }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Behind all others; they were ready before it.
    pub fn push(&mut self, held: Held) {
        debug_assert!(self.iter().next_back().is_none_or(|last| last.ready <= held.ready));
        self.insert(self.len(), held);
    }

    /// Before the one at that place.
    pub fn insert(&mut self, at: usize, held: Held) {
        self.order.insert(at, self.held.insert(held));
    }

    pub fn get(&self, at: usize) -> &Held {
        self.held.get(self.order[at])
    }

    pub fn remove(&mut self, at: usize) -> Held {
        self.held.remove(self.order.remove(at))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Held> {
        self.order.iter().map(|&slot| self.held.get(slot))
    }
}
