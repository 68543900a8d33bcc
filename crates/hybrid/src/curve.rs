//! Miss ratios by size: the policies, and the bound of all policies.

use crate::{
    probe::{misses, misses_least},
    seen::Seen,
};
use cache::Policy;

/// Policies that are drawn.
pub const POLICIES: [Policy; 4] = [Policy::Lru, Policy::Arc, Policy::S3Fifo, Policy::TinyLfu];
/// Points of a curve: from all that is touched, halved each.
const POINTS: u32 = 11;
/// Fewer blocks of the sample tell nothing.
const BLOCKS_MIN: f64 = 8.0;

/// Misses of caches of one size, as shares of all accesses to blocks.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// The size.
    pub cache_bytes: u64,
    /// Of LRU, ARC, S3-FIFO and TinyLFU, in this order.
    pub misses: [f64; POLICIES.len()],
    /// Of the best there could be, which knows the future (Belady, 1966).
    pub least: f64,
}

/// From small caches to one that holds all.
pub fn curves(seen: &Seen) -> Vec<Curve> {
    let all = seen.footprint_bytes().next_power_of_two();
    let sizes = (0..POINTS).rev().map(|halved| all >> halved);
    let is_known = |size: &u64| *size as f64 / seen.block_bytes as f64 * seen.sampled >= BLOCKS_MIN;
    let point = |cache_bytes: u64| Curve {
        cache_bytes,
        misses: POLICIES.map(|policy| misses(seen, policy, cache_bytes)),
        least: misses_least(seen, cache_bytes),
    };
    let sizes: Vec<u64> = sizes.filter(is_known).collect();
    study::in_parallel(&sizes, crate::threads(), &|_, _| {}, |_| 1, |size| point(*size))
}
