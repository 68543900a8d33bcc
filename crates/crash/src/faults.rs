//! A drive that fails: at every request in turn, at a flush, at writes, for good in places.

use super::point::{Reading, recover};
use super::scan::pages;
use super::{
    bench::{
        Bench, create, cut, extent, flush, image, media, open, open_with, read, read_all, small,
        write,
    },
    caller::{Caller, Mix},
};
use block::{Command, Drive, Durability, Engine, IoError, Rng};
use flash::{Cleaning, OpenError, Settings, Shape, Step};
use model::{Fault, FaultPlan, Media, Operation, When};

const EIO: IoError = IoError::Os(5);

fn settings() -> Settings {
    Settings {
        queue_depth: 16,
        answer_ns: 500,
        chunks: 6,
        cleaning: Cleaning::Greedy,
        ..Settings::default()
    }
}

fn mix() -> Mix {
    Mix { unaligned: false, flush_one_in: 12, skewed: false }
}

fn sectors() -> u64 {
    small().exported_bytes / 512
}

/// A volume that has been used for a while, and what it holds.
fn used(seed: u64) -> (Media, Caller) {
    let mut bench = create(media(&small()), small(), settings(), seed);
    let mut caller = Caller::new(seed, sectors(), mix());
    caller.requests(&mut bench, 700, 6);
    flush(&mut bench).expect("healthy");
    let values = read_all(&mut bench, sectors()).expect("healthy");
    caller.oracle.restart(values);
    (cut(bench, seed), caller)
}

fn injected(bench: &Bench) -> u64 {
    bench.engine.machine.faults(Drive(0)).injected_count()
}

fn check(medium: Media, caller: &Caller, what: &str) {
    let mut bench = open(medium, settings(), 1);
    flush(&mut bench).unwrap_or_else(|_| panic!("{what}: {:?}", bench.machine.open_error()));
    bench.machine.audit();
    let values =
        read_all(&mut bench, sectors()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    caller.oracle.admits(&values).unwrap_or_else(|complaint| panic!("{what}: {complaint}"));
}

/// Fails the nth request of a life for every n, until a life ends with nothing having failed.
fn fail_at_every_nth(operation: Operation) -> u64 {
    let (used, caller) = used(5);
    let mut lives = 0;
    for nth in 1.. {
        let plan = FaultPlan::new(nth).with(Fault::Error(operation), When::Nth(nth));
        let what = plan.to_string();
        let mut caller = caller.clone();
        let mut bench = open_with(used.clone(), settings(), nth, plan);
        let opened = flush(&mut bench);
        if opened.is_ok() {
            caller.requests(&mut bench, 100, 6);
            bench.machine.audit();
            let counters = bench.machine.counters().expect("it is open");
            assert_eq!(counters.stuck, 0, "{what}");
        }
        let struck = injected(&bench);
        check(cut(bench, nth), &caller, &what);
        if struck == 0 {
            break;
        }
        lives += 1;
    }
    lives
}

#[test]
fn a_failure_of_any_one_request_loses_nothing() {
    let lives = fail_at_every_nth(Operation::Any);
    assert!(lives > 100, "{lives} lives");
}

#[test]
fn a_failed_write_is_written_elsewhere_and_nobody_is_told() {
    failed_writes_are_written_elsewhere(6);
}

pub fn failed_writes_are_written_elsewhere(seed: u64) {
    let (used, caller) = used(seed);
    let mut relocated = 0;
    for nth in 1..60 {
        let plan = FaultPlan::new(nth).with(Fault::Error(Operation::Write), When::Nth(nth));
        let mut caller = caller.clone();
        let mut bench = open_with(used.clone(), settings(), nth, plan);
        flush(&mut bench).expect("it opens all the same");
        caller.requests(&mut bench, 150, 6);
        assert_eq!(caller.failed, [], "write {nth}");
        flush(&mut bench).expect("nothing is lost");
        bench.machine.audit();
        relocated += bench.machine.counters().expect("it is open").relocated;
        check(cut(bench, nth), &caller, &format!("write {nth}"));
    }
    assert!(relocated > 20, "{relocated} chunks");
}

#[test]
pub fn after_a_failed_flush_nothing_more_is_acknowledged() {
    let (used, _) = used(7);
    let mut latched = 0;
    for nth in 1..6 {
        let plan = FaultPlan::new(nth).with(Fault::Error(Operation::Flush), When::Nth(nth));
        let mut bench = open_with(used.clone(), settings(), nth, plan);
        let mut value = 1000;
        while flush(&mut bench).is_ok() {
            assert!(value < 1400, "the failure is told");
            value += 1;
            let at = write(0..8, value, Durability::Cached);
            super::bench::ask(&mut bench, at).result.expect("not latched yet");
        }
        assert_eq!(injected(&bench), 1);
        let mut ask = |command| super::bench::ask(&mut bench, command).result;
        if ask(Command::Flush) == Err(IoError::Offline) {
            continue; // It could not be opened.
        }
        latched += 1;
        assert_eq!(ask(write(0..8, 1, Durability::Cached)), Err(EIO));
        assert_eq!(ask(write(0..8, 1, Durability::Fua)), Err(EIO));
        assert_eq!(ask(Command::Discard { offset: 0, len: 4096 }), Err(EIO));
        assert_eq!(ask(Command::Flush), Err(EIO));
        if value > 1000 {
            assert_eq!(read(&mut bench, 0..8), Ok(vec![value; 8]), "reads are served");
        }
    }
    assert!(latched >= 3, "{latched}");
}

#[test]
fn power_cuts_and_failing_writes_together_lose_nothing() {
    for seed in 0..12 {
        let (mut medium, mut caller) = used(seed);
        let mut rng = Rng::new(seed, 9);
        for life in 0..4 {
            let nth = 3 + rng.below(60);
            let plan = FaultPlan::new(seed)
                .with(Fault::Error(Operation::Write), When::Nth(nth))
                .with(Fault::Error(Operation::Read), When::OneIn(30));
            let mut bench = open_with(medium, settings(), seed * 10 + life, plan);
            flush(&mut bench).expect("it opens");
            let end = bench.now().after(rng.below(4_000_000));
            caller.work(&mut bench, 6, end);
            bench.machine.audit();
            medium = cut(bench, seed);
            check(medium.clone(), &caller, &format!("seed {seed}, life {life}"));
            let mut bench = open(medium, settings(), 3);
            let values = read_all(&mut bench, sectors()).expect("healthy");
            caller.forget();
            caller.oracle.restart(values);
            medium = cut(bench, 4);
        }
    }
}

#[test]
fn any_one_damaged_superblock_is_got_over_and_all_four_are_not() {
    let (used, caller) = used(8);
    let copies = [0, 4096, (4 << 20) - 8192, (4 << 20) - 4096];
    for copy in copies {
        let mut medium = used.clone();
        medium.damage(block::Extent { offset: copy, bytes: 4096 });
        let mut bench = open(medium, settings(), 1);
        flush(&mut bench).expect("three are left");
        let report = bench.machine.open_report().expect("it is open");
        assert_eq!(report.superblocks_damaged, 1, "copy at {copy}");
        check(cut(bench, 1), &caller, "a damaged copy");
    }
    let mut medium = used.clone();
    for offset in copies {
        medium.damage(block::Extent { offset, bytes: 4096 });
    }
    let mut bench = open(medium, settings(), 1);
    assert_eq!(flush(&mut bench), Err(IoError::Offline));
    assert_eq!(bench.machine.open_error(), Some(OpenError::NoVolume));
    assert_eq!(bench.machine.step(), Step::Failed);
}

#[test]
fn rotten_blocks_are_errors_and_never_wrong_data() {
    rotten_blocks_are_errors();
}

pub fn rotten_blocks_are_errors() {
    let (used, caller) = used(9);
    // Stopped cleanly: the last flushed chunk, rotten before any later one, could not be told from
    // a torn tail.
    let mut bench = open(used, settings(), 9);
    flush(&mut bench).expect("healthy");
    bench.machine.shut_down();
    flush(&mut bench).expect("healthy");
    let used = cut(bench, 9);
    let mut rng = Rng::new(9, 10);
    let (mut errors, mut right) = (0, 0);
    let mut healthy = open(used.clone(), settings(), 1);
    flush(&mut healthy).expect("healthy");
    let end = healthy.machine.open_report().expect("it is open").first_seq;
    for _ in 0..80 {
        let mut medium = used.clone();
        for _ in 0..20 {
            medium.rot(rng.below(1024) * 4096, &mut rng);
        }
        let mut bench = open(medium, settings(), 1);
        if flush(&mut bench).is_err() && bench.machine.open_error().is_some() {
            continue;
        }
        // Where a chunk's header is gone, what it held is not known: opening says so.
        let report = *bench.machine.open_report().expect("it is open");
        let is_told = report.chunks_missing > 0 || report.first_seq < end;
        for block in 0..sectors() / 8 {
            match read(&mut bench, block * 8..block * 8 + 8) {
                Err(error) => {
                    assert_eq!(error, IoError::Medium);
                    errors += 1;
                }
                Ok(values) => {
                    let expected = caller.oracle.visible(block * 8).expect("nothing failed");
                    let is_right = values == [expected; 8];
                    assert!(is_right || is_told, "block {block}: {values:?}, {report:?}");
                    right += u64::from(is_right);
                }
            }
        }
    }
    assert!(errors > 20 && right > 5_000, "{errors} errors, {right} right");
}

#[test]
fn requests_beyond_the_end_or_within_a_sector_are_refused() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    flush(&mut bench).expect("healthy");
    let end = sectors();
    let einval = Err(IoError::Os(22));
    let mut ask = |command| super::bench::ask(&mut bench, command).result;
    assert_eq!(ask(write(end - 4..end + 4, 1, Durability::Cached)), einval);
    assert_eq!(ask(Command::Read { at: extent(end..end + 1), into: image(1, 0) }), einval);
    assert_eq!(ask(Command::Discard { offset: 100, len: 512 }), einval);
    assert_eq!(ask(Command::Discard { offset: u64::MAX - 511, len: 1024 }), einval);
}

#[test]
fn corruption_below_what_was_flushed_is_not_cut_off_and_makes_the_volume_read_only() {
    corruption_is_not_cut_off();
}

pub fn corruption_is_not_cut_off() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    flush(&mut bench).expect("healthy");
    for number in 0..7 {
        let at = write(number * 8..number * 8 + 8, number + 1, Durability::Fua);
        super::bench::ask(&mut bench, at).result.expect("healthy");
    }
    let first = bench.machine.mappings().find(|(block, _)| *block == 2).expect("it is mapped").1;
    let mut medium = cut(bench, 1);
    let header = u64::from(first - 1) * 4096;
    medium.damage(block::Extent { offset: header, bytes: 4096 });
    let mut bench = open(medium, settings(), 1);
    assert_eq!(flush(&mut bench), Ok(()));
    let report = bench.machine.open_report().expect("it is open");
    assert_eq!((report.chunks_missing, report.chunks_cut), (1, 0), "{report:?}");
    for number in (0..7).filter(|&number| number != 2) {
        let range = number * 8..number * 8 + 8;
        assert_eq!(read(&mut bench, range), Ok(vec![number + 1; 8]), "block {number}");
    }
    let erofs = Err(IoError::Os(30));
    let refused = super::bench::ask(&mut bench, write(0..8, 9, Durability::Cached)).result;
    assert_eq!(refused, erofs);
}

/// The first header of a segment that no checkpoint knew of was damaged, though it had been
/// flushed. The segment was taken for one that was never begun, everything in it for a torn tail,
/// and flushed data were gone in silence.
#[test]
fn a_damaged_first_header_of_a_segment_costs_no_more_than_its_chunk() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    flush(&mut bench).expect("healthy");
    for number in 0..4 {
        let at = write(number * 8..number * 8 + 8, number + 1, Durability::Fua);
        super::bench::ask(&mut bench, at).result.expect("healthy");
    }
    let first = bench.machine.mappings().next().expect("block 0 is mapped").1;
    let used = cut(bench, 1);
    for kind in 0..2 {
        let (mut medium, header) = (used.clone(), u64::from(first - 1) * 4096);
        match kind {
            0 => medium.damage(block::Extent { offset: header, bytes: 4096 }),
            _ => (0..500).for_each(|seed| medium.rot(header, &mut Rng::new(seed, 1))),
        }
        let mut bench = open(medium, settings(), 1);
        assert_eq!(flush(&mut bench), Ok(()));
        let report = bench.machine.open_report().expect("it is open");
        assert_eq!((report.chunks_missing, report.chunks_cut), (1, 0), "{report:?}");
        for number in 1..4 {
            let range = number * 8..number * 8 + 8;
            assert_eq!(read(&mut bench, range), Ok(vec![number + 1; 8]), "block {number}");
        }
        let refused = super::bench::ask(&mut bench, write(0..8, 9, Durability::Cached)).result;
        assert_eq!(refused, Err(IoError::Os(30)), "EROFS");
    }
}

/// One write of many lands somewhere else, or nowhere, and is acknowledged. What is read afterwards
/// is right or an error; where it is old, opening has said so: that chunks are missing, or that the
/// log ends before the last chunk that was appended. (Of a torn tail no more can be known:
/// `docs/reference/fault-model.md`.)
fn one_write_that_is_not_where_it_should_be(fault: Fault) {
    let (used, caller) = used(10);
    let (mut right, mut errors, mut told) = (0, 0, 0);
    for nth in 1..100 {
        let plan = FaultPlan::new(nth).with(fault, When::Nth(nth));
        let mut caller = caller.clone();
        let mut bench = open_with(used.clone(), settings(), nth, plan);
        flush(&mut bench).expect("nobody was told");
        caller.requests(&mut bench, 100, 4);
        flush(&mut bench).expect("nobody was told");
        assert!(caller.failed.iter().all(|error| *error == IoError::Medium), "write {nth}");
        let appended = bench.machine.counters().expect("it is open").last_seq;
        let mut bench = open(cut(bench, nth), settings(), 1);
        if flush(&mut bench).is_err() {
            assert!(bench.machine.open_error().is_some(), "write {nth}");
            told += 1;
            continue;
        }
        let report = *bench.machine.open_report().expect("it is open");
        let is_told = report.is_doubtful() || report.first_seq <= appended;
        told += u64::from(is_told);
        for block in 0..sectors() / 8 {
            let expected = caller.oracle.visible(block * 8);
            match read(&mut bench, block * 8..block * 8 + 8) {
                Err(error) => {
                    assert_eq!(error, IoError::Medium);
                    errors += 1;
                }
                Ok(values) if expected.is_none_or(|expected| values == [expected; 8]) => right += 1,
                Ok(values) => {
                    let what = format!("write {nth}, block {block}: {values:?}, not {expected:?}");
                    assert!(is_told, "{what}: {report:?}");
                }
            }
        }
    }
    eprintln!("{fault:?}: {right} right, {errors} errors, {told} told");
    assert!(right > 20_000 && errors + told > 20, "{right} right, {errors} errors, {told} told");
}

#[test]
fn misdirected_writes_are_never_wrong_data_in_silence() {
    one_write_that_is_not_where_it_should_be(Fault::MisdirectedWrite);
}

#[test]
fn lost_writes_are_never_wrong_data_in_silence() {
    one_write_that_is_not_where_it_should_be(Fault::LostWrite);
}

/// Sectors that cannot be read, or have rotted, where recovery reads: it opens with what is left,
/// or says what keeps it from that; what it then reads is right or an error.
#[test]
fn recovery_on_a_drive_that_cannot_read_everything_ends_in_a_clear_state() {
    let (_, mut caller) = used(11);
    let mut bench = create(media(&small()), small(), settings(), 11);
    caller.oracle.restart(vec![0; sectors() as usize]);
    caller.requests(&mut bench, 500, 6);
    flush(&mut bench).expect("healthy");
    let appended = bench.machine.counters().expect("it is open").last_seq;
    let unclean = cut(bench, 11);
    let (mut opened, mut read_only, mut refused) = (0, 0, 0);
    for nth in 1..60 {
        for fault in [Fault::LatentError { sectors: 2 }, Fault::BitRot] {
            let plan = FaultPlan::new(nth).with(fault, When::Nth(nth));
            let mut bench = open_with(unclean.clone(), settings(), nth, plan);
            if flush(&mut bench).is_err() {
                assert!(bench.machine.open_error().is_some(), "{fault:?} {nth}");
                refused += 1;
                continue;
            }
            let report = *bench.machine.open_report().expect("it is open");
            let is_told = report.is_doubtful() || report.first_seq <= appended;
            opened += 1;
            read_only += u64::from(report.is_doubtful());
            for block in 0..sectors() / 8 {
                let expected = caller.oracle.visible(block * 8).expect("nothing failed");
                match read(&mut bench, block * 8..block * 8 + 8) {
                    Err(error) => assert_eq!(error, IoError::Medium),
                    Ok(values) if values == [expected; 8] => {}
                    Ok(values) => assert!(is_told, "{fault:?} {nth}: {values:?}: {report:?}"),
                }
            }
            bench.machine.audit();
        }
    }
    eprintln!("{opened} opened, {read_only} of them read-only, {refused} refused");
    assert!(opened > 80 && read_only > 0, "{opened} opened, {read_only} read-only");
}

/// Some requests take very long, those of a checkpoint too, and the host goes on meanwhile: it must
/// not come further than recovery looks, nor into segments that the checkpoint has not freed yet.
pub fn slow_checkpoints(seed: u64) {
    // So little of it is exported that much is free: nothing else keeps the host from running
    // ahead.
    let shape = Shape { exported_bytes: 256 << 10, ..small() };
    let mut bench = create(media(&shape), shape, settings(), seed);
    flush(&mut bench).expect("healthy");
    let plan = FaultPlan::new(seed).with(Fault::Slow { times: 400 }, When::OneIn(25));
    let mut bench = open_with(cut(bench, seed), settings(), seed, plan);
    let mut caller = Caller::new(seed, shape.exported_bytes / 512, mix());
    flush(&mut bench).expect("healthy");
    let mut done = Vec::new();
    for event in 0..6_000 {
        caller.fill(&mut bench, 12);
        let next = bench.next_wakeup();
        bench.wait(next, &mut done);
        caller.take(&mut done);
        if event % 60 == 0 {
            let mut medium = bench.engine.machine.media(Drive(0)).clone();
            medium.power_cut(seed ^ event);
            recover(&medium, settings(), &caller.oracle, Reading::FromTheMedium, event);
        }
    }
    assert_eq!(caller.failed, []);
}

#[test]
fn slow_checkpoints_hold_up_the_host() {
    (0..3).for_each(slow_checkpoints);
}

#[test]
fn blocks_of_a_page_that_cannot_be_read_are_errors() {
    lost_pages_are_errors();
}

pub fn lost_pages_are_errors() {
    let (mut medium, caller) = used(12);
    let page = pages(&medium)[0];
    medium.damage(block::Extent { offset: u64::from(page) * 4096, bytes: 4096 });
    let mut bench = open(medium, settings(), 1);
    flush(&mut bench).expect("it opens to be read");
    assert_eq!(bench.machine.open_report().expect("it is open").pages_lost, 1);
    let mut errors = 0;
    for block in 0..sectors() / 8 {
        match read(&mut bench, block * 8..block * 8 + 8) {
            Err(error) => {
                assert_eq!(error, IoError::Medium);
                errors += 1;
            }
            // It was rolled forward since.
            Ok(values) => assert_eq!(Some(values[0]), caller.oracle.visible(block * 8)),
        }
    }
    assert!(errors > 50, "{errors} errors");
}
