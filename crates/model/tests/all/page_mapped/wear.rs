//! Erase counts, static levelling, life.

use super::*;

/// A drive of which a tenth is written over and over and the rest never; its wear after that.
fn after_a_hot_spot(wear_leveling_threshold: u32) -> model::flash::page_mapped::Wear {
    let params = PageMappedParams { wear_leveling_threshold, ..small() };
    let mut bench = OnTheBench::new(&params);
    bench.drive().fill(0, params.capacity_bytes);
    let units = params.units();
    bench.overwrite(units / 10, 40 * units, &mut Rng::new(1, 0));
    bench.drive().wear()
}

#[test]
fn levelling_keeps_the_spread_of_erases_within_its_threshold() {
    let (left_alone, levelled) = (after_a_hot_spot(1_000_000), after_a_hot_spot(8));
    assert!(left_alone.max - left_alone.min > 40, "{left_alone:?}");
    // One more than the threshold before it is noticed, one while it is being mended.
    assert!(levelled.max - levelled.min <= 8 + 2, "{levelled:?}");
}

#[test]
fn erases_and_life_follow_from_what_was_written() {
    let params = PageMappedParams { endurance_cycles: 10, ..small() };
    let mut bench = OnTheBench::new(&params);
    let (units, mut rng) = (params.units(), Rng::new(1, 0));
    let counted = bench.overwrite(units, 20 * units, &mut rng);
    let placed = (counted.host_units + counted.moved_units) as f64;
    // What was placed beyond the drive's size had to be erased first.
    let physical = (params.superblocks() * params.units_per_superblock()) as f64;
    let (wear, expected) = (bench.drive().wear(), placed / physical - 1.0);
    assert!((wear.mean - expected).abs() < 0.02 * expected, "{wear:?}, {expected}");
    assert!((bench.drive().life_used() - wear.mean / 10.0).abs() < 1e-12);
    assert!(wear.min >= 1 && f64::from(wear.max) < 3.0 * wear.mean, "{wear:?}");
}
