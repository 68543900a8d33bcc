//! A miss-ratio curve of any policy by miniature simulation (Waldspurger and others, 2017): of all
//! blocks those whose hash is below a threshold, each with its whole history, in caches as much
//! smaller.
//!
//! As in SHARDS-adj, what the sample's accesses differ from their expected number counts as hits of
//! any cache: it is how often the few hottest blocks happen to be in the sample.

use crate::{
    policy::Policy,
    replacement::{Access, Replacement},
    store::hash,
};

/// Caches of several sizes, a little model of each.
pub struct Miniature {
    threshold: u64,
    rate: f64,
    accesses: u64,
    caches: Vec<Scaled>,
}

struct Scaled {
    capacity: usize,
    cache: Box<dyn Replacement>,
    misses: u64,
}

/// Whether a block is in a sample of this share of all blocks; larger samples hold the smaller.
pub fn is_sampled(block: u64, rate: f64) -> bool {
    hash(block) <= threshold(rate)
}

fn threshold(rate: f64) -> u64 {
    // From 2^64 on, a conversion gives the largest number.
    (rate * 2f64.powi(64)) as u64
}

impl Miniature {
    /// Of caches of these capacities in blocks, on a sample of the share `rate` of all blocks.
    ///
    /// # Panics
    /// With a rate that is not above 0 and at most 1.
    pub fn new(policy: Policy, capacities: &[usize], rate: f64) -> Self {
        assert!(rate > 0.0 && rate <= 1.0, "a sample of {rate}");
        let scaled = |capacity: usize| Scaled {
            capacity,
            cache: policy.cache(((capacity as f64 * rate).round() as usize).max(1)),
            misses: 0,
        };
        let caches = capacities.iter().map(|capacity| scaled(*capacity)).collect();
        Self { threshold: threshold(rate), rate, accesses: 0, caches }
    }

    /// An access of the whole, in order.
    #[inline]
    pub fn access(&mut self, block: u64) {
        self.accesses += 1;
        if hash(block) > self.threshold {
            return;
        }
        for scaled in &mut self.caches {
            scaled.misses += u64::from(scaled.cache.access(block) != Access::Hit);
        }
    }

    /// Each capacity, and the share of accesses that a cache of it misses.
    pub fn curve(&self) -> Vec<(usize, f64)> {
        let expected = (self.accesses as f64 * self.rate).max(1.0);
        let point =
            |scaled: &Scaled| (scaled.capacity, (scaled.misses as f64 / expected).clamp(0.0, 1.0));
        self.caches.iter().map(point).collect()
    }
}
