//! Traces by integers alone: tests/corpus/misses.py makes the same.

use cache::{Access, Policy};

const ACCESSES: u64 = 100_000;

fn draws(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

/// The trace of that name.
pub fn trace(name: &str) -> Vec<u64> {
    let at = 0..ACCESSES;
    match name {
        "skewed" => at.zip(draws(1)).map(|(_, drawn)| squared(drawn, 20_000)).collect(),
        "steep" => at.zip(draws(2)).map(|(_, drawn)| steep(drawn % 20_000)).collect(),
        "scanned" => {
            let mut drawn = draws(3);
            let mut block = |at: u64| match at % 2_000 {
                0..500 => 1_000_000 + at,
                _ => squared(drawn.next().expect("endless"), 4_000),
            };
            at.map(&mut block).collect()
        }
        "moving" => at
            .zip(draws(4))
            .map(|(at, drawn)| at / 10_000 * 1_500 + squared(drawn, 3_000))
            .collect(),
        "looping" => {
            let mut drawn = draws(5);
            let mut block = |at: u64| match at % 3 {
                0 => 10_000 + drawn.next().expect("endless") % 2_000,
                _ => at * 7 % 1_500,
            };
            at.map(&mut block).collect()
        }
        _ => panic!("no trace {name}"),
    }
}

fn squared(drawn: u64, range: u64) -> u64 {
    let place = drawn % range;
    place * place / range
}

fn steep(place: u64) -> u64 {
    place * place / 20_000 * place / 20_000 * place / 20_000
}

/// How many of the accesses a cache misses.
pub fn misses(policy: Policy, capacity: usize, blocks: &[u64]) -> u64 {
    let mut cache = policy.cache(capacity);
    blocks.iter().filter(|block| cache.access(**block) != Access::Hit).count() as u64
}
