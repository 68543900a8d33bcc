//! LRU under independent references against Che's approximation (Che, Tung and Wang, 2002).

use crate::traces::misses;
use block::Rng;
use cache::Policy;

const BLOCKS: usize = 20_000;
const ACCESSES: usize = 2_000_000;

/// Probabilities that fall with the rank to the power of `exponent`.
fn zipf(exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=BLOCKS).map(|rank| (rank as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// A block is held while it was asked for within the last `t` accesses, and `t` is such that so
/// many blocks are: sum of 1 - exp(-p t) = capacity. The hits are the sum of p (1 - exp(-p t)).
fn che(probabilities: &[f64], capacity: usize) -> f64 {
    let held = |t: f64| probabilities.iter().map(|p| 1.0 - (-p * t).exp()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if held(middle) < capacity as f64 { low = middle } else { high = middle }
    }
    probabilities.iter().map(|p| p * (1.0 - (-p * low).exp())).sum()
}

#[test]
fn the_hit_ratio_of_lru_is_ches_within_a_hundredth() {
    for (seed, exponent) in [(1, 0.6), (2, 0.9), (3, 1.2)] {
        let probabilities = zipf(exponent);
        let mut sum = 0.0;
        let upto: Vec<f64> = probabilities
            .iter()
            .map(|p| {
                sum += p;
                sum
            })
            .collect();
        let mut rng = Rng::new(seed, 0);
        let mut draw = || {
            let unit = rng.unit();
            upto.partition_point(|upto| *upto < unit).min(BLOCKS - 1) as u64
        };
        let blocks: Vec<u64> = (0..ACCESSES).map(|_| draw()).collect();
        for capacity in [200, 2_000, 10_000] {
            // What fills the empty cache is no part of the closed form; it is some 1 % at most.
            let (warm_up, all) = (&blocks[..ACCESSES / 4], &blocks[..]);
            let missed =
                misses(Policy::Lru, capacity, all) - misses(Policy::Lru, capacity, warm_up);
            let found = 1.0 - missed as f64 / (all.len() - warm_up.len()) as f64;
            let expected = che(&probabilities, capacity);
            let off = (found / expected - 1.0).abs();
            assert!(off < 0.01, "{exponent} {capacity}: {found}, Che {expected}");
        }
    }
}
