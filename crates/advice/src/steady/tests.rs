//! Small drives against whole ones, and against what must be.

use super::*;
use study::{Effort, Op, Trial, measure_together};

fn bench(catalog: &Catalog, depth: u16, order: Order) -> Bench<'_> {
    let workload = Workload::plain(0.7, 4096, depth, order);
    Bench { catalog, workload, seed: 1 }
}

fn stack(text: &str) -> Stack {
    text.parse().expect("a stack")
}

/// The oracle is the trial of the studies, on a drive of full size that was planted steady.
#[test]
fn a_shrunk_steady_drive_does_what_a_whole_one_does() {
    let catalog = Catalog::built_in().expect("a catalog");
    let name = "intel-x25e-32";
    let seen = bench(&catalog, 1, Order::Random).bare(&stack(name), None).expect("rates");
    let trials =
        [Op::Read, Op::Write].map(|op| Trial::Direct { op, block_bytes: 4096, threads: 1 });
    let name = format!("{name}:state=steady");
    let whole = measure_together(&name, &trials, &catalog, Effort::REPORT).expect("rates");
    assert!((seen.read / whole[0] - 1.0).abs() < 0.02, "{} and {}", seen.read, whole[0]);
    assert!((seen.write / whole[1] - 1.0).abs() < 0.05, "{} and {}", seen.write, whole[1]);
}

#[test]
fn a_half_empty_drive_writes_faster_and_wears_less() {
    let catalog = Catalog::built_in().expect("a catalog");
    let bench = bench(&catalog, 8, Order::Random);
    let drive = catalog.drive("intel-x25m-80").expect("a drive");
    let at = |used: f64| {
        let area = (drive.capacity_bytes as f64 * used) as u64;
        let rates = bench.bare(&stack("intel-x25m-80"), Some(area)).expect("rates");
        let wear = write_amplification(drive, &bench.workload, used, 1).expect("a drive");
        (rates.write, wear.expect("flash"))
    };
    let ((full, full_wear), (half, half_wear)) = (at(1.0), at(0.5));
    assert!(half > 1.5 * full, "{half} and {full}");
    assert!(half_wear < 1.4 && full_wear > 2.0, "{half_wear} and {full_wear}");
}

#[test]
fn drives_of_an_array_are_sent_what_its_level_takes() {
    let catalog = Catalog::built_in().expect("a catalog");
    let bench = bench(&catalog, 8, Order::Random);
    for (text, random, sequential) in [
        ("mtron-mobi-32", 1.0, 1.0),
        ("4xmtron-mobi-32/raid0", 1.0, 1.0),
        ("2xmtron-mobi-32/raid1", 2.0, 2.0),
        ("4xmtron-mobi-32/raid10", 2.0, 2.0),
        ("4xmtron-mobi-32/raid5", 2.0, 4.0 / 3.0),
    ] {
        let rates = bench.bare(&stack(text), None).expect("rates");
        let line = bench.sequential(&stack(text)).expect("rates");
        let sent = [rates.sent_per_host_byte, line.sent_per_host_byte];
        for (sent, expected) in sent.into_iter().zip([random, sequential]) {
            assert!((sent / expected - 1.0).abs() < 0.05, "{text}: {sent}, not {expected}");
        }
    }
}

/// What a volume on a drive of today would do was computed from a log that fills superblocks one
/// after the other: 100,000 of a mix, of which the volume itself did 33,000. Its segments come free
/// in any order, and the drive's own cleaner copies the rest of each superblock.
#[test]
fn a_drive_that_maps_pages_cleans_below_a_log() {
    let catalog = Catalog::built_in().expect("a catalog");
    let bench = bench(&catalog, 32, Order::Random);
    let share = |name: &str| {
        let part = stack(name).members[0].drive.clone();
        bench.log_share(&part).expect("a drive")
    };
    assert_eq!(share("mtron-mobi-32"), 1.0);
    assert_eq!(share("sata-750"), 1.0);
    // 13 superblocks of 512 MiB in 7 % of spare, and 37 % of spare.
    let (little, much) = (share("nvme-tlc"), share("micron-7450max-800"));
    assert!((0.1..0.3).contains(&little), "{little}");
    assert!(much > 2.0 * little && much < 0.9, "{much}");
}

/// A segment on a small drive is the part of a superblock that it is on the whole one: it was half
/// a superblock and not a sixteenth, and one of one's own was refused, no multiple of the small
/// erase unit.
#[test]
fn segments_become_smaller_with_the_superblocks() {
    let catalog = Catalog::built_in().expect("a catalog");
    for (settings, whole_bytes) in [("", 32 << 20), (",segment=512M", 512 << 20)] {
        let whole = stack(&format!("nvme-tlc/flash:spare=28%{settings}"));
        let shrunk = Shrunk::new(&whole, &catalog).expect("a drive");
        let opened = open_small(&shrunk.stack, &shrunk, 1).expect("a volume");
        let small = opened.managed().and_then(flash::Volume::layout).expect("a volume").shape;
        assert!(shrunk.shortened > 10.0, "{}", shrunk.shortened);
        let as_whole = small.segment_bytes as f64 * shrunk.shortened;
        assert!((as_whole / f64::from(whole_bytes) - 1.0).abs() < 0.01, "{settings}: {as_whole}");
    }
}

/// A unit of 1 MiB is merged for every 4 KiB; in order each unit is erased once.
#[test]
fn a_block_mapped_drive_wears_by_the_unit() {
    let catalog = Catalog::built_in().expect("a catalog");
    let drive = catalog.drive("mtron-mobi-16").expect("a drive");
    let unit = drive.entry.parameters["unit"].base();
    let wear = |order| {
        let workload = bench(&catalog, 1, order).workload;
        write_amplification(drive, &workload, 1.0, 1).expect("a drive").expect("flash")
    };
    let (random, sequential) = (wear(Order::Random), wear(Order::Sequential));
    assert!((random / (unit / 4096.0) - 1.0).abs() < 0.05, "{random}");
    assert!((sequential - 1.0).abs() < 0.05, "{sequential}");
}

/// The maker's, of Table I of CMU 2008; a disk has none, and of others nobody says.
#[test]
fn a_rating_is_what_the_catalog_has_of_it() {
    let catalog = Catalog::built_in().expect("a catalog");
    let of = |name| rating(catalog.drive(name).expect("a drive"));
    assert_eq!(of("intel-x25m-80"), Rating::Cycles { cycles: 10_000.0, is_assumed: false });
    assert_eq!(of("mtron-mobi-16"), Rating::Cycles { cycles: 100_000.0, is_assumed: false });
    assert_eq!(of("qlc"), Rating::Cycles { cycles: 700.0, is_assumed: true });
    assert_eq!(of("sata-750"), Rating::Unbounded);
    assert_eq!(of("mtron-pro-32"), Rating::Unknown);
}
