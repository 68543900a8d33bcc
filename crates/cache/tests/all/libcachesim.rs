//! Misses that libCacheSim counts on the same traces.

use crate::traces::{misses, trace};
use cache::{Policy, misses_min};

/// Printed by tests/corpus/misses.py with libcachesim 0.3.5: trace, blocks of cache, misses of
/// fifo, lru, clock, 2q, arc, lirs, s3fifo, tinylfu, belady.
const ROWS: [(&str, usize, [u64; 9]); 20] = [
    ("skewed", 500, [93802, 93382, 93106, 89285, 88784, 88692, 87980, 89090, 70490]),
    ("skewed", 1000, [88931, 88199, 87789, 84030, 83625, 83547, 82723, 83513, 60871]),
    ("skewed", 1500, [84684, 83718, 83130, 79655, 79346, 79349, 78212, 79278, 54205]),
    ("skewed", 3000, [73436, 71826, 71233, 69031, 69008, 68924, 67580, 67962, 41378]),
    ("steep", 500, [74862, 72432, 71522, 65506, 64757, 64619, 63726, 63627, 49837]),
    ("steep", 1000, [67120, 64270, 63267, 58799, 58059, 57939, 57033, 57785, 40594]),
    ("steep", 1500, [61339, 58225, 57267, 53900, 53335, 53258, 52073, 51971, 34637]),
    ("steep", 3000, [47918, 44800, 44049, 43082, 43165, 42472, 41625, 41282, 24002]),
    ("scanned", 500, [85278, 84633, 84105, 78521, 78083, 78285, 77160, 78468, 57570]),
    ("scanned", 1000, [78007, 76515, 75068, 67191, 66174, 66190, 65164, 65182, 45628]),
    ("scanned", 1500, [69942, 68113, 66680, 59005, 55780, 55631, 55075, 54908, 38284]),
    ("scanned", 3000, [55775, 47395, 45884, 39264, 29635, 29925, 33327, 31109, 28001]),
    ("moving", 500, [71125, 69356, 68705, 68267, 68053, 68044, 67920, 89719, 38885]),
    ("moving", 1000, [50281, 48308, 48133, 50340, 49493, 50476, 51343, 84282, 24587]),
    ("moving", 1500, [33767, 31699, 32024, 35560, 34397, 37600, 39815, 78256, 17642]),
    ("moving", 3000, [15167, 15516, 16474, 15586, 15870, 25966, 25325, 62250, 14942]),
    ("looping", 500, [97346, 97278, 97218, 93780, 92514, 75827, 77735, 68763, 63376]),
    ("looping", 1000, [95119, 94847, 94590, 68582, 85208, 40713, 67735, 36845, 30703]),
    ("looping", 1500, [57305, 26196, 26350, 32280, 26184, 26053, 26293, 26126, 14475]),
    ("looping", 3000, [3000, 3000, 3000, 3000, 3000, 3004, 3000, 3000, 3000]),
];

/// How far each policy may be off, as a share of all accesses.
///
/// libCacheSim's LIRS gives up a LIR block whenever a block is used that is in the queue and no
/// longer on the stack. The paper does not, and misses less on `looping`; with that rule in, ours
/// was within 0.003 there, too.
fn tolerance(policy: Policy, name: &str) -> f64 {
    match policy {
        Policy::Fifo | Policy::Lru | Policy::Clock => 0.0,
        Policy::Lirs if name == "looping" => 0.009,
        _ => 0.003,
    }
}

#[test]
fn policies_miss_as_often_as_libcachesims() {
    let mut off_by = Vec::new();
    for (name, capacity, expected) in ROWS {
        let blocks = trace(name);
        // It has no smq.
        let known = Policy::ALL.into_iter().filter(|policy| *policy != Policy::Smq);
        for (policy, expected) in known.zip(expected) {
            let found = misses(policy, capacity, &blocks);
            let off = (found as f64 - expected as f64).abs() / blocks.len() as f64;
            if off > tolerance(policy, name) {
                off_by.push(format!("{name} {capacity} {policy:?}: {found}, not {expected}"));
            }
        }
    }
    assert!(off_by.is_empty(), "{}", off_by.join("\n"));
}

/// libCacheSim's takes every block in, as all policies here but smq do; ours may pass one by.
#[test]
fn the_bound_lies_below_every_policy_and_below_a_bound_that_takes_every_block_in() {
    for (name, capacity, expected) in ROWS {
        let blocks = trace(name);
        let bound = misses_min(&blocks, capacity);
        assert!(bound <= expected[8], "{name} {capacity}: {bound}, {}", expected[8]);
        for policy in Policy::ALL {
            let found = misses(policy, capacity, &blocks);
            assert!(bound <= found, "{name} {capacity} {policy:?}: {found} below {bound}");
        }
    }
}
