//! One queue: first in, first out; least recently used; clock.

use crate::{
    replacement::{Access, Replacement},
    store::Store,
};

const QUEUE: u8 = 0;

/// A queue of blocks, which the three share.
#[derive(Debug)]
struct Queue {
    store: Store,
    capacity: usize,
}

impl Queue {
    fn new(capacity: usize) -> Self {
        Self { store: Store::new(capacity), capacity }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.store.len(QUEUE) == self.capacity
    }

    /// Takes a block in for the one at the tail.
    #[inline]
    fn take_in(&mut self, block: u64) -> Access {
        let full = self.is_full();
        let tail = self.store.tail(QUEUE).filter(|_| full);
        let evicted = tail.map(|slot| self.store.remove(slot));
        self.store.insert(block, QUEUE);
        Access::Miss { evicted }
    }
}

/// What does not depend on the order.
macro_rules! held_in_a_queue {
    () => {
        fn holds(&self, block: u64) -> bool {
            self.0.store.get(block).is_some()
        }

        fn remove(&mut self, block: u64) -> bool {
            self.0.store.forget(block, QUEUE..=QUEUE)
        }

        fn len(&self) -> usize {
            self.0.store.len(QUEUE)
        }
    };
}

#[derive(Debug)]
pub(crate) struct Fifo(Queue);

impl Fifo {
    pub fn new(capacity: usize) -> Self {
        Self(Queue::new(capacity))
    }
}

impl Replacement for Fifo {
    fn access(&mut self, block: u64) -> Access {
        match self.0.store.get(block) {
            Some(_) => Access::Hit,
            None => self.0.take_in(block),
        }
    }

    held_in_a_queue!();
}

#[derive(Debug)]
pub(crate) struct Lru(Queue);

impl Lru {
    pub fn new(capacity: usize) -> Self {
        Self(Queue::new(capacity))
    }
}

impl Replacement for Lru {
    /// Budget: 100 ns.
    fn access(&mut self, block: u64) -> Access {
        match self.0.store.get(block) {
            Some(slot) => {
                self.0.store.front(slot, QUEUE);
                Access::Hit
            }
            None => self.0.take_in(block),
        }
    }

    held_in_a_queue!();
}

/// The mark of a block says that it was used since the hand passed; the hand is the tail.
#[derive(Debug)]
pub(crate) struct Clock(Queue);

impl Clock {
    pub fn new(capacity: usize) -> Self {
        Self(Queue::new(capacity))
    }
}

impl Replacement for Clock {
    fn access(&mut self, block: u64) -> Access {
        let store = &mut self.0.store;
        if let Some(slot) = store.get(block) {
            store.set_mark(slot, 1);
            return Access::Hit;
        }
        if self.0.is_full() {
            let store = &mut self.0.store;
            while let Some(slot) = store.tail(QUEUE).filter(|slot| store.mark(*slot) > 0) {
                store.set_mark(slot, 0);
                store.front(slot, QUEUE);
            }
        }
        self.0.take_in(block)
    }

    held_in_a_queue!();
}
