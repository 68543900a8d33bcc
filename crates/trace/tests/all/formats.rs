//! One file of each format, field by field.

use crate::{corpus, opened, read, short};
use std::io::{Cursor, Read};
use trace::{Access, Format, Op};

const READ: Op = Op::Read;
const WRITE: Op = Op::Write;

fn names(name: &str) -> Vec<String> {
    let mut trace = opened(corpus(name)).expect(name);
    let accesses: Vec<Access> = trace.by_ref().map(|access| access.expect(name)).collect();
    accesses.iter().map(|access| trace.volumes().name(access.volume).to_owned()).collect()
}

#[test]
fn each_is_recognised_by_its_content() {
    let little = Format::Blktrace { big_endian: false };
    for (name, format) in [
        ("v2.iolog", Format::Iolog2),
        ("v3.iolog", Format::Iolog3),
        ("le.blktrace", little),
        ("be.blktrace", Format::Blktrace { big_endian: true }),
        ("blkparse.txt", Format::Blkparse),
        ("msr.csv", Format::Msr),
        ("systor.csv", Format::Systor),
        ("alibaba.csv", Format::Alibaba),
        ("tencent.csv", Format::Tencent),
        ("fiu.txt", Format::Fiu),
        ("spc.txt", Format::Spc),
        ("v1.vscsi", Format::Vscsi { version: 1 }),
        ("v2.vscsi", Format::Vscsi { version: 2 }),
    ] {
        assert_eq!(opened(corpus(name)).expect(name).format(), format, "{name}");
    }
}

/// Written by fio 3.33 itself (`--write_iolog`).
#[test]
fn fio_writes_microseconds_in_version_3() {
    let accesses = read(corpus("v3.iolog")).expect("it is fio's");
    assert_eq!(accesses.len(), 12);
    let first = (148_000, READ, 1_011_712, 4096);
    assert_eq!(short(&accesses)[0], first);
    assert_eq!(short(&accesses)[11], (12_695_000, READ, 10_924_032, 16_384));
}

/// fio's manual calls a wait relative and microseconds; its code waits until so many milliseconds
/// after the start.
#[test]
fn waits_of_version_2_are_milliseconds_since_the_start() {
    let mut trace = opened(corpus("v2.iolog")).expect("it is an iolog");
    let accesses: Vec<Access> = trace.by_ref().map(|access| access.expect("right")).collect();
    assert_eq!(
        short(&accesses),
        [
            (0, READ, 0, 4096),
            (250_000_000, WRITE, 8192, 16_384),
            (250_000_000, Op::Flush, 0, 0),
            (1_000_000_000, Op::Trim, 65_536, 1 << 20),
        ]
    );
    assert_eq!(trace.remarks().waits, 2);
}

/// A flush in a write's event is a flush before it; completions, dispatches, notes and the payload
/// of a control group are no accesses.
#[test]
fn blktrace_is_the_same_in_either_byte_order() {
    let expected = [
        (1000, READ, 1 << 20, 4096),
        (2_000_000, WRITE, 2 << 20, 65_536),
        (2_000_500, Op::Flush, 0, 0),
        (2_000_500, WRITE, 4 << 20, 4096),
        (3_000_000, Op::Flush, 0, 0),
        (4_000_000, Op::Trim, 512 << 20, 1 << 20),
        (5_000_000, READ, 8192, 8192),
    ];
    for name in ["le.blktrace", "be.blktrace"] {
        assert_eq!(short(&read(corpus(name)).expect(name)), expected, "{name}");
    }
    assert!(names("be.blktrace").iter().all(|name| name == "8,16"));
}

/// blkparse.txt is what blkparse 1.2.0 prints of le.blktrace, counted from its first event; the
/// last one, of a control group, it does not know.
#[test]
fn blkparse_prints_what_the_binary_holds() {
    let binary = short(&read(corpus("le.blktrace")).expect("binary"));
    let text = short(&read(corpus("blkparse.txt")).expect("text"));
    let since_first =
        |&(at_ns, op, offset, bytes): &(u64, Op, u64, u64)| (at_ns - 1000, op, offset, bytes);
    assert_eq!(text, binary[..6].iter().map(since_first).collect::<Vec<_>>());
}

#[test]
fn a_file_a_processor_is_merged_by_time() {
    let parts = ["cpu.blktrace.0", "cpu.blktrace.1", "cpu.blktrace.2"];
    let part = |name: &str| -> Box<dyn Read + Send> { Box::new(Cursor::new(corpus(name))) };
    let trace = trace::open_together(parts.map(part).into()).expect("three parts");
    let accesses: Vec<Access> = trace.map(|access| access.expect("right")).collect();
    let expected = [
        (1000, READ, 0, 4096),
        (2000, READ, 8192, 4096),
        (3000, WRITE, 4096, 4096),
        (4000, WRITE, 12_288, 4096),
    ];
    assert_eq!(short(&accesses), expected);
}

/// Filetimes count 100 ns from 1601; two disks of a host are two volumes.
#[test]
fn msr_has_filetimes_and_a_volume_a_disk() {
    let accesses = read(corpus("msr.csv")).expect("it is MSR's");
    // 22 February 2007, 17:00:00.3061629 UTC.
    assert_eq!(short(&accesses)[0], (1_172_163_600_306_162_900, READ, 383_496_192, 32_768));
    assert_eq!(names("msr.csv"), ["hm.1", "hm.1", "hm.1", "hm.0"]);
}

#[test]
fn a_request_of_systor_without_a_reply_is_left_out_and_counted() {
    let mut trace = opened(corpus("systor.csv")).expect("it is SYSTOR's");
    let accesses: Vec<Access> = trace.by_ref().map(|access| access.expect("right")).collect();
    assert_eq!(
        short(&accesses),
        [
            (1_455_592_204_322_937_000, WRITE, 4096, 8192),
            (1_455_592_205_000_001_000, READ, 1 << 20, 65_536),
        ]
    );
    assert_eq!(trace.remarks().unanswered, 1);
}

#[test]
fn alibaba_has_microseconds_and_devices() {
    let accesses = read(corpus("alibaba.csv")).expect("it is Alibaba's");
    assert_eq!(short(&accesses)[1], (1_577_808_000_000_050_000, READ, 8192, 16_384));
    assert_eq!(names("alibaba.csv"), ["419", "725", "419"]);
    let mut trace = opened(corpus("alibaba.csv")).expect("it is Alibaba's");
    trace.choose("419");
    assert_eq!(trace.by_ref().count(), 2);
    assert_eq!(trace.volumes().by_count(), [("419", 2), ("725", 1)]);
}

/// Its times are whole seconds: three accesses of one stand a third of a second apart.
#[test]
fn tencent_is_spread_within_the_second() {
    let accesses = read(corpus("tencent.csv")).expect("it is Tencent's");
    let second = 1_538_323_200_000_000_000;
    assert_eq!(
        short(&accesses),
        [
            (second, READ, 12_910_952 * 512, 65_536),
            (second + 333_333_333, WRITE, 6_338_688 * 512, 4096),
            (second + 666_666_666, READ, 1_904_106_400 * 512, 196_608),
            (second + 2_000_000_000, WRITE, 4096, 4096),
        ]
    );
}

/// A process's name may hold blanks.
#[test]
fn fiu_counts_sectors_and_names_devices() {
    let accesses = read(corpus("fiu.txt")).expect("it is FIU's");
    assert_eq!(
        short(&accesses),
        [
            (329_131_208_190_249, WRITE, 904_265_560 * 512, 4096),
            (329_131_208_195_000, READ, 4096, 8192),
        ]
    );
    assert_eq!(names("fiu.txt"), ["6,0", "8,16"]);
}

#[test]
fn spc_has_bytes_and_sectors_in_one_line() {
    let accesses = read(corpus("spc.txt")).expect("it is SPC's");
    assert_eq!(
        short(&accesses),
        [
            (551_706_000, WRITE, 20_941_264 * 512, 8192),
            (554_041_000, WRITE, 20_939_840 * 512, 8192),
            (1_000_000_000, READ, 3072 * 512, 512),
        ]
    );
}

/// An INQUIRY is no access.
#[test]
fn vscsi_is_read_in_both_versions() {
    let expected = [
        (1_000_000, READ, 4096, 4096),
        (2_500_000, WRITE, 8192, 8192),
        (2_600_000, Op::Flush, 0, 0),
    ];
    for name in ["v1.vscsi", "v2.vscsi"] {
        assert_eq!(short(&read(corpus(name)).expect(name)), expected, "{name}");
    }
}
