//! The server's memory: all of it that is held for long, from the first moment to the last.
//!
//! A client holds memory from the first byte of a write it sends to the last byte of a read it
//! takes in, so a client that stops sending or stops reading keeps what it holds. The rule that
//! keeps it from harming others is the dynamic threshold of Choudhury and Hahne ("Dynamic queue
//! length thresholds for shared-memory packet switches", 1998) with factor one: nobody may hold
//! more than is left. One client gets half, one beside a stalled one a quarter. And since many
//! stalled ones could still use up everything, each connection has one buffer of its own.
//!
//! A write has all its buffers before its payload comes in, or two that wait for each other's would
//! wait for ever. One that is too long for its share when its connection holds nothing is lent
//! memory of its own, enough for one of the longest at a time: in turn, and [to be given
//! back](super::Options::stall_limit).

use block::{Buf, Engine, Pages, Region};
use std::{collections::VecDeque, sync::Arc};

/// Buffers for blocks that are changed in part. They are with the engine whenever they are in use,
/// so no client can keep one.
pub const SPARES: usize = 16;

/// Buffers of one size, from the engine.
#[derive(Debug)]
pub struct Pool {
    region: Arc<Region>,
    free: Vec<Buf>,
    spare: Vec<Buf>,
    /// Kept for connections that hold nothing: one each.
    kept: usize,
    lent: Lent,
}

/// Memory for long writes, allocated while they need it.
#[derive(Debug)]
struct Lent {
    /// Buffers that may still be lent, and their size.
    left: usize,
    bytes: u32,
    /// Connections whose writes wait for them, in turn.
    waiting: VecDeque<u16>,
}

/// How much memory a server has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Connections, each of which has a buffer of its own.
    pub connections: usize,
    /// Buffers that they share.
    pub buffers: usize,
    /// Size of a buffer, bytes.
    pub buffer_bytes: u32,
    /// Buffers that can be lent: at least those of the longest write.
    pub lent: usize,
    /// Their size, bytes: that of the longest transfer.
    pub lent_bytes: u32,
}

impl Pool {
    /// Takes all from the engine that is not lent.
    pub fn new<E: Engine>(engine: &mut E, sizes: Sizes) -> Self {
        let Sizes { connections, buffers, buffer_bytes, lent, lent_bytes } = sizes;
        let mut free =
            engine.pool(connections + buffers + SPARES, buffer_bytes as usize, Pages::Huge);
        let region = Arc::clone(free[0].region());
        assert!(free.iter().all(|one| Arc::ptr_eq(one.region(), &region)), "a pool is one region");
        let spare = free.split_off(connections + buffers);
        let waiting = VecDeque::with_capacity(connections);
        let lent = Lent { left: lent, bytes: lent_bytes, waiting };
        Self { region, free, spare, kept: connections, lent }
    }

    /// A buffer for a connection that holds `held`, which then counts it; none if it holds its
    /// share.
    pub fn take(&mut self, held: &mut u32) -> Option<Buf> {
        if *held > 0 && !self.is_within_share(*held, 1) {
            return None;
        }
        *held += 1;
        Some(self.free.pop().expect("one is kept for each connection that holds none"))
    }

    /// So many buffers at once for a connection that holds `held`, which then counts them.
    pub fn take_all(&mut self, count: usize, held: &mut u32) -> Option<impl Iterator<Item = Buf>> {
        let kept = count == 1 && *held == 0;
        if !kept && !self.is_within_share(*held, count) {
            return None;
        }
        *held += count as u32;
        Some(self.free.drain(self.free.len() - count..))
    }

    /// Whether so many more leave as many to the others.
    fn is_within_share(&self, held: u32, count: usize) -> bool {
        let shared = self.free.len().saturating_sub(self.kept);
        held as usize + 2 * count <= shared
    }

    /// Memory of its own for a long write of the connection `number`, which holds nothing; none
    /// until its turn comes.
    pub fn borrow(&mut self, number: u16, count: usize, held: &mut u32) -> Option<Vec<Buf>> {
        assert!(*held == 0, "what it holds may be what it needs");
        let lent = &mut self.lent;
        if !lent.waiting.contains(&number) {
            lent.waiting.push_back(number);
        }
        if lent.waiting.front() != Some(&number) || lent.left < count {
            return None;
        }
        lent.waiting.pop_front();
        lent.left -= count;
        *held += count as u32;
        Some(Buf::pool(count, lent.bytes as usize, Pages::Huge).1)
    }

    /// The connection's write waits no longer.
    pub fn stop_waiting(&mut self, number: u16) {
        self.lent.waiting.retain(|&other| other != number);
    }

    /// Whether somebody waits for memory that is lent.
    pub fn is_awaited(&self) -> bool {
        !self.lent.waiting.is_empty()
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buf) {
        if Arc::ptr_eq(buffer.region(), &self.region) {
            self.free.push(buffer);
        } else {
            self.lent.left += 1;
        }
    }

    /// Whether all blocks that may be changed in part at once are.
    pub fn has_no_spare(&self) -> bool {
        self.spare.is_empty()
    }

    /// Memory for a block to be changed in part.
    pub fn take_spare(&mut self) -> Buf {
        self.spare.pop().expect("there is a spare")
    }

    /// Takes it back.
    pub fn give_spare(&mut self, buffer: Buf) {
        self.spare.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(connections: usize, buffers: usize) -> Pool {
        let (region, mut free) = Buf::pool(connections + buffers + 1, 1, Pages::Usual);
        let spare = free.split_off(connections + buffers);
        let lent = Lent { left: 257, bytes: 1, waiting: VecDeque::new() };
        Pool { region, free, spare, kept: connections, lent }
    }

    fn take_all(pool: &mut Pool) -> Vec<Buf> {
        let mut held = 0;
        std::iter::from_fn(|| pool.take(&mut held)).collect()
    }

    #[test]
    fn a_single_connection_gets_half_of_what_is_shared() {
        assert_eq!(take_all(&mut pool(64, 256)).len(), 128);
    }

    #[test]
    fn however_many_hoard_the_next_connection_gets_a_buffer() {
        let mut pool = pool(64, 256);
        let hoards: Vec<Vec<Buf>> = (0..64).map(|_| take_all(&mut pool)).collect();
        assert!(hoards.iter().all(|hoard| !hoard.is_empty()));
        assert_eq!((hoards[0].len(), hoards[1].len()), (128, 64));
    }

    #[test]
    fn a_write_gets_all_its_buffers_or_none_and_no_more_than_is_left() {
        let mut pool = pool(64, 256);
        let mut held = 0;
        let first: Vec<Buf> = pool.take_all(100, &mut held).expect("half is free").collect();
        assert!(pool.take_all(29, &mut held).is_none(), "129 of 256");
        let more: Vec<Buf> = pool.take_all(28, &mut held).expect("half in all").collect();
        assert_eq!((first.len() + more.len(), held), (128, 128));
        let mut other = 0;
        assert!(pool.take_all(65, &mut other).is_none());
        assert_eq!(pool.take_all(64, &mut other).expect("half of the rest").count(), 64);
    }

    #[test]
    fn long_writes_are_lent_memory_in_the_order_in_which_they_asked() {
        let mut pool = pool(64, 256);
        let mut held = [0; 3];
        let first = pool.borrow(7, 200, &mut held[0]).expect("nobody has any");
        assert!(pool.borrow(8, 257, &mut held[1]).is_none() && pool.is_awaited());
        assert!(pool.borrow(9, 10, &mut held[2]).is_none(), "before its turn");
        first.into_iter().for_each(|buffer| pool.give(buffer));
        assert!(pool.borrow(9, 10, &mut held[2]).is_none(), "still before its turn");
        let second = pool.borrow(8, 257, &mut held[1]).expect("all of it is back");
        pool.stop_waiting(9);
        assert!(!pool.is_awaited());
        second.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!(pool.lent.left, 257);
    }
}
