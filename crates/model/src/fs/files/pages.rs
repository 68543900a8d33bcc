//! What memory holds of many files and of their metadata: whole files and whole blocks, the least
//! recently used of which go when it is full. What is dirty stays.

use super::map::Block;
use std::collections::BTreeMap;

/// What is kept or not as a whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Item {
    Metadata(Block),
    File(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    stamp: u64,
    bytes: u64,
    /// By how many it is kept: a transaction, the journal, a write under way.
    holds: u32,
}

/// The page cache of a tree. Budget: 300 ns a use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pages {
    limit_bytes: u64,
    bytes: u64,
    clock: u64,
    items: BTreeMap<Item, Entry>,
    /// What may go, by its last use.
    order: BTreeMap<u64, Item>,
}

impl Pages {
    pub fn new(limit_bytes: u64) -> Self {
        let (items, order) = (BTreeMap::new(), BTreeMap::new());
        Self { limit_bytes, bytes: 0, clock: 0, items, order }
    }

    pub fn forget_all(&mut self) {
        *self = Self::new(self.limit_bytes);
    }

    /// Forgets what is not held, as `/proc/sys/vm/drop_caches` does.
    pub fn forget_clean(&mut self) {
        for (_, item) in std::mem::take(&mut self.order) {
            self.bytes -= self.items.remove(&item).map_or(0, |entry| entry.bytes);
        }
    }

    /// Whether it is there; it is used if so.
    pub fn uses(&mut self, item: Item) -> bool {
        let Some(entry) = self.items.get_mut(&item) else { return false };
        self.clock += 1;
        if entry.holds == 0 {
            self.order.remove(&entry.stamp);
            self.order.insert(self.clock, item);
        }
        entry.stamp = self.clock;
        true
    }

    /// Puts it there, of this size, instead of what was.
    pub fn insert(&mut self, item: Item, bytes: u64) {
        if self.uses(item) {
            let entry = self.items.get_mut(&item).expect("it was just used");
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        } else {
            self.clock += 1;
            self.items.insert(item, Entry { stamp: self.clock, bytes, holds: 0 });
            self.order.insert(self.clock, item);
            self.bytes += bytes;
        }
        self.shrink();
    }

    /// What was used last stays, however large it is.
    fn shrink(&mut self) {
        while self.bytes > self.limit_bytes
            && self.order.len() > 1
            && let Some((_, item)) = self.order.pop_first()
        {
            self.bytes -= self.items.remove(&item).expect("it is there").bytes;
        }
    }

    /// It stays until it is released as often.
    pub fn hold(&mut self, item: Item) {
        let entry = self.items.get_mut(&item).expect("only what is there is held");
        entry.holds += 1;
        if entry.holds == 1 {
            self.order.remove(&entry.stamp);
        }
    }

    /// See [`hold`](Self::hold).
    pub fn release(&mut self, item: Item) {
        let entry = self.items.get_mut(&item).expect("what is held is there");
        entry.holds -= 1;
        if entry.holds == 0 {
            self.order.insert(entry.stamp, item);
            self.shrink();
        }
    }

    /// Forgets it, whoever held it.
    pub fn remove(&mut self, item: Item) {
        if let Some(entry) = self.items.remove(&item) {
            self.order.remove(&entry.stamp);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_and_what_is_held_stays() {
        let mut pages = Pages::new(12_288);
        for file in 0..3 {
            pages.insert(Item::File(file), 4096);
        }
        pages.hold(Item::File(0));
        assert!(pages.uses(Item::File(1)));
        pages.insert(Item::Metadata(0), 4096);
        assert!(pages.uses(Item::File(0)) && pages.uses(Item::File(1)));
        assert!(!pages.uses(Item::File(2)), "the oldest that nobody held");
        pages.release(Item::File(0));
        pages.forget_clean();
        assert!(!pages.uses(Item::File(0)) && pages.bytes == 0);
    }
}
