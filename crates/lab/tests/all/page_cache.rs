//! What the page cache held decides what a rate is the rate of: the drive is scripted, and what the
//! kernel would say of its file too.

use crate::scripted::{Lab, Life, Scripted, flags, honest};
use lab::target::Observation;
use record::{CachePass, Flag, Record};

const GIB: u64 = 1 << 30;
const READ: &str =
    "[[cell]]\nop = 'read'\npattern = 'seq'\nblock = '1MiB'\nio = 'buffered'\nbound = 'once'";
const READ_AT_RANDOM: &str =
    "[[cell]]\nop = 'read'\npattern = 'random'\nblock = '1MiB'\nio = 'buffered'\nbound = 2000";
const WRITE: &str =
    "[[cell]]\nop = 'write'\npattern = 'seq'\nblock = '1MiB'\nio = 'buffered'\nbound = 'once'";

/// One pass of one cell over 1 GiB.
fn run(cells: &str, observe: impl Fn(&Life) -> Observation + 'static) -> Record {
    let target = Scripted::calm().observed(observe);
    Lab::new(&target, cells).once().run()
}

fn means(record: &Record) -> &str {
    record.cells[0].means.as_deref().expect("a meaning")
}

fn seen(record: &Record) -> CachePass {
    record.cells[0].passes[0].page_cache.expect("the cache was looked at")
}

/// The kernel's words: resident before and after, and read from storage for this program during the
/// pass.
fn words(before: u64, after: u64, fetched: u64) -> impl Fn(&Life) -> Observation {
    move |life| {
        let over = life.read_bytes + life.written_bytes > 0;
        Observation {
            resident_bytes: Some(if over { after } else { before }),
            fetched_bytes: Some(if over { fetched } else { 0 }),
            ..honest(life)
        }
    }
}

#[test]
fn what_lay_in_the_cache_and_stayed_is_read_from_the_cache() {
    let record = run(READ, words(GIB, GIB, 0));
    assert_eq!(means(&record), "from the page cache");
    assert_eq!(flags(&record), [Flag::CacheServed, Flag::FitsInMemory]);
}

/// The program's own pages come from storage, too: reading a file of 64 KiB from memory may well
/// fetch more.
#[test]
fn pages_of_the_program_itself_are_not_the_files() {
    assert_eq!(means(&run(READ, words(GIB, GIB, 300 << 20))), "from the page cache");
}

#[test]
fn what_was_dropped_is_read_from_the_drive() {
    let record = run(READ, words(0, GIB, GIB));
    assert_eq!(means(&record), "from the drive");
    assert_eq!(flags(&record), [], "a small file, and yet the drive's rate");
    let found = seen(&record);
    assert_eq!((found.cached_share, found.fetched_share), (Some(0.0), Some(1.0)));
}

#[test]
fn a_part_of_the_file_in_the_cache_is_a_mixture() {
    let record = run(READ, words(3 * GIB / 8, GIB, 5 * GIB / 8));
    assert_eq!(means(&record), "mixed, 38 % from the page cache");
    assert!(flags(&record).contains(&Flag::CacheServed));
}

/// A file of twice the cache, read again from its beginning: its end lies in the cache, and is
/// pushed out before it is reached. By residency alone half of it would have come from memory.
#[test]
fn a_file_that_pushes_itself_out_of_the_cache_comes_from_the_drive() {
    let record = run(READ, words(GIB / 2, GIB / 2, GIB));
    assert_eq!(means(&record), "from the drive");
}

#[test]
fn holes_come_from_neither() {
    let record = run(READ, words(0, GIB, 0));
    assert!(means(&record).starts_with("99 % from neither the drive nor"), "{}", means(&record));
}

#[test]
fn reads_that_come_back_find_what_they_brought() {
    let record = run(READ_AT_RANDOM, words(0, GIB * 7 / 8, GIB * 7 / 8));
    // 2,000 reads of 1 MiB at random on 1,024 blocks, of which 896 were fetched.
    assert_eq!(means(&record), "mixed, 55 % from the page cache");
}

#[test]
fn without_a_count_of_what_was_fetched_the_drives_counters_and_then_residency_tell() {
    let silent = |resident: u64, drive: Option<u64>| {
        move |life: &Life| Observation {
            resident_bytes: Some(resident),
            fetched_bytes: None,
            drive_read_bytes: drive.filter(|_| life.read_bytes > 0).or(drive.map(|_| 0)),
            ..honest(life)
        }
    };
    assert_eq!(means(&run(READ, silent(GIB / 2, Some(GIB)))), "from the drive");
    assert_eq!(means(&run(READ, silent(GIB / 2, None))), "mixed, 50 % from the page cache");
}

#[test]
fn a_write_is_as_durable_as_its_flush() {
    let dirty =
        |bytes: u64| move |life: &Life| Observation { dirty_bytes: Some(bytes), ..honest(life) };
    let unflushed = run(WRITE, dirty(GIB));
    assert_eq!(means(&unflushed), "into the page cache, not durable");
    assert_eq!(flags(&unflushed), [Flag::FitsInMemory, Flag::NotDurable]);
    let partly = run(WRITE, dirty(GIB / 4));
    assert_eq!(means(&partly), "25 % of it only in the page cache, not durable");
    let written = run(WRITE, dirty(0));
    assert_eq!(means(&written), "written out, but not flushed: not durable");
    let timed = run(&format!("{WRITE}\nflush = 'timed'"), dirty(0));
    assert_eq!(means(&timed), "onto the drive, durable");
    assert_eq!(flags(&timed), []);
    let apart = run(&format!("{WRITE}\nflush = 'untimed'"), dirty(0));
    assert_eq!(means(&apart), "into the page cache, not durable");
    assert_eq!(flags(&apart), [Flag::FitsInMemory], "its flush stands in the table");
    for io in ["buffered,sync", "buffered,dsync"] {
        let synced = run(&WRITE.replace("'buffered'", &format!("'{io}'")), dirty(0));
        assert_eq!(means(&synced), "onto the drive, durable", "{io}");
    }
}

#[test]
fn direct_io_has_no_such_question() {
    let direct = READ.replace("'buffered'", "'direct'");
    let record = run(&direct, words(GIB, GIB, 0));
    assert_eq!((record.cells[0].means.clone(), record.cells[0].passes[0].page_cache), (None, None));
}
