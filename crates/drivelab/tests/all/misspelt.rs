//! One letter wrong in what a command is given: nothing is made, the nearest name is said, exit
//! code 2.

use crate::common;

use common::{Bench, Call, MIB, names_in};
use std::{fs, path::Path};

/// Names that a mistyped word could have made.
const GHOSTS: [&str; 4] = ["/dev/drivelab-ghost", "/dev/sdzz", "/proc/ghost", "/sys/ghost"];

/// A bench with a file and a directory that words may be near to.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("disk.img", vec![7; MIB as usize]);
    fs::create_dir(bench.path("scratch")).expect("a directory");
    bench
}

/// Refuses every case, started in the bench, and finds it as it was.
fn assert_refused(cases: &[(&[&str], &[&str])]) {
    let bench = bench();
    let before = names_in(&bench.path(""));
    for (words, told) in cases {
        let home = bench.path("home");
        let call = Call::new(*words, &bench.path(""));
        let call = call.variable("XDG_DATA_HOME", &home.to_string_lossy());
        call.variable("XDG_CONFIG_HOME", &home.to_string_lossy()).done().refused(told);
        let mut after = names_in(&bench.path(""));
        after.retain(|name| name != "home");
        assert_eq!(after, before, "{words:?} left something");
        assert!(bench.left_behind().is_empty(), "{words:?} left a scratch file");
        assert!(GHOSTS.iter().all(|ghost| !Path::new(ghost).exists()), "{words:?} made a device");
    }
}

/// `run nvme-tlc` made a file of that name and measured the drive under it.
#[test]
fn a_target_of_run_that_is_not_there_is_no_new_file_unless_its_name_says_so() {
    assert_refused(&[
        (&["run", "nvme-tlc"], &["`model:nvme-tlc`", "nvme-tlc.img"]),
        (&["run", "nvme-tcl"], &["Did you mean `model:nvme-tlc`"]),
        (&["run", "4xnvme-tlc/raid5"], &["`model:4xnvme-tlc/raid5`"]),
        (&["run", "4intel-x25e-32"], &["`model:4xintel-x25e-32/raid0`"]),
        (&["run", "model:4intel-x25e-32/raid5"], &["with an `x`", "`4xintel-x25e-32`"]),
        (&["run", "scrtch"], &["there is no scrtch", "Did you mean `scratch`", "scrtch.img"]),
        (&["run", "scrtch/"], &["there is no scrtch/", "Did you mean `scratch`"]),
        (&["run", "scrtch/a.img"], &["there is no scrtch/a.img", "`scratch/a.img`"]),
        (&["run", "dsik.img"], &["Did you mean `disk.img`", "less like it"]),
        (&["run", "sdzz"], &["there is no sdzz", "/dev/"]),
        (&["run", "area", "scrtch"], &["Did you mean `scratch`"]),
        (&["run", "flash:dsik.img"], &["there is no dsik.img", "Did you mean `disk.img`"]),
    ]);
}

/// `run /dev/nope` made a file in devtmpfs, and measured memory at 550,000 IOPS.
#[test]
fn nothing_is_made_in_dev_proc_and_sys_by_any_command() {
    let ghost = "/dev/drivelab-ghost";
    let unix = "unix:/dev/drivelab-ghost";
    let kernels = &["nothing is made at", "the kernel's"][..];
    assert_refused(&[
        (&["run", ghost], &["there is no device", "/dev/"]),
        (&["run", "/dev/../dev/drivelab-ghost"], &["there is no device"]),
        (&["run", "/dev"], kernels),
        (&["run", "/proc"], kernels),
        (&["run", "/sys/ghost"], kernels),
        (&["run", "flash:/dev/drivelab-ghost"], &["there is no /dev/drivelab-ghost"]),
        (&["flash", "create", ghost, "--drive-size", "64M"], &["there is no device"]),
        (&["flash", "create", "/proc/ghost", "--drive-size", "64M"], kernels),
        (&["serve", ghost, "--nbd", "unix:s"], &["there is no device"]),
        (&["serve", "disk.img", "--read-only", "--nbd", unix], kernels),
        (&["serve", "disk.img", "--read-only", "--nbd", "unix:s", "--metrics", unix], kernels),
        (&["serve", "disk.img", "--read-only", "--nbd", "unix:s", "--pid-file", ghost], kernels),
        (&["study", "easyco2007", "--on", ghost], &["there is no device"]),
        (&["study", "latency2016", "--loop", "/dev", "--dry-run"], kernels),
        (&["matrix", ghost], &["there is no /dev/drivelab-ghost"]),
        (&["matrix", "--loop", "/dev", "--dry-run"], kernels),
        (&["run", "null:", "--json", ghost], kernels),
        (&["run", "null:", "--store", ghost], kernels),
        (&["run", "null:", "--store", "/dev/drivelab-ghost/a/b"], kernels),
    ]);
}

#[test]
fn every_verb_names_the_nearest_target_method_and_study() {
    let at = "unix:socket";
    assert_refused(&[
        (&["serve", "dsik.img", "--nbd", at], &["Did you mean `disk.img`", "truncate"]),
        (&["serve", "nvme-tlc", "--nbd", at], &["`model:nvme-tlc`"]),
        (&["serve", "model:nvme-tcl", "--nbd", at], &["`nvme-tlc`"]),
        (&["serve", "flash:dsik.img", "--nbd", at], &["`disk.img`"]),
        (
            &["serve", "disk.img", "--read-only", "--nbd", "unix:scrtch/s"],
            &["its directory is not there: make it or name another path"],
        ),
        (
            &["serve", "disk.img", "--read-only", "--nbd", at, "--pid-file", "scrtch/p"],
            &["--pid-file: there is no directory scrtch: make it"],
        ),
        (&["serve", "disk.img", "--ndb", at], &["Did you mean `--nbd`? See `drivelab serve"]),
        (&["flash", "create", "x", "--stripe", "1Q"], &["`drivelab flash create --help`"]),
        (&["flash", "create", "dsik.img"], &["`disk.img`", "--drive-size 10G"]),
        (&["flash", "status", "dsik.img"], &["`disk.img`", "flash create"]),
        (&["flash", "check", "dsik.img"], &["`disk.img`"]),
        (&["flash", "rescue", "dsik.img", "--to", "out.img"], &["`disk.img`"]),
        (&["flash", "resize", "dsik.img", "--size", "1G"], &["`disk.img`"]),
        (&["flash", "predict", "nvme-tlc"], &["`model:nvme-tlc`"]),
        (&["flash", "predict", "model:nvme-tcl"], &["`nvme-tlc`"]),
        (&["study", "cmu209"], &["`cmu2009`"]),
        (&["study", "easyco2007", "--on", "scrtch"], &["`scratch`"]),
        (&["study", "easyco2007", "--on", "nvme-tlc"], &["`model:nvme-tlc`"]),
        (&["study", "latency2016", "--on", "scrtch"], &["`scratch`"]),
        (&["study", "latency2016", "--loop", "scrtch", "--dry-run"], &["`scratch`"]),
        (&["matrix", "scrtch", "--fs", "ext4"], &["`scratch`", "--loop DIR"]),
        (&["matrix", "scratch", "--fs", "ext4"], &["is a directory", "`--loop scratch`"]),
        (&["matrix", "disk.img"], &["is a file", "losetup", "--loop DIR"]),
        (&["matrix", "nvme-tlc"], &["`model:nvme-tlc`"]),
        (&["matrix", "model:nvme-tcl"], &["`nvme-tlc`"]),
        (&["matrix", "--loop", "scrtch"], &["`scratch`"]),
        (&["matrix", "--loop", "scratch", "--method", "quik"], &["`quick`"]),
        (&["matrix", "--loop", "scratch", "--passes", "0"], &["1..=1000"]),
        (&["drives", "nvme-tcl"], &["`nvme-tlc`"]),
    ]);
}

/// A method file that is not there was "No such file or directory (os error 2)", and one letter too
/// many in a model's name "Did you mean `none`?", which is no drive.
#[test]
fn what_is_said_of_a_file_or_a_number_helps() {
    assert_refused(&[
        (&["run", "area", "--method", "quik.toml"], &["quik.toml", "there is no such file"]),
        (&["run", "area", "--method", "smal.toml"], &["Did you mean `small.toml`"]),
        (&["run", "area", "--spec", "smal.toml"], &["data sheet smal.toml", "`small.toml`"]),
        (&["run", "area", "--spec", "nvme-tcl"], &["`nvme-tlc`"]),
        (&["show", "absent.json"], &["absent.json", "there is no such file"]),
        (&["run", "area", "--size", "-5"], &["--size -5", "less than nothing", "run --help"]),
        (&["run", "area", "--max-time", "-5s"], &["--max-time -5s", "less than nothing"]),
        (&["history", "--limit", "-1"], &["--limit -1", "less than nothing"]),
        (&["drives", "nope"], &["there is no drive `nope`. `drivelab drives` lists them"]),
    ]);
    let bench = bench();
    let foreign = bench.file("fio.json", "{\"fio version\": \"fio-3.36\"}");
    let shown = bench.drivelab(["show"]).and([foreign]).done();
    let shown = shown.refused(&["fio.json", "`format` is missing", "drivelab run --json FILE"]);
    assert!(!shown.stderr.contains("import"), "there is no such verb: {}", shown.stderr);
}

/// `show /dev/zero` read until the machine's memory was gone.
#[test]
fn a_file_that_never_ends_is_refused_by_every_option_that_reads_one() {
    assert_refused(&[
        (&["show", "/dev/zero"], &["/dev/zero", "longer than 64 MiB"]),
        (&["compare", "/dev/zero", "/dev/zero"], &["longer than 64 MiB"]),
        (&["report", "/dev/zero", "--html", "-"], &["longer than 64 MiB"]),
        (&["drives", "fit", "/dev/zero"], &["longer than 64 MiB"]),
        (&["flash", "predict", "/dev/zero"], &["longer than 64 MiB"]),
        (&["run", "--resume", "/dev/zero"], &["longer than 64 MiB"]),
        (&["run", "area", "--method", "/dev/zero"], &["longer than 4 MiB"]),
        (&["run", "area", "--spec", "/dev/zero"], &["longer than 4 MiB"]),
        (&["matrix", "--loop", "area", "--method", "/dev/zero"], &["longer than 4 MiB"]),
    ]);
}

/// One wrong file among the user's drives broke `drives`, every model and `--spec`.
#[test]
fn a_broken_drive_file_is_said_in_one_line_and_left_out() {
    let bench = bench();
    let folder = bench.path("config/drivelab/drives");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("broken.toml"), "name = \"my-drive").expect("a file");
    let call = |words: &[&str]| {
        let config = bench.path("config").to_string_lossy().into_owned();
        Call::new(words, &bench.path("")).variable("XDG_CONFIG_HOME", &config).done()
    };
    let store = bench.path("store.sqlite").to_string_lossy().into_owned();
    let model = ["run", "model:sata-tlc", "--quiet", "--dry-run", "--spec", "nvme-tlc"];
    for words in [
        &["drives"][..],
        &["drives", "sata-tlc"],
        &["run", "model:sata-tlc", "--dry-run", "--store", &store],
    ] {
        let outcome = call(words).succeeded();
        common::assert_one_sentence(&outcome.stderr, &["left out", "broken.toml", "line 1"]);
    }
    // Once, however often the catalog is read.
    assert_eq!(call(&model).stderr.matches("left out").count(), 1);
}

/// Who may write no history could not look at a plan either.
#[test]
fn a_plan_is_printed_where_no_history_can_be_written() {
    let bench = bench();
    let words = ["run", "area", "--dry-run"];
    let call = Call::new(words, &bench.path("")).variable("XDG_DATA_HOME", "/proc/nowhere");
    assert!(call.done().succeeded().stdout.contains("at most 9 GiB to each target"));
    let run = Call::new(["run", "null:"], &bench.path("")).variable("XDG_DATA_HOME", "/proc/no");
    run.done().refused(&["--store", "the kernel's"]);
    let before = names_in(&bench.path(""));
    bench.drivelab(words).done().succeeded();
    assert_eq!(names_in(&bench.path("")), before, "a plan leaves no history");
}

/// `history --store lbas.sqlite` for `labs.sqlite` said that there were no runs yet and made a file
/// of that name; so did every verb that reads a history. `show` and the others then missed a run in
/// a history that they said holds none.
#[test]
fn a_history_that_is_not_there_is_not_made_by_who_reads_it() {
    let store = ["--store", "lbas.sqlite"];
    let of = |words: &[&'static str]| [words, &store[..]].concat();
    let there = ["there is no history lbas.sqlite", "check the spelling", "drivelab run . --store"];
    assert_refused(&[
        (&of(&["push", "--to", "other.sqlite"]), &there),
        (&of(&["show", "last"]), &there),
        (&of(&["compare", "last", "last"]), &there),
        (&of(&["report", "last", "--csv", "out.csv"]), &there),
        (&of(&["export", "last", "--as", "csv"]), &there),
        (&of(&["drives", "fit", "last"]), &there),
    ]);
    let bench = bench();
    bench.file("labs.sqlite", "");
    for more in [&[][..], &["--json"], &["--fleet"], &["--find", "a word"]] {
        let words = of(&[&["history"], more].concat());
        let listed = bench.drivelab_without_store(words).done().succeeded();
        assert_eq!(listed.stdout, "", "an empty list");
        assert!(there.iter().all(|part| listed.stderr.contains(part)), "{}", listed.stderr);
        assert!(listed.stderr.contains("Did you mean `labs.sqlite`?"), "{}", listed.stderr);
    }
    assert!(!bench.path("lbas.sqlite").exists());
    // A place that cannot be looked at is no empty history.
    let below = ["show", "last", "--store", "labs.sqlite/a"];
    bench.drivelab_without_store(below).done().refused(&["cannot open the history"]);
}
