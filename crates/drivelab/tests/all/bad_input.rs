//! Words that cannot be meant get one sentence with the cure, exit code 2, and leave nothing
//! behind.

use crate::common;

use common::{Bench, Call, MIB, names_in};
use std::os::unix::net::UnixListener;

/// Refuses every case: words after `drivelab run --store ...`, and what the sentence must hold.
fn assert_all_refused(cases: &[(&[&str], &[&str])]) {
    let bench = Bench::new();
    bench.file("existing.img", vec![7; MIB as usize]);
    let before = names_in(&bench.path(""));
    for (words, told) in cases {
        bench.drivelab(["run"]).and(*words).done().refused(told);
        let mut after = names_in(&bench.path(""));
        after.retain(|name| !name.starts_with("store.sqlite"));
        assert_eq!(after, before, "{words:?} left a file");
        assert!(bench.left_behind().is_empty(), "{words:?} left a scratch file");
    }
    assert!(bench.history().is_empty(), "a refusal is no run");
}

#[test]
fn unknown_names_get_the_nearest_right_one() {
    assert_all_refused(&[
        (&["area", "--method", "quik"], &["`quik`", "Did you mean `quick`?", "saturation"]),
        (&["area", "--metod", "quick"], &["`--metod`", "`--method`", "drivelab run --help"]),
        (&["area", "--set", "blok=4K"], &["`blok`", "Did you mean `block`?", "Keys: op, pattern"]),
        (&["area", "--io", "direkt"], &["`direkt`", "Did you mean `direct`?", "buffered"]),
        (&["area", "--engine", "urin"], &["`urin`", "Did you mean `uring`?", "sync"]),
        (&["area", "--data", "zeroes"], &["`zeroes`", "Did you mean `zeros`?", "random"]),
        (&["area", "--set", "pattern=randm"], &["`randm`", "Did you mean `random`?"]),
        (&["area", "--set", "op=wrote"], &["`wrote`", "Did you mean `write`?"]),
        (&["area", "--grade", "best"], &["best", "quick, normal, publish"]),
        (&["nul:"], &["`nul:`", "Did you mean `null", "block device"]),
        (
            &["model:mtron-por-32"],
            &["`mtron-por-32`", "Did you mean `mtron-pro-32`", "drivelab drives"],
        ),
        (&["model:2xmtron-pro-32/riad0"], &["`riad0`", "Did you mean `raid0`", "raid10"]),
        (&["model:mtron-pro-32:prot=onboard"], &["`prot`", "Did you mean `port`?", "write-cache"]),
        (
            &["model:mtron-pro-32:port=onbord"],
            &["`onbord`", "Did you mean `onboard`?", "highpoint2320"],
        ),
    ]);
    let unknown = Call::new(["histroy"], &std::env::temp_dir()).done();
    unknown.refused(&["`histroy`", "`history`", "drivelab --help"]);
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    assert_all_refused(&[
        (&["area", "--size", "4x"], &["--size", "`4x` is not a size", "64KiB"]),
        (&["area", "--size", "0"], &["--size"]),
        (&["area", "--max-written", "lots"], &["--max-written", "is not a size"]),
        (&["area", "--max-time", "soon"], &["--max-time", "`soon` is not a time", "90s"]),
        (&["area", "--passes", "0"], &["--passes", "1..=1000"]),
        (&["area", "--seed", "-1"], &["-1"]),
        (&["area", "--set", "threads=0"], &["threads = 0", "from 1 to"]),
        (&["area", "--set", "depth=0"], &["depth = 0", "from 1 to"]),
        (&["area", "--set", "depth=100000"], &["depth = 100000", "from 1 to"]),
        (&["area", "--set", "block=0"], &["block = 0", "blocks go from 1 B to"]),
        (&["area", "--set", "block=3G"], &["block = ", "blocks go from 1 B to"]),
        (&["area", "--set", "rate=-1"], &["rate = -1", "above 0"]),
        (&["area", "--set", "nonsense"], &["--set", "KEY=VALUE", "block=4K"]),
    ]);
}

#[test]
fn a_depth_beyond_the_engine_is_refused_with_the_engine_that_has_it() {
    let words: &[&str] = &["depth = 32", "--engine uring", "threads = 32"];
    assert_all_refused(&[(&["area", "--engine", "sync", "--set", "depth=32"], words)]);
}

#[test]
fn what_is_no_target_is_refused_with_what_is() {
    assert_all_refused(&[
        (&["absent/data"], &["absent/data", "no directory", "spelling"]),
        (&["/dev/null"], &["/dev/null is a character device", "a directory, a file or"]),
        (&["modl:x"], &["no `modl:` targets", "Did you mean `model`?", "`null:`"]),
        (&["null:x"], &["`null:x`", "nothing after the colon"]),
        (&[""], &["TARGET is empty"]),
        (&["area", "area", "area"], &["one TARGET or compares two", "3 were named"]),
    ]);
    let bench = Bench::new();
    let _listener = UnixListener::bind(bench.path("socket")).expect("a socket");
    bench.drivelab(["run", "socket"]).done().refused(&["socket is a socket", "a file or a block"]);
}

/// Of a cache of the kernel's, which keeps 8 KiB for itself, it was said that "the test needs 1 GiB
/// and the target offers 1024.0 MiB".
#[test]
fn a_test_that_is_a_little_too_large_is_told_by_how_much() {
    let bench = Bench::new();
    let run = |target: &str| bench.drivelab(["run", target, "--size", "1G"]).done();
    run("memory:1048568K").refused(&["needs 1 GiB, 8 KiB more than", "--size, such as 512MiB"]);
    run("memory:12M").refused(&["1012 MiB more than the 12 MiB that", "--size, such as 8MiB"]);
    // It was told to pass `--size 512B`, with which no block of the method fits.
    run("memory:512").refused(&["1 GiB more than the 512 B that", "not one block of 4 KiB fits"]);
}

#[test]
fn a_method_file_is_refused_by_file_and_line() {
    let bench = Bench::new();
    let typo = common::SMALL.replace("pattern = ", "patern = ");
    let line = 1 + typo.lines().position(|line| line.starts_with("patern")).expect("the typo");
    bench.file("typo.toml", typo);
    let run = bench.drivelab(["run", "area", "--method", "typo.toml"]).done();
    run.refused(&["typo.toml", &format!("line {line}"), "patern", "pattern"]);
    bench.file("value.toml", common::SMALL.replace("\"random\"", "\"randm\""));
    let run = bench.drivelab(["run", "area", "--method", "value.toml"]).done();
    run.refused(&["value.toml", "line ", "`randm`", "Did you mean `random`?"]);
    bench.file("broken.toml", "name = \"x\ntitle = 3");
    let run = bench.drivelab(["run", "area", "--method", "broken.toml"]).done();
    run.refused(&["broken.toml", "line 1"]);
    let run = bench.drivelab(["run", "area", "--method", "absent.toml"]).done();
    run.refused(&["--method", "absent.toml", "there is no such file"]);
}

/// It was sent to `dmesg`, though nothing was wrong with the drive.
#[test]
fn a_method_that_reads_what_nobody_wrote_is_told_to_fill_first() {
    let bench = Bench::new();
    let hollow = bench.file("hollow.toml", common::SMALL.replace("fill = 1", "fill = 0"));
    let run = bench.drivelab(["run", "area", "--max-time", "0.6s", "--method"]).and([hollow]);
    let outcome = run.done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let last = outcome.stderr.lines().last().unwrap_or_default();
    common::assert_one_sentence(last, &["read of 4 KiB at offset", "`fill = 1`"]);
    assert!(bench.left_behind().is_empty());
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    assert_all_refused(&[
        (&["area", "--purge"], &["--destroy <SERIAL>"]),
        (&["area", "--resume", "last"], &["--resume", "[TARGET]"]),
        (&["--resume", "last", "--method", "quick"], &["--resume", "--method"]),
        (&["--resume", "last", "--size", "1G"], &["--resume", "--size"]),
        (&["--resume", "last", "--seed", "1"], &["--resume", "--seed"]),
        (&["--resume", "last", "--dry-run"], &["--resume", "--dry-run"]),
    ]);
}

#[test]
fn a_purge_of_anything_but_a_device_is_refused() {
    let words: &[&str] = &["--purge", "block device"];
    assert_all_refused(&[
        (&["area", "--purge", "--destroy", "area"], words),
        (&["null:", "--purge", "--destroy", "null"], words),
    ]);
}

#[test]
fn a_run_that_is_not_there_is_refused_with_what_is() {
    let bench = Bench::new();
    bench.drivelab(["show", "last"]).done().refused(&["there is no history", "begins one"]);
    bench.drivelab(["run", "--resume", "last"]).done().refused(&["`last`", "history is empty"]);
    bench.small_run(["null:", "--label", "before"]).done().succeeded();
    bench.drivelab(["show", "last~1"]).done().refused(&["`last~1`", "1 run"]);
    bench.drivelab(["show", "befroe"]).done().refused(&["`befroe`", "before"]);
    let missing = bench.drivelab(["show", "absent.json"]).done();
    let missing = missing.refused(&["absent.json", "no such file"]);
    assert_eq!(missing.stderr.matches("no such file").count(), 1, "{}", missing.stderr);
    bench.file("text.json", "hello");
    bench.drivelab(["show", "text.json"]).done().refused(&["text.json"]);
    let resumed = bench.drivelab(["run", "--resume", "last"]).done();
    resumed.refused(&["is complete", "drivelab show"]);
}

/// The record of a run was first missed when all of it had been measured.
#[test]
fn a_place_that_takes_no_record_is_refused_before_the_run() {
    let bench = Bench::new();
    let run = bench.small_run(["area", "--json", "absent/run.json"]).done();
    let cure = ["--json", "the directory absent does not exist", "`mkdir -p absent`"];
    run.refused(&cure);
    assert!(bench.history().is_empty());
}

#[test]
fn a_store_that_is_none_is_refused_and_stays_as_it_is() {
    let bench = Bench::new();
    let letter = bench.file("letter.txt", "Dear Sir,\n".repeat(1000));
    let before = common::hash(&letter);
    let call = Call::new(["history", "--store", "letter.txt"], &bench.path(""));
    call.done().refused(&["letter.txt"]);
    assert_eq!(common::hash(&letter), before);
    let call = Call::new(["history", "--store", "/dev/null/store"], &bench.path(""));
    call.done().refused(&["/dev/null/store"]);
}

#[test]
fn a_stack_that_cannot_be_built_is_refused_with_what_can() {
    assert_all_refused(&[
        (&["model:"], &["names no drive", "model:mtron-pro-32", "drivelab drives"]),
        (&["model:mtron-pro-32/"], &["nothing where a name should stand", "leave the mark out"]),
        (&["model:2xmtron-pro-32/raid5"], &["`raid5` of 2 drives", "3 at least"]),
        (&["model:mtron-pro-32/raid0"], &["`raid0` of one drive", "4xmtron-pro-32/raid0"]),
        (&["model:4xmtron-pro-32"], &["4 drives need an array layer", "/raid5"]),
        (&["model:3xmtron-pro-32/raid10"], &["takes pairs"]),
        (&["model:3xmtron-pro-32/ext3/raid5"], &["need an array layer", "before `/ext3`"]),
        (&["model:mtron-pro-32/ext3/raid5"], &["`ext3` lies below `raid5`", "/raid5/ext3"]),
        (&["model:mtron-pro-32/ext3/xfs"], &["one file system is enough"]),
        (&["model:mtron-pro-32/flash:spare=1%"], &["spare of 1 %", "too little", "or more"]),
        (&["model:mtron-pro-32/flash:spare=28"], &["`28`", "such as 75%"]),
        (
            &["model:mtron-pro-32/flash:cleaning=gredy"],
            &["`gredy`", "Did you mean `greedy`?", "fifo"],
        ),
        (&["model:mtron-pro-32/flash:segment=1M,stripe=192K"], &["segment", "take 3145728 B"]),
        (&["model:mtron-pro-32/flash/flash"], &["one managed volume is enough"]),
        (&["model:mtron-pro-32/ext4/flash"], &["`ext4` lies below `flash`", "/flash/ext4"]),
        (&["model:2xmtron-pro-32/flash"], &["need an array layer", "before `/flash`"]),
        (&["model:3xmtron-pro-32/raid5:chunk=3000"], &["`3000`", "from 4 KiB to 64 MiB"]),
        (&["model:3xmtron-pro-32/raid5:chunk=64Q"], &["`64Q` is not a size", "64KiB"]),
        (&["model:3xmtron-pro-32/raid5:driver=mdd"], &["`mdd`", "Did you mean `md`?", "highpoint"]),
        (
            &["model:3xmtron-pro-32/raid5:cache=1G"],
            &["driver `md` has not", "`driver=generic-bbu`"],
        ),
        (&["model:3xmtron-pro-32/raid5:degraded=3"], &["`3`", "from 0 to 2"]),
        (&["model:2xmtron-pro-32/raid0:degraded=0"], &["without redundancy"]),
        (&["model:3xmtron-pro-32/raid5:rebuild=10MB"], &["`degraded=`"]),
        (&["model:mtron-pro-32/ext3:data=journal"], &["`journal`", "ordered, writeback"]),
        (&["model:mtron-pro-32/xfs:lazy-count=2"], &["`2`", "0, 1"]),
        (&["model:intel-520-120:used=75,state=steady"], &["`75`", "such as 75%"]),
        (&["model:intel-520-120:used=75%"], &["state=steady"]),
        (&["model:mtron-pro-32:state=steady"], &["block-mapped", "no steady state"]),
        (&["model:wd-1002fbys:command-queue=0"], &["from 1 to 256"]),
        (&["model:intel-520-120:capacity=1T"], &["from 1 MiB to", "`1T`"]),
        (&["model:mtron-pro-32:capacity=1000001000"], &["sectors of 512 B"]),
        (&["model:mtron-pro-32:atomic-write=12K"], &["`12K`", "no power of two, such as 16K"]),
        (&["model:mtron-pro-32:atomic-write=2M"], &["from 512 B to 1 MiB"]),
        (&["model:intel-520-120:capacity=64M"], &["superblocks", "a larger `capacity=`"]),
        (&["model:wd-1002fbys:capacity=1G"], &["is a disk", "--size"]),
        (&["model:0xwd-1002fbys/raid0"], &["from 1 to 64"]),
        (&["model:1000000xwd-1002fbys/raid0"], &["from 1 to 64", "`1000000`"]),
        (&["model:40xwd-1002fbys+40xwd-1002fbys/raid0"], &["80 drives", "64 are the most"]),
        (&["model:mtron pro"], &["`model:mtron pro`", "' ' is in no drive's"]),
        (&["model:mtron-pro"], &["no drive `mtron-pro`", "Did you mean `mtron-pro-32`?"]),
        (&["model:mtron-pro-32/riad5"], &["no layer `riad5`", "`raid5`", "ext4, xfs"]),
        // These four got the list of all layers, and `zfs` was asked whether it meant `xfs`.
        (&["model:2xmtron-pro-32/mirror"], &["no layer `mirror`: it is `/raid1`"]),
        (&["model:mtron-pro-32/EXT4"], &["no layer `EXT4`. Did you mean `ext4`"]),
        (&["model:mtron-pro-32/zfs"], &["no layer `zfs`: no model stands for zfs"]),
        (&["model:mtron-pro-32/btrfs"], &["no model stands for btrfs: `drivelab matrix`"]),
        (&["model:2xmtron-pro-32/raid5:"], &["`raid5:`", "write KEY=VALUE"]),
        (&["model:4xmtron-pro-32+/raid5"], &["nothing where a name should stand"]),
        (&["model:ext4"], &["no drive `ext4`", "It is a layer"]),
        (&["model:onboard"], &["It is a port", ":port=onboard"]),
        (&["model:md"], &["It is an array driver", "driver=md"]),
        (&["model:mtron-pro-32:port=onbord"], &["no port `onbord`", "`onboard`?"]),
        (&["model:wd-1002fbys", "area"], &["one clock", "each by itself"]),
        (&["model:wd-1002fbys", "--io", "buffered"], &["no page cache", "/ext3:ram=2G"]),
        (&["model:wd-1002fbys", "--engine", "stdio", "--set", "depth=1"], &["no stdio"]),
        (&["model:wd-1002fbys", "--purge", "--destroy", "x"], &["--purge", "block device"]),
    ]);
}

/// A run of `--size 64M` was asked for `--yes`, though it writes no more than the usual gibibyte.
#[test]
fn a_plan_asks_before_it_writes_many_times_the_area_and_not_because_the_area_is_small() {
    assert_all_refused(&[
        (
            &["area", "--method", "saturation", "--size", "1G"],
            &["--dry-run", "--yes", "writes up to"],
        ),
        (
            &["area", "--method", "snia-iops", "--size", "64M"],
            &["--dry-run", "--yes", "--max-written"],
        ),
    ]);
    let bench = Bench::new();
    let quick = ["run", "area", "--size", "16M", "--max-time", "1.4s"];
    bench.drivelab(quick).done().succeeded();
    // The engine's own cost wears nothing.
    let null = ["run", "null:", "--max-time", "0.2s", "--method", "saturation"];
    bench.drivelab(null).done().succeeded();
}
