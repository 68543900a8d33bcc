//! Curves from samples against whole simulations.

use crate::traces::misses;
use block::Rng;
use cache::{Miniature, Policy, is_sampled};

/// A hot set of so many blocks, skewed, and now and then a scan.
fn blocks(hot: u64, count: u64) -> Vec<u64> {
    let mut rng = Rng::new(9, 0);
    let mut scan = 1 << 40;
    let mut block = |at: u64| {
        if at % 10_000 < 1_000 {
            scan += 1;
            return scan;
        }
        let place = rng.below(hot);
        place * place / hot
    };
    (0..count).map(&mut block).collect()
}

/// A tenth of 100,000 blocks was off by 0.011 at most: a sample must be large where few blocks
/// take much of the accesses.
#[test]
fn a_quarter_of_a_million_blocks_gives_the_curve_within_half_a_hundredth() {
    let blocks = blocks(1_000_000, 2_000_000);
    let capacities = [30_000, 200_000];
    for policy in [Policy::Lru, Policy::Arc, Policy::Lirs, Policy::S3Fifo] {
        let mut sample = Miniature::new(policy, &capacities, 0.25);
        blocks.iter().for_each(|block| sample.access(*block));
        for (capacity, found) in sample.curve() {
            let expected = misses(policy, capacity, &blocks) as f64 / blocks.len() as f64;
            let off = (found - expected).abs();
            assert!(off < 0.005, "{policy:?} {capacity}: {found}, whole {expected}");
        }
    }
}

#[test]
fn a_sample_of_everything_is_the_whole() {
    let blocks = blocks(100_000, 50_000);
    for policy in Policy::ALL {
        let mut sample = Miniature::new(policy, &[777], 1.0);
        blocks.iter().for_each(|block| sample.access(*block));
        let expected = misses(policy, 777, &blocks) as f64 / blocks.len() as f64;
        assert_eq!(sample.curve(), [(777, expected)], "{policy:?}");
    }
    assert!((0..1000).all(|block| is_sampled(block, 1.0)));
    let some = (0..100_000).filter(|block| is_sampled(*block, 0.1)).count();
    assert!((9_700..10_300).contains(&some), "{some} of 100,000");
}
