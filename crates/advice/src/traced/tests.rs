//! Traces that were made so and so ask for what they were made with.

use super::*;
use trace::{Access, Analysis, Format, page::Subject};

const DAY_NS: u64 = 86_400_000_000_000;

fn access(at_ns: u64, op: Op, offset: u64, bytes: u64) -> Access {
    Access { at_ns, op, volume: 0, offset, bytes }
}

fn traced(accesses: &[Access]) -> Result<Traced, AdviceError> {
    let mut analysis = Analysis::default();
    accesses.iter().for_each(|access| analysis.add(access));
    let subject = Subject {
        name: "made".to_owned(),
        format: Format::Msr,
        volume: None,
        volumes: 1,
        remarks: Default::default(),
    };
    Traced::new(&analysis.conclude(), &subject)
}

/// Three reads of 4 KiB and one write of 12 KiB, a thousand times over, far from each other.
#[test]
fn mix_lengths_and_room_are_those_of_the_trace() {
    let of = |at: u64| {
        let place = |step: u64| (at * 7 + step * 3) % 1000 * (1 << 20);
        let read = |step| access(at, Op::Read, place(step), 4096);
        [read(0), read(1), read(2), access(at, Op::Write, place(3), 12_288)]
    };
    let accesses: Vec<Access> = (0..1000).flat_map(of).collect();
    let found = traced(&accesses).expect("a workload");
    assert_eq!(found.reads, 0.75);
    assert_eq!((found.order, found.sequential), (Order::Random, 0.0));
    assert_eq!(found.room_bytes, 999 * (1 << 20) + 12_288);
    let lengths = found.lengths.as_ref().expect("they differ");
    assert_eq!(lengths.reads.sizes(), [(4096, 100.0)]);
    // 12 KiB lie in the middle of 8 and 16, and so do the halves' mean.
    assert_eq!(lengths.writes.sizes(), [(8192, 50.0), (16_384, 50.0)]);
    assert_eq!(lengths.all.mean(), (3.0 * 4096.0 + 12_288.0) / 4.0);
    let workload = found.workload(8);
    assert_eq!((workload.block_bytes, workload.depth), (8192, 8));
    assert_eq!([workload.bytes_mean(1.0), workload.bytes_mean(0.0)], [4096.0, 12_288.0]);
    assert_eq!((workload.smallest(), workload.largest()), (4096, 16_384));
    assert_eq!(found.blocks(), crate::volume::Blocks { read_bytes: 4096, write_bytes: 12_288 });
}

/// As the closed form has it: what a mean keeps, a mix of powers of two keeps, whatever lengths.
#[test]
fn a_mix_keeps_the_mean_of_odd_lengths_in_sectors() {
    let lengths: Vec<u64> = (1..=300).map(|at| at * 512 * 3).collect();
    let of = |(at, bytes): (usize, &u64)| access(at as u64, Op::Read, (at as u64) << 21, *bytes);
    let accesses: Vec<Access> = lengths.iter().enumerate().map(of).collect();
    let found = traced(&accesses).expect("a workload");
    let mix = &found.lengths.as_ref().expect("they differ").all;
    let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
    assert!((mix.mean() / mean - 1.0).abs() < 1e-9, "{} and {mean}", mix.mean());
    assert!(mix.sizes().iter().all(|(bytes, _)| bytes.is_power_of_two() && *bytes >= 512));
}

#[test]
fn what_goes_on_where_another_ended_is_in_order() {
    let accesses: Vec<Access> =
        (0..1000).map(|at| access(at, Op::Write, at * 65_536, 65_536)).collect();
    let found = traced(&accesses).expect("a workload");
    assert_eq!((found.order, found.sequential), (Order::Sequential, 0.999));
    assert_eq!((found.lengths, found.block_bytes), (None, 65_536));
}

#[test]
fn writes_of_a_day_are_told_from_a_day_or_more_alone() {
    let of = |end_ns| {
        let writes = [access(0, Op::Write, 0, 1 << 20), access(end_ns, Op::Write, 0, 1 << 20)];
        traced(&writes).expect("a workload")
    };
    assert_eq!(of(DAY_NS * 2).written_bytes_per_day, Some(f64::from(1 << 20)));
    let short = of(DAY_NS / 4);
    assert_eq!(short.written_bytes_per_day, None);
    let left_out = short.left_out().concat();
    assert!(left_out.contains("8.39 MB would be written a day"), "{left_out}");
}

/// A tenth of the volume is written, and a tenth of that nine times of ten.
#[test]
fn skew_is_that_of_the_two_classes_that_differ_most() {
    let mut accesses = vec![access(0, Op::Read, 9_999 * 4096, 4096)];
    for round in 0..81 {
        accesses.extend((0..100).map(|block| access(round, Op::Write, block * 4096, 4096)));
    }
    accesses.extend((100..1000).map(|block| access(81, Op::Write, block * 4096, 4096)));
    let found = traced(&accesses).expect("a workload");
    // Of the whole volume: the hot 1 % take 90 %, 89 % more than their share; 2 % 91.1 %, 10 % all.
    let expected = Pattern::HotCold { hot_percent: 10.0, access_percent: 99.9 };
    assert_eq!(found.skew, expected);
    let even: Vec<Access> = (0..1000).map(|at| access(at, Op::Write, at * 4096, 4096)).collect();
    assert_eq!(traced(&even).expect("a workload").skew, Pattern::Random);
}

#[test]
fn flushes_and_trims_alone_are_no_workload() {
    let error = traced(&[access(0, Op::Flush, 0, 0), access(1, Op::Trim, 0, 4096)]);
    let error = error.expect_err("nothing to ask a drive for");
    assert_eq!(error.to_string(), "made has no reads and no writes: name a trace that has");
}
