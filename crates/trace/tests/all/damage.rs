//! Damaged traces: one sentence that says what is wrong, where, and the cure; never a panic.

use crate::{corpus, read, refusal};
use proptest::prelude::*;
use trace::{Kind, Place};

const NAMES: [&str; 14] = [
    "v2.iolog",
    "v3.iolog",
    "le.blktrace",
    "be.blktrace",
    "cpu.blktrace.0",
    "blkparse.txt",
    "msr.csv",
    "systor.csv",
    "alibaba.csv",
    "tencent.csv",
    "fiu.txt",
    "spc.txt",
    "v1.vscsi",
    "v2.vscsi",
];

/// Each format with a wrong field: its line, its name, what it holds.
#[test]
fn a_wrong_field_is_named_with_its_line() {
    for (name, from, to, said) in [
        ("v2.iolog", "write 8192", "write x", "line 6: field `offset` is `x`"),
        ("v3.iolog", "2975 f read", "2975 f reed", "line 6: field `action` is `reed`"),
        ("blkparse.txt", "4096 + 128", "4096 + many", "line 4: field `sectors` is `many`"),
        ("msr.csv", "hm,0,Write", "hm,0,Wrote", "line 4: field `Type` is `Wrote`"),
        ("systor.csv", "R,3,1048576", "R,3,-1", "line 4: field `Offset` is `-1`"),
        ("alibaba.csv", "R,8192,", "R,,", "line 2: field `offset` is ``"),
        ("tencent.csv", "8,8,1,1063", "8,8,2,1063", "line 4: field `IOType` is `2`"),
        ("fiu.txt", "8 16 R 8", "8 16 X 8", "line 2: field `R|W` is `X`"),
        ("spc.txt", "0.554041", "0.55x", "line 2: field `Timestamp` is `0.55x`"),
        ("spc.txt", "8192,W,0.55", "99999999999,W,0.55", "line 1: field `size` is 99999999999"),
    ] {
        let text = String::from_utf8(corpus(name)).expect("it is text");
        assert!(text.contains(from), "{name} holds {from}");
        let sentence = refusal(text.replacen(from, to, 1));
        assert!(sentence.starts_with(said), "{name}: {sentence}");
        assert!(sentence.contains("mend the line") || sentence.contains("damaged"), "{sentence}");
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    let sentence = refusal(corpus("v8.blktrace"));
    assert!(sentence.contains("in version 8, and version 7 is read"), "{sentence}");
    assert!(sentence.contains("blkparse"), "{sentence}");
    let sentence = refusal("fio version 4 iolog\n");
    assert!(sentence.contains("`fio version 4 iolog` is no version"), "{sentence}");
}

#[test]
fn what_is_compressed_is_told_how_to_be_unpacked() {
    assert!(refusal(*b"\x1f\x8b\x08\0\0\0").contains("`zcat FILE | ... -`"));
    assert!(refusal(*b"\x28\xb5\x2f\xfd\0\0").contains("zstdcat"));
}

#[test]
fn what_is_no_trace_is_told_what_is_one() {
    for text in ["", "hello\n", "1,2,3\n", "root:x:0:0:root:/root:/bin/bash\n", "\0\0\0\0"] {
        let error = read(text).expect_err("no trace");
        assert_eq!((error.kind, error.place), (Kind::Unknown, Place::Whole), "{text:?}: {error}");
    }
}

/// blktrace was killed: what is before the cut is of use.
#[test]
fn a_cut_trace_says_where_what_is_whole_ends() {
    let whole = corpus("le.blktrace");
    let error = read(&whole[..whole.len() - 3]).expect_err("it is cut");
    assert_eq!(error.kind, Kind::Cut);
    let Place::Byte(at) = error.place else { panic!("{error}") };
    assert!(error.to_string().contains(&format!("head -c {at}")), "{error}");
    assert_eq!(read(&whole[..at as usize]).expect("the part before").len(), 6);
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let text = format!("fio version 3 iolog\n{}", "9".repeat(1 << 20));
    assert!(refusal(text).starts_with("line 2: the line is longer than 65536 bytes"));
}

/// A volume a line would take memory without end.
#[test]
fn more_volumes_than_are_told_apart_are_refused() {
    let line = |number: u32| format!("{number},R,0,4096,{number}\n");
    let text: String = (0..70_000).map(line).collect();
    assert!(refusal(text).starts_with("line 65537: there are more than 65536 volumes"));
}

#[test]
fn every_beginning_of_every_format_is_read_or_refused() {
    for name in NAMES {
        let whole = corpus(name);
        for end in 0..whole.len() {
            let _ = read(&whole[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn other_bytes_anywhere_are_read_or_refused(
        which in 0..NAMES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = corpus(NAMES[which]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(accesses) = read(bytes) {
            let mut analysis = trace::Analysis::new(64);
            accesses.iter().for_each(|access| analysis.add(access));
            analysis.conclude();
        }
    }
}
