//! LIRS: blocks whose last two uses lie close together keep nearly all of the room.
//!
//! ```text
//!   stack   blocks by their last use, the latest on top; below the last LIR block is nothing
//!             LIR            close, held                99 % of the capacity
//!             HIR, held      far, held, queue member too
//!             HIR, ghost     far, not held
//!   queue   the HIR blocks that are held, 1 % of the capacity: its tail goes
//! ```
//!
//! A HIR block that is used while it is on the stack has been used twice more closely than the LIR
//! block at the bottom: they change places. The paper does not bound the ghosts; here the stack has
//! at most twice the capacity, and the ghost that was made first goes first.

use crate::{
    replacement::{Access, Replacement},
    store::{NOTHING, Table},
};

/// Where a block stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Lir,
    Held,
    Ghost,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    block: u64,
    status: Status,
    is_on_stack: bool,
}

/// A list over the slots of blocks; the head came last.
#[derive(Debug)]
struct Chain {
    links: Vec<[u32; 2]>,
    head: u32,
    tail: u32,
    len: usize,
}

impl Chain {
    fn new(limit: usize) -> Self {
        Self { links: vec![[NOTHING; 2]; limit], head: NOTHING, tail: NOTHING, len: 0 }
    }

    fn push(&mut self, slot: u32) {
        self.links[slot as usize] = [NOTHING, self.head];
        match self.head {
            NOTHING => self.tail = slot,
            head => self.links[head as usize][0] = slot,
        }
        self.head = slot;
        self.len += 1;
    }

    fn unlink(&mut self, slot: u32) {
        let [before, after] = self.links[slot as usize];
        match before {
            NOTHING => self.head = after,
            before => self.links[before as usize][1] = after,
        }
        match after {
            NOTHING => self.tail = before,
            after => self.links[after as usize][0] = before,
        }
        self.len -= 1;
    }

    fn front(&mut self, slot: u32) {
        self.unlink(slot);
        self.push(slot);
    }

    fn tail(&self) -> Option<u32> {
        (self.tail != NOTHING).then_some(self.tail)
    }
}

#[derive(Debug)]
pub(crate) struct Lirs {
    table: Table,
    nodes: Vec<Node>,
    free: Vec<u32>,
    stack: Chain,
    queue: Chain,
    ghosts: Chain,
    lir: usize,
    lir_max: usize,
    queue_max: usize,
    stack_max: usize,
}

impl Lirs {
    pub fn new(capacity: usize) -> Self {
        let queue_max = (capacity / 100).max(1);
        // Those of the queue that have left the stack come to what the stack holds, and a newcomer.
        let limit = 2 * capacity + queue_max + 2;
        Self {
            table: Table::new(limit),
            nodes: Vec::with_capacity(limit),
            free: Vec::with_capacity(limit),
            stack: Chain::new(limit),
            queue: Chain::new(limit),
            ghosts: Chain::new(limit),
            lir: 0,
            lir_max: capacity - queue_max,
            queue_max,
            stack_max: 2 * capacity,
        }
    }

    fn get(&self, block: u64) -> Option<u32> {
        self.table.get(block, |slot| self.nodes[slot as usize].block == block)
    }

    fn insert(&mut self, block: u64, status: Status) -> u32 {
        let node = Node { block, status, is_on_stack: true };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.nodes[slot as usize] = node;
                slot
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        self.table.insert(block, slot);
        self.stack.push(slot);
        slot
    }

    /// Forgets a block that is on no list.
    fn drop_slot(&mut self, slot: u32) {
        self.table.remove(self.nodes[slot as usize].block, slot);
        self.free.push(slot);
    }

    /// Takes a block from the stack; a ghost is forgotten with it.
    fn leave_stack(&mut self, slot: u32) {
        self.stack.unlink(slot);
        self.nodes[slot as usize].is_on_stack = false;
        if self.nodes[slot as usize].status == Status::Ghost {
            self.ghosts.unlink(slot);
            self.drop_slot(slot);
        }
    }

    /// Below the last LIR block nothing is kept: no use of it could be closer.
    fn prune(&mut self) {
        while let Some(slot) = self.stack.tail()
            && self.nodes[slot as usize].status != Status::Lir
        {
            self.leave_stack(slot);
        }
    }

    /// The LIR block at the bottom becomes the queue's latest.
    fn demote(&mut self) {
        let slot = self.stack.tail().expect("there are LIR blocks");
        self.lir -= 1;
        self.nodes[slot as usize].status = Status::Held;
        self.stack.unlink(slot);
        self.nodes[slot as usize].is_on_stack = false;
        self.queue.push(slot);
        self.prune();
    }

    /// The queue's earliest goes; on the stack its ghost stays.
    fn evict(&mut self) -> Option<u64> {
        let slot = self.queue.tail()?;
        self.queue.unlink(slot);
        let node = &mut self.nodes[slot as usize];
        let block = node.block;
        if node.is_on_stack {
            node.status = Status::Ghost;
            self.ghosts.push(slot);
        } else {
            self.drop_slot(slot);
        }
        Some(block)
    }

    /// A block on the stack was used again: it becomes LIR, for the one at the bottom.
    fn promote(&mut self, slot: u32) {
        self.nodes[slot as usize].status = Status::Lir;
        self.stack.front(slot);
        self.lir += 1;
        if self.lir > self.lir_max {
            self.demote();
        } else {
            self.prune();
        }
    }

    fn hit(&mut self, slot: u32) {
        let node = self.nodes[slot as usize];
        match (node.status, node.is_on_stack) {
            (Status::Lir, _) => {
                self.stack.front(slot);
                self.prune();
            }
            (_, true) => {
                self.queue.unlink(slot);
                self.promote(slot);
            }
            (_, false) => {
                self.queue.front(slot);
                self.nodes[slot as usize].is_on_stack = true;
                self.stack.push(slot);
                self.prune();
            }
        }
    }

    fn miss(&mut self, block: u64, ghost: Option<u32>) -> Option<u64> {
        let is_full = self.queue.len >= self.queue_max && self.lir >= self.lir_max;
        let evicted = if is_full { self.evict() } else { None };
        if let Some(slot) = ghost {
            self.ghosts.unlink(slot);
            self.promote(slot);
        } else if self.lir < self.lir_max {
            self.insert(block, Status::Lir);
            self.lir += 1;
        } else {
            let slot = self.insert(block, Status::Held);
            self.queue.push(slot);
            self.prune();
        }
        evicted
    }

    fn bound_ghosts(&mut self) {
        while self.stack.len > self.stack_max
            && let Some(slot) = self.ghosts.tail()
        {
            self.leave_stack(slot);
        }
    }
}

impl Replacement for Lirs {
    fn access(&mut self, block: u64) -> Access {
        let found = self.get(block);
        let ghost = found.filter(|slot| self.nodes[*slot as usize].status == Status::Ghost);
        let access = match found {
            Some(slot) if ghost.is_none() => {
                self.hit(slot);
                Access::Hit
            }
            _ => Access::Miss { evicted: self.miss(block, ghost) },
        };
        self.bound_ghosts();
        access
    }

    fn holds(&self, block: u64) -> bool {
        let found = self.get(block);
        found.is_some_and(|slot| self.nodes[slot as usize].status != Status::Ghost)
    }

    fn remove(&mut self, block: u64) -> bool {
        let Some(slot) = self.get(block) else { return false };
        let Node { status, is_on_stack, .. } = self.nodes[slot as usize];
        if status == Status::Ghost {
            self.leave_stack(slot);
            return false;
        }
        match status {
            Status::Lir => self.lir -= 1,
            _ => self.queue.unlink(slot),
        }
        if is_on_stack {
            self.stack.unlink(slot);
        }
        self.drop_slot(slot);
        self.prune();
        true
    }

    fn len(&self) -> usize {
        self.lir + self.queue.len
    }
}
