//! What a flush covered, and nothing was written after: it must not be taken for a torn tail.

use super::bench::{
    Bench, ask, create, cut, flush, media, open, open_with, read, read_all, small, write,
};
use super::scan::chunks_behind_checkpoint as chunks;
use super::scenario::ringed;
use block::{Durability, Engine, Extent, Instant, IoError, Rng};
use flash::tools::{Finding, check};
use flash::{Counters, OpenReport, Settings, Shape, TailCause};
use model::{Fault, FaultPlan, Media, When};
use std::ops::ControlFlow;

const SECOND_NS: u64 = 1_000_000_000;
const BLOCKS: u64 = 100;

fn settings() -> Settings {
    Settings { queue_depth: 16, answer_ns: 500, chunks: 6, ..Settings::default() }
}

fn be_quiet_for(bench: &mut Bench, ns: u64) {
    let (mut done, end) = (Vec::new(), bench.now().after(ns));
    while bench.now() < end {
        bench.wait(end, &mut done);
    }
    assert!(done.is_empty(), "nobody asked for anything");
}

fn counters(bench: &Bench) -> Counters {
    bench.machine.counters().expect("it is open")
}

/// Every block written twice and flushed each time, then nothing for so long, and the power cut:
/// what a kill of the process leaves, and no less.
fn flushed_and_left(quiet_ns: u64) -> Media {
    let mut bench = create(media(&small()), small(), settings(), 1);
    for value in 1..3 {
        for block in 0..BLOCKS {
            let command = write(block * 8..block * 8 + 8, value * 1000 + block, Durability::Cached);
            ask(&mut bench, command).result.expect("healthy");
        }
        flush(&mut bench).expect("healthy");
        if value == 1 {
            be_quiet_for(&mut bench, 2 * SECOND_NS);
        }
    }
    be_quiet_for(&mut bench, quiet_ns);
    cut(bench, 1)
}

/// Blocks that read as something else than was flushed last, and blocks that are errors.
fn wrong_and_errors(bench: &mut Bench) -> (u64, u64) {
    let (mut wrong, mut errors) = (0, 0);
    for block in 0..BLOCKS {
        match read(bench, block * 8..block * 8 + 8) {
            Err(error) => {
                assert_eq!(error, IoError::Medium);
                errors += 1;
            }
            Ok(values) => wrong += u64::from(values != [2000 + block; 8]),
        }
    }
    (wrong, errors)
}

fn checked(medium: &Media) -> Vec<Finding> {
    let mut drive = super::bench::sim(medium.clone(), 1);
    let report = check(&mut drive, 1000, &mut |_| ControlFlow::Continue(()));
    report.expect("it can be opened").findings
}

/// 1,000 blocks were written and the flush answered; then `kill -9`, and one bit flipped in a chunk
/// of that flush. `check` said healthy, `serve` opened without a word, and everything from that
/// chunk on was as it had been before the flush: up to 512 blocks. The same after 20 s of quiet.
/// Right is: an error of the block that rotted, or, where the chunk cannot be found any more, a
/// volume that says so and is opened for reading only.
#[test]
fn a_flipped_bit_in_what_was_flushed_last_is_corruption_and_no_torn_tail() {
    flips_in_the_last_flush_are_told();
}

pub fn flips_in_the_last_flush_are_told() {
    // What is on the way there takes its time, too.
    let medium = flushed_and_left(SECOND_NS / 5);
    let last = chunks(&medium);
    assert!(last.len() >= 3, "{} chunks behind the checkpoint", last.len());
    let (mut data, mut headers) = (0, 0);
    for &(offset, blocks) in &last {
        for block in 0..blocks {
            let mut medium = medium.clone();
            match block {
                0 => rot_through(&mut medium, offset),
                _ => medium.rot(offset + block * 4096, &mut Rng::new(block, offset)),
            }
            let mut bench = open(medium.clone(), settings(), 1);
            flush(&mut bench).expect("it opens");
            let report = *bench.machine.open_report().expect("it is open");
            assert_eq!((report.chunks_cut, report.tail), (0, None), "block {block}: {report:?}");
            if report.pages_lost > 0 {
                continue; // It was the checkpoint's.
            }
            let (wrong, errors) = wrong_and_errors(&mut bench);
            match report.is_doubtful() {
                true => {
                    assert!(report.chunks_missing == 1 && errors == 0, "{report:?}");
                    let refused = ask(&mut bench, write(0..8, 9, Durability::Cached)).result;
                    assert_eq!(refused, Err(IoError::Os(30)), "EROFS");
                    let chunks = 1;
                    assert!(checked(&medium).contains(&Finding::ChunksMissing { chunks }));
                    headers += u64::from(wrong > 0);
                }
                false => {
                    assert!(wrong == 0 && errors <= 1, "{wrong} wrong, {errors} errors");
                    let named = checked(&medium);
                    let rotten = |finding: &Finding| matches!(finding, Finding::Checksum { .. });
                    assert_eq!(named.iter().filter(|f| rotten(f)).count() as u64, errors);
                    data += errors;
                }
            }
        }
    }
    assert!(data > 40 && headers >= 3, "{data} blocks, {headers} headers");
}

/// Before the tenth of a second is over it is as it always was, and said: which chunks, how many
/// blocks, and why.
#[test]
fn a_tail_that_is_cut_is_said_with_its_numbers_and_its_blocks() {
    let medium = flushed_and_left(0);
    let last = chunks(&medium);
    let (offset, _) = last[last.len() - 2];
    let mut torn = medium.clone();
    torn.rot(offset + 4096, &mut Rng::new(1, 1));
    let mut bench = open(torn.clone(), settings(), 1);
    flush(&mut bench).expect("it opens");
    let report = *bench.machine.open_report().expect("it is open");
    let tail = report.tail.expect("it was cut");
    assert_eq!((tail.chunks, tail.cause), (2, TailCause::Torn), "{tail:?}");
    assert_eq!(tail.last_seq, tail.first_seq + 1);
    assert_eq!(report.warnings(), [tail.to_string()]);
    let (wrong, errors) = wrong_and_errors(&mut bench);
    assert_eq!((wrong, errors), (tail.blocks, 0), "as many as it says");
    let named: u64 = checked(&torn)
        .iter()
        .map(|finding| match finding {
            Finding::TailBlocks { blocks } => u64::from(blocks.end - blocks.start),
            _ => 0,
        })
        .sum();
    assert_eq!(named, wrong, "check names each");
    let mut missing = medium;
    rot_through(&mut missing, offset);
    let report = opened(missing);
    assert_eq!(report.tail.map(|tail| (tail.chunks, tail.cause)), Some((1, TailCause::Missing)));
}

/// A header ends where its entries do: one bit could be behind that.
fn rot_through(medium: &mut Media, offset: u64) {
    (0..500).for_each(|seed| medium.rot(offset, &mut Rng::new(seed, 1)));
}

fn opened(medium: Media) -> OpenReport {
    let mut bench = open(medium, settings(), 1);
    flush(&mut bench).expect("it opens");
    *bench.machine.open_report().expect("it is open")
}

/// A chunk that was flushed last could not be read, three times over, and was taken for a torn
/// tail: what had been there before was served, and written to. A power cut leaves old data or new
/// ones. So it is in doubt: its blocks are errors, those of it that can be read are there, and
/// nothing is written.
#[test]
fn what_cannot_be_read_at_the_end_of_the_log_is_no_torn_tail() {
    unreadable_tails_are_doubtful();
}

pub fn unreadable_tails_are_doubtful() {
    let medium = flushed_and_left(0);
    let last = chunks(&medium);
    let (offset, blocks) = *last.last().expect("there are some");
    for at in [0, 1, blocks / 2] {
        let mut medium = medium.clone();
        medium.damage(Extent { offset: offset + at * 4096, bytes: 4096 });
        let mut bench = open(medium.clone(), settings(), 1);
        flush(&mut bench).expect("it opens to be read");
        let report = *bench.machine.open_report().expect("it is open");
        assert_eq!((report.tail_unreadable, report.is_doubtful()), (1, true), "{at}: {report:?}");
        let said = report.warnings().into_iter().any(|text| text.contains("cannot be read"));
        assert!(said, "{:?}", report.warnings());
        let refused = ask(&mut bench, write(0..8, 9, Durability::Cached)).result;
        assert_eq!(refused, Err(IoError::Os(30)), "EROFS");
        let (wrong, errors) = wrong_and_errors(&mut bench);
        if at > 0 {
            assert_eq!((wrong, errors), (0, 1), "block {at}");
        }
        let named = checked(&medium).contains(&Finding::TailUnreadable { places: 1 });
        assert!(named, "{:?}", checked(&medium));
    }
}

#[test]
fn one_superblock_a_second_attests_flushes_that_trickle_in_and_none_when_nothing_is_flushed() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    flush(&mut bench).expect("healthy");
    be_quiet_for(&mut bench, 10 * SECOND_NS);
    assert_eq!(counters(&bench).attests, 0, "nothing was flushed");
    // Ten seconds, a flush every 150 ms.
    for value in 1..68 {
        ask(&mut bench, write(0..8, value, Durability::Fua)).result.expect("healthy");
        be_quiet_for(&mut bench, 150_000_000);
    }
    let trickle = counters(&bench).attests;
    assert!((8..=12).contains(&trickle), "{trickle} in ten seconds");
    be_quiet_for(&mut bench, 2 * SECOND_NS);
    let all = counters(&bench).attests;
    assert!(all <= trickle + 1);
    be_quiet_for(&mut bench, 3600 * SECOND_NS);
    assert_eq!(counters(&bench).attests, all, "nothing was flushed since");
    assert_eq!(bench.next_wakeup(), Instant::NEVER, "and nobody is woken");
    // Flushes that follow each other: each says of the one before that it was durable.
    for value in 1..1000 {
        ask(&mut bench, write(0..8, value, Durability::Fua)).result.expect("healthy");
    }
    let end = counters(&bench).attests;
    assert!(end <= all + 1, "{all}, then {end}");
    // A flush that covers nothing new.
    be_quiet_for(&mut bench, 2 * SECOND_NS);
    let before = counters(&bench);
    flush(&mut bench).expect("healthy");
    be_quiet_for(&mut bench, 2 * SECOND_NS);
    assert_eq!(counters(&bench).attests, before.attests);
    let written = bench.machine.lifetime().expect("it is open").drive_blocks;
    bench.machine.shut_down();
    flush(&mut bench).expect("it stops");
    assert!(bench.machine.lifetime().expect("it is open").drive_blocks > written);
    assert_eq!(counters(&bench).attests, before.attests, "stopping says it all");
}

/// The ring's last record was flushed, nothing came after it, and rot in it looked like a torn
/// tail.
#[test]
fn rot_in_the_last_record_of_the_ring_is_corruption_once_it_is_attested() {
    let shape: Shape = ringed();
    let mut bench = create(media(&shape), shape, settings(), 1);
    flush(&mut bench).expect("healthy");
    for value in 1..3 {
        ask(&mut bench, write(0..8, value, Durability::Fua)).result.expect("healthy");
    }
    be_quiet_for(&mut bench, SECOND_NS);
    let Counters { attests, records, .. } = counters(&bench);
    assert_eq!((attests, records), (1, 2));
    let layout = *bench.machine.layout().expect("it is open");
    let medium = cut(bench, 1);
    let slot = layout.slot_offset(2);
    let mut rotten = medium.clone();
    rotten.rot(slot + 4096, &mut Rng::new(1, 1));
    let mut bench = open(rotten, settings(), 1);
    flush(&mut bench).expect("it opens");
    let report = *bench.machine.open_report().expect("it is open");
    assert_eq!((report.records_cut, report.record_blocks_lost), (0, 1), "{report:?}");
    assert_eq!(read(&mut bench, 0..8), Err(IoError::Medium));
    for damage in [0, 1] {
        let mut headless = medium.clone();
        match damage {
            0 => rot_through(&mut headless, slot),
            _ => headless.damage(Extent { offset: slot, bytes: 4096 }),
        }
        let report = opened(headless);
        assert_eq!((report.records_missing, report.is_doubtful()), (1, true), "{report:?}");
    }
    // And one that was not attested, but cannot be read.
    let mut unread = create(media(&shape), shape, settings(), 1);
    ask(&mut unread, write(0..8, 1, Durability::Fua)).result.expect("healthy");
    let mut medium = cut(unread, 1);
    medium.damage(Extent { offset: layout.slot_offset(1) + 4096, bytes: 4096 });
    let report = opened(medium);
    assert_eq!((report.tail_unreadable, report.records_cut), (1, 0), "{report:?}");
}

/// A superblock that only attests and cannot be written is no reason to stop; and what comes next
/// is not taken for it.
#[test]
fn an_attest_that_fails_costs_nothing() {
    for nth in 1..40 {
        let mut bench = create(media(&small()), small(), settings(), nth);
        flush(&mut bench).expect("healthy");
        let plan = FaultPlan::new(nth)
            .with(Fault::Error(model::Operation::Write), When::Nth(nth))
            .with(Fault::Error(model::Operation::Write), When::Nth(nth + 1));
        let mut bench = open_with(cut(bench, nth), settings(), nth, plan);
        for value in 1..20 {
            if ask(&mut bench, write(0..8, value, Durability::Fua)).result.is_err() {
                break;
            }
            be_quiet_for(&mut bench, SECOND_NS + SECOND_NS / 3);
        }
        let values = read_all(&mut bench, 8);
        bench.machine.audit();
        let mut again = open(cut(bench, nth), settings(), 1);
        flush(&mut again).expect("it opens");
        assert!(!again.machine.open_report().expect("it is open").is_doubtful());
        assert_eq!(read_all(&mut again, 8), values, "write {nth}");
    }
}

#[test]
fn a_read_only_volume_is_not_attested() {
    let medium = flushed_and_left(SECOND_NS);
    let (offset, _) = chunks(&medium)[0];
    let mut headless = medium;
    rot_through(&mut headless, offset);
    let mut bench = open(headless, settings(), 1);
    flush(&mut bench).expect("it opens to be read");
    be_quiet_for(&mut bench, 5 * SECOND_NS);
    assert_eq!(counters(&bench).attests, 0);
}
