//! Scrubbing an open volume: what is damaged is found while it is used, and nothing else is.

use super::{
    End, block_at, contents, flush, open, overwrite, patient, reading, sectors, settings, used,
};
use crate::{
    bench::{Bench, ask, create, cut, media, read, small, striped, write},
    caller::{Caller, Mix},
};
use block::{Buf, Command, Durability, Engine, Instant, Payload, Rng};
use flash::{
    BLOCK_BYTES, ScrubReport, Scrubbing, Shape,
    testing::look,
    tools::{Verdict, check},
};
use std::ops::Range;

const SECOND_NS: u64 = 1_000_000_000;
/// More than a scrubbed drive of these tests could read in a second.
const FAST: Scrubbing = Scrubbing { bytes_per_s: 1 << 30, every_ns: 10 * SECOND_NS };

fn scrubbed(bench: &Bench) -> ScrubReport {
    bench.machine.scrub_report().expect("it is scrubbed")
}

/// Lets time pass.
fn pass(bench: &mut Bench, ns: u64) {
    let (until, mut done) = (bench.now().after(ns), Vec::new());
    while bench.now() < until {
        bench.wait(until, &mut done);
    }
    assert!(done.is_empty(), "nothing was asked for");
}

/// A volume in which a pass has been done, on a medium in which so many blocks of data are damaged;
/// and which ones.
fn damaged(shape: Shape, seed: u64, count: usize) -> (Bench, Vec<u32>) {
    let (mut medium, _) = used(shape, seed, End::Clean);
    let mut volume = open(medium.clone(), settings(), seed);
    flush(&mut volume).expect("healthy");
    let mut mapped: Vec<(u32, u32)> =
        volume.machine.mappings().filter(|&(_, location)| location > 1).collect();
    Rng::new(seed, 1).shuffle(&mut mapped);
    mapped.truncate(count);
    for &(_, location) in &mapped {
        medium = overwrite(medium, u64::from(location) * BLOCK_BYTES, &[0x5a; 4096]);
    }
    let mut volume = open(medium, settings(), seed);
    flush(&mut volume).expect("healthy");
    volume.machine.set_scrubbing(Some(FAST));
    pass(&mut volume, 5 * SECOND_NS);
    let mut blocks: Vec<u32> = mapped.iter().map(|&(block, _)| block).collect();
    blocks.sort_unstable();
    (volume, blocks)
}

fn blocks(ranges: &[Range<u32>]) -> Vec<u32> {
    ranges.iter().cloned().flatten().collect()
}

#[test]
fn everything_that_is_alive_is_verified_once_a_pass() {
    for (shape, seed) in [(small(), 1), (striped(), 2)] {
        let (mut volume, _) = damaged(shape, seed, 0);
        let report = scrubbed(&volume);
        let mapped = volume.machine.counters().expect("it is open").mapped_blocks;
        assert_eq!((report.passes, report.errors, report.headers_damaged), (1, 0, 0), "{report:?}");
        assert_eq!(report.blocks_verified, mapped);
        assert!(report.pages_verified > 0 && report.damaged.is_empty());
        pass(&mut volume, 10 * SECOND_NS);
        let report = scrubbed(&volume);
        assert_eq!((report.passes, report.blocks_verified), (2, 2 * mapped));
        volume.machine.set_scrubbing(None);
        assert_eq!(volume.machine.scrub_report(), None);
        volume.machine.audit();
    }
}

#[test]
fn what_is_damaged_is_named_until_it_is_written_anew() {
    for (shape, seed) in [(small(), 3), (striped(), 4)] {
        let (mut volume, wrong) = damaged(shape, seed, 20);
        let report = scrubbed(&volume);
        assert_eq!((report.passes, report.errors), (1, 20));
        assert_eq!(blocks(&report.damaged), wrong);
        assert!(volume.machine.lifetime().is_some_and(|life| life.checksum_errors >= 20));
        let (mended, rest) = wrong.split_at(5);
        for &block in mended {
            let first = u64::from(block) * 8;
            let command = write(first..first + 8, 1, Durability::Fua);
            ask(&mut volume, command).result.expect("written anew");
        }
        assert_eq!(blocks(&scrubbed(&volume).damaged), rest, "at once");
        pass(&mut volume, 10 * SECOND_NS);
        let report = scrubbed(&volume);
        assert_eq!(report.passes, 2);
        assert!(report.errors > 20, "{report:?}");
        assert_eq!(blocks(&report.damaged), rest);
    }
}

/// A header that is damaged loses no data: what it spoke of is found by the map.
#[test]
fn behind_a_damaged_header_blocks_are_found_by_the_map() {
    let shape = small();
    let (mut medium, _) = used(shape, 5, End::Clean);
    let mut volume = open(medium.clone(), settings(), 5);
    flush(&mut volume).expect("healthy");
    let layout = *volume.machine.layout().expect("it is open");
    let segments = (0..layout.segments).map(|segment| layout.location(segment));
    let in_use: Vec<u32> = segments
        .filter(|&first| {
            let end = first + layout.segment_blocks;
            volume.machine.mappings().any(|(_, location)| (first..end).contains(&location))
        })
        .take(4)
        .collect();
    for first in &in_use {
        medium = overwrite(medium, u64::from(*first) * BLOCK_BYTES, &[0x5a; 4096]);
    }
    let mut volume = open(medium, settings(), 5);
    flush(&mut volume).expect("healthy");
    volume.machine.set_scrubbing(Some(FAST));
    pass(&mut volume, 5 * SECOND_NS);
    let report = scrubbed(&volume);
    let mapped = volume.machine.counters().expect("it is open").mapped_blocks;
    assert_eq!((report.passes, report.errors), (1, 0));
    assert_eq!(report.headers_damaged, in_use.len() as u64);
    assert_eq!(report.blocks_verified, mapped);
}

/// Segments are cleaned, freed, discarded and written anew under the scrubber, which must take
/// nothing of that for damage.
#[test]
fn a_volume_under_load_is_scrubbed_without_a_false_alarm() {
    for seed in 0..6 {
        let shape = if seed % 2 == 0 { small() } else { striped() };
        let mut volume = create(media(&shape), shape, settings(), seed);
        flush(&mut volume).expect("it is made");
        let plan = Scrubbing { bytes_per_s: 200 << 20, every_ns: 1 };
        volume.machine.set_scrubbing(Some(plan));
        let mix = Mix { unaligned: true, flush_one_in: 20, skewed: seed % 3 == 0 };
        let mut caller = Caller::new(seed, sectors(shape), mix);
        for _ in 0..8 {
            caller.requests(&mut volume, 300, 6);
            pass(&mut volume, SECOND_NS / 5);
        }
        flush(&mut volume).expect("healthy");
        let report = scrubbed(&volume);
        assert!(report.passes > 1 && report.blocks_verified > 1000, "{report:?}");
        assert_eq!((report.errors, report.headers_damaged), (0, 0), "{report:?}");
        let counters = volume.machine.counters().expect("it is open");
        assert!(counters.cleaned > 0 && counters.checksum_errors == 0, "{counters:?}");
        volume.machine.audit();
        // And with a read of it under way when the power goes.
        let mut volume = open(cut(volume, seed), settings(), seed);
        flush(&mut volume).expect("healthy");
    }
}

#[test]
fn its_rate_is_kept_by_the_machines_own_time() {
    let (mut volume, _) = damaged(small(), 7, 0);
    let before = scrubbed(&volume).bytes_read;
    let plan = Scrubbing { bytes_per_s: 64 << 10, every_ns: 1 };
    volume.machine.set_scrubbing(Some(plan));
    pass(&mut volume, 10 * SECOND_NS);
    let bytes = scrubbed(&volume).bytes_read - before;
    let wanted = 10 * plan.bytes_per_s;
    assert!((wanted / 2..=wanted + (512 << 10)).contains(&bytes), "{bytes} of {wanted}");
}

/// While clients ask one request after the other the scrubber reads ten times a second at most, and
/// goes on all the same.
#[test]
fn clients_come_first() {
    let (mut volume, _) = damaged(small(), 8, 0);
    volume.machine.set_scrubbing(Some(Scrubbing { bytes_per_s: 1 << 30, every_ns: 1 }));
    pass(&mut volume, SECOND_NS / 100);
    let (start, before) = (volume.now(), scrubbed(&volume).bytes_read);
    while volume.now().since(start) < 3 * SECOND_NS {
        read(&mut volume, 0..8).expect("healthy");
        // A client that works for a moment on what it read.
        let until = Instant(volume.now().0 + 1_000_000);
        volume.wait(until, &mut Vec::new());
    }
    let bytes = scrubbed(&volume).bytes_read - before;
    assert!(bytes > 0, "it goes on");
    assert!(bytes <= 31 * (256 << 10), "{bytes} in three seconds");
}

#[test]
fn a_stopped_volume_is_not_scrubbed() {
    let (mut volume, _) = damaged(small(), 9, 0);
    volume.machine.set_scrubbing(Some(Scrubbing { bytes_per_s: 1 << 30, every_ns: 1 }));
    volume.machine.shut_down();
    assert!(ask(&mut volume, Command::Flush).result.is_ok());
    let before = scrubbed(&volume).bytes_read;
    pass(&mut volume, SECOND_NS);
    assert_eq!(scrubbed(&volume).bytes_read, before);
}

/// A page's contents are in memory: one that rots under the open volume is found, and the next
/// checkpoint writes it anew.
#[test]
fn a_damaged_page_of_the_map_is_written_anew() {
    let shape = small();
    let (medium, values) = used(shape, 10, End::Clean);
    let mut volume = open(medium.clone(), settings(), 10);
    flush(&mut volume).expect("healthy");
    let look = look(&mut reading(&medium), &mut patient()).expect("healthy");
    let (page, _) = *look.root.directory.iter().find(|page| page.0 > 1).expect("a page");
    let at = block_at(u64::from(page) * BLOCK_BYTES);
    let mut rotten = Buf::zeroed(4096);
    rotten.bytes_mut().fill(0x5a);
    let (from, durability) = (Payload::Bytes(rotten), Durability::Fua);
    ask(&mut volume.engine, Command::Write { at, from, durability }).result.expect("it rots");
    volume.machine.set_scrubbing(Some(FAST));
    pass(&mut volume, 5 * SECOND_NS);
    let report = scrubbed(&volume);
    assert_eq!((report.passes, report.errors, report.pages_damaged), (1, 1, 1), "{report:?}");
    volume.machine.shut_down();
    flush(&mut volume).expect("stopped");
    let medium = cut(volume, 10);
    let checked = check(&mut reading(&medium), 10, &mut patient()).expect("it is looked at");
    assert_eq!(checked.verdict(), Verdict::Healthy, "{:?}", checked.findings);
    assert_eq!(contents(medium, shape), values);
}
