//! 2Q: newcomers in a queue, whose ghosts tell what belongs into the list of those used again.
//!
//! ```text
//!   miss -> newcomers --tail--> ghosts --asked for--> main, least recently used --tail--> gone
//! ```
//!
//! A hit among the newcomers changes nothing: uses close together count as one. Sizes are the
//! paper's: a quarter for newcomers, ghosts for half as many blocks as are held.

use crate::{
    replacement::{Access, Replacement},
    store::Store,
};

const NEW: u8 = 0;
const MAIN: u8 = 1;
const GHOSTS: u8 = 2;

#[derive(Debug)]
pub(crate) struct TwoQueues {
    store: Store,
    capacity: usize,
    new_max: usize,
    ghosts_max: usize,
}

impl TwoQueues {
    pub fn new(capacity: usize) -> Self {
        let (new_max, ghosts_max) = (capacity / 4, capacity / 2);
        Self { store: Store::new(capacity + ghosts_max + 1), capacity, new_max, ghosts_max }
    }

    /// Makes room for one.
    fn evict(&mut self) -> Option<u64> {
        if self.len() < self.capacity {
            return None;
        }
        if self.store.len(NEW) <= self.new_max
            && let Some(slot) = self.store.tail(MAIN)
        {
            return Some(self.store.remove(slot));
        }
        let slot = self.store.tail(NEW).expect("it is full, and its main list is empty");
        let block = self.store.block(slot);
        self.store.front(slot, GHOSTS);
        if self.store.len(GHOSTS) > self.ghosts_max {
            let oldest = self.store.tail(GHOSTS).expect("there are ghosts");
            self.store.remove(oldest);
        }
        Some(block)
    }
}

impl Replacement for TwoQueues {
    fn access(&mut self, block: u64) -> Access {
        let found = self.store.get(block);
        match found.map(|slot| (slot, self.store.list(slot))) {
            Some((_, NEW)) => return Access::Hit,
            Some((slot, MAIN)) => {
                self.store.front(slot, MAIN);
                return Access::Hit;
            }
            Some((slot, _)) => {
                self.store.remove(slot);
            }
            None => {}
        }
        let evicted = self.evict();
        self.store.insert(block, if found.is_some() { MAIN } else { NEW });
        Access::Miss { evicted }
    }

    fn holds(&self, block: u64) -> bool {
        self.store.is_on(block, NEW..=MAIN)
    }

    fn remove(&mut self, block: u64) -> bool {
        self.store.forget(block, NEW..=MAIN)
    }

    fn len(&self) -> usize {
        self.store.len(NEW) + self.store.len(MAIN)
    }
}
