//! What a drive's fast caches hold: as long as there is room in one, writes are faster than they
//! can go on.

use block::{Instant, Machine};

/// Where a drive takes writes fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastCacheKind {
    /// Memory.
    Memory,
    /// A shingled disk's media cache.
    Media,
    /// Flash at one bit a cell.
    Slc,
}

/// How one of them stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastCache {
    /// Which.
    pub kind: FastCacheKind,
    /// What it holds at most.
    pub capacity_bytes: u64,
    /// What it holds, and has not yet put where it is to stay.
    pub held_bytes: u64,
    /// What was ever written into it.
    pub taken_bytes: u64,
}

/// A drive that tells how its caches stand.
pub trait Cached: Machine {
    /// The fast caches, as they are at `now`, what an idle drive does meanwhile included.
    fn fast_caches(&self, now: Instant) -> Vec<FastCache>;
}
