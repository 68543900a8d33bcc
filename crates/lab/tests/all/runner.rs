//! The runner on scripted drives: what a record says must follow from the log of requests that the
//! drive kept, or from the script in closed form.

use crate::scripted::{
    self, Kind, Lab, Logged, Scripted, Service, Watcher, cell, flags, pass_rates,
};
use lab::{
    plan::Options,
    runner::probe_bytes,
    target::{Access, Time},
};
use record::{Flag, PairedVerdict, TargetKind};
use stats::Grade;
use std::collections::BTreeSet;

const SECOND: u64 = 1_000_000_000;
pub(crate) const MIB: u64 = 1 << 20;

/// Exactly so many ns for reads, writes, flushes; one request at a time.
pub(crate) fn exact(read_ns: u64, write_ns: u64, flush_ns: u64) -> Scripted {
    let service = move |at: &Service| match at.kind {
        Kind::Read => read_ns,
        Kind::Write | Kind::Trim => write_ns,
        Kind::Flush => flush_ns,
    };
    Scripted::new(service).scripted(|script| script.parallelism = 1)
}

pub(crate) fn log(target: &Scripted) -> Vec<Logged> {
    target.life.borrow().log.clone()
}

pub(crate) fn count(target: &Scripted, kind: Kind) -> u64 {
    log(target).iter().filter(|request| request.kind == kind).count() as u64
}

pub(crate) fn written_bytes(target: &Scripted) -> u64 {
    target.life.borrow().written_bytes
}

pub(crate) fn lab(target: &Scripted, cells: &str) -> Lab {
    Lab::new(target, cells)
}

#[test]
fn the_headline_is_the_median_of_passes_and_the_interval_the_wider_one() {
    let uneven = Scripted::new(|at| [137_000, 163_000, 149_000][at.pass as usize]);
    let record = lab(&uneven, "[[cell]]\nop = 'read'").run();
    let cell = &record.cells[0];
    let rates = pass_rates(cell);
    for (rate, ns) in rates.iter().zip([137_000.0, 163_000.0, 149_000.0]) {
        assert!((rate * ns / 1e9 - 1.0).abs() < 1e-3, "{rate} at {ns} ns");
    }
    assert_eq!(cell.iops, rates[2]);
    assert_eq!(cell.bytes_per_s, rates[2] * 4096.0);
    // The t interval over three passes, t(0.975, 2) = 4.3027; within passes nothing varies.
    let mean = rates.iter().sum::<f64>() / 3.0;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 2.0;
    let half = 4.302_65 * (variance / 3.0).sqrt();
    let [low, high] = cell.iops_ci95.expect("three passes");
    assert!((high - cell.iops - half).abs() < 0.5 && (cell.iops - low - half).abs() < 0.5);
    assert!((cell.iops_mean - mean).abs() < 1e-6);
    assert!(cell.half_width_relative.is_some_and(|share| (share - half / cell.iops).abs() < 1e-4));
}

#[test]
fn a_single_pass_has_the_interval_of_its_ticks() {
    let record = lab(&Scripted::calm(), "[[cell]]\nop = 'read'").once().run();
    let (cell, pass) = (&record.cells[0], &record.cells[0].passes[0]);
    let within = pass.half_width_relative.expect("6 s are enough");
    let [low, high] = cell.iops_ci95.expect("an interval");
    assert!((high - low - 2.0 * within * cell.iops).abs() < 1e-6);
    assert!(within > 0.0 && within <= 0.02 && pass.steady);
    assert_eq!(cell.iops_stddev, None);
}

#[test]
fn latencies_leave_the_warm_up_out_and_counts_do_not() {
    let cold_ns = 950_000_000;
    let warming =
        Scripted::new(move |at| if at.pass_ns < cold_ns { 1_370_000 } else { at.about(137_000) });
    let record = lab(&warming, "[[cell]]\nop = 'read'").once().run();
    let cell = &record.cells[0];
    let latency = cell.latency.as_ref().expect("a latency");
    assert!(latency.max_ns < 160_000, "{} ns is of the warm-up", latency.max_ns);
    let slow = cold_ns / 1_370_000 + 1;
    assert!(cell.passes[0].warm_up_s >= 1.0 && cell.passes[0].warm_up_s < 2.0);
    assert_eq!(cell.total.operations, log(&warming).len() as u64);
    assert!(latency.n < cell.total.operations - slow);
    assert!((cell.iops / 7299.0 - 1.0).abs() < 0.01, "{}", cell.iops);
}

#[test]
fn a_cell_bound_by_its_area_touches_every_block_once_and_stops_by_itself() {
    let drive = exact(200_000, 150_000, 900_000_000);
    let cells = "[[cell]]\nop = 'write'\npattern = 'permutation'\nbound = 'once'\nthreads = 3\n\
                 depth = 2\npart = [0.25, 0.28]\nflush = 'timed'";
    let record = lab(&drive, cells).once().run();
    // 1 GiB from 0.25 to 0.28, cut to whole MiB.
    let (first, end) = (256 * MIB, 286 * MIB);
    let blocks = (end - first) / 4096;
    let writes: Vec<u64> =
        log(&drive).iter().filter(|at| at.kind == Kind::Write).map(|at| at.offset).collect();
    let unique: BTreeSet<u64> = writes.iter().copied().collect();
    assert_eq!(writes.len() as u64, blocks);
    assert!(unique.iter().copied().eq((first..end).step_by(4096)));
    let (cell, pass) = (&record.cells[0], &record.cells[0].passes[0]);
    assert_eq!((cell.total.operations, cell.total.bytes), (blocks, end - first));
    let seconds = blocks as f64 * 150e-6;
    assert!((cell.total.seconds - seconds).abs() < 1e-9, "{}", cell.total.seconds);
    assert_eq!((pass.flush_s, count(&drive, Kind::Flush)), (Some(0.9), 1));
    assert!((cell.iops - blocks as f64 / (seconds + 0.9)).abs() < 1e-6, "the flush counts");
    assert_eq!(cell.bound, record::Bound::Bytes);
    assert_eq!(pass.half_width_relative, None);
}

#[test]
fn an_untimed_flush_is_shown_apart() {
    let drive = exact(200_000, 150_000, 900_000_000);
    let cells = "[[cell]]\nop = 'write'\nbound = '1000'\nthreads = 2\nflush = 'untimed'";
    let record = lab(&drive, cells).once().run();
    let cell = &record.cells[0];
    assert_eq!((cell.total.operations, cell.passes[0].flush_s), (2000, Some(0.9)));
    assert!((cell.iops - 1.0 / 150e-6).abs() < 1e-6);
    let actors: Vec<usize> = (0..2)
        .map(|actor| log(&drive).iter().filter(|at| at.actor == actor && at.bytes > 0).count())
        .collect();
    assert_eq!(actors, [1000, 1000]);
}

/// `flush = "timed"` on a cell bound by time did nothing but show the seconds: the rate came from
/// ticks, in which there is no flush, and was that of the cache.
#[test]
fn a_timed_flush_counts_on_cells_bound_by_time_too() {
    let drive = exact(137_000, 137_000, 5 * SECOND);
    let record = lab(&drive, "[[cell]]\nop = 'write'\nflush = 'timed'").once().run();
    let (cell, pass) = (&record.cells[0], &record.cells[0].passes[0]);
    let expected = pass.total.operations as f64 / (pass.total.seconds + 5.0);
    assert!((cell.iops - expected).abs() < 1e-6, "{} and {expected}", cell.iops);
}

const TWO_STREAMS: &str = "[[cell]]\nname = 'both'\n\
    [[cell.stream]]\nname = 'reader'\nop = 'read'\npart = [0.0, 0.5]\n\
    [[cell.stream]]\nname = 'writer'\nop = 'write'\npart = [0.5, 1.0]\nblock = '8KiB'";

#[test]
fn streams_of_one_cell_share_the_clock_and_are_reported_apart() {
    let drive = exact(100_000, 250_000, 1);
    let record = lab(&drive, TWO_STREAMS).once().run();
    let (reader, writer) = (cell(&record, "both/reader"), cell(&record, "both/writer"));
    assert_eq!((reader.group.as_str(), writer.group.as_str()), ("both", "both"));
    assert_eq!(reader.total.seconds, writer.total.seconds);
    assert_eq!(reader.passes[0].series.operations.len(), writer.passes[0].series.operations.len());
    // They take turns: 350 us for one of each.
    for (stream, ns) in [(reader, 100_000), (writer, 250_000)] {
        assert!((stream.iops * 350e-6 - 1.0).abs() < 1e-3, "{}", stream.iops);
        let latency = stream.latency.as_ref().expect("a latency");
        assert!(latency.max_ns <= 350_000 && latency.min_ns >= ns, "{latency:?}");
    }
    assert_eq!((reader.total.operations, writer.total.operations), {
        (count(&drive, Kind::Read), count(&drive, Kind::Write))
    });
    assert_eq!(writer.total.bytes, written_bytes(&drive));
    let half = 512 * MIB;
    assert!(log(&drive).iter().all(|at| (at.kind == Kind::Read) == (at.offset < half)));
}

/// A stream that had used up its bytes left the others to go on alone, up to the longest time:
/// ticks without it pulled its rate towards zero, and the others' rates were no longer those beside
/// it.
#[test]
fn a_stream_that_has_written_its_bytes_ends_the_pass_for_all() {
    let wavy = Scripted::new(|at| {
        let wave = (at.life_ns as f64 / 3e9 * std::f64::consts::TAU).sin();
        (100_000.0 * (1.0 + 0.5 * wave)) as u64
    })
    .scripted(|script| script.parallelism = 1);
    let record = lab(&wavy, TWO_STREAMS).head("written_max = '256MiB'").once().run();
    let (reader, writer) = (cell(&record, "both/reader"), cell(&record, "both/writer"));
    assert_eq!(writer.total.bytes, 256 * MIB);
    assert!(reader.total.seconds < 10.0, "{} s", reader.total.seconds);
    assert!((writer.iops / reader.iops - 1.0).abs() < 0.01, "they take turns");
    assert!(!writer.flags.contains(&Flag::LeftSteadyState));
}

#[test]
fn an_open_loop_keeps_its_schedule_whatever_the_drive_does() {
    let drive = exact(137_000, 137_000, 1);
    let record = lab(&drive, "[[cell]]\nop = 'read'\nrate = 1700\ndepth = 4").once().run();
    let cell = &record.cells[0];
    assert!((cell.iops - 1700.0).abs() < 1.0, "{}", cell.iops);
    let log = log(&drive);
    let interval = 1e9 / 1700.0;
    for (number, request) in log.iter().enumerate() {
        let due = log[0].issued.0 as f64 + number as f64 * interval;
        assert!((request.issued.0 as f64 - due).abs() <= 2.0, "request {number}");
    }
    assert!(cell.latency.as_ref().is_some_and(|latency| latency.max_ns <= 137_002));
}

#[test]
fn workers_of_an_open_loop_share_the_rate() {
    let record =
        lab(&Scripted::calm(), "[[cell]]\nop = 'read'\nrate = 1700\nthreads = 5").once().run();
    assert!((record.cells[0].iops - 1700.0).abs() < 2.0, "{}", record.cells[0].iops);
}

#[test]
fn a_mix_keeps_its_ratio() {
    let drive = exact(100_000, 150_000, 1);
    let record = lab(&drive, "[[cell]]\nop = 'mixed:70'").once().run();
    let (reads, writes) = (count(&drive, Kind::Read) as f64, count(&drive, Kind::Write) as f64);
    let n = reads + writes;
    // Three standard errors of a binomial share.
    assert!((reads / n - 0.7).abs() < 3.0 * (0.21 / n).sqrt(), "{reads} of {n}");
    assert_eq!(record.cells[0].total.operations as f64, n);
}

#[test]
fn one_operation_of_two_halves_counts_once_and_takes_both_halves() {
    let cases = [("read_modify_write", [1, 1, 0], 450), ("commit", [0, 1, 1], 1050)];
    for (op, halves, us) in cases {
        let drive = exact(200_000, 250_000, 800_000);
        let cells = format!("[[cell]]\nop = '{op}'\nbound = '3000'");
        let record = lab(&drive, &cells).once().run();
        let latency = record.cells[0].latency.as_ref().expect("a latency");
        assert_eq!(
            (latency.n, latency.min_ns, latency.max_ns),
            (3000, us * 1000, us * 1000),
            "{op}"
        );
        let counts = [Kind::Read, Kind::Write, Kind::Flush].map(|kind| count(&drive, kind));
        assert_eq!(counts, halves.map(|each| 3000 * each), "{op}");
        assert_eq!(record.cells[0].total.bytes, 3000 * 4096);
        if op == "read_modify_write" {
            assert!(log(&drive).chunks(2).all(|pair| pair[0].offset == pair[1].offset));
        }
    }
}

#[test]
fn flushes_after_every_nth_write_are_counted_apart() {
    let drive = exact(1, 150_000, 800_000);
    let cells = "[[cell]]\nop = 'write'\nbound = '4000'\nflush_every = 8";
    let record = lab(&drive, cells).once().run();
    let cell = &record.cells[0];
    let (writes, flushes) =
        (cell.latency.as_ref().expect("writes"), cell.flush_latency.as_ref().expect("flushes"));
    assert_eq!((writes.n, writes.max_ns), (4000, 150_000));
    assert_eq!((flushes.n, flushes.min_ns), (500, 800_000));
    assert_eq!(count(&drive, Kind::Flush), 500);
    for group in log(&drive).chunks(9) {
        assert!(group[..8].iter().all(|at| at.kind == Kind::Write));
        assert_eq!(group[8].kind, Kind::Flush);
    }
    assert!((cell.total.seconds - (4000.0 * 150e-6 + 500.0 * 800e-6)).abs() < 1e-9);
}

pub(crate) const THREE_CELLS: &str = "[[cell]]\nname = 'a'\nop = 'read'\nbound = '3000'\n\
    [[cell]]\nname = 'b'\nop = 'write'\nbound = '3000'\n\
    [[cell]]\nname = 'c'\nop = 'mixed:50'\nbound = '3000'\ndepth = 4";

#[test]
fn the_record_is_saved_after_every_pass() {
    let lab = lab(&Scripted::calm(), THREE_CELLS);
    let mut watcher = Watcher::default();
    lab.go_on(&mut lab.record(), &mut watcher).expect("a run");
    assert_eq!(watcher.saved, [0, 1, 2, 3, 3, 3, 3, 3, 3, 3]);
}

/// Only the next pass of time-bounded cells with one writer kept the limit: passes bound by
/// operations ran whatever was left, each of several streams had all of it, each of many workers at
/// least one operation, and a mix was charged for the writes it should have made instead of those
/// it may have.
#[test]
fn the_bytes_allowed_are_never_exceeded() {
    let cells = [
        "[[cell]]\nop = 'write'\nbound = 'once'\npattern = 'seq'\nblock = '1MiB'",
        "[[cell]]\nop = 'write'\nbound = '20000'\nthreads = 3",
        "[[cell]]\nop = 'write'\nthreads = 40\nblock = '4MiB'",
        "[[cell]]\nop = 'read_modify_write'\ndepth = 4",
        "[[cell]]\nop = 'commit'\nthreads = 7",
        "[[cell]]\nop = 'mixed:50'\ndepth = 8",
        "[[cell]]\nop = 'mixed:90'\ndepth = 8\nthreads = 3",
        TWO_STREAMS,
        "[[cell]]\nname = 'x'\nop = 'write'\n[[cell.stream]]\nname = 'a'\n[[cell.stream]]\nname = 'b'",
    ];
    for limit in [1000, 3 * MIB, 100 * MIB + 4096, 1100 * MIB] {
        for cells in cells {
            for fill in [0, 1] {
                let drive = Scripted::calm();
                let lab = lab(&drive, cells).head(&format!("fill = {fill}")).with(|options| {
                    options.written_bytes_max = Some(limit);
                    options.span_bytes = Some(65 * MIB);
                });
                if fill == 1 && limit < 65 * MIB {
                    continue;
                }
                let record = lab.run();
                assert!(
                    written_bytes(&drive) <= limit,
                    "{cells}, {limit}: {}",
                    written_bytes(&drive)
                );
                let measured: usize = record.cells.iter().map(|cell| cell.passes.len()).sum();
                let planned = 3 * lab.plan().cells[0].streams.len();
                assert!(measured == planned || record.left_out.len() == 1, "{cells}, {limit}");
            }
        }
    }
}

/// A fast start of 12 s is level; then a cache is full. "Converged", a good look said, and stayed
/// the result of the whole pass.
#[test]
fn a_cell_that_exhausts_its_bytes_goes_on_however_steady_it_is() {
    let drive =
        Scripted::new(|at| at.about(if at.written_bytes < 350 * MIB { 137_000 } else { 500_000 }))
            .scripted(|script| script.parallelism = 1);
    let cells = "[[cell]]\nop = 'write'\nbound = 'exhaust'\nthreads = 3";
    let record = lab(&drive, cells).head("written_max = '384MiB'").once().run();
    let cell = &record.cells[0];
    // Each of three writes its third; the others may be an operation short when the first is done.
    assert!((384 * MIB).abs_diff(cell.total.bytes) <= 2 * 4096, "{}", cell.total.bytes);
    let seconds = (350.0 * 137e-6 + 34.0 * 500e-6) * 256.0;
    assert!((cell.total.seconds / seconds - 1.0).abs() < 0.02, "{}", cell.total.seconds);
    for flag in [Flag::Burst, Flag::NotConverged] {
        assert!(cell.flags.contains(&flag), "{:?}", cell.flags);
    }
    let calm = exact(137_000, 137_000, 1);
    let record = lab(&calm, cells).head("written_max = '64GiB'").once().run();
    assert!((record.cells[0].total.seconds - 60.0).abs() < 0.1, "no longer than the grade");
    assert_eq!(flags(&record), []);
}

/// A bound on the bytes ends a cell before the least time of its grade. That alone is no doubt: 4 s
/// of a steady drive are known well enough, and were called insufficient. What is doubted names the
/// bytes, and the bound that would do.
#[test]
fn a_cell_that_spends_its_bytes_early_is_judged_by_what_it_saw() {
    let steady = Scripted::calm();
    // Every tenth of a second at another pace: level on the whole, and not known well after 1.4 s.
    let uneven = Scripted::new(|at| {
        let tenth = at.pass_ns / 100_000_000;
        at.about([100_000, 180_000, 120_000, 160_000, 130_000][(tenth * 3 % 5) as usize])
    });
    let of = |drive: &Scripted, bytes: u64| {
        let bound = move |options: &mut Options| options.written_bytes_max = Some(bytes);
        lab(drive, "[[cell]]\nop = 'write'").once().with(bound).run()
    };
    let record = of(&steady, 112 * MIB);
    let cell = &record.cells[0];
    assert!((3.8..4.1).contains(&cell.total.seconds), "{}", cell.total.seconds);
    assert!((cell.iops * 137e-6 - 1.0).abs() < 0.01 && cell.iops_ci95.is_some());
    assert_eq!(flags(&record), []);
    // The grade's 60 s of the uneven drive take 1.7 GB: what is proposed gives it no more than
    // that.
    for (drive, bytes, flag, found, cure) in [
        (&steady, 16 * MIB, Flag::Insufficient, "too short", "--max-written 1GiB"),
        (
            &uneven,
            40 * MIB,
            Flag::NotConverged,
            "the interval was",
            "--max-written 2GiB gives it 60 s",
        ),
    ] {
        let record = of(drive, bytes);
        assert_eq!(flags(&record), [flag]);
        let warnings = &record.cells[0].warnings;
        let told = warnings.iter().filter(|warning| warning.flag == Some(flag));
        let [warning] = told.collect::<Vec<_>>()[..] else { panic!("{warnings:?}") };
        let size = format!("the {} MiB", bytes / MIB);
        for words in [&*size, found, cure] {
            assert!(warning.text.contains(words), "{words}: {}", warning.text);
        }
    }
}

#[test]
fn null_wears_nothing_and_knows_no_limit() {
    let drive = exact(1, 3_000, 1).with(|facts| facts.info.kind = TargetKind::Null);
    let lab = lab(&drive, "[[cell]]\nop = 'write'").head("written_max = '256MiB'").once();
    let record = lab.run();
    assert!(written_bytes(&drive) > 1 << 30, "{}", written_bytes(&drive));
    assert!(!flags(&record).contains(&Flag::NotConverged));
}

/// The fill went in steps of 1 MiB and left what remained of the area unwritten; an area under
/// 1 MiB ended in a panic.
#[test]
fn the_fill_writes_the_whole_area() {
    for (span_bytes, rounds) in [(64 * MIB, 2), (3 * MIB + 20_480, 1), (65_536, 1)] {
        let drive = exact(100_000, 100_000, 1);
        let lab = lab(&drive, "[[cell]]\nop = 'read'\nbound = '100'")
            .head(&format!("fill = {rounds}"))
            .with(|options| options.span_bytes = Some(span_bytes))
            .once();
        let mut watcher = Watcher::default();
        lab.go_on(&mut lab.record(), &mut watcher).expect("a run");
        let mut covered: Vec<(u64, u64)> = log(&drive)
            .iter()
            .filter(|at| at.kind == Kind::Write)
            .map(|at| (at.offset, at.offset + u64::from(at.bytes)))
            .collect();
        assert_eq!(written_bytes(&drive), u64::from(rounds as u32) * span_bytes);
        covered.sort_unstable();
        covered.dedup();
        assert!(covered.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!((covered[0].0, covered[covered.len() - 1].1), (0, span_bytes));
        let total = u64::from(rounds as u32) * span_bytes;
        assert!(watcher.fills.iter().all(|fill| fill.0 <= total && fill.1 == total));
    }
}

/// The fill asked for depth 8 even where there is no io_uring, and for direct I/O where the first
/// cell said `stdio` and the file system refuses `O_DIRECT`.
#[test]
fn the_fill_makes_do_with_what_the_target_has() {
    let drive = Scripted::calm().with(|facts| {
        facts.offer.uring = Err("ENOSYS".to_owned());
        facts.offer.direct = Err("tmpfs has no direct I/O".to_owned());
    });
    let cells = "[[cell]]\nop = 'read'\nengine = 'stdio'\nbound = '100'";
    let record = lab(&drive, cells).head("fill = 1").once().run();
    assert_eq!(record.cells[0].total.operations, 100);
    assert_eq!(count(&drive, Kind::Write), 1024);
}

#[test]
fn a_target_that_may_only_be_read_is_not_filled_nor_probed() {
    let drive = Scripted::calm().with(|facts| {
        facts.offer.access = Access::ReadOnly("it exists".to_owned());
        facts.offer.time = Time::Wall;
    });
    lab(&drive, "[[cell]]\nop = 'read'").head("fill = 1").once().run();
    assert_eq!((written_bytes(&drive), count(&drive, Kind::Flush)), (0, 0));
}

#[test]
fn two_targets_take_turns_and_get_a_verdict_a_cell() {
    let noisy = |ns: u64, seed| {
        Scripted::new(move |at| at.about(ns)).scripted(move |script| script.seed = seed)
    };
    let cells = "[[cell]]\nname = 'r'\nop = 'read'\n[[cell]]\nname = 'w'\nop = 'write'";
    let cases = [
        (137_000, PairedVerdict::Same),
        (124_500, PairedVerdict::Faster),
        (150_700, PairedVerdict::Slower),
    ];
    for (ns, verdict) in cases {
        let record = lab(&noisy(137_000, 1), cells).against(&noisy(ns, 2)).run();
        let names: Vec<_> = record.paired.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["r", "w"]);
        for pair in &record.paired {
            assert_eq!((pair.verdict, pair.n), (verdict, 4), "{pair:?}");
            assert!((pair.ratio - 137_000.0 / ns as f64).abs() < 0.01, "{pair:?}");
        }
        let orders = |target: usize| -> Vec<u32> {
            let cell = record.cells.iter().find(|cell| cell.name == "r" && cell.target == target);
            cell.expect("both ran").passes.iter().map(|pass| pass.order).collect()
        };
        let first: Vec<bool> = orders(0).iter().zip(orders(1)).map(|(a, b)| *a < b).collect();
        let adjacent = orders(0).iter().zip(orders(1)).all(|(a, b)| a.abs_diff(b) == 1);
        assert!(adjacent && first.contains(&true) && first.contains(&false), "{first:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_cells_and_another_seed_others() {
    let cells = [TWO_STREAMS, "[[cell]]\nop = 'mixed:30'\npattern = 'zipf:0.99'\nthreads = 3"];
    let run = |seed| {
        let lab = lab(&Scripted::calm(), &cells.join("\n")).with(|options| options.seed = seed);
        lab.run().cells
    };
    assert_eq!(run(11), run(11));
    assert_ne!(run(11), run(12));
}

pub(crate) const ROUNDS: &str = "[rounds]\nmax = 25\nseconds = 2\ntracked = 'w'\n\
    [[cell]]\nname = 'w'\nop = 'write'\n[[cell]]\nname = 'r'\nop = 'read'";

/// Round 1 of a fresh drive is five times as fast as round 8 and later ones.
pub(crate) fn settling() -> Scripted {
    Scripted::new(|at| {
        let round = at.pass / 2;
        at.about(137_000 - 110_000 * (8_u64.saturating_sub(round)) / 8)
    })
}

#[test]
fn rounds_end_at_steady_state() {
    let drive = settling();
    let record = lab(&drive, ROUNDS).head("order = 'fixed'").run();
    let rounds = record.rounds.as_ref().expect("rounds");
    let steady = rounds.steady_at_round.expect("it settles") as usize;
    let rates = pass_rates(cell(&record, "w"));
    assert_eq!((&rates, rates.len()), (&rounds.rates, steady));
    assert_eq!(cell(&record, "r").passes.len(), steady, "the round is completed");
    // SNIA's window by hand: excursion within 20 %, slope within 10 %, and in no window before.
    let holds = |window: &[f64]| {
        let mean = window.iter().sum::<f64>() / 5.0;
        let slope: f64 = window.iter().zip(-2..).map(|(y, x)| y * f64::from(x)).sum::<f64>() / 10.0;
        let high = window.iter().copied().fold(0.0, f64::max);
        let low = window.iter().copied().fold(f64::INFINITY, f64::min);
        (high - low) <= 0.2 * mean && (4.0 * slope).abs() <= 0.1 * mean
    };
    let first = rates.windows(5).position(holds).expect("a window");
    assert_eq!(first + 5, steady);
    let mut window = rates[first..].to_vec();
    window.sort_by(f64::total_cmp);
    assert_eq!(cell(&record, "w").iops, window[2], "rounds before the steady window do not count");
    assert!((8..=13).contains(&steady), "{steady}");
    let saw = Scripted::new(|at| at.about(137_000 + 60_000 * (at.pass / 2 % 2)));
    let record = lab(&saw, ROUNDS).head("order = 'fixed'").run();
    let rounds = record.rounds.as_ref().expect("rounds");
    assert_eq!((rounds.rates.len(), rounds.steady_at_round), (25, None));
}

/// A drive that keeps bytes, and writes zeroes this much faster.
fn compressor(gain: f64) -> Scripted {
    let service = move |at: &Service| {
        let ns = at.about(if at.bytes >= 1 << 20 { 2_100_000 } else { 137_000 });
        if at.is_zero { (ns as f64 / gain) as u64 } else { ns }
    };
    Scripted::new(service).scripted(|script| script.data = block::Data::Stored).with(|facts| {
        facts.offer.time = Time::Wall;
    })
}

const PROBED: &str = "fill = 1\nwritten_max = '1GiB'";

#[test]
fn a_target_that_stores_zeroes_faster_is_found_out() {
    let run = |gain: f64| {
        let drive = compressor(gain);
        let cells = "[[cell]]\nop = 'read'\nbound = '2000'\n[[cell]]\nname = 'w'\nop = 'write'";
        (lab(&drive, cells).head(PROBED).once().run(), drive)
    };
    let (record, drive) = run(1.6);
    for cell in &record.cells {
        assert_eq!(cell.flags, [Flag::CompressingTarget], "{:?}", cell.warnings);
    }
    assert_eq!(record.targets[0].flags, [Flag::CompressingTarget]);
    let text = scripted::warning(&record, Flag::CompressingTarget);
    assert!(text.contains("1.5") || text.contains("1.6"), "{text}");
    // The fill, the probe, the cell; and what was zero is random again.
    assert_eq!(probe_bytes(Grade::Normal, 1, 1 << 30), 384 * MIB);
    assert_eq!(written_bytes(&drive), (1 << 30) + 384 * MIB + cell(&record, "w").total.bytes);
    let mut zero = BTreeSet::new();
    for request in log(&drive).iter().filter(|at| at.kind == Kind::Write) {
        match request.is_zero {
            true => drop(zero.insert(request.offset)),
            false => drop(zero.remove(&request.offset)),
        }
    }
    assert_eq!(zero.len(), 0);
    let (record, _) = run(1.05);
    assert!(record.cells.iter().all(|cell| cell.flags.is_empty()));
}

#[test]
fn the_probe_is_left_out_where_it_has_no_place() {
    let run = |cells: &str, change: fn(&mut Options), time: Time| {
        let drive = compressor(2.0).with(|facts| facts.offer.time = time);
        let record = lab(&drive, cells).head(PROBED).once().with(change).run();
        assert!(record.targets[0].warnings.iter().all(|warning| warning.flag.is_some()));
        written_bytes(&drive) / MIB
    };
    let writes = "[[cell]]\nop = 'write'\nbound = '256'";
    let reads = "[[cell]]\nop = 'read'\nbound = '256'";
    let same: fn(&mut Options) = |_| ();
    let quick: fn(&mut Options) = |options| options.grade = Some(Grade::Quick);
    let small: fn(&mut Options) = |options| options.span_bytes = Some(32 * MIB);
    assert_eq!(run(writes, same, Time::Wall), 1024 + 384 + 1, "here it has");
    assert_eq!(run(reads, same, Time::Wall), 1024, "nothing is written that it could concern");
    assert_eq!(run(writes, quick, Time::Wall), 1024 + 1);
    assert_eq!(run(writes, same, Time::Virtual), 1024 + 1, "only the time is real");
    assert_eq!(run(writes, small, Time::Wall), 32 + 1);
}

#[test]
fn the_probe_does_not_take_the_bytes_of_cells_that_need_them() {
    let cells =
        "[[cell]]\nname = 'w'\nop = 'write'\nbound = 'once'\npattern = 'seq'\nblock = '1MiB'";
    let drive = compressor(2.0);
    // Enough for the fill and three passes, not for the probe as well.
    let limit = Some((4 << 30) + 100 * MIB);
    let limited = lab(&drive, cells).head(PROBED);
    let record = limited.with(|options| options.written_bytes_max = limit).run();
    assert_eq!(cell(&record, "w").passes.len(), 3);
    assert_eq!(written_bytes(&drive), 4 << 30);
    let texts: Vec<_> = record.targets[0].warnings.iter().map(|warning| &warning.text).collect();
    assert!(texts.len() == 1 && texts[0].contains("--max-written"), "{texts:?}");
}
