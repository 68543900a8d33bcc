//! Check on healthy volumes finds nothing; on damaged ones, everything that was planted.

use super::{End, block_at, classed, flush, open, patient, reading, settings, used};
use crate::bench::{small, striped};
use block::Rng;
use flash::{
    Checksums, OpenError, Shape,
    testing::{copies, look},
    tools::{CheckReport, Finding, Severity, Verdict, check},
};
use model::Media;
use std::collections::BTreeSet;

fn check_all(medium: &Media) -> CheckReport {
    check(&mut reading(medium), 1000, &mut patient()).expect("it can be looked at")
}

fn unchecked_on_read() -> Shape {
    Shape { checksums: Checksums::OnCleaning, ..small() }
}

#[test]
fn a_healthy_volume_has_no_findings_however_its_life_ended() {
    for seed in 0..8 {
        let shape = [small(), striped(), unchecked_on_read(), classed()][seed as usize % 4];
        let end = if seed < 4 { End::Clean } else { End::Unclean };
        let (medium, _) = used(shape, seed, end);
        let report = check_all(&medium);
        assert_eq!(report.findings, [], "seed {seed}");
        assert_eq!(report.verdict(), Verdict::Healthy);
        let mapped = look(&mut reading(&medium), &mut patient()).expect("healthy").mapped;
        assert_eq!(report.blocks_verified, u64::from(mapped), "seed {seed}");
        assert!(report.chunks_verified > 0 && report.segments_read > 0);
        if end == End::Clean {
            assert!(report.pages_verified > 0, "seed {seed}");
        }
    }
}

/// Blocks of data, one of them rotten, one unreadable: each is found, and nothing else is.
#[test]
fn every_damaged_block_of_data_is_found() {
    for (seed, shape) in [(1, small()), (2, striped()), (3, unchecked_on_read())] {
        let (healthy, _) = used(shape, seed, End::Clean);
        let mut volume = open(healthy.clone(), settings(), 1);
        flush(&mut volume).expect("healthy");
        let mappings: Vec<(u32, u32)> = volume.machine.mappings().collect();
        let mut rng = Rng::new(seed, 1);
        for _ in 0..30 {
            let (block, location) = mappings[rng.below(mappings.len() as u64) as usize];
            let offset = u64::from(location) * 4096;
            let mut rotten = healthy.clone();
            rotten.rot(offset, &mut rng);
            let report = check_all(&rotten);
            let blocks = block..block + 1;
            assert_eq!(report.findings, [Finding::Checksum { blocks: blocks.clone(), offset }]);
            assert_eq!(report.verdict(), Verdict::Damaged);
            assert_eq!(report.blocks_verified + 1, mappings.len() as u64);
            let mut unreadable = healthy.clone();
            unreadable.damage(block_at(offset));
            let report = check_all(&unreadable);
            let error = block::IoError::Medium;
            assert_eq!(report.findings, [Finding::Unreadable { blocks, offset, error }]);
        }
    }
}

#[test]
fn a_damaged_header_is_found_and_its_blocks_are_verified_by_the_map_if_it_has_checksums() {
    for shape in [small(), unchecked_on_read()] {
        let (healthy, _) = used(shape, 4, End::Clean);
        let map = look(&mut reading(&healthy), &mut patient()).expect("healthy").map;
        let live: BTreeSet<u32> = map.iter().map(|&(_, location)| location).collect();
        let mut headers = 0;
        // Before the first live block of a row there is a header, or a block that is dead.
        for location in live.iter().map(|location| location - 1).filter(|at| !live.contains(at)) {
            let offset = u64::from(location) * 4096;
            let mut medium = healthy.clone();
            medium.damage(block_at(offset));
            let report = check_all(&medium);
            if report.findings.first() != Some(&Finding::Header { offset }) {
                assert_eq!(report.findings, []);
                continue;
            }
            headers += 1;
            let unverified = report.count(Severity::Doubtful);
            match shape.checksums {
                Checksums::OnRead => assert_eq!(report.verdict(), Verdict::Healthy),
                Checksums::OnCleaning => assert!(unverified > 0 || report.findings.len() == 1),
            }
            assert_eq!(report.count(Severity::Lost), 0, "{:?}", report.findings);
        }
        assert!(headers > 10, "{headers} headers");
    }
}

#[test]
fn damaged_superblocks_and_roots_are_found() {
    let shape = small();
    let (healthy, _) = used(shape, 5, End::Clean);
    let places = copies(shape.device_bytes, shape.unit_bytes());
    for (copy, place) in (0..4).zip(places) {
        let mut medium = healthy.clone();
        medium.rot(place, &mut Rng::new(1, 1));
        let report = check_all(&medium);
        let state = flash::CopyState::Damaged;
        assert_eq!(report.findings, [Finding::Superblock { copy, state }]);
        assert_eq!(report.verdict(), Verdict::Repairable);
    }
    let mut medium = healthy.clone();
    let layout = check_all(&healthy).status.expect("healthy").layout;
    for area in 0..2 {
        medium.damage(block_at(layout.root_offset(area)));
    }
    let report = check_all(&medium);
    assert!(matches!(report.findings[..], [Finding::Unopenable(OpenError::Root { .. })]));
    assert_eq!(report.verdict(), Verdict::Unusable);
    assert!(report.findings[0].to_string().contains("flash rescue"));
}

#[test]
fn a_damaged_page_of_the_map_is_found_with_the_blocks_that_it_maps() {
    let (healthy, _) = used(small(), 6, End::Clean);
    let directory = look(&mut reading(&healthy), &mut patient()).expect("healthy").root.directory;
    assert_eq!(directory.len(), 1, "1.5 MiB are mapped by one page");
    let offset = u64::from(directory[0].0) * 4096;
    let mut medium = healthy.clone();
    medium.rot(offset, &mut Rng::new(6, 1));
    let report = check_all(&medium);
    assert_eq!(report.findings, [Finding::Page { offset, blocks: 0..384 }]);
}

/// What is on the drive between two requests of a life is healthy, whatever a power cut leaves of
/// it.
#[test]
fn nothing_but_a_cut_tail_is_found_after_a_power_cut_in_the_middle_of_anything() {
    use crate::{
        bench::{create, cut, media},
        caller::{Caller, Mix},
    };
    use block::Engine;
    for seed in 0..24 {
        let shape = [small(), striped(), unchecked_on_read(), classed()][seed as usize % 4];
        let mix = Mix { unaligned: false, flush_one_in: 20, skewed: seed % 2 == 1 };
        let mut caller = Caller::new(seed, super::sectors(shape), mix);
        let mut volume = create(media(&shape), shape, settings(), seed);
        caller.requests(&mut volume, 500, 6);
        let mut rng = Rng::new(seed, 3);
        let end = volume.now().after(rng.below(9_000_000));
        caller.work(&mut volume, 8, end);
        let report = check_all(&cut(volume, seed));
        let unexpected = report.findings.iter().find(|finding| {
            !matches!(
                finding,
                Finding::TailCut(_)
                    | Finding::TailBlocks { .. }
                    | Finding::Superblock { state: flash::CopyState::Older, .. }
            )
        });
        assert_eq!(unexpected, None, "seed {seed}");
    }
}
