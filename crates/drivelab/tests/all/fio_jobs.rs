//! fio's job files, as whoever has them runs them.

use crate::common;

use common::{Bench, assert_one_sentence};
use std::fs;

const JOBS: &str = "\
; two questions
[global]
ioengine=libaio
direct=1
filename=/dev/sdz
size=16m
gtod_reduce=1
[lookups]
rw=randread
bs=${BS}
iodepth=4
number_ios=500
[ingest]
stonewall
rw=write
bs=64k
";

/// A job file had to be written anew as a method, by hand.
#[test]
fn a_job_file_runs_on_memory_and_on_a_file_and_its_record_goes_on_without_it() {
    let bench = Bench::new();
    bench.file("nightly.fio", JOBS);
    for target in ["memory:64M", "."] {
        let words = ["run", target, "--method", "nightly.fio", "--json", "run.json"];
        let ran = bench.drivelab(words).variable("BS", "8k").done().succeeded();
        for said in ["random read 8 KiB", "sequential write 64 KiB", "the place of /dev/sdz"] {
            assert!(
                ran.stdout.replace("each block once", "random").contains(said),
                "{}",
                ran.stdout
            );
        }
        assert!(ran.stdout.contains("without effect: gtod_reduce"), "{}", ran.stdout);
        let record = fs::read_to_string(bench.path("run.json")).expect("it was written");
        assert!(record.contains("# rw=randread"), "the job file stands in the record");
        fs::remove_file(bench.path("run.json")).expect("it is there");
    }
}

/// An option that nobody noticed made another workload of it.
#[test]
fn a_wrong_option_is_told_with_file_line_and_cure() {
    let bench = Bench::new();
    bench.file("a.fio", "[a]\nrw=randread\nbsplit=4k/50:8k/50\n");
    bench.file("b.fio", "[a]\nbs=${BS}\n");
    bench.file("c", "[a]\nrw=read\nlatency_target=5ms\n");
    for (file, words) in [
        ("a.fio", &["a.fio, line 3", "Did you mean `bssplit`"][..]),
        ("b.fio", &["b.fio, line 2", "BS=... drivelab run"]),
        ("c", &["c, line 3", "set `iodepth`"]),
    ] {
        let ran = bench.drivelab(["run", "memory:64M", "--method", file]).done();
        assert_eq!(ran.code, Some(2), "{file}");
        assert_one_sentence(&ran.stderr, words);
    }
}

/// What was written is read back; where something else lies, its cell fails and says where.
#[test]
fn verified_data_are_read_back_and_others_are_found() {
    let bench = Bench::new();
    let job =
        "[w]\nioengine=libaio\ndirect=1\nrw=write\nbs=64k\niodepth=4\nsize=8m\nverify=crc32c\n";
    bench.file("verify.fio", job);
    let ran = bench.drivelab(["run", "memory:64M", "--method", "verify.fio"]).done().succeeded();
    assert!(ran.stdout.contains("sequential read 64 KiB"), "{}", ran.stdout);
    let cell = |op: &str, data: &str| {
        format!(
            "[[cell]]\nop = '{op}'\npattern = 'seq'\nblock = '4K'\nbound = 'once'\n\
             data = '{data}'\n"
        )
    };
    let head = "name = 'x'\ntitle = 'x'\nabout = 'x'\norder = 'fixed'\nspan = '1MiB'\npasses = 1\n";
    bench.file("x.toml", head.to_owned() + &cell("write", "random") + &cell("read", "stamped"));
    let ran = bench.drivelab(["run", "memory:64M", "--method", "x.toml"]).done();
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let said = ran.stdout.clone() + &ran.stderr;
    assert!(said.contains("what was read is not what was written there"), "{said}");
    // A model keeps no data that could be compared.
    let ran = bench.drivelab(["run", "model:intel-x25e-32", "--method", "verify.fio"]).done();
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("a model keeps none"), "{}", ran.stderr);
}

#[test]
fn a_method_leaves_as_a_job_file_that_runs() {
    let bench = Bench::new();
    let to = ["export", "quick", "--as", "fio", "--to", "quick.fio"];
    for _ in 0..2 {
        bench.drivelab(to).done().succeeded();
    }
    let words = ["run", "memory:256M", "--method", "quick.fio", "--size", "64M", "--dry-run"];
    let plan = bench.drivelab(words).done().succeeded().stdout;
    assert!(plan.contains("7 cells"), "{plan}");
    bench.file("mine.fio", "[a]\nsize=1m\n");
    let refused = bench.drivelab(["export", "quick", "--as", "fio", "--to", "mine.fio"]).done();
    assert_one_sentence(&refused.stderr, &["--force"]);
}
