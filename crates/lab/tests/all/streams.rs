//! What a stream can say beyond its pattern: pauses, a later start, a share in sequence, areas of
//! workers, rates that change, hot spots that move, blocks of several sizes, trims. On scripted
//! drives, from the log of requests.

use crate::scripted::{Kind, Lab, Logged, Scripted, cell, flags, method};
use lab::method::Method;
use record::Flag;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// Each request takes exactly 100 us, one at a time.
fn drive() -> Scripted {
    Scripted::new(|_| 100_000).scripted(|script| script.parallelism = 1)
}

fn log(target: &Scripted) -> Vec<Logged> {
    target.life.borrow().log.clone()
}

/// Why a method of this cell is none.
fn refusal(cell: &str) -> String {
    match Method::parse("test", &method(&format!("[[cell]]\n{cell}")), &[]) {
        Ok(_) => panic!("taken: {cell}"),
        Err(error) => error.to_string(),
    }
}

/// In virtual time all operations were divided by the time of a pass without what its last ones
/// took: forty writes that waited for a slow array counted, and the seconds in which they ended did
/// not, so that 158 a second stood where the array did 92.
#[test]
fn what_ends_after_the_time_is_over_counts_with_its_time() {
    let slow = Scripted::new(|_| 250_000_000).scripted(|script| script.parallelism = 1);
    let record = Lab::new(&slow, "[[cell]]\nop = 'read'\ndepth = 40").once().run();
    let total = &record.cells[0].passes[0].total;
    let rate = total.operations as f64 / total.seconds;
    assert!((rate / 4.0 - 1.0).abs() < 1e-6, "{rate} a second, {} s", total.seconds);
    assert_eq!(total.operations, log(&slow).len() as u64);
}

/// Half of the think times in the job files people have stand beside depths above 1: a pause begins
/// when all that was asked for is answered, as fio's does.
#[test]
fn a_pause_begins_when_everything_is_answered_and_counts_in_the_rate() {
    let target = drive();
    let cells = "[[cell]]\nop = 'read'\ndepth = 4\nthink_time_us = 500\nthink_every = 10";
    let record = Lab::new(&target, cells).once().run();
    // Ten operations one after the other, then half a millisecond of nothing.
    let (expected, found) = (10.0 / 1.5e-3, record.cells[0].iops);
    assert!((found / expected - 1.0).abs() < 2e-3, "{found} and {expected}");
    assert_eq!(flags(&record), []);
    let all = log(&target);
    for (before, after) in all.iter().zip(&all[1..]).skip(9).step_by(10) {
        assert_eq!(after.issued.since(before.finished), 500_000);
    }
    // Latencies are those of the drive: four in flight, but for the last of each ten.
    let latency = record.cells[0].latency.as_ref().expect("a latency");
    assert!(latency.min_ns >= 99_000 && latency.max_ns <= 404_000, "{latency:?}");
    let words = &record.cells[0].coordinates;
    assert_eq!(
        (words["think_time_us"].as_u64(), words["think_every"].as_u64()),
        (Some(500), Some(10))
    );
}

/// A stream that starts later had a rate of nothing at first, which the stop rule took for its
/// warm-up, and the other one a rate that fell.
#[test]
fn what_counts_begins_when_the_last_stream_has_started() {
    let target = Scripted::new(|at| at.about(100_000)).scripted(|script| script.parallelism = 1);
    let cells = "[[cell]]\nname = 'both'\n[[cell.stream]]\nname = 'first'\nop = 'read'\n\
                 [[cell.stream]]\nname = 'later'\nop = 'write'\nstart_after = 2.05";
    let lab = Lab::new(&target, cells).once();
    assert!((lab.plan().seconds.1 - lab.plan().rule.seconds_max - 2.05).abs() < 1e-9);
    let record = lab.run();
    let (first, later) = (cell(&record, "both/first"), cell(&record, "both/later"));
    for stream in [first, later] {
        assert!((stream.iops / 5000.0 - 1.0).abs() < 5e-3, "{}", stream.iops);
        let wrong = [Flag::LeftSteadyState, Flag::WarmUp, Flag::Drifting, Flag::Stalled];
        assert!(!stream.flags.iter().any(|flag| wrong.contains(flag)), "{:?}", stream.flags);
        assert_eq!(stream.passes[0].transitions, []);
        assert!(stream.iops_ci95.is_some(), "each has an interval of its own");
        let latency = stream.latency.as_ref().expect("a latency");
        assert!(latency.min_ns >= 178_000, "{} ns is of the time alone", latency.min_ns);
        assert!(stream.passes[0].series.operations.iter().all(|&count| count > 480));
    }
    let written = log(&target).into_iter().filter(|at| at.kind == Kind::Write);
    let start = written.map(|at| at.issued.0).min().expect("writes");
    assert_eq!(start, 2_050_000_000);
    assert!((first.total.seconds - later.total.seconds - 2.05).abs() < 1e-6);
    let alone = first.total.operations - later.total.operations;
    assert!(alone.abs_diff(20_500) < 100, "{alone}");
}

#[test]
fn a_stream_alone_may_start_later_and_counts_its_own_time() {
    for bound in ["'time'", "1000"] {
        let target = drive();
        let cells = format!("[[cell]]\nop = 'read'\nstart_after = 3.0\nbound = {bound}");
        let record = Lab::new(&target, &cells).once().run();
        let found = record.cells[0].iops;
        assert!((found / 10_000.0 - 1.0).abs() < 2e-3, "{bound}: {found}");
        assert_eq!(log(&target)[0].issued.0, 3 * SECOND);
    }
}

#[test]
fn a_share_of_a_random_stream_goes_in_sequence() {
    let target = drive();
    let cells = "[[cell]]\nop = 'read'\nsequential_share = 30\nbound = 20000";
    Lab::new(&target, cells).once().run();
    let all = log(&target);
    let follows = |pair: &&[Logged]| pair[1].offset == pair[0].offset + 4096;
    let share = all.windows(2).filter(follows).count() as f64 / all.len() as f64;
    assert!((share - 0.30).abs() < 0.015, "{share}");
}

#[test]
fn workers_have_areas_an_increment_apart() {
    let target = drive();
    let cells = "[[cell]]\nop = 'read'\npattern = 'seq'\nthreads = 3\npart = [0.0, 0.03125]\n\
                 offset_increment = '8MiB'\nbound = 'once'";
    let record = Lab::new(&target, cells).once().run();
    // 32 MiB of 1 GiB: 16 MiB for each of three, at 0, 8 and 16 MiB.
    assert_eq!(record.cells[0].total.bytes, 3 * 16 * MIB);
    for worker in 0..3 {
        let own = log(&target).into_iter().filter(|at| u64::from(at.actor) == worker);
        let offsets: Vec<u64> = own.map(|at| at.offset).collect();
        let start = worker * 8 * MIB;
        assert!(offsets.iter().copied().eq((start..start + 16 * MIB).step_by(4096)), "{worker}");
    }
    let random = "[[cell]]\nop = 'read'\nthreads = 2\noffset_increment = '512MiB'\nbound = 500";
    let target = drive();
    Lab::new(&target, random).once().run();
    let of = |worker: u16| {
        let all = log(&target).into_iter().filter(move |at| at.actor == worker);
        Vec::from_iter(all.map(move |at| at.offset - u64::from(worker) * 512 * MIB))
    };
    assert!(of(0).iter().chain(&of(1)).all(|&offset| offset < 512 * MIB));
    assert_ne!(of(0), of(1), "each draws its own");
}

/// A rate that rises is never steady: the stop rule either waited in vain or cut half of it off as
/// warm-up.
#[test]
fn a_ramp_takes_its_time_and_its_figure_is_the_mean() {
    for (rate, down) in [("1000..5000", false), ("5000..1000 in 5 steps", true)] {
        let target = drive();
        let cells = format!("[[cell]]\nop = 'read'\nrate = '{rate}'\nseconds = 10\nthreads = 2");
        let record = Lab::new(&target, &cells).run();
        let cell = &record.cells[0];
        assert!((cell.iops / 3000.0 - 1.0).abs() < 2e-3, "{rate}: {}", cell.iops);
        assert_eq!(cell.flags, [], "{:?}", cell.warnings);
        assert_eq!(cell.coordinates["rate"], rate);
        for pass in &cell.passes {
            assert!((pass.total.seconds - 10.0).abs() < 0.11, "{}", pass.total.seconds);
            assert_eq!(pass.half_width_relative, None);
            let (first, last) = (pass.series.operations[0], pass.series.operations[99]);
            let [low, high] = if down { [last, first] } else { [first, last] };
            assert!(low.abs_diff(100) <= 3 && high.abs_diff(500) <= 3, "{rate}: {low} {high}");
        }
    }
}

#[test]
fn a_hot_spot_moves_after_seconds_or_operations() {
    let hot = |all: &[Logged]| {
        let mut counts = BTreeMap::new();
        all.iter().for_each(|at| *counts.entry(at.offset).or_insert(0) += 1);
        Vec::from_iter(counts.into_iter().filter(|(_, n)| *n > 20).map(|(offset, _)| offset))
    };
    for moves in ["'2 s'", "20000"] {
        let target = drive();
        let cells = format!(
            "[[cell]]\nop = 'read'\npattern = 'hot_cold:0.01/99'\nmoves_every = {moves}\n\
             threads = 2\nbound = 30000"
        );
        Lab::new(&target, &cells).once().run();
        // Ten thousand a second: a spot is where it is for 20,000 of them.
        let all = log(&target);
        let seen: Vec<_> = (0..3).map(|at| hot(&all[at * 20_000 + 10..][..19_980])).collect();
        assert!(seen.iter().all(|spot| spot.len() == 26), "{moves}");
        for (at, other) in [(0, 1), (1, 2), (0, 2)] {
            assert!(seen[at].iter().all(|offset| !seen[other].contains(offset)), "{moves}");
        }
    }
}

/// `bssplit` jobs had to be cut into streams of one size each, whose shares no rate keeps.
#[test]
fn operations_of_a_mix_have_their_shares_and_count_their_own_bytes() {
    for pattern in ["random", "zipf:0.9", "seq", "backward"] {
        let target = drive();
        let cells = format!(
            "[[cell]]\nop = 'mixed:50'\npattern = '{pattern}'\nblock = '4K:60,64K:40'\n\
             threads = 2\npart = [0.0, 0.03125]"
        );
        let record = Lab::new(&target, &cells).once().run();
        let (all, cell) = (log(&target), &record.cells[0]);
        let small = all.iter().filter(|at| at.bytes == 4096).count() as f64 / all.len() as f64;
        assert!((small - 0.6).abs() < 0.01, "{pattern}: {small}");
        assert!(all.iter().all(|at| at.bytes == 4096 || at.bytes == 65_536));
        assert!(all.iter().all(|at| at.offset % 4096 == 0));
        assert!(all.iter().all(|at| at.offset + u64::from(at.bytes) <= 32 * MIB), "{pattern}");
        let bytes: u64 = all.iter().map(|at| u64::from(at.bytes)).sum();
        assert_eq!(cell.total.bytes, bytes);
        let mean = bytes as f64 / all.len() as f64;
        assert!((cell.bytes_per_s / (cell.iops * mean) - 1.0).abs() < 1e-9);
        assert_eq!(cell.block_bytes, 28_672, "0.6 x 4 KiB and 0.4 x 64 KiB");
        assert_eq!(cell.coordinates["block_mix"], "4K:60,64K:40");
        let live: f64 = cell.passes.iter().map(|pass| pass.bytes_per_s).sum();
        assert!((live / cell.bytes_per_s - 1.0).abs() < 0.02, "{live} of {}", cell.bytes_per_s);
    }
}

#[test]
fn a_mix_in_sequence_leaves_no_gaps_and_once_is_once() {
    let target = drive();
    let cells = "[[cell]]\nop = 'write'\npattern = 'seq'\nblock = '4K:60,64K:40'\nbound = 'once'\n\
                 part = [0.0, 0.03125]";
    let lab = Lab::new(&target, cells).once();
    let most = lab.plan().written_bytes_max;
    lab.run();
    let all: Vec<Logged> =
        log(&target).into_iter().filter(|at| at.kind == Kind::Write && at.bytes > 0).collect();
    // What the plan's probe writes comes before.
    let all = &all[all.iter().rposition(|at| at.offset == 0).expect("a start")..];
    assert!(all.windows(2).all(|pair| pair[1].offset == pair[0].offset + u64::from(pair[0].bytes)));
    let end = all.last().map(|at| at.offset + u64::from(at.bytes)).expect("writes");
    assert!((32 * MIB - 65_536..=32 * MIB).contains(&end), "{end}");
    assert!(target.life.borrow().written_bytes <= most);
}

/// Half of the job files of one large collection trim, and no cell could.
#[test]
fn a_trim_is_a_command_without_bytes() {
    let target = drive();
    let cells = "[[cell]]\nop = 'trim'\nblock = '64K'\ndepth = 4\nbound = 500\n\
                 [[cell]]\nop = 'write_zeroes'\nbound = 300";
    let record = Lab::new(&target, cells).once().run();
    let all = log(&target);
    let count = |bytes| all.iter().filter(|at| at.kind == Kind::Trim && at.bytes == bytes).count();
    assert_eq!((count(65_536), count(4096)), (500, 300));
    assert_eq!(target.life.borrow().written_bytes, 0);
    let ops: Vec<_> = record.cells.iter().map(|cell| cell.op.as_str()).collect();
    assert!(ops.contains(&"trim") && ops.contains(&"write_zeroes"), "{ops:?}");
    for cell in &record.cells {
        assert!((cell.iops / 10_000.0 - 1.0).abs() < 1e-3, "{}", cell.iops);
    }
}

/// A trim takes data away as surely as a write: where nothing may be written, nothing is trimmed.
#[test]
fn what_takes_no_trim_or_may_not_be_written_is_left_out_with_the_reason() {
    let both = "[[cell]]\nop = 'read'\n[[cell]]\nop = 'trim'\n[[cell]]\nop = 'write-zeroes'";
    let none = drive().with(|facts| {
        facts.offer.trim = Err("it takes no TRIM".to_owned());
        facts.offer.write_zeroes = Err("it zeroes nothing".to_owned());
    });
    let locked = drive().with(|facts| {
        facts.offer.access = lab::target::Access::ReadOnly("it is not yours".to_owned());
    });
    for (target, reasons) in [
        (none, ["it takes no TRIM", "it zeroes nothing"]),
        (locked, ["it is not yours", "it is not yours"]),
    ] {
        let lab = Lab::new(&target, both).once();
        let (plan, record) = (lab.plan(), lab.run());
        let left: Vec<_> = plan.left_out.iter().map(|cell| cell.reason.as_str()).collect();
        assert_eq!((record.cells.len(), left.as_slice()), (1, &reasons[..]));
        assert!(log(&target).iter().all(|at| at.kind == Kind::Read));
    }
}

#[test]
fn what_a_stream_cannot_do_is_refused_with_the_cure() {
    let cases = [
        ("think_every = 5", "think_time_us"),
        ("think_time_us = 100\nthink_every = 0", "1 operation or more"),
        ("think_time_us = 100\nrate = 10", "set one of them"),
        ("start_after = -1", "0 to 86400"),
        ("sequential_share = 101", "0 to 100"),
        ("sequential_share = 5\npattern = 'seq'", "use pattern = `random`"),
        ("moves_every = 5", "`zipf` or `hot_cold`"),
        ("moves_every = 0\npattern = 'zipf'", "\"5 s\""),
        ("rate = '9..x'", "1000..5000"),
        ("rate = '1..9 in 3'", "in 5 steps"),
        ("rate = '1..9'\nbound = 100", "use bound = `time`"),
        ("rate = true", "a number or a text"),
        ("offset_increment = 'x'", "offset_increment"),
        ("op = 'trim'\nengine = 'stdio'", "use engine = `auto`"),
        ("block = '4K:60,64K'", "no percentage"),
        ("block = '4K:60,64K:40'\npattern = 'permutation'", "one block size"),
        ("op = 'create'\nthink_time_us = 5", "is for blocks of a file"),
    ];
    for (lines, cure) in cases {
        let op = if lines.contains("op =") { "" } else { "op = 'read'\n" };
        let seen = refusal(&format!("{op}{lines}\n"));
        assert!(seen.contains(cure), "{lines}: {seen}");
    }
    let wide = "[[cell]]\nop = 'read'\nthreads = 8\noffset_increment = '512MiB'";
    let method = Method::parse("test", &method(wide), &[]).expect("a method");
    let bench = Lab::new(&drive(), wide);
    let offer = lab::target::Target::offer(&bench.targets[0]);
    let error = lab::plan::Plan::new(method, &bench.options, &[offer]).expect_err("no room");
    assert!(error.to_string().contains("lower `offset_increment` or `threads`"), "{error}");
}
