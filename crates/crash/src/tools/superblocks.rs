//! One, two, three and four copies of the superblock damaged.

use super::{End, block_at, contents, flush, open, patient, reading, settings, used};
use crate::bench::{small, striped};
use flash::{
    CopyState, OpenError, Shape,
    testing::copies,
    tools::{ToolError, status},
};

/// Whichever copies are gone, as long as one is there, and the first and the last do not tell the
/// unit.
#[test]
fn a_volume_opens_as_long_as_one_superblock_is_left() {
    for (shape, end) in [(small(), End::Clean), (striped(), End::Unclean)] {
        let (used, values) = used(shape, 7, end);
        let places = copies(shape.device_bytes, shape.unit_bytes());
        for damaged in 0..15u32 {
            let gone = |copy: usize| damaged >> copy & 1 == 1;
            let mut medium = used.clone();
            for copy in (0..4).filter(|&copy| gone(copy)) {
                medium.damage(block_at(places[copy]));
            }
            // The newest generation is in two copies; with both gone the one before it opens, if it
            // can.
            let newest_gone = damaged & 0b0101 == 0b0101 || damaged & 0b1010 == 0b1010;
            let mut volume = open(medium.clone(), settings(), 1);
            if flush(&mut volume).is_err() {
                let error = volume.machine.open_error();
                assert!(newest_gone, "copies {damaged:04b}: {error:?}");
                continue;
            }
            let report = volume.machine.open_report().expect("it is open");
            for copy in 0..4 {
                let state = report.superblocks[copy];
                assert_eq!(state == CopyState::Damaged, gone(copy), "copies {damaged:04b}");
            }
            assert_eq!(report.superblocks_damaged, damaged.count_ones());
            assert_eq!(report.warnings().is_empty(), damaged == 0, "{:?}", report.warnings());
            assert_eq!(contents(medium, shape), values, "copies {damaged:04b}");
        }
    }
}

/// Opening a cleanly stopped volume wrote one pair of superblocks, and the other went on saying
/// that nothing need be rolled forward. With the newest pair gone, all that was flushed since was
/// silently forgotten.
#[test]
fn nothing_flushed_is_forgotten_when_the_newest_pair_of_superblocks_is_lost() {
    for pair in [[0, 2], [1, 3]] {
        let shape = small();
        let (medium, _) = used(shape, 9, End::Clean);
        let mut volume = open(medium, settings(), 1);
        let command = crate::bench::write(0..8, 4711, block::Durability::Fua);
        crate::bench::ask(&mut volume, command).result.expect("healthy");
        let mut medium = crate::bench::cut(volume, 1);
        let places = copies(shape.device_bytes, shape.unit_bytes());
        pair.iter().for_each(|&copy: &usize| medium.damage(block_at(places[copy])));
        assert_eq!(contents(medium, shape)[..8], [4711; 8], "copies {pair:?}");
    }
}

#[test]
fn with_all_four_superblocks_gone_the_error_names_rescue() {
    let shape: Shape = striped();
    let (mut medium, _) = used(shape, 8, End::Clean);
    for place in copies(shape.device_bytes, shape.unit_bytes()) {
        medium.damage(block_at(place));
    }
    let error = status(&mut reading(&medium), &mut patient()).expect_err("nothing is left");
    assert_eq!(error, ToolError::Open(OpenError::NoVolume));
    assert!(error.to_string().contains("flash rescue"), "{error}");
}
