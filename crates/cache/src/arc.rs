//! ARC: blocks seen once and blocks seen again, each with ghosts; whose ghosts are asked for gets
//! more room.
//!
//! ```text
//!   seen once     held ONCE  | ghosts ONCE_GHOSTS      together at most the capacity
//!   seen again    held AGAIN | ghosts AGAIN_GHOSTS     all four at most twice the capacity
//!                 `target`: how many of the held ought to be ONCE
//! ```
//!
//! Names of the paper: T1, B1, T2, B2, p.

use crate::{
    replacement::{Access, Replacement},
    store::Store,
};

const ONCE: u8 = 0;
const AGAIN: u8 = 1;
const ONCE_GHOSTS: u8 = 2;
const AGAIN_GHOSTS: u8 = 3;

#[derive(Debug)]
pub(crate) struct Arc {
    store: Store,
    capacity: usize,
    target: f64,
}

impl Arc {
    pub fn new(capacity: usize) -> Self {
        Self { store: Store::new(2 * capacity + 1), capacity, target: 0.0 }
    }

    /// A held block becomes a ghost (REPLACE of the paper).
    fn replace(&mut self, for_again_ghost: bool) -> Option<u64> {
        let once = self.store.len(ONCE);
        let is_above = once as f64 > self.target || for_again_ghost && once as f64 == self.target;
        let from_once = once > 0 && is_above || self.store.len(AGAIN) == 0;
        let (list, ghosts) = if from_once { (ONCE, ONCE_GHOSTS) } else { (AGAIN, AGAIN_GHOSTS) };
        let slot = self.store.tail(list)?;
        self.store.front(slot, ghosts);
        Some(self.store.block(slot))
    }

    /// Room for a block that is neither held nor a ghost (case IV of the paper).
    fn make_room(&mut self) -> Option<u64> {
        let seen_once = self.store.len(ONCE) + self.store.len(ONCE_GHOSTS);
        let is_full = self.len() == self.capacity;
        if seen_once == self.capacity {
            if let Some(oldest) = self.store.tail(ONCE_GHOSTS) {
                self.store.remove(oldest);
                return if is_full { self.replace(false) } else { None };
            }
            let slot = self.store.tail(ONCE)?;
            return Some(self.store.remove(slot));
        }
        let all = seen_once + self.store.len(AGAIN) + self.store.len(AGAIN_GHOSTS);
        if all >= 2 * self.capacity
            && let Some(oldest) = self.store.tail(AGAIN_GHOSTS)
        {
            self.store.remove(oldest);
        }
        if is_full { self.replace(false) } else { None }
    }

    /// A ghost is asked for: its side gets more room.
    fn adapt(&mut self, list: u8) {
        let (once, again) =
            (self.store.len(ONCE_GHOSTS) as f64, self.store.len(AGAIN_GHOSTS) as f64);
        self.target = if list == ONCE_GHOSTS {
            (self.target + (again / once).max(1.0)).min(self.capacity as f64)
        } else {
            (self.target - (once / again).max(1.0)).max(0.0)
        };
    }
}

impl Replacement for Arc {
    fn access(&mut self, block: u64) -> Access {
        let found = self.store.get(block).map(|slot| (slot, self.store.list(slot)));
        let Some((slot, list)) = found else {
            let evicted = self.make_room();
            self.store.insert(block, ONCE);
            return Access::Miss { evicted };
        };
        if list <= AGAIN {
            self.store.front(slot, AGAIN);
            return Access::Hit;
        }
        self.adapt(list);
        self.store.remove(slot);
        let is_full = self.len() == self.capacity;
        let evicted = if is_full { self.replace(list == AGAIN_GHOSTS) } else { None };
        self.store.insert(block, AGAIN);
        Access::Miss { evicted }
    }

    fn holds(&self, block: u64) -> bool {
        self.store.is_on(block, ONCE..=AGAIN)
    }

    fn remove(&mut self, block: u64) -> bool {
        self.store.forget(block, ONCE..=AGAIN)
    }

    fn len(&self) -> usize {
        self.store.len(ONCE) + self.store.len(AGAIN)
    }
}
