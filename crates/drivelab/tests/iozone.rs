//! IOzone's columns, by the system calls that reach the file. What each test of IOzone does is written down here by hand,
//! after its documentation (`IOzone Filesystem Benchmark`, "Definitions of the tests"; iozone(1), -a -e -I -o -U):
//!
//! ```text
//!   write       a new file, from its beginning to its end          re-write    the same file again
//!   read        it, from its beginning to its end                  re-read     once more
//!   random      every record once, in a shuffled order             backward    from the last record to the first
//!   record      one record, again and again                        stride      every 17th record
//!   fwrite...   as write... through the C library's buffer         -e          fsync before the clock stops
//! ```

mod common;

use common::{Bench, system};
use std::{fs, ops::Range, path::Path};

const RECORD: u64 = 4096;
/// More than 17, so that a stride comes back, and no power of two.
const RECORDS: u64 = 20;

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

/// `drivelab run area --method iozone --set file=80K WORDS...` under strace(1): the seats of its cells in order, and the
/// calls on the scratch file outside them.
fn traced(bench: &Bench, cells: usize, words: &[&str]) -> Option<(Vec<Seat>, String)> {
    system("strace", &["-V"])?;
    let prefix = bench.path("trace");
    let kinds = "--trace=open,openat,read,write,pread64,pwrite64,lseek,fsync,fdatasync,fadvise64,ftruncate,close";
    let output = prefix.to_str().expect("plain names");
    let strace = ["strace", "-ff", "-qq", "-ttt", "-y", "-s", "0", kinds, "-o", output];
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

#[test]
fn every_column_does_to_the_file_what_iozones_test_does() {
    let bench = Bench::new();
    let words = ["--set", "block=4K", "--set", TESTS];
    let (seats, main) = need!(traced(&bench, 13, &words), "strace");
    check_columns(&seats, false);
    // A new file before write and before fwrite, and nothing dropped in between.
    assert_eq!(main.matches(", 0) = 0").count(), main.matches("ftruncate(").count(), "{main}");
    assert_eq!(main.matches("ftruncate(").count(), 2, "{main}");
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
    assert_eq!(syncs, 13, "dirty pages cannot be dropped: {main}");
}

/// Records smaller than the C library's buffer are joined in it: that is all that fwrite has over write.
#[test]
fn small_records_reach_the_file_one_by_one_or_joined_by_stdio() {
    let bench = Bench::new();
    let words = ["--set", "block=512", "--set", "test=write;read;fwrite;fread"];
    let (seats, _) = need!(traced(&bench, 4, &words), "strace");
    let each = |at: usize| {
        seats[at].calls.iter().map(|call| match *call {
            Call::Read { bytes, .. } | Call::Write { bytes, .. } => bytes,
            Call::Sync => panic!("nothing was to be flushed"),
        })
    };
    assert!(each(0).eq([512; 160]) && each(1).eq([512; 160]), "{seats:?}");
    assert_eq!(seats[2].calls, writes(ALL), "joined to the buffer's 4096");
    assert_eq!(seats[3].calls, reads(ALL));
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
