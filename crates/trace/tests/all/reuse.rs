//! Reuse distances and what an LRU cache misses, against libcachesim and against a list.

use trace::{Access, Analysis, Characterisation, Op};

/// The accesses of tests/corpus/lru_misses.py: skewed, each of one block.
fn skewed() -> impl Iterator<Item = u64> {
    let mut state = 1u64;
    (0..50_000).map(move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = (state >> 33) % 2000;
        drawn * drawn / 1000
    })
}

fn seen(blocks: impl Iterator<Item = u64>, tracked: usize) -> Characterisation {
    let mut analysis = Analysis::new(tracked);
    for (at_ns, block) in (0..).zip(blocks) {
        let (offset, bytes) = (block * 4096, 4096);
        analysis.add(&Access { at_ns, op: Op::Read, volume: 0, offset, bytes });
    }
    analysis.conclude()
}

/// Printed by tests/corpus/lru_misses.py with libcachesim 0.3.5: cache in blocks, misses.
const LIBCACHESIM: [(u64, u64); 12] = [
    (1, 49957),
    (2, 49907),
    (4, 49801),
    (8, 49617),
    (16, 49249),
    (32, 48539),
    (64, 47200),
    (128, 44783),
    (256, 40477),
    (512, 32757),
    (1024, 19052),
    (2048, 1750),
];

#[test]
fn the_misses_of_lru_caches_are_libcachesims() {
    let seen = seen(skewed(), 1 << 12);
    assert_eq!(seen.blocks.sampled, 1.0, "everything is exact");
    for (blocks, misses) in LIBCACHESIM {
        let point = seen.blocks.caches.iter().find(|point| point.cache_bytes == blocks * 4096);
        let found = point.expect("a cache of that size").misses * 50_000.0;
        assert!((found - misses as f64).abs() < 1e-6, "{blocks} blocks: {found}, not {misses}");
    }
}

/// A list of blocks, the latest first: slow, and plainly right.
fn misses_by_list(blocks: impl Iterator<Item = u64>, cache: usize) -> usize {
    let (mut list, mut misses) = (Vec::new(), 0);
    for block in blocks {
        match list.iter().position(|known| *known == block) {
            Some(at) => {
                list.remove(at);
            }
            None => misses += 1,
        }
        list.insert(0, block);
        list.truncate(cache);
    }
    misses
}

/// Slots are numbered anew when they run out; a small sample makes that happen often.
#[test]
fn slots_that_are_numbered_anew_change_nothing() {
    let blocks = || skewed().take(5000).map(|block| block % 60);
    let seen = seen(blocks(), 64);
    for cache in [1usize, 2, 4, 8, 16, 32, 64] {
        let bytes = cache as u64 * 4096;
        let point = seen.blocks.caches.iter().find(|point| point.cache_bytes == bytes);
        let found = point.expect("a cache of that size").misses * 5000.0;
        let expected = misses_by_list(blocks(), cache) as f64;
        assert!((found - expected).abs() < 1e-6, "{cache} blocks: {found}, not {expected}");
    }
}

/// The paper's error with 8 Ki samples is below 0.01 on most traces.
#[test]
fn a_sample_comes_close_to_the_whole() {
    let blocks = || skewed().zip(skewed().skip(1)).map(|(a, b)| a * 37 + b % 37);
    let (whole, sample) = (seen(blocks(), 1 << 18), seen(blocks(), 1 << 13));
    assert!(sample.blocks.sampled < 0.5, "{}", sample.blocks.sampled);
    let off = (sample.blocks.unique / whole.blocks.unique - 1.0).abs();
    assert!(off < 0.03, "footprint off by {off}");
    for (a, b) in whole.blocks.caches.iter().zip(&sample.blocks.caches) {
        let off = (a.misses - b.misses).abs();
        assert!(off < 0.02, "{} B: {} and {}", a.cache_bytes, a.misses, b.misses);
    }
}
