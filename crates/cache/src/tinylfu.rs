//! W-TinyLFU: a small window for newcomers; who leaves it stays only if it was asked for more often
//! than the block whose place it would take.
//!
//! ```text
//!   miss -> window --tail--> more often than the tail of probation?  yes: that one goes
//!                                                                    no: it goes itself
//!           probation --used--> protected --tail--> probation
//! ```
//!
//! 1 % for the window; of the rest a fifth for probation, as in libCacheSim's program.

use crate::{
    replacement::{Access, Replacement},
    sketch::Sketch,
    store::Store,
};

const WINDOW: u8 = 0;
const PROBATION: u8 = 1;
const PROTECTED: u8 = 2;

#[derive(Debug)]
pub(crate) struct TinyLfu {
    store: Store,
    sketch: Sketch,
    capacity: usize,
    main_max: usize,
    probation_max: usize,
    protected_max: usize,
}

impl TinyLfu {
    pub fn new(capacity: usize) -> Self {
        let window_max = (capacity / 100).max(1);
        let main_max = capacity - window_max;
        let probation_max = main_max / 5;
        Self {
            store: Store::new(capacity + 1),
            sketch: Sketch::new(main_max.max(1)),
            capacity,
            main_max,
            probation_max,
            protected_max: main_max * 4 / 5,
        }
    }

    fn main(&self) -> usize {
        self.store.len(PROBATION) + self.store.len(PROTECTED)
    }

    /// The main part takes a block from the window.
    fn admit(&mut self, slot: u32) {
        let has_room = self.store.len(PROBATION) < self.probation_max;
        let is_first = self.store.len(PROTECTED) < self.protected_max;
        self.store.front(slot, if has_room || !is_first { PROBATION } else { PROTECTED });
    }

    fn evict(&mut self) -> u64 {
        loop {
            let Some(leaver) = self.store.tail(WINDOW) else {
                let victim = self.victim().expect("a full cache holds something");
                return self.store.remove(victim);
            };
            let block = self.store.block(leaver);
            if self.main() < self.main_max {
                self.admit(leaver);
                self.sketch.add(block);
                continue;
            }
            let victim = self.victim();
            let wins = victim.is_some_and(|victim| {
                self.sketch.estimate(block) > self.sketch.estimate(self.store.block(victim))
            });
            let evicted = match victim {
                Some(victim) if wins => {
                    let evicted = self.store.remove(victim);
                    self.admit(leaver);
                    evicted
                }
                _ => self.store.remove(leaver),
            };
            self.sketch.add(block);
            return evicted;
        }
    }

    fn victim(&self) -> Option<u32> {
        self.store.tail(PROBATION).or_else(|| self.store.tail(PROTECTED))
    }

    fn hit(&mut self, slot: u32, block: u64) {
        if self.store.list(slot) == WINDOW {
            return self.store.front(slot, WINDOW);
        }
        self.store.front(slot, PROTECTED);
        if self.store.len(PROTECTED) > self.protected_max
            && let Some(last) = self.store.tail(PROTECTED)
        {
            self.store.front(last, PROBATION);
        }
        self.sketch.add(block);
        self.sketch.age();
    }
}

impl Replacement for TinyLfu {
    fn access(&mut self, block: u64) -> Access {
        if let Some(slot) = self.store.get(block) {
            self.hit(slot, block);
            return Access::Hit;
        }
        let evicted = (self.len() == self.capacity).then(|| self.evict());
        self.store.insert(block, WINDOW);
        self.sketch.add(block);
        Access::Miss { evicted }
    }

    fn holds(&self, block: u64) -> bool {
        self.store.get(block).is_some()
    }

    fn remove(&mut self, block: u64) -> bool {
        self.store.forget(block, WINDOW..=PROTECTED)
    }

    fn len(&self) -> usize {
        self.store.len(WINDOW) + self.main()
    }
}
