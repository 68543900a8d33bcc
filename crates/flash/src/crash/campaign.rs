//! Seeded campaigns: lives that end with a power cut, in the middle of whatever was going on.

use super::bench::{
    Bench, Caller, Mix, classed, create, cut, flush, media, open, read_all, run_until, small,
    striped,
};
use block::{Engine, Instant, Rng};
use flash::{Cleaning, Settings, Shape, Step};
use model::Media;
use std::collections::BTreeMap;

/// Classes are told apart where the volume has them.
fn settings() -> Settings {
    Settings {
        queue_depth: 16,
        answer_ns: 500,
        chunks: 6,
        cleaning: Cleaning::SepBit,
        ..Settings::default()
    }
}

#[derive(Debug, Default)]
pub struct Tally {
    cuts: BTreeMap<String, u64>,
    acknowledged: u64,
    replayed: u64,
    cut_chunks: u64,
    cut_entries: u64,
    walked_most: u64,
}

/// What the volume was doing.
fn doing(bench: &Bench) -> String {
    let volume = &bench.machine;
    match volume.step() {
        Step::Open if volume.is_cleaning() && volume.is_checkpointing() => "both".to_owned(),
        Step::Open if volume.is_cleaning() => "cleaning".to_owned(),
        Step::Open if volume.is_checkpointing() => "checkpoint".to_owned(),
        Step::Open => "writing".to_owned(),
        step => format!("opening: {step:?}"),
    }
}

/// Opens what a power cut left, holds it against the oracle, and opens it once more.
fn check(medium: &Media, caller: &mut Caller, sectors: u64, seed: u64, tally: &mut Tally) -> Media {
    let mut bench = open(medium.clone(), settings(), seed);
    flush(&mut bench)
        .unwrap_or_else(|error| panic!("seed {seed}: {error:?} {:?}", bench.machine.open_error()));
    let report = *bench.machine.open_report().expect("it is open");
    assert_eq!((report.chunks_missing, report.pages_lost), (0, 0), "seed {seed}: {report:?}");
    let layout = *bench.machine.layout().expect("it is open");
    let streams = layout.shape.classes.streams();
    let bound = u64::from(layout.window + 2 * layout.map_segments + 8 + streams);
    assert!(report.segments_walked <= bound, "seed {seed}: {report:?}");
    tally.replayed += report.chunks_replayed;
    tally.cut_chunks += report.chunks_cut;
    tally.cut_entries += report.entries_cut;
    tally.walked_most = tally.walked_most.max(report.segments_walked);
    bench.machine.audit();
    let values = read_all(&mut bench, sectors).expect("nothing is damaged");
    if let Err(complaint) = caller.oracle.admits(&values) {
        panic!("seed {seed}: {complaint}; {report:?}");
    }
    let medium = cut(bench, seed ^ 1);
    let mut again = open(medium.clone(), settings(), seed ^ 2);
    flush(&mut again).expect("it opens again");
    let twice = read_all(&mut again, sectors).expect("nothing is damaged");
    assert!(twice == values, "seed {seed}: recovered twice, and not the same");
    caller.oracle.restart(values);
    caller.forget();
    medium
}

pub fn campaign(seed: u64, shape: Shape, mix: Mix, lives: u64, tally: &mut Tally) {
    let sectors = shape.exported_bytes / 512;
    let mut rng = Rng::new(seed, 7);
    let mut caller = Caller::new(seed, sectors, mix);
    let mut medium = None;
    for life in 0..lives {
        let seed = seed.wrapping_mul(1000).wrapping_add(life);
        let mut bench = match medium.take() {
            None => create(media(&shape), shape, settings(), seed),
            Some(left) => open(left, settings(), seed),
        };
        if life > 0 && rng.below(3) == 0 {
            // Somewhere in recovery, more than once.
            for round in 0..rng.below(3) {
                run_until(&mut bench, Instant(rng.below(900_000)));
                bench = open(cut(bench, seed ^ round << 40), settings(), seed ^ round);
            }
            run_until(&mut bench, Instant(rng.below(900_000)));
        } else {
            flush(&mut bench).expect("it opens");
            let depth = 1 + rng.below(12) as usize;
            let end = bench.now().after(rng.below(12_000_000));
            caller.work(&mut bench, depth, end);
            assert_eq!(caller.failed.first(), None, "seed {seed}");
            bench.machine.audit();
        }
        *tally.cuts.entry(doing(&bench)).or_default() += 1;
        let left = cut(bench, seed);
        medium = Some(check(&left, &mut caller, sectors, seed, tally));
    }
    tally.acknowledged += caller.acknowledged;
}

#[test]
fn nothing_that_was_flushed_is_lost_in_any_of_many_power_cuts() {
    let mut tally = Tally::default();
    for seed in 0..16 {
        let mix = Mix { unaligned: false, flush_one_in: 4 + seed % 3 * 30, skewed: seed % 2 == 1 };
        campaign(seed, small(), mix, 14, &mut tally);
    }
    eprintln!("{tally:?}");
}

#[test]
fn nor_where_short_lived_blocks_lie_apart() {
    let mut tally = Tally::default();
    for seed in 300..312 {
        let mix = Mix { unaligned: false, flush_one_in: 4 + seed % 3 * 30, skewed: seed % 4 > 0 };
        campaign(seed, classed(), mix, 12, &mut tally);
    }
    eprintln!("{tally:?}");
    assert!(tally.cut_entries > 0, "no chunk was ever younger than what was lost before it");
}

#[test]
fn nor_with_requests_that_split_blocks() {
    let mut tally = Tally::default();
    for seed in 100..106 {
        let mix = Mix { unaligned: true, flush_one_in: 20, skewed: seed % 2 == 1 };
        campaign(seed, small(), mix, 10, &mut tally);
    }
    eprintln!("{tally:?}");
}

#[test]
fn nor_on_stripes_of_192_kib_with_parity() {
    let mut tally = Tally::default();
    for seed in 200..204 {
        let mix = Mix { unaligned: false, flush_one_in: 20, skewed: seed % 2 == 1 };
        campaign(seed, striped(), mix, 6, &mut tally);
    }
    eprintln!("{tally:?}");
}

/// Minutes, not seconds: `cargo test -p flash --release -- --ignored soak`.
#[test]
#[ignore = "takes minutes"]
fn soak() {
    let mut tally = Tally::default();
    for seed in 1_000..1_600 {
        let mix = Mix {
            unaligned: seed % 3 == 0,
            flush_one_in: 4 + seed % 4 * 20,
            skewed: seed % 2 == 1,
        };
        let shape = match seed % 5 {
            0 => striped(),
            1 => Shape { checksums: flash::Checksums::OnCleaning, ..small() },
            2 => classed(),
            _ => small(),
        };
        campaign(seed, shape, mix, 20, &mut tally);
    }
    eprintln!("{tally:?}");
}
