//! Tests of the log from inside: after anything that may happen to it, all its tables tell the
//! same.

use super::{
    log::{Log, Shape},
    params::Cleaning,
    plant::steady_state,
    work::Untimed,
};
use block::Rng;
use std::collections::BTreeMap;

const POLICIES: [Cleaning; 3] = [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit];

/// 40 superblocks of an odd number of units, not a multiple of 64.
fn shape(cleaning: Cleaning) -> Shape {
    Shape {
        exported: 3_000,
        superblocks: 40,
        pages_per_block: 9,
        planes: 5,
        page_shift: 1,
        reserve: 2,
        cleaning,
        wear_spread: 20,
    }
}

/// Every logical unit's place, having checked that all tables agree on it.
fn places(log: &Log) -> BTreeMap<u32, u32> {
    let units = log.shape.units();
    let mut places = BTreeMap::new();
    let mut valid_in = vec![0; log.shape.superblocks as usize];
    for logical in 0..log.shape.exported {
        let Some(physical) = log.find(logical) else { continue };
        assert_eq!(log.logical_of[physical as usize], logical);
        assert!(log.valid[(physical / 64) as usize] >> (physical % 64) & 1 == 1);
        valid_in[(physical / units) as usize] += 1;
        places.insert(logical, physical);
    }
    let valid_bits: u32 = log.valid.iter().map(|word| word.count_ones()).sum();
    assert_eq!(valid_bits as usize, places.len(), "a bit for each mapped unit and no other");
    assert_eq!(valid_in, log.valid_in);
    assert_eq!(log.mapped(), places.len() as u64);
    assert!(log.free.iter().all(|&free| log.valid_in[free as usize] == 0));
    places
}

#[test]
fn writing_trimming_and_padding_keep_all_tables_in_step() {
    for cleaning in POLICIES {
        let (mut log, mut rng) = (Log::new(shape(cleaning)), Rng::new(8, 0));
        let mut mapped = vec![false; 3_000];
        for step in 0..60_000 {
            let logical = rng.below(3_000) as u32;
            match rng.below(40) {
                0 => {
                    let end = (logical + rng.below(40) as u32).min(3_000);
                    log.discard(logical, end);
                    mapped[logical as usize..end as usize].fill(false);
                }
                1 => log.pad(&mut Untimed),
                _ => {
                    log.write(logical, &mut Untimed);
                    mapped[logical as usize] = true;
                }
            }
            if step % 1_000 == 0 {
                let places = places(&log);
                assert!((0..3_000).all(|unit| places.contains_key(&unit) == mapped[unit as usize]));
            }
        }
    }
}

#[test]
fn the_last_place_given_is_where_a_unit_lies() {
    let (mut log, mut rng) = (Log::new(shape(Cleaning::Greedy)), Rng::new(2, 0));
    for _ in 0..20_000 {
        let logical = rng.below(3_000) as u32;
        log.write(logical, &mut Untimed);
        assert_eq!(log.find(logical), Some(log.next - 1));
    }
}

#[test]
fn a_planted_log_is_in_step_at_any_share_of_use() {
    for cleaning in POLICIES {
        for used in [0, 1, 2, 7, 89, 90, 500, 1_500, 2_999, 3_000] {
            let mut log = Log::new(shape(cleaning));
            steady_state(&mut log, used, 6);
            let planted = places(&log);
            assert!(planted.into_keys().eq(0..used), "the first {used} units");
            let mut rng = Rng::new(3, 0);
            for _ in 0..10_000 {
                log.write(rng.below(3_000) as u32, &mut Untimed);
            }
            places(&log);
        }
    }
}
