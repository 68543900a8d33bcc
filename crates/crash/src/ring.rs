//! The synchronous ring under power cuts, rot and failures, and what flushes cost with it and
//! without.

use super::{
    bench::{
        Bench, ask, create, cut, flush, media, open, open_with, read, read_all, small, striped,
        write,
    },
    caller::{Caller, Mix},
};
use block::{
    Actor, Command, Drive, Durability, Engine, Extent, Instant, IoError, Request, Rng, Tag,
};
use flash::{BLOCK_BYTES, Counters, Settings, Shape};
use model::{Choices, Fault, FaultPlan, Grain, Operation, When};
use std::collections::BTreeSet;

/// Stripes of 64 KiB, and few slots, so that all of it is used many times over.
pub fn ringed() -> Shape {
    Shape {
        device_bytes: 9 << 20,
        exported_bytes: 3 << 19,
        stripe_bytes: 64 << 10,
        erase_unit_bytes: 4096,
        segment_bytes: 256 << 10,
        chunk_bytes: 128 << 10,
        ring_bytes: 6 * (64 << 10),
        ..striped()
    }
}

fn settings() -> Settings {
    Settings { queue_depth: 16, answer_ns: 500, chunks: 6, ..Settings::default() }
}

fn counters(bench: &Bench) -> Counters {
    bench.machine.counters().expect("it is open")
}

fn fua(bench: &mut Bench, block: u64, value: u64) {
    let command = write(block * 8..block * 8 + 8, value, Durability::Fua);
    ask(bench, command).result.expect("healthy");
}

/// Recovery, cut at every event in every way: the ring is not written before recovery has ended.
#[test]
fn recovery_from_a_ring_cut_at_every_event_finds_the_same_again() {
    let mut bench = create(media(&ringed()), ringed(), settings(), 3);
    flush(&mut bench).expect("healthy");
    let values = [(0, 1), (1, 2), (0, 3), (2, 4)];
    values.iter().for_each(|&(block, value)| fua(&mut bench, block, value));
    ask(&mut bench, Command::Discard { offset: 2 * BLOCK_BYTES, len: BLOCK_BYTES })
        .result
        .expect("healthy");
    flush(&mut bench).expect("healthy");
    let Counters { records, absorbed, .. } = counters(&bench);
    assert!(records > 2 && absorbed < records, "{records} records, {absorbed} absorbed");
    let mut recovering = open(cut(bench, 1), settings(), 1);
    let (mut done, mut cuts, mut steps) = (Vec::new(), 0, BTreeSet::new());
    let command = Command::Flush;
    recovering.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
    while done.is_empty() {
        steps.insert(recovering.machine.step());
        let mut choices = Choices::default();
        loop {
            let mut medium = recovering.engine.machine.media(Drive(0)).clone();
            medium.power_cut_with(Grain::Write, &mut |count| choices.pick(count));
            let mut again = open(medium, settings(), 1);
            flush(&mut again).expect("it opens");
            let blocks = [0, 1, 2].map(|block| read(&mut again, block * 8..block * 8 + 8));
            assert_eq!(blocks, [Ok(vec![3; 8]), Ok(vec![2; 8]), Ok(vec![0; 8])], "{steps:?}");
            again.machine.audit();
            cuts += 1;
            if !choices.advance() {
                break;
            }
        }
        let next = recovering.next_wakeup().max(Instant(recovering.now().0 + 1));
        recovering.wait(next, &mut done);
    }
    eprintln!("{cuts} cuts in {steps:?}");
    assert!(cuts > 20 && steps.len() >= 7, "{cuts} cuts in {steps:?}");
}

/// A volume with three records that no chunk holds yet, and where they lie.
fn three_records() -> (model::Media, [u64; 3]) {
    let mut bench = create(media(&ringed()), ringed(), settings(), 1);
    flush(&mut bench).expect("healthy");
    (0..3).for_each(|block| fua(&mut bench, block, block + 1));
    assert_eq!((counters(&bench).records, counters(&bench).absorbed), (3, 0));
    let layout = *bench.machine.layout().expect("it is open");
    (cut(bench, 1), [1, 2, 3].map(|number| layout.slot_offset(number)))
}

#[test]
fn records_that_are_missing_are_told_and_the_others_are_read() {
    missing_records_are_told();
}

pub fn missing_records_are_told() {
    let (mut medium, places) = three_records();
    medium.damage(Extent { offset: places[1], bytes: 4096 });
    let mut bench = open(medium, settings(), 1);
    flush(&mut bench).expect("it opens to be read");
    let report = *bench.machine.open_report().expect("it is open");
    assert_eq!((report.records_missing, report.records_replayed), (1, 2), "{report:?}");
    assert_eq!(read(&mut bench, 0..8), Ok(vec![1; 8]));
    assert_eq!(read(&mut bench, 16..24), Ok(vec![3; 8]));
    let refused = ask(&mut bench, write(0..8, 9, Durability::Cached)).result;
    assert_eq!(refused, Err(IoError::Os(30)), "EROFS");
}

#[test]
fn rot_in_a_record_is_an_error_of_its_block_alone() {
    let (mut medium, places) = three_records();
    medium.rot(places[1] + BLOCK_BYTES, &mut Rng::new(1, 1));
    let mut bench = open(medium, settings(), 1);
    flush(&mut bench).expect("it opens");
    let report = *bench.machine.open_report().expect("it is open");
    assert_eq!((report.records_missing, report.record_blocks_lost), (0, 1), "{report:?}");
    let blocks = [0, 1, 2].map(|block| read(&mut bench, block * 8..block * 8 + 8));
    assert_eq!(blocks, [Ok(vec![1; 8]), Err(IoError::Medium), Ok(vec![3; 8])]);
    fua(&mut bench, 1, 7);
    let mut bench = open(cut(bench, 1), settings(), 1);
    flush(&mut bench).expect("it opens");
    assert_eq!(read(&mut bench, 8..16), Ok(vec![7; 8]), "writing makes it good");
}

/// The stated limit: what was flushed last, and nothing since, looks like a write that was torn.
#[test]
fn rot_in_the_last_record_looks_like_a_torn_tail() {
    let (mut medium, places) = three_records();
    medium.rot(places[2] + BLOCK_BYTES, &mut Rng::new(1, 1));
    let mut bench = open(medium, settings(), 1);
    flush(&mut bench).expect("it opens");
    let report = *bench.machine.open_report().expect("it is open");
    assert_eq!((report.records_cut, report.record_blocks_lost), (1, 0), "{report:?}");
}

/// 430 synchronous writes of one block each, one after the other.
fn synchronous(ring_bytes: u64, shape: Shape) -> Counters {
    let shape = Shape { device_bytes: 1 << 30, ring_bytes, ..shape };
    let mut bench = create(media(&shape), shape, settings(), 1);
    flush(&mut bench).expect("healthy");
    let drive_blocks = |bench: &Bench| bench.machine.lifetime().expect("it is open").drive_blocks;
    let before = drive_blocks(&bench);
    (0..430).for_each(|number| fua(&mut bench, number % 100, number + 1));
    let counters = counters(&bench);
    let written = appended(&counters) + counters.record_blocks;
    assert_eq!(drive_blocks(&bench) - before, written, "the lifetime counts each block once");
    counters
}

fn appended(counters: &Counters) -> u64 {
    let Counters { host_blocks, header_blocks, padding_blocks, .. } = *counters;
    assert_eq!(counters.copied_blocks, 0, "nothing was cleaned");
    host_blocks + header_blocks + padding_blocks
}

/// A stripe has 48 blocks, one of them the header. A record of two blocks pays as long as closing
/// wastes six or more, header of the next chunk included: for the first 42 writes. The 43rd closes
/// the chunk.
#[test]
fn a_synchronous_write_costs_three_blocks_of_a_stripe_of_48_with_a_ring() {
    let with = synchronous(64 * (192 << 10), striped());
    assert_eq!((with.records, with.record_blocks), (420, 840));
    assert_eq!((appended(&with), with.flushes), (10 * 48, 0), "{with:?}");
    let without = synchronous(0, striped());
    assert_eq!((appended(&without), without.flushes), (430 * 48, 0), "{without:?}");
    let small = synchronous(0, Shape { segment_bytes: 1 << 20, ..small() });
    assert_eq!((appended(&small), small.flushes), (430 * 2, 0), "{small:?}");
}

/// The ring has six slots and one is always free: after five records the chunk is closed.
#[test]
fn where_the_ring_is_full_the_chunk_is_closed() {
    let mut bench = create(media(&ringed()), ringed(), settings(), 1);
    flush(&mut bench).expect("healthy");
    (0..6).for_each(|number| fua(&mut bench, number, 1));
    let Counters { records, last_seq, .. } = counters(&bench);
    assert_eq!((records, last_seq), (5, 1));
    fua(&mut bench, 6, 1);
    let Counters { records, absorbed, last_seq, .. } = counters(&bench);
    assert_eq!((records, absorbed, last_seq), (6, 5, 1));
}

#[test]
fn synchronous_writes_that_arrive_together_share_what_makes_them_durable() {
    for shape in [small(), ringed()] {
        let mut bench = create(media(&shape), shape, settings(), 1);
        flush(&mut bench).expect("healthy");
        let mut done = Vec::new();
        for number in 0..6 {
            let command = write(number * 8..number * 8 + 8, 1, Durability::Fua);
            bench.submit(Request { tag: Tag(number), actor: Actor(0), drive: Drive(0), command });
        }
        while done.len() < 6 {
            bench.wait(Instant::NEVER, &mut done);
        }
        let Counters { records, last_seq, flushes, .. } = counters(&bench);
        assert!((2..=3).contains(&(records + last_seq)), "{:?}", counters(&bench));
        assert_eq!(flushes, 0);
    }
}

/// Every nth write fails, records among them: a chunk takes the record's place.
#[test]
fn a_record_that_cannot_be_written_loses_nothing() {
    let sectors = ringed().exported_bytes / 512;
    let mix = Mix { unaligned: false, flush_one_in: 2, skewed: false };
    for nth in 3..30 {
        let mut caller = Caller::new(nth, sectors, mix);
        let mut bench = create(media(&ringed()), ringed(), settings(), nth);
        caller.requests(&mut bench, 40, 3);
        let values = read_all(&mut bench, sectors).expect("healthy");
        caller.oracle.restart(values);
        flush(&mut bench).expect("healthy");
        let plan = FaultPlan::new(nth).with(Fault::Error(Operation::Write), When::Every(nth));
        let mut bench = open_with(cut(bench, nth), settings(), nth, plan);
        flush(&mut bench).expect("it opens");
        caller.requests(&mut bench, 60, 3);
        assert_eq!(caller.failed, [], "every {nth}th write");
        bench.machine.audit();
        let mut bench = open(cut(bench, nth), settings(), nth);
        flush(&mut bench).expect("it opens");
        let values = read_all(&mut bench, sectors).expect("healthy");
        caller
            .oracle
            .admits(&values)
            .unwrap_or_else(|complaint| panic!("every {nth}th: {complaint}"));
    }
}
