//! IOzone's columns, by the system calls that reach the file: held against what IOzone was seen to
//! do, and against what each of its tests is said to do, written down here by hand after its
//! documentation (`IOzone Filesystem Benchmark`, "Definitions of the tests"; iozone(1), -a -e -I -o
//! -U):
//!
//! ```text
//!   write       a new file, from its beginning to its end          re-write    the same file again
//!   read        it, from its beginning to its end                  re-read     once more
//!   random      every record once, in a shuffled order             backward    from the last record to the first
//!   record      one record, again and again                        stride      every 17th record
//!   fwrite...   as write... through the C library's buffer         -e          fsync before the clock stops
//! ```

use crate::common;

use common::{Bench, system};
use std::{fs, ops::Range, path::Path};

const RECORD: u64 = 4096;
/// More than 17, so that a stride comes back, and no power of two.
const RECORDS: u64 = 20;

/// What IOzone 3.489 did to its file in each column:
/// `strace -f -y iozone -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -i 6 -i 7 -s 80k -r 4k -f FILE`, without its
/// seeks and without the second backward read, whose rate it does not print. r and w with the
/// record; f is fsync(2). Its clock runs from behind the first f, where there is one, to before the
/// last.
const SEEN: [(&str, &str); 13] = [
    ("write", "f w0..19 f"),
    ("re-write", "f w0..19 f"),
    ("read", "f r0 r0..19 f"),
    ("re-read", "f r0 r0..19 f"),
    ("random read", "r9 r8 r5 r17 r18 r10 r13 r14 r7 r0 r15 r12 r16 r1 r6 r2..4 r19 r11 f"),
    ("random write", "w9 w8 w5 w17 w18 w10 w13 w14 w7 w0 w15 w12 w16 w1 w6 w2..4 w19 w11 f"),
    ("backward read", "f r19..0 f"),
    ("record re-write", "f w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 w0 f"),
    ("stride read", "f r0 r17 r1..18 f"),
    ("fwrite", "f w0..19 f"),
    ("re-fwrite", "f w0..19 f"),
    ("fread", "f r0..19"),
    ("re-fread", "f r0..19"),
];

/// What reached the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Call {
    Read { offset: u64, bytes: u64 },
    Write { offset: u64, bytes: u64 },
    Sync,
}

/// One worker's open file: how it was opened, and what was done with it until it was closed.
#[derive(Debug)]
struct Seat {
    opened: String,
    calls: Vec<Call>,
}

/// `drivelab run area --method iozone --set file=80K WORDS...` under strace(1): the seats of its
/// cells in order, and the calls on the scratch file outside them.
fn traced(bench: &Bench, cells: usize, words: &[&str]) -> Option<(Vec<Seat>, String)> {
    system("strace", &["-V"])?;
    let prefix = bench.path("trace");
    let kinds = "--trace=open,openat,read,write,pread64,pwrite64,lseek,fsync,fdatasync,fadvise64,ftruncate,close";
    let output = prefix.to_str().expect("plain names");
    // Without the filter in the kernel every call stops the run, its readings of the clock, too,
    // where they are calls: minutes for a second.
    let strace =
        ["strace", "--seccomp-bpf", "-ff", "-qq", "-ttt", "-y", "-s", "0", kinds, "-o", output];
    let run = ["run", "area", "--method", "iozone", "--set", "file=80K"];
    let call = bench.drivelab(run).and(words.iter().copied());
    call.through(&strace, Path::new(common::DRIVELAB)).done().succeeded();
    let mut threads: Vec<String> = fs::read_dir(bench.path(""))
        .expect("listed")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("trace."))
        .map(|entry| fs::read_to_string(entry.path()).expect("a trace is text"))
        .map(|text| {
            text.lines()
                .filter(|line| line.contains(".drivelab-scratch-"))
                .collect::<Vec<_>>()
                .join("\n")
        })
        .filter(|text| !text.is_empty())
        .collect();
    // Each line begins with its time.
    threads.sort();
    let main = threads.remove(0);
    let mut seats: Vec<Seat> = threads.iter().map(|text| seat(text)).collect();
    seats.retain(|seat| !seat.calls.is_empty());
    // A worker that filled the area may come before them.
    let seats = seats.split_off(seats.len() - cells);
    Some((seats, main))
}

fn seat(text: &str) -> Seat {
    let mut seat = Seat { opened: String::new(), calls: Vec::new() };
    let mut position = 0;
    for line in text.lines() {
        let (_, call) = line.split_once(' ').expect("time, call");
        let (name, rest) = call.split_once('(').expect("name(arguments) = result");
        let (arguments, result) = rest.rsplit_once(" = ").expect("a result");
        let arguments: Vec<&str> = arguments.trim_end_matches(')').split(", ").collect();
        let moved =
            || result.split(' ').next().and_then(|number| number.parse().ok()).expect("bytes");
        let at = || arguments[3].trim_end_matches(')').parse().expect("an offset");
        match name {
            "open" => (seat.opened, position) = (arguments[1].to_owned(), 0),
            "openat" => (seat.opened, position) = (arguments[2].to_owned(), 0),
            "lseek" => position = moved(),
            "pread64" => seat.calls.push(Call::Read { offset: at(), bytes: moved() }),
            "pwrite64" => seat.calls.push(Call::Write { offset: at(), bytes: moved() }),
            "read" => {
                seat.calls.push(Call::Read { offset: position, bytes: moved() });
                position += moved();
            }
            "write" => {
                seat.calls.push(Call::Write { offset: position, bytes: moved() });
                position += moved();
            }
            "fsync" | "fdatasync" => seat.calls.push(Call::Sync),
            "close" => {}
            other => panic!("{other} on a worker's file: {line}"),
        }
    }
    seat
}

fn reads(records: impl IntoIterator<Item = u64>) -> Vec<Call> {
    let read = |record| Call::Read { offset: record * RECORD, bytes: RECORD };
    records.into_iter().map(read).collect()
}

fn writes(records: impl IntoIterator<Item = u64>) -> Vec<Call> {
    let write = |record| Call::Write { offset: record * RECORD, bytes: RECORD };
    records.into_iter().map(write).collect()
}

const ALL: Range<u64> = 0..RECORDS;

/// 0, 17, then from 1 on in the same way, each record once.
fn strides() -> Vec<u64> {
    let mut order = vec![0, 17, 1, 18, 2, 19];
    order.extend(3..17);
    order
}

/// The thirteen columns of `iozone -a`, in its order.
const TESTS: &str = "test=write;re-write;read;re-read;random read;random write;backward read;record re-write;stride \
                     read;fwrite;re-fwrite;fread;re-fread";

/// Without the final flush, which must stand behind everything else or be nowhere.
fn unflushed(seat: &Seat, is_flushed: bool) -> Vec<Call> {
    let syncs = seat.calls.iter().filter(|call| **call == Call::Sync).count();
    assert_eq!(syncs, usize::from(is_flushed), "{seat:?}");
    assert_eq!(seat.calls.last() == Some(&Call::Sync), is_flushed, "{seat:?}");
    seat.calls[..seat.calls.len() - syncs].to_vec()
}

fn check_columns(seats: &[Seat], flushes: bool) {
    let written = |at: usize| unflushed(&seats[at], flushes);
    let read = |at: usize| unflushed(&seats[at], false);
    let sorted = |mut calls: Vec<Call>| {
        calls.sort();
        calls
    };
    for sequential in [0, 1, 9, 10] {
        assert_eq!(written(sequential), writes(ALL), "column {sequential}");
    }
    for sequential in [2, 3, 11, 12] {
        assert_eq!(read(sequential), reads(ALL), "column {sequential}");
    }
    assert_eq!(sorted(read(4)), reads(ALL), "random read: every record once");
    assert_eq!(sorted(written(5)), writes(ALL), "random write: every record once");
    assert_ne!(read(4), reads(ALL), "and in a shuffled order");
    assert_eq!(read(6), reads(ALL.rev()), "backward read");
    let hot = written(7);
    assert_eq!(hot.len() as u64, RECORDS, "record re-write");
    assert!(hot.iter().all(|call| *call == hot[0]), "one record: {hot:?}");
    assert_eq!(read(8), reads(strides()), "stride read");
}

/// What stands between the fsyncs of a line of [`SEEN`].
fn timed(seen: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    for word in seen.split(' ').filter(|word| *word != "f") {
        let (kind, records) = word.split_at(1);
        let (first, last) = records.split_once("..").unwrap_or((records, records));
        let [first, last] = [first, last].map(|text| text.parse::<u64>().expect("a record"));
        let up = (first..=last).collect::<Vec<_>>();
        let records = if first <= last { up } else { (last..=first).rev().collect() };
        calls.extend(if kind == "r" { reads(records) } else { writes(records) });
    }
    calls
}

fn check_against_seen(seats: &[Seat]) {
    for (seat, (test, seen)) in seats.iter().zip(SEEN) {
        let (mut ours, mut theirs) = (unflushed(seat, false), timed(seen));
        match test {
            "read" | "re-read" => {
                // It looks at the first record before its clock starts.
                theirs.remove(0);
            }
            "random read" | "random write" => {
                ours.sort();
                theirs.sort();
            }
            "record re-write" => {
                // Its hot record is the first; here one in the middle.
                assert!(ours.iter().all(|call| *call == ours[0]), "{test}");
                assert_eq!(ours.len(), theirs.len(), "{test}");
                continue;
            }
            "stride read" => {
                // It goes back as soon as the next record would be the last but one, and so reads
                // 17 twice here and 19 never; here each record is read once.
                assert_eq!(ours[..3], theirs[..3], "{test}");
                assert_eq!(ours.len(), theirs.len(), "{test}");
                continue;
            }
            _ => {}
        }
        assert_eq!(ours, theirs, "{test}");
    }
}

#[test]
fn every_column_does_to_the_file_what_iozones_test_does() {
    let bench = Bench::new();
    let words = ["--set", "block=4K", "--set", TESTS];
    let (seats, main) = need!(traced(&bench, 13, &words), "strace");
    check_columns(&seats, false);
    check_against_seen(&seats);
    // A new file before write, a flush before each of the others, and nothing dropped in between.
    assert_eq!(main.matches("fsync(").count(), 12, "{main}");
    assert_eq!(main.matches(", 0) = 0").count(), main.matches("ftruncate(").count(), "{main}");
    assert_eq!(main.matches("ftruncate(").count(), 1, "{main}");
    assert!(!main.contains("fadvise64"), "{main}");
}

/// -e: flush in the time. -U: nothing of the file in memory before a test.
#[test]
fn the_flush_is_the_last_call_of_a_writing_column_and_a_drop_stands_before_each() {
    let bench = Bench::new();
    let words =
        ["--set", "block=4K", "--set", TESTS, "--set", "flush=timed", "--set", "drop_cache=file"];
    let (seats, main) = need!(traced(&bench, 13, &words), "strace");
    check_columns(&seats, true);
    let drops = main.lines().filter(|line| line.contains("POSIX_FADV_DONTNEED")).count();
    assert_eq!(drops, 13, "{main}");
    let syncs = main.lines().filter(|line| line.contains("fsync(")).count();
    assert_eq!(syncs, 12 + 13, "the tests' own, and dirty pages cannot be dropped: {main}");
}

/// IOzone's streams have a buffer of one record: 64 calls of 1,024 bytes a column (version 3.489,
/// `-s 64k -r 1k`). In the C library's own buffer, records smaller than it are joined: that is all
/// that fwrite has over write.
#[test]
fn small_records_reach_the_file_one_by_one_or_joined_by_stdio() {
    let bench = Bench::new();
    let words = ["--set", "block=512", "--set", "test=write;read;fwrite;fread"];
    let (seats, _) = need!(traced(&bench, 4, &words), "strace");
    let of = |seats: &[Seat], at: usize| -> Vec<u64> {
        let bytes = |call: &Call| match *call {
            Call::Read { bytes, .. } | Call::Write { bytes, .. } => bytes,
            Call::Sync => panic!("nothing was to be flushed"),
        };
        seats[at].calls.iter().map(bytes).collect()
    };
    for column in 0..4 {
        assert_eq!(of(&seats, column), [512; 160], "column {column}");
    }
    let bench = Bench::new();
    let words = ["--set", "block=512", "--set", "test=fwrite;fread", "--engine", "stdio"];
    let (seats, _) = need!(traced(&bench, 2, &words), "strace");
    assert_eq!(seats[0].calls, writes(ALL), "joined to the buffer's 4096");
    assert_eq!(seats[1].calls, reads(ALL));
}

/// -o and -I.
#[test]
fn the_file_is_opened_synchronous_or_direct_where_that_is_asked_for() {
    for (io, flag) in [("buffered,sync", "O_SYNC"), ("direct", "O_DIRECT")] {
        let bench = Bench::new();
        let words = ["--set", "block=4K", "--set", "test=write;read", "--io", io];
        let (seats, _) = need!(traced(&bench, 2, &words), "strace");
        assert!(seats.iter().all(|seat| seat.opened.contains(flag)), "{io}: {seats:?}");
        let plain = if flag == "O_SYNC" { "O_DIRECT" } else { "O_SYNC" };
        assert!(seats.iter().all(|seat| !seat.opened.contains(plain)), "{io}: {seats:?}");
    }
}
