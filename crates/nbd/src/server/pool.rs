//! The server's memory: all of it, from the first moment to the last.
//!
//! A client holds memory from the first byte of a write it sends to the last byte of a read it takes in, so a
//! client that stops sending or stops reading keeps what it holds. The rule that keeps it from harming
//! others is the dynamic threshold of Choudhury and Hahne ("Dynamic queue length thresholds for
//! shared-memory packet switches", 1998) with factor one: nobody may hold more than is left. One client gets
//! half, one beside a stalled one a quarter. And since many stalled ones could still use up everything, each
//! connection has one buffer of its own.

use block::{Buf, Engine};

/// Buffers for blocks that are changed in part. They are with the engine whenever they are in use, so no
/// client can keep one.
const SPARES: usize = 16;

/// Buffers of one size, from the engine.
#[derive(Debug)]
pub struct Pool {
    free: Vec<Buf>,
    spare: Vec<Buf>,
    /// Kept for connections that hold nothing: one each.
    kept: usize,
}

impl Pool {
    /// So many shared `buffers`, and one more for each of the `connections`.
    pub fn new<E: Engine>(engine: &mut E, connections: usize, buffers: usize, bytes: u32) -> Self {
        let mut free = engine.pool(connections + buffers + SPARES, bytes as usize);
        let spare = free.split_off(connections + buffers);
        Self { free, spare, kept: connections }
    }

    /// A buffer for a connection that holds `held`, which then counts it; none if it holds its share.
    pub fn take(&mut self, held: &mut u32) -> Option<Buf> {
        let shared = self.free.len().saturating_sub(self.kept);
        if *held > 0 && *held as usize >= shared {
            return None;
        }
        *held += 1;
        Some(self.free.pop().expect("one is kept for each connection that holds none"))
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buf) {
        self.free.push(buffer);
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
        let mut free = Buf::pool(connections + buffers + 1, 1).1;
        let spare = free.split_off(connections + buffers);
        Pool { free, spare, kept: connections }
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
}
