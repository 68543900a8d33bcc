//! S3-FIFO: a small queue that newcomers must survive, a main queue with a clock, and ghosts.
//!
//! ```text
//!   miss -> small --tail, used twice--> main --tail, used--> main, with one use less
//!             `-- else -> ghosts --asked for--> main    `-- else -> gone
//! ```
//!
//! A tenth for the small queue, ghosts for nine tenths. Until something had to go, newcomers for
//! whom the small queue has no room go into the main one, as in the authors' own program.

use crate::{
    replacement::{Access, Replacement},
    store::Store,
};

const SMALL: u8 = 0;
const MAIN: u8 = 1;
const GHOSTS: u8 = 2;
/// Uses that are counted.
const USES_MAX: u8 = 3;
/// Uses that lift a block out of the small queue.
const USES_TO_STAY: u8 = 2;

#[derive(Debug)]
pub(crate) struct S3Fifo {
    store: Store,
    capacity: usize,
    small_max: usize,
    main_max: usize,
    ghosts_max: usize,
    has_evicted: bool,
}

impl S3Fifo {
    pub fn new(capacity: usize) -> Self {
        let small_max = (capacity / 10).max(1);
        let (main_max, ghosts_max) = (capacity - small_max, capacity * 9 / 10);
        Self {
            store: Store::new(capacity + ghosts_max + 1),
            capacity,
            small_max,
            main_max,
            ghosts_max,
            has_evicted: false,
        }
    }

    fn evict(&mut self) -> u64 {
        self.has_evicted = true;
        loop {
            let is_main = self.store.len(MAIN) > self.main_max || self.store.len(SMALL) == 0;
            let evicted = if is_main { self.evict_main() } else { self.evict_small() };
            if let Some(block) = evicted {
                return block;
            }
        }
    }

    fn evict_small(&mut self) -> Option<u64> {
        while let Some(slot) = self.store.tail(SMALL) {
            if self.store.mark(slot) >= USES_TO_STAY {
                self.store.set_mark(slot, 0);
                self.store.front(slot, MAIN);
                continue;
            }
            let block = self.store.block(slot);
            self.store.front(slot, GHOSTS);
            if self.store.len(GHOSTS) > self.ghosts_max {
                let oldest = self.store.tail(GHOSTS).expect("there are ghosts");
                self.store.remove(oldest);
            }
            return Some(block);
        }
        None
    }

    fn evict_main(&mut self) -> Option<u64> {
        while let Some(slot) = self.store.tail(MAIN) {
            let uses = self.store.mark(slot);
            if uses == 0 {
                return Some(self.store.remove(slot));
            }
            self.store.set_mark(slot, uses - 1);
            self.store.front(slot, MAIN);
        }
        None
    }
}

impl Replacement for S3Fifo {
    fn access(&mut self, block: u64) -> Access {
        let found = self.store.get(block).map(|slot| (slot, self.store.list(slot)));
        let mut list = SMALL;
        if let Some((slot, at)) = found {
            if at != GHOSTS {
                let uses = self.store.mark(slot).saturating_add(1).min(USES_MAX);
                self.store.set_mark(slot, uses);
                return Access::Hit;
            }
            self.store.remove(slot);
            list = MAIN;
        }
        let evicted = (self.len() == self.capacity).then(|| self.evict());
        if !self.has_evicted && self.store.len(SMALL) >= self.small_max {
            list = MAIN;
        }
        self.store.insert(block, list);
        Access::Miss { evicted }
    }

    fn holds(&self, block: u64) -> bool {
        self.store.is_on(block, SMALL..=MAIN)
    }

    fn remove(&mut self, block: u64) -> bool {
        self.store.forget(block, SMALL..=MAIN)
    }

    fn len(&self) -> usize {
        self.store.len(SMALL) + self.store.len(MAIN)
    }
}
