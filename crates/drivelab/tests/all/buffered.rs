//! Buffered I/O end to end: what a rate is the rate of, what IOzone's columns do to a file, and
//! what is refused.

use crate::common;

use common::{
    Bench, LoopDevice, MIB, Mounted, Nobody, ROOT, assert_one_sentence, cell, flags, system,
};
use serde_json::Value;
use std::{fs, path::Path};

/// A file written, read, dropped, read again, and flushed: five rates of four kinds.
const LIFE: &str = r#"
name = "life"
title = "a file's life in the page cache"
about = "For tests."
order = "fixed"
span = "8MiB"
passes = 2
[defaults]
pattern = "seq"
block = "64KiB"
engine = "sync"
io = "buffered"
bound = "once"
[[cell]]
name = "write"
op = "write"
before = ["new_file"]
[[cell]]
name = "read"
op = "read"
[[cell]]
name = "read-dropped"
op = "read"
drop_cache = "file"
[[cell]]
name = "fread"
op = "read"
engine = "stdio"
[[cell]]
name = "write-flushed"
op = "write"
flush = "timed"
"#;

fn means<'r>(record: &'r Value, name: &str) -> &'r str {
    cell(record, name)["means"].as_str().unwrap_or_else(|| panic!("{name} means nothing"))
}

#[test]
fn residency_decides_what_each_rate_is_the_rate_of() {
    let bench = Bench::new();
    bench.file("life.toml", LIFE);
    let done = bench.drivelab(["run", "area", "--method", "life.toml"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(means(&record, "read"), "from the page cache");
    assert_eq!(means(&record, "read-dropped"), "from the drive");
    assert_eq!(means(&record, "fread"), "from the page cache", "the read before brought it back");
    assert_eq!(means(&record, "write-flushed"), "onto the drive, durable");
    let written = means(&record, "write");
    assert!(written.ends_with("not durable"), "{written}");
    let flags_of = |name| flags(cell(&record, name));
    assert!(flags_of("read").contains(&"cache_served"), "{:?}", flags_of("read"));
    for name in ["read-dropped", "write-flushed"] {
        let found = flags_of(name);
        for flag in ["cache_served", "fits_in_memory", "not_durable"] {
            assert!(!found.contains(&flag), "{name}: {found:?}");
        }
    }
    let pass = &cell(&record, "read-dropped")["passes"][0]["page_cache"];
    assert_eq!((&pass["dropped"], &pass["resident_before_bytes"]), (&"file".into(), &0.into()));
    for words in ["from the page cache", "POSIX_FADV_DONTNEED of the file: 0 B of it stayed"] {
        assert!(done.stdout.replace("\n  ", " ").contains(words), "{}", done.stdout);
    }
}

/// What is asked to leave need not go: a file in memory has no other place. The look afterwards
/// notices.
#[test]
fn a_drop_that_drops_nothing_is_seen() {
    let shm = Path::new("/dev/shm");
    need!(shm.is_dir().then_some(()), "/dev/shm");
    let bench = Bench::below(shm);
    bench.file("life.toml", LIFE);
    bench.drivelab(["run", "area", "--method", "life.toml"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(means(&record, "read-dropped"), "from the page cache");
    assert!(flags(cell(&record, "read-dropped")).contains(&"cache_served"));
}

/// A file system whose page cache is 64 MiB, modelled: what fits is read again from memory, what
/// does not from the disk, and in between lies a mixture.
#[test]
fn re_reads_over_file_sizes_cross_the_page_cache() {
    let bench = Bench::new();
    let words = ["run", "model:hdd-7200-cmr/ext4:ram=64M", "--method", "iozone", "--set"];
    let tests = ["test=write;read;re-read", "--set", "file=16M..256M", "--set", "block=64K"];
    let done = bench.drivelab(words).and(tests).done().succeeded();
    let record = bench.record("last");
    let of = |file| means(&record, &format!("re-read-seq-read-64K-t1-q1-f{file}")).to_owned();
    assert_eq!(of("16M"), "from the page cache", "{}", done.stdout);
    assert_eq!(of("256M"), "from the drive");
    let rate = |file| {
        let cell = cell(&record, &format!("re-read-seq-read-64K-t1-q1-f{file}"));
        cell["bytes_per_s"].as_f64().expect("a rate")
    };
    assert!(rate("16M") > 4.0 * rate("256M"), "{} and {}", rate("16M"), rate("256M"));
}

#[test]
fn an_existing_file_that_may_only_be_read_is_dropped_and_read_without_being_changed() {
    let bench = Bench::new();
    let file = bench.file("data", vec![7; 2 * MIB as usize]);
    let mut rights = fs::metadata(&file).expect("it is there").permissions();
    rights.set_readonly(true);
    fs::set_permissions(&file, rights).expect("it is ours");
    bench.file("life.toml", LIFE);
    let words =
        ["run", "data", "--method", "life.toml", "--size", "2M", "--set", "drop_cache=file"];
    let done = bench.drivelab(words).done().succeeded();
    assert!(done.stdout.contains("--explain"), "{}", done.stdout);
    let page = bench.drivelab(["show", "last", "--explain"]).done().succeeded().stdout;
    assert!(page.contains("drivelab never writes to an existing file"), "{page}");
    let record = bench.record("last");
    for name in ["read", "read-dropped", "fread"] {
        assert_eq!(means(&record, name), "from the drive", "{name}");
    }
    assert_eq!(fs::read(&file).expect("readable"), vec![7; 2 * MIB as usize]);
}

#[test]
fn emptying_the_machines_cache_is_refused_to_those_who_may_not() {
    let nobody = need!(Nobody::new(), "root and setpriv");
    let bench = &nobody.bench;
    bench.file("life.toml", LIFE);
    nobody.gets_it_all();
    let run = |how: &str| {
        let words = ["run", "area", "--method", "life.toml", "--set", how];
        nobody.does(bench.drivelab(words))
    };
    let refused = run("drop_cache=machine");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for words in ["drop_caches", "run as root, or use --set drop_cache=file"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert_eq!(bench.left_behind(), Vec::<String>::new(), "nothing was touched");
    run("drop_cache=file").succeeded();
    let record = bench.record("last");
    assert_eq!(means(&record, "read"), "from the drive", "without root, by advice");
}

#[test]
fn only_a_matrix_mounts_anew_and_a_wrong_word_is_told_the_right_ones() {
    let bench = Bench::new();
    bench.file("life.toml", LIFE);
    let refused = |how, words: &[&str]| {
        let call = bench.drivelab(["run", "area", "--method", "life.toml", "--set", how]);
        let done = call.done();
        assert_eq!(done.code, Some(2), "{}", done.stdout);
        assert_one_sentence(&done.stderr, words);
    };
    refused("drop_cache=remount", &["use `drivelab matrix`, or --set drop_cache=file"]);
    refused("drop_cache=all", &["no, file, machine, remount"]);
}

/// A loop device whose file has no room: the page cache takes everything, and only the flush learns
/// that the drive did not.
#[test]
fn a_flush_that_fails_ends_the_run_and_what_was_not_flushed_was_never_called_durable() {
    let outer = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let lower = need!(outer.mounted("mkfs.ext4", &["-o", "noatime"]), ROOT);
    let image = lower.path().join("image");
    fs::File::create(&image).and_then(|file| file.set_len(256 * MIB)).expect("a sparse image");
    let inner = need!(LoopDevice::over(image, &[]), ROOT);
    // With few inodes: the tables of the usual number are as large as what there is room for.
    need!(system("mkfs.ext2", &["-q", "-N", "64", inner.text()]), "mkfs.ext2");
    let upper = need!(Mounted::new(&inner.path, &[]), ROOT);
    let bench = Bench::new();
    let method = LIFE.replace("8MiB", "64MiB").replace("passes = 2", "passes = 1");
    bench.file("life.toml", method);
    let failed = bench.drivelab(["run", upper.text(), "--method", "life.toml"]).done();
    assert_eq!(failed.code, Some(2), "{}", failed.stdout);
    let record = bench.record("last");
    assert_eq!(record["state"], "failed");
    assert!(means(&record, "write").ends_with("not durable"), "{}", means(&record, "write"));
    let names = common::cell_names(&record);
    assert!(!names.contains(&"write-flushed"), "{names:?}");
}
