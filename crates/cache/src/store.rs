//! Blocks that are held or remembered: found by number, and each on one of a few lists.
//!
//! ```text
//!   table   hash of a block's number -> slot      open addressing, no gravestones
//!   nodes   slot -> block, its list, its neighbours there
//!   lists   head, the latest ... tail, the earliest
//! ```

/// Stands where no slot is.
pub(crate) const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    block: u64,
    /// Towards the head of its list.
    before: u32,
    /// Towards the tail; of a free slot, the next free one.
    after: u32,
    list: u8,
    mark: u8,
}

/// Slots in the order in which they came, or were moved to the front.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

/// Block numbers to slots, which the caller keeps. An entry is the upper half of a block's hash and
/// the slot, which is never 2^32 - 1; its home is told by the hash alone.
#[derive(Debug)]
pub struct Table {
    entries: Vec<u64>,
    mask: u32,
}

const EMPTY: u64 = u64::MAX;

impl Table {
    /// For so many blocks at a time.
    ///
    /// # Panics
    /// Of more than 2^30.
    pub fn new(slots: usize) -> Self {
        let size = (slots * 2).next_power_of_two().max(8);
        assert!(size <= 1 << 31, "a table of {size} entries");
        Self { entries: vec![EMPTY; size], mask: (size - 1) as u32 }
    }

    #[inline]
    fn next(&self, at: u32) -> u32 {
        (at + 1) & self.mask
    }

    /// Where the entry lies whose slot `is_it` recognises.
    #[inline]
    fn seek(&self, block: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = tag(block);
        let mut at = tag & self.mask;
        loop {
            let entry = self.entries[at as usize];
            if entry == EMPTY {
                return None;
            }
            if (entry >> 32) as u32 == tag && is_it(entry as u32) {
                return Some(at);
            }
            at = self.next(at);
        }
    }

    /// The slot of a block, which `is_it` tells from others of the same hash.
    #[inline]
    pub fn get(&self, block: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.seek(block, is_it).map(|at| self.entries[at as usize] as u32)
    }

    /// Adds a block that is not there.
    #[inline]
    pub fn insert(&mut self, block: u64, slot: u32) {
        let tag = tag(block);
        let mut at = tag & self.mask;
        while self.entries[at as usize] != EMPTY {
            at = self.next(at);
        }
        self.entries[at as usize] = u64::from(tag) << 32 | u64::from(slot);
    }

    /// Takes the block with that slot out. Who was pushed away from home by it moves back.
    ///
    /// # Panics
    /// When it is not there.
    #[inline]
    pub fn remove(&mut self, block: u64, slot: u32) {
        let mut gap = self.seek(block, |found| found == slot).expect("it is in the table");
        let mut at = self.next(gap);
        loop {
            let entry = self.entries[at as usize];
            if entry == EMPTY {
                break;
            }
            let home = (entry >> 32) as u32 & self.mask;
            let from_home = at.wrapping_sub(home) & self.mask;
            let from_gap = at.wrapping_sub(gap) & self.mask;
            if from_home >= from_gap {
                self.entries[gap as usize] = entry;
                gap = at;
            }
            at = self.next(at);
        }
        self.entries[gap as usize] = EMPTY;
    }
}

/// The upper half of the finaliser of splitmix64: looks like chance.
#[inline]
fn tag(block: u64) -> u32 {
    (hash(block) >> 32) as u32
}

/// A number for a block that looks like chance, and that no other block has.
#[inline]
pub(crate) fn hash(block: u64) -> u64 {
    let mut mixed = block.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Blocks, each on one of so many lists.
#[derive(Debug)]
pub(crate) struct Store<const LISTS: usize = 4> {
    table: Table,
    nodes: Vec<Node>,
    limit: usize,
    free: u32,
    lists: [List; LISTS],
}

impl<const LISTS: usize> Store<LISTS> {
    /// For so many blocks at a time.
    pub fn new(limit: usize) -> Self {
        let list = List { head: NOTHING, tail: NOTHING, len: 0 };
        Self {
            table: Table::new(limit),
            nodes: Vec::with_capacity(limit),
            limit,
            free: NOTHING,
            lists: [list; LISTS],
        }
    }

    #[inline]
    pub fn get(&self, block: u64) -> Option<u32> {
        self.table.get(block, |slot| self.nodes[slot as usize].block == block)
    }

    /// Adds a block at the head of a list, with mark 0. It is not there.
    #[inline]
    pub fn insert(&mut self, block: u64, list: u8) -> u32 {
        let node = Node { block, before: NOTHING, after: NOTHING, list, mark: 0 };
        let slot = if self.free == NOTHING {
            assert!(self.nodes.len() < self.limit, "a store of {} blocks is full", self.limit);
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let slot = self.free;
            self.free = self.nodes[slot as usize].after;
            self.nodes[slot as usize] = node;
            slot
        };
        self.table.insert(block, slot);
        self.link(slot, list);
        slot
    }

    /// Forgets a block.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> u64 {
        self.unlink(slot);
        let block = self.nodes[slot as usize].block;
        self.table.remove(block, slot);
        self.nodes[slot as usize].after = self.free;
        self.free = slot;
        block
    }

    /// Moves a block to the head of a list, its own or another.
    #[inline]
    pub fn front(&mut self, slot: u32, list: u8) {
        if self.lists[usize::from(list)].head == slot {
            return;
        }
        self.unlink(slot);
        self.link(slot, list);
    }

    /// Moves a block to the tail of another list.
    pub fn back(&mut self, slot: u32, number: u8) {
        self.unlink(slot);
        let list = &mut self.lists[usize::from(number)];
        let tail = list.tail;
        list.tail = slot;
        list.len += 1;
        let node = &mut self.nodes[slot as usize];
        (node.list, node.before, node.after) = (number, tail, NOTHING);
        match tail {
            NOTHING => self.lists[usize::from(number)].head = slot,
            tail => self.nodes[tail as usize].after = slot,
        }
    }

    #[inline]
    fn link(&mut self, slot: u32, number: u8) {
        let list = &mut self.lists[usize::from(number)];
        let head = list.head;
        list.head = slot;
        list.len += 1;
        let node = &mut self.nodes[slot as usize];
        (node.list, node.before, node.after) = (number, NOTHING, head);
        match head {
            NOTHING => self.lists[usize::from(number)].tail = slot,
            head => self.nodes[head as usize].before = slot,
        }
    }

    #[inline]
    fn unlink(&mut self, slot: u32) {
        let Node { before, after, list, .. } = self.nodes[slot as usize];
        let list = &mut self.lists[usize::from(list)];
        list.len -= 1;
        match before {
            NOTHING => list.head = after,
            before => self.nodes[before as usize].after = after,
        }
        match after {
            NOTHING => list.tail = before,
            after => self.nodes[after as usize].before = before,
        }
    }

    /// The block at the tail of a list; `None` of an empty one.
    #[inline]
    pub fn tail(&self, list: u8) -> Option<u32> {
        let tail = self.lists[usize::from(list)].tail;
        (tail != NOTHING).then_some(tail)
    }

    /// The block at the head of a list; `None` of an empty one.
    #[inline]
    pub fn head(&self, list: u8) -> Option<u32> {
        let head = self.lists[usize::from(list)].head;
        (head != NOTHING).then_some(head)
    }

    #[inline]
    pub fn len(&self, list: u8) -> usize {
        self.lists[usize::from(list)].len as usize
    }

    #[inline]
    pub fn block(&self, slot: u32) -> u64 {
        self.nodes[slot as usize].block
    }

    #[inline]
    pub fn list(&self, slot: u32) -> u8 {
        self.nodes[slot as usize].list
    }

    /// A small number that a policy keeps of a block.
    #[inline]
    pub fn mark(&self, slot: u32) -> u8 {
        self.nodes[slot as usize].mark
    }

    #[inline]
    pub fn set_mark(&mut self, slot: u32, mark: u8) {
        self.nodes[slot as usize].mark = mark;
    }

    /// Sets the mark of every block to 0.
    pub fn clear_marks(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.mark = 0);
    }

    /// Whether a block is on one of these lists.
    pub fn is_on(&self, block: u64, lists: std::ops::RangeInclusive<u8>) -> bool {
        self.get(block).is_some_and(|slot| lists.contains(&self.list(slot)))
    }

    /// Forgets a block that may be there; whether it was on one of these lists.
    pub fn forget(&mut self, block: u64, lists: std::ops::RangeInclusive<u8>) -> bool {
        let Some(slot) = self.get(block) else { return false };
        let was = lists.contains(&self.list(slot));
        self.remove(slot);
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Blocks come, are moved and go by a drawn sequence; a plain list says where each must be.
    #[test]
    fn a_store_is_a_list_whose_members_are_found() {
        let mut store: Store = Store::new(40);
        let mut plain: VecDeque<u64> = VecDeque::new();
        let mut state = 7u64;
        for _ in 0..20_000 {
            state = hash(state);
            let block = state % 64;
            match (plain.iter().position(|known| *known == block), state >> 32 & 1) {
                (Some(at), 0) => {
                    plain.remove(at);
                    let slot = store.get(block).expect("it is there");
                    assert_eq!(store.remove(slot), block);
                }
                (Some(at), _) => {
                    plain.remove(at);
                    plain.push_front(block);
                    store.front(store.get(block).expect("it is there"), 0);
                }
                (None, _) => {
                    if plain.len() == 40 {
                        let last = plain.pop_back().expect("it is full");
                        let tail = store.tail(0).expect("it is full");
                        assert_eq!(store.remove(tail), last);
                    }
                    plain.push_front(block);
                    store.insert(block, 0);
                }
            }
            assert_eq!(store.len(0), plain.len());
            assert_eq!(store.tail(0).map(|slot| store.block(slot)), plain.back().copied());
            assert_eq!(store.get(block).is_some(), plain.contains(&block));
        }
    }
}
