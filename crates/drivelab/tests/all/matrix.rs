//! `drivelab matrix` and `drivelab restore` as a user meets them, with the machine looked at from
//! outside before and after.

use crate::common;

use common::{
    Bench, Call, Living, LoopDevice, Outcome, assert_one_sentence, can_make_file_systems, system,
};
use serde_json::Value;
use std::{fs, path::Path, process::Command, thread, time::Duration};

/// A cell whose operations wait for one another, and one that moves what it can: half a second
/// together.
const METHOD: &str = r#"
name = "two"
title = "a latency and a throughput"
about = "For tests."
layout = "list"
order = "fixed"
span = "8MiB"
fill = 0
grade = "quick"
ask_above = 1e9
[[cell]]
name = "durable"
op = "write"
pattern = "seq"
block = "4KiB"
engine = "sync"
io = "direct,sync"
bound = 50
before = ["new_file"]
[[cell]]
name = "stream"
op = "write"
pattern = "seq"
block = "1MiB"
depth = 2
io = "direct"
bound = "once"
"#;

pub(crate) fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("two.toml", METHOD);
    bench
}

/// With a ledger of the test's own: others run at the same time.
pub(crate) fn matrix(bench: &Bench, words: &[&str]) -> Call {
    bench
        .drivelab(["matrix"])
        .and(words)
        .variable("XDG_STATE_HOME", state(bench).to_str().expect("plain"))
}

pub(crate) fn restore(bench: &Bench, words: &[&str]) -> Outcome {
    let call = bench.drivelab_without_store(["restore"]).and(words);
    call.variable("XDG_STATE_HOME", state(bench).to_str().expect("plain")).done()
}

pub(crate) fn state(bench: &Bench) -> std::path::PathBuf {
    bench.path("state")
}

/// What is left of a matrix that worked in the bench's directory, seen from outside.
pub(crate) fn left_behind(bench: &Bench, pid: u32) -> Vec<String> {
    let place = format!("/tmp/drivelab-matrix-{pid}");
    let top = bench.path(".").canonicalize().expect("it is there").display().to_string();
    let mut found = Vec::new();
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    found.extend(mounts.lines().filter(|line| line.contains(&place)).map(str::to_owned));
    let loops = system("losetup", &["--list", "--noheadings"]).expect("losetup");
    let is_ours = |line: &&str| line.contains(&top) || line.contains(&place);
    found.extend(loops.lines().filter(is_ours).map(str::to_owned));
    let processes = Command::new("pgrep").args(["-af", &place]).output().expect("pgrep");
    found.extend(String::from_utf8_lossy(&processes.stdout).lines().map(str::to_owned));
    if Path::new(&place).exists() {
        found.push(place);
    }
    let files = fs::read_dir(bench.path(".")).expect("it is there").flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    found.extend(names.filter(|name| name.starts_with(".drivelab")));
    found
}

#[test]
fn every_command_is_shown_before_anything_is_done() {
    let bench = bench();
    let words = ["--loop", ".", "--fs", "raw,ext4,xfs", "--discard", "on,off", "--dry-run"];
    let shown = matrix(&bench, &words)
        .and(["--method", "two.toml", "--mkfs", "-b 1024"])
        .done()
        .succeeded();
    let text = shown.stdout;
    assert!(text.starts_with("a loop device of 4 GiB over a file in "), "{text}");
    assert!(text.contains("ranks file systems over this host's file system, not a device"));
    assert!(text.contains("5 configurations, each measured with two in 3 rounds"), "{text}");
    assert!(text.contains("mount -t ext4 -o noinit_itable,discard /dev/loopN"), "{text}");
    assert!(text.contains("mkfs.xfs -q -f -K -b 1024 /dev/loopN"), "{text}");
    assert!(!state(&bench).exists(), "nothing was to be changed, so no ledger was opened");
}

#[test]
fn bad_input_is_refused_in_one_sentence_before_anything_is_touched() {
    let bench = bench();
    fs::write(bench.path("image"), [0; 4096]).expect("a file");
    let cases: [(&[&str], &str); 12] = [
        (&["--loop", "nowhere"], "name a directory"),
        (&["--loop", ".", "--write-cache", "on,maybe"], "write on, off"),
        (&["--loop", ".", "--fs", "ext5"], "one of ext2"),
        (&["--loop", ".", "--scheduler", "cfq"], "bfq"),
        (&["--loop", ".", "--mount", "nobarrier"], "--kernel-flush off"),
        (&["--loop", ".", "--mkfs", "-l lazy-count=0"], "counts lazily"),
        (&["--loop", ".", "--fill", "120"], "from 0 to 90"),
        (&["--loop", ".", "--pivot", "fs,colour"], "--pivot fs,colour"),
        (&["--loop", ".", "--method", "snia-iops"], "name another"),
        (&["--loop", ".", "--loop-size", "100T"], "--loop-size"),
        (&["null:"], "--loop DIR"),
        (&["image"], "image"),
    ];
    for (words, cure) in cases {
        let outcome = matrix(&bench, words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {outcome:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
    assert!(!state(&bench).exists());
}

#[test]
fn a_loop_device_has_no_write_cache_to_switch() {
    if !can_make_file_systems() {
        return;
    }
    let outcome = matrix(&bench(), &["--loop", ".", "--write-cache", "on,off"]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["--write-cache", "leave it out"]);
}

#[test]
fn file_systems_and_trim_are_measured_on_a_loop_device_and_nothing_is_left() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let words =
        ["--loop", ".", "--loop-size", "400M", "--fs", "raw,ext4,xfs", "--discard", "on,off"];
    let call = matrix(&bench, &words).and(["--method", "two.toml", "--passes", "2", "--seed", "1"]);
    let call = call.and(["--json", "matrix.json", "--html", "matrix.html"]);
    let living = call.start();
    let pid = living.id();
    let outcome = living.wait().succeeded();
    assert_eq!(left_behind(&bench, pid), [""; 0]);
    let text = outcome.stdout;
    for part in [
        "durable",
        "fs by discard",
        "What each setting does",
        "discard  off    on",
        "fs       xfs    raw",
        "The best of each class",
        "survives power loss  both",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for step in [
        "mkfs.xfs -q -f -K /dev/loop",
        "-o noinit_itable,nodiscard",
        "umount /tmp/drivelab-matrix-",
        "losetup --detach",
    ] {
        assert!(outcome.stderr.contains(step), "{step}: {}", outcome.stderr);
    }
    let page = fs::read_to_string(bench.path("matrix.html")).expect("a page");
    for part in [
        "<figure id=\"effects-two\"",
        "fs by discard</h3>",
        "best for latency: survives power loss",
        "The best of each class",
        "<code>loop_device</code>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let records: Value =
        serde_json::from_str(&fs::read_to_string(bench.path("matrix.json")).expect("records"))
            .expect("JSON");
    let cells = records[0]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 5 * 2, "raw, and two file systems with and without discard");
    for cell in cells {
        assert_eq!(cell["passes"].as_array().map(Vec::len), Some(2));
        assert!(cell["iops"].as_f64().is_some_and(|rate| rate > 0.0));
        assert!(
            cell["coordinates"]["fs"].is_string() && cell["coordinates"]["discard"].is_string()
        );
    }
    let ext4 = cells.iter().find(|cell| cell["coordinates"]["fs"] == "ext4").expect("a cell");
    let target = &records[0]["targets"][ext4["target"].as_u64().expect("an index") as usize];
    assert_eq!(target["file_system"]["kind"], "ext4", "{target}");
    // The history has it like any other run.
    let shown = bench.drivelab(["history"]).done().succeeded().stdout;
    assert!(shown.contains("two"), "{shown}");
}

/// A file written, read again, and read after its file system was mounted anew: nothing of it is
/// left in memory, and the matrix goes on with what it had.
#[test]
fn a_file_system_is_mounted_anew_before_a_cell_that_wants_it() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let cell = |name: &str, rest: &str| {
        format!(
            "[[cell]]\nname = \"{name}\"\npattern = \"seq\"\nblock = \"64KiB\"\nio = \"buffered\"\nengine = \"sync\"\n\
             bound = \"once\"\n{rest}\n"
        )
    };
    let head = "name = \"anew\"\ntitle = \"read again\"\nabout = \"For tests.\"\norder = \"fixed\"\nspan = \"4MiB\"\n";
    let cells = [
        cell("write", "op = \"write\"\nbefore = [\"new_file\"]"),
        cell("cached", "op = \"read\""),
        cell("anew", "op = \"read\"\ndrop_cache = \"remount\""),
    ];
    bench.file("anew.toml", head.to_owned() + &cells.concat());
    let run = |fs: &str| {
        let words = ["--loop", ".", "--loop-size", "400M", "--fs", fs, "--method", "anew.toml"];
        matrix(&bench, &words).and(["--passes", "1", "--json", "anew.json"]).start()
    };
    let living = run("ext4,xfs");
    let pid = living.id();
    let outcome = living.wait().succeeded();
    assert_eq!(left_behind(&bench, pid), [""; 0]);
    let text = fs::read_to_string(bench.path("anew.json")).expect("records");
    let records: Value = serde_json::from_str(&text).expect("JSON");
    let means = |name: &str| -> Vec<&str> {
        let cells = records[0]["cells"].as_array().expect("cells").iter();
        cells
            .filter(|cell| cell["name"] == name)
            .filter_map(|cell| cell["means"].as_str())
            .collect()
    };
    assert_eq!(means("cached"), ["from the page cache"; 2]);
    assert_eq!(means("anew"), ["from the drive"; 2]);
    let unmounts = outcome.stderr.matches("umount /tmp/drivelab-matrix-").count();
    assert_eq!(unmounts, 4, "before the cell and at the end, twice: {}", outcome.stderr);
    let with_raw = run("raw,ext4").wait().succeeded();
    assert!(
        with_raw.stdout.contains("leave raw out, or use")
            || with_raw.stderr.contains("leave raw out, or use"),
        "{} {}",
        with_raw.stdout,
        with_raw.stderr
    );
}

/// A scratch file leaves a tenth of a file system free, and a file system that was filled to 90 %
/// before it came had no room for it: no method could be run.
#[test]
fn a_nearly_full_file_system_has_room_for_the_tested_area() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let words = ["--loop", ".", "--loop-size", "400M", "--fs", "ext4,xfs", "--fill", "0,90"];
    let call = matrix(&bench, &words).and(["--discard", "on,off", "--passes", "1", "--quiet"]);
    let outcome = call.and(["--method", "two.toml", "--size", "150M"]).done().succeeded();
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    let text = words.join(" ");
    for part in
        ["fill 90 0 rate", "The same, by fill: sequential write 1 MiB", "90 discard off on rate"]
    {
        assert!(text.contains(part), "{part}: {}", outcome.stdout);
    }
}

#[test]
fn a_device_is_measured_only_when_named_and_left_as_empty_as_it_was() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let Some(device) = LoopDevice::of_zeros(400 << 20) else {
        return common::skip("a loop device");
    };
    let measured = |words: &[&str]| {
        let call = matrix(&bench, &[device.text(), "--fs", "raw,ext4", "--passes", "1"]);
        call.and(["--method", "two.toml"]).and(words).done()
    };
    let refused = measured(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_one_sentence(&refused.stderr, &["--destroy"]);
    let done = measured(&["--destroy", device.name()]).succeeded();
    assert!(done.stdout.contains("survives power loss  both"), "{}", done.stdout);
    let seen = Command::new("/usr/sbin/wipefs").arg(device.text()).output().expect("wipefs");
    assert!(seen.stdout.is_empty(), "{}", String::from_utf8_lossy(&seen.stdout));
    // So the guard lets the next one in, and nobody in while it is mounted.
    measured(&["--destroy", device.name()]).succeeded();
    let Some(mounted) = device.mounted("mkfs.ext4", &[]) else { return common::skip("mkfs.ext4") };
    fs::write(mounted.path().join("mine"), "kept").expect("room");
    let refused = measured(&["--destroy", device.name()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(fs::read_to_string(mounted.path().join("mine")).expect("it is there"), "kept");
}

/// A long matrix that has a file system mounted.
fn mounted(bench: &Bench) -> (Living, u32) {
    let words = ["--loop", ".", "--loop-size", "400M", "--fs", "ext4,xfs", "--passes", "50"];
    let mut living = matrix(bench, &words).and(["--method", "two.toml"]).start();
    let pid = living.id();
    let mounted = format!("/tmp/drivelab-matrix-{pid}/mount");
    let is_mounted =
        || fs::read_to_string("/proc/self/mounts").is_ok_and(|all| all.contains(&mounted));
    living.wait_until("a file system is mounted", is_mounted);
    (living, pid)
}

/// A killed test of a modelled drive left a loop device over a mount whose server was gone, and
/// from then on no mkfs.btrfs on the machine would work, whatever it was to format: "cannot check
/// mount status".
#[test]
fn what_a_killed_run_left_is_named_by_the_next() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let (living, pid) = mounted(&bench);
    living.signal("KILL");
    living.wait();
    let words = ["--loop", ".", "--loop-size", "64M", "--fs", "raw", "--passes", "1", "--quiet"];
    let next = || matrix(&bench, &words).and(["--method", "two.toml"]).done().succeeded().stderr;
    let stderr = next();
    assert!(stderr.contains("a killed run left changes on this machine"), "{stderr}");
    restore(&bench, &[]).succeeded();
    assert_eq!(left_behind(&bench, pid), [""; 0]);
    let stderr = next();
    assert!(!stderr.contains("left changes"), "{stderr}");
}

#[test]
fn ctrl_c_puts_everything_back_and_keeps_what_was_measured() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let (living, pid) = mounted(&bench);
    living.signal("INT");
    let outcome = living.wait();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stderr.contains("everything is put back"), "{outcome:?}");
    assert_eq!(left_behind(&bench, pid), [""; 0]);
}

/// timeout(1) sends its signal to the process and once more to the whole group, so to mkfs as well.
/// The second one ended the matrix at once, with a file system mounted on a modelled drive; and
/// where mkfs was quicker to die, its end was all that was told.
#[test]
fn a_matrix_that_runs_out_of_time_puts_everything_back_and_says_so() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let words = ["--loop", ".", "--loop-size", "400M", "--fs", "ext4,xfs", "--passes", "50"];
    for seconds in ["1", "1.3", "1.7", "2.2"] {
        let call = matrix(&bench, &words).and(["--method", "two.toml"]);
        let outcome = call.through(&["timeout", seconds], Path::new(common::DRIVELAB)).done();
        assert_eq!(outcome.code, Some(124), "{outcome:?}");
        let told = "interrupted; everything is put back";
        assert!(outcome.stderr.contains(told), "after {seconds} s: {}", outcome.stderr);
        let (_, place) = outcome.stderr.split_once("/tmp/drivelab-matrix-").expect("a place");
        let pid = place.split(|other: char| !other.is_ascii_digit()).next();
        let pid = pid.and_then(|text| text.parse().ok()).expect("a number");
        assert_eq!(left_behind(&bench, pid), [""; 0], "after {seconds} s");
    }
}

/// Kills at moments that no two rounds share. `cargo test -- --ignored` has thirty.
fn killed(rounds: u64) {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let words = ["--loop", ".", "--loop-size", "400M", "--fs", "ext4,xfs", "--passes", "50"];
    let mut left_something = 0;
    for round in 0..rounds {
        let living = matrix(&bench, &words).and(["--method", "two.toml", "--quiet"]).start();
        let pid = living.id();
        thread::sleep(Duration::from_millis(100 + round * 397 % 1500));
        living.signal("KILL");
        living.wait();
        if !left_behind(&bench, pid).is_empty() {
            left_something += 1;
            let listed = restore(&bench, &["--list"]).succeeded().stdout;
            assert!(
                listed.contains("matrix") && listed.contains("directory /tmp/drivelab-matrix-"),
                "{listed}"
            );
        }
        restore(&bench, &[]).succeeded();
        assert_eq!(left_behind(&bench, pid), [""; 0], "round {round}");
    }
    assert!(left_something > 0, "the kills came when there was nothing to put back");
    let nothing = restore(&bench, &[]).succeeded();
    assert!(nothing.stderr.contains("nothing to put back"), "{nothing:?}");
}

#[test]
fn restore_puts_back_what_a_killed_matrix_left() {
    killed(4);
}

#[test]
#[ignore = "a minute: thirty kills"]
fn restore_puts_back_what_thirty_killed_matrices_left() {
    killed(30);
}

#[test]
fn real_file_systems_run_on_a_modelled_drive_and_the_paths_floor_is_printed() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    if system("nbdfuse", &["--version"]).is_none() || !Path::new("/dev/fuse").exists() {
        return common::skip("nbdfuse and /dev/fuse");
    }
    let words = ["model:intel-x25e-32", "--fs", "ext4", "--write-cache", "on,off", "--passes", "2"];
    let living = matrix(&bench, &words).and(["--method", "two.toml", "--seed", "1"]).start();
    let pid = living.id();
    let outcome = living.wait().succeeded();
    assert_eq!(left_behind(&bench, pid), [""; 0]);
    let text = outcome.stdout;
    assert!(text.contains("write-cache  off    on"), "{text}");
    assert!(text.contains("The path's own floor"), "{text}");
    assert!(
        outcome.stderr.contains("serve model:intel-x25e-32:write-cache=off"),
        "{}",
        outcome.stderr
    );
}
