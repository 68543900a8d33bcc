//! Status without opening.

use super::{End, flush, open, patient, reading, settings, used};
use crate::bench::{small, striped};
use flash::tools::{ToolError, status};
use std::ops::ControlFlow;

#[test]
fn status_says_what_opening_would_find_and_writes_nothing() {
    for (seed, end) in [(1, End::Clean), (2, End::Unclean), (3, End::Unclean)] {
        let shape = if seed == 3 { striped() } else { small() };
        let (medium, values) = used(shape, seed, end);
        let status = status(&mut reading(&medium), &mut patient()).expect("healthy");
        assert_eq!(status.report.clean, end == End::Clean);
        let written = values.chunks(8).filter(|block| block.iter().any(|&value| value != 0));
        assert_eq!(status.mapped_blocks, written.count() as u64);
        let mut volume = open(medium, settings(), 1);
        flush(&mut volume).expect("healthy");
        let counters = volume.machine.counters().expect("it is open");
        assert_eq!(status.mapped_blocks, counters.mapped_blocks);
        assert_eq!(status.last_seq + 1, status.report.first_seq);
        let counts = status.segments;
        let all = counts.free + counts.open + counts.closed + counts.prefree + counts.retired;
        assert_eq!(all, u64::from(status.layout.segments));
    }
}

/// Counts of a life add up over openings, whether the volume was stopped or cut.
#[test]
fn lifetime_counters_go_on_from_one_opening_to_the_next() {
    let (medium, _) = used(small(), 4, End::Clean);
    let before = status(&mut reading(&medium), &mut patient()).expect("healthy").lifetime;
    assert!(before.host_blocks > 2_000 && before.copied_blocks > 0, "{before:?}");
    // The lives of `used` ended in three cuts.
    assert_eq!(before.unclean_openings, 3);
    let parts = before.host_blocks
        + before.copied_blocks
        + before.page_blocks
        + before.header_blocks
        + before.padding_blocks;
    // What else was written: a root and two superblocks a checkpoint, and superblocks of epochs.
    assert!(parts < before.drive_blocks && before.drive_blocks < parts * 2, "{before:?}");
    let mut volume = open(medium, settings(), 1);
    for number in 0..50 {
        let command = crate::bench::write(0..8, number + 1, block::Durability::Fua);
        crate::bench::ask(&mut volume, command).result.expect("healthy");
    }
    let medium = crate::bench::cut(volume, 1);
    let after = status(&mut reading(&medium), &mut patient()).expect("healthy");
    assert_eq!(after.lifetime.host_blocks, before.host_blocks + 50);
    assert!(!after.report.clean);
}

#[test]
fn a_tool_that_is_told_to_stop_stops() {
    let (medium, _) = used(small(), 5, End::Clean);
    let mut asked = 0;
    let stopped = status(&mut reading(&medium), &mut |_| {
        asked += 1;
        ControlFlow::Break(())
    });
    assert_eq!((stopped, asked), (Err(ToolError::Stopped), 1));
}
