//! What the drive holds: planted and aged states, trimming, refusals, the same seed twice.

use super::*;
use model::{Witness, flash::page_mapped::BadParams};
use std::collections::BTreeSet;

/// The largest difference between two empirical distributions (Kolmogorov and Smirnov).
fn distance(a: &mut [u32], b: &mut [u32]) -> f64 {
    a.sort_unstable();
    b.sort_unstable();
    let share_up_to =
        |of: &[u32], value: u32| of.partition_point(|&each| each <= value) as f64 / of.len() as f64;
    a.iter()
        .chain(b.iter())
        .map(|&value| (share_up_to(a, value) - share_up_to(b, value)).abs())
        .fold(0.0, f64::max)
}

#[test]
fn a_planted_drive_is_like_one_that_was_written_for_long() {
    for (cleaning, used_per_mille) in [(Cleaning::Greedy, 750), (Cleaning::CostBenefit, 1000)] {
        let fresh = PageMappedParams {
            capacity_bytes: 2 << 30,
            over_provisioning_per_mille: 150,
            pages_per_block: 1024, // Larger than those of the twin from which it is planted.
            cleaning,
            ..small()
        };
        let state = State::Steady { used_per_mille };
        let mut planted = OnTheBench::new(&PageMappedParams { state, ..fresh.clone() });
        let mut aged = OnTheBench::new(&fresh);
        let used = fresh.units() * u64::from(used_per_mille) / 1000;
        let mut rng = Rng::new(5, 0);
        aged.drive().fill(0, used * 4096);
        for _ in 0..4 * used {
            aged.drive().fill(rng.below(used) * 4096, 4096);
        }
        let mut counts = [planted.drive().valid_counts(), aged.drive().valid_counts()];
        let [planted_counts, aged_counts] = &mut counts;
        assert!(planted_counts.len() > 100);
        let distance = distance(planted_counts, aged_counts);
        assert!(distance < 0.06, "{cleaning:?}: distributions {distance:.3} apart");
        assert_eq!(planted.drive().mapped_bytes(), aged.drive().mapped_bytes());
        let first = planted.overwrite(used, used / 4, &mut rng).write_amplification();
        let settled = aged.overwrite(used, used / 4, &mut rng).write_amplification();
        assert!((first / settled - 1.0).abs() < 0.02, "{cleaning:?}: {first:.3}, {settled:.3}");
    }
}

#[test]
fn trimming_is_exact_to_a_unit() {
    let mut bench = OnTheBench::new(&small());
    let mut mapped = BTreeSet::new();
    let mut rng = Rng::new(11, 0);
    for _ in 0..3_000 {
        let sectors = 64 << 20 >> 9;
        let first = rng.below(sectors);
        let count = (1 + rng.below(300)).min(sectors - first);
        let units = |low: u64, high: u64| low..high;
        if rng.below(3) == 0 {
            bench.one(Command::Discard { offset: first << 9, len: count << 9 });
            // Only units that lie in the range as a whole.
            for unit in units(first.div_ceil(8), (first + count) / 8) {
                mapped.remove(&unit);
            }
        } else {
            bench.one(write(first << 9, (count << 9) as u32));
            mapped.extend(units(first / 8, (first + count).div_ceil(8)));
        }
        assert_eq!(bench.drive().mapped_bytes(), mapped.len() as u64 * 4096);
    }
    bench.one(Command::Discard { offset: 0, len: 64 << 20 });
    assert_eq!(bench.drive().mapped_bytes(), 0);
}

/// What 20,000 requests of all kinds come to, up to `depth` of them at a time; now and then all
/// that are under way are waited for.
fn hash_of_all_kinds(params: &PageMappedParams, depth: u64, seed: u64) -> u64 {
    let drive = PageMapped::new(params, QUEUE_DEPTH, seed).expect("a drive");
    let mut engine = Witness::new(Sim::new(drive));
    let (mut rng, mut done) = (Rng::new(1, 0), Vec::new());
    for number in 0..20_000 {
        let offset = rng.below(params.units() - 16) * 4096;
        let bytes = 4096 << rng.below(4);
        let command = match rng.below(16) {
            0..3 => read(offset, bytes),
            3..9 => read(offset, 512 << rng.below(4)),
            9 => write_fua(offset, bytes),
            10 if rng.below(10) == 0 => Command::Flush,
            11 if rng.below(10) == 0 => Command::Discard { offset, len: u64::from(bytes) },
            _ => write(offset, bytes),
        };
        let tag = Tag(number);
        engine.submit(Request { tag, actor: Actor(0), drive: Drive(0), command });
        let under_way_max = if number % 40 == 39 { 1 } else { depth };
        while number + 1 - done.len() as u64 >= under_way_max {
            engine.wait(Instant::NEVER, &mut done);
        }
    }
    engine.hash()
}

#[test]
fn the_same_seed_replays_and_another_does_not() {
    let state = State::Steady { used_per_mille: 900 };
    let params = PageMappedParams { state, nand_page_bytes: 8192, ..small() };
    let hash = |seed| hash_of_all_kinds(&params, 16, seed);
    assert_eq!(hash(4), hash(4));
    assert_ne!(hash(4), hash(5));
}

/// A drive whose command queue holds fewer than the host may send must know at once when a read
/// will be done; another one may look that up later. Where the queue is never full, both are the
/// same drive.
#[test]
fn reads_that_are_looked_up_later_are_done_when_those_looked_up_at_once_are() {
    for (depth, read_command_ns) in [(1, 5_000), (4, 5_000), (24, 0), (24, 5_000)] {
        let state = State::Steady { used_per_mille: 900 };
        let later = PageMappedParams { state, command_queue: 64, read_command_ns, ..small() };
        let at_once = PageMappedParams { command_queue: 32, ..later.clone() };
        let [later, at_once] = [later, at_once].map(|params| hash_of_all_kinds(&params, depth, 4));
        assert_eq!(later, at_once, "depth {depth}, {read_command_ns} ns a command");
    }
}

/// The least over-provisioning that is accepted, and what is said below it.
fn least_spare(params: &PageMappedParams) -> (PageMappedParams, String) {
    let mut refusal = String::new();
    for over_provisioning_per_mille in 0..1000 {
        let params = PageMappedParams { over_provisioning_per_mille, ..params.clone() };
        match PageMapped::new(&params, QUEUE_DEPTH, 1) {
            Ok(_) => return (params, refusal),
            Err(error) => refusal = error.to_string(),
        }
    }
    panic!("nothing is accepted: {refusal}");
}

/// A drive with a `capacity=` too small for its superblocks was told how many superblocks are
/// needed, which nobody can type.
#[test]
fn a_capacity_too_small_is_told_the_smallest() {
    let with = |capacity_bytes: u64| {
        PageMapped::new(&PageMappedParams { capacity_bytes, ..small() }, QUEUE_DEPTH, 1)
    };
    let refusal = with(512).expect_err("less than a superblock");
    let BadParams::TooSmall { capacity_mib_min: Some(mib), .. } = refusal else {
        panic!("{refusal}");
    };
    assert!(refusal.to_string().ends_with(&format!("`capacity={mib}M`")), "{refusal}");
    assert!(with(mib << 20).is_ok(), "{refusal}");
    assert!(mib == 1 || with((mib - 1) << 20).is_err(), "{refusal}");
    let none = PageMappedParams { over_provisioning_per_mille: 0, ..small() };
    let refusal = PageMapped::new(&none, QUEUE_DEPTH, 1).expect_err("no spare");
    let is_hopeless = matches!(refusal, BadParams::TooSmall { capacity_mib_min: None, .. });
    assert!(is_hopeless && refusal.to_string().contains("no capacity has room"), "{refusal}");
}

#[test]
fn the_least_spare_that_is_accepted_never_comes_to_a_halt() {
    for cleaning in [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit] {
        for (nand_page_bytes, wear_leveling_threshold) in [(4096, 1_000_000), (16_384, 2)] {
            let wish = PageMappedParams {
                capacity_bytes: 8 << 20,
                nand_page_bytes,
                wear_leveling_threshold,
                cleaning,
                ..small()
            };
            let (params, refusal) = least_spare(&wish);
            assert!(refusal.contains("over_provisioning_per_mille"), "{refusal}");
            let mut bench = OnTheBench::new(&params);
            let (units, mut rng) = (params.units(), Rng::new(2, 0));
            bench.drive().fill(0, params.capacity_bytes);
            bench.overwrite(units, 3_000, &mut rng); // Everywhere,
            bench.overwrite(units / 50, 3_000, &mut rng); // on a hot spot,
            bench.many(8, 500, || write_fua(rng.below(units) * 4096, 4096)); // with padding,
            bench.many(8, units, || write(rng.below(units / 16) * 65_536, 65_536)); // and in bulk.
            assert_eq!(bench.drive().mapped_bytes(), params.capacity_bytes);
        }
    }
}

#[test]
fn what_cannot_be_built_is_refused_in_a_sentence_that_names_it() {
    let refused = |change: fn(&mut PageMappedParams), name: &str| {
        let mut params = small();
        change(&mut params);
        let error = PageMapped::new(&params, QUEUE_DEPTH, 1).expect_err(name).to_string();
        assert!(error.starts_with(name), "{error}");
    };
    refused(|params| params.channels = 0, "channels");
    refused(|params| params.nand_page_bytes = 12_288, "nand_page_bytes");
    refused(|params| params.write_buffer_bytes = 2048, "write_buffer_bytes");
    refused(|params| params.reserve_superblocks = 1, "reserve_superblocks");
    for (share_per_mille, every_ns, name) in
        [(0, 1, "share_per_mille"), (1001, 1, "share_per_mille"), (1, 0, "every_ns")]
    {
        let throttle = Some(Throttle { share_per_mille, every_ns, below_bytes_per_s: None });
        let refusal = PageMapped::new(&PageMappedParams { throttle, ..small() }, 1, 0);
        assert!(refusal.expect_err(name).to_string().contains(name));
    }
    refused(|params| params.capacity_bytes = 1 << 50, "capacity_bytes");
    refused(|params| params.link_bytes_per_s = 0, "link_bytes_per_s");
    refused(|params| params.stream_read_bytes_per_s = Some(0), "stream_read_bytes_per_s");
    refused(|params| params.state = State::Steady { used_per_mille: 1001 }, "used_per_mille");
}

#[test]
fn a_large_drive_is_built_at_once_and_pays_for_what_it_holds() {
    let params = PageMappedParams {
        capacity_bytes: 4_000_000_000_000 / 512 * 512,
        pages_per_block: 1024,
        channels: 8,
        ..small()
    };
    let mut bench = OnTheBench::new(&params);
    bench.drive().fill(1 << 40, 64 << 20);
    bench.one(Command::Discard { offset: 0, len: params.capacity_bytes });
    assert_eq!(bench.drive().mapped_bytes(), 0);
}
