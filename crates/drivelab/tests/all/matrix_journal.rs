//! `drivelab matrix` with journals on a second device: real ext4 and XFS on loop devices, and what
//! cannot be had.

use crate::{common, matrix};

use common::{LoopDevice, MIB, assert_one_sentence, can_make_file_systems};
use matrix::{bench, left_behind, restore, state};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

const SMALL: [&str; 4] = ["--method", "two.toml", "--passes", "1"];

#[test]
fn a_journal_on_a_second_loop_device_is_measured_beside_one_inside() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let words = ["--loop", ".", "--loop-size", "400M", "--fs", "raw,ext4,xfs"];
    let call = matrix::matrix(&bench, &words).and(["--journal", "inside,64M"]).and(SMALL);
    let living = call.and(["--json", "matrix.json"]).start();
    let pid = living.id();
    let outcome = living.wait().succeeded();
    assert_eq!(left_behind(&bench, pid), [""; 0]);
    let steps = &outcome.stderr;
    for step in [
        "-O journal_dev -b 4096 /dev/loop",
        "-b 4096 -J device=/dev/loop",
        "mkfs.xfs -q -f -K -l logdev=/dev/loop",
        "mount -t xfs -o logdev=/dev/loop",
        "-journal",
    ] {
        assert!(steps.contains(step), "{step}: {steps}");
    }
    assert!(outcome.stdout.contains("journal  "), "{}", outcome.stdout);
    let records = fs::read_to_string(bench.path("matrix.json")).expect("records");
    let records: Value = serde_json::from_str(&records).expect("JSON");
    let cells = records[0]["cells"].as_array().expect("cells");
    let word = |cell: &Value, key: &str| cell["coordinates"][key].as_str().unwrap_or("").to_owned();
    let seen: BTreeSet<_> =
        cells.iter().map(|cell| (word(cell, "fs"), word(cell, "journal"))).collect();
    let expected = [("ext4", "64M"), ("ext4", "inside"), ("raw", "-"), ("xfs", "64M")]
        .into_iter()
        .chain([("xfs", "inside")]);
    let expected = expected.map(|(fs, journal)| (fs.to_owned(), journal.to_owned()));
    assert_eq!(seen, expected.collect());
}

#[test]
fn a_named_journal_device_is_agreed_to_like_the_first_and_left_empty() {
    if !can_make_file_systems() {
        return;
    }
    let bench = bench();
    let first = need!(LoopDevice::of_zeros(400 * MIB), common::ROOT);
    let second = need!(LoopDevice::of_zeros(64 * MIB), common::ROOT);
    let measured = |words: &[&str]| {
        let call = matrix::matrix(&bench, &[first.text(), "--fs", "ext4,xfs"]).and(SMALL);
        call.and(["--journal", second.text(), "--destroy", first.name()]).and(words).done()
    };
    let refused = measured(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_one_sentence(&refused.stderr, &[second.text(), "--destroy"]);
    let agreed = ["--destroy", second.name()];
    let done = measured(&agreed).succeeded();
    assert!(done.stderr.contains(&format!("logdev={}", second.text())), "{}", done.stderr);
    let seen = Command::new("/usr/sbin/wipefs").arg(second.text()).output().expect("wipefs");
    assert!(seen.stdout.is_empty(), "{}", String::from_utf8_lossy(&seen.stdout));
    // So the guard lets the next one in, and nobody in while the second one is mounted.
    measured(&agreed).succeeded();
    let mounted = need!(second.mounted("mkfs.ext4", &[]), "ext4");
    fs::write(mounted.path().join("mine"), "kept").expect("room");
    let refused = measured(&agreed);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_one_sentence(&refused.stderr, &[second.text(), "mounted"]);
    assert_eq!(fs::read_to_string(mounted.path().join("mine")).expect("it is there"), "kept");
}

/// Interrupted and killed while both loop devices are attached.
#[test]
fn both_loop_devices_are_put_back_after_an_end_that_was_not_planned() {
    if !can_make_file_systems() {
        return;
    }
    for signal in ["INT", "KILL"] {
        let bench = bench();
        let words = ["--loop", ".", "--loop-size", "400M", "--fs", "ext4,xfs", "--passes", "50"];
        let call = matrix::matrix(&bench, &words).and(["--journal", "64M", "--method", "two.toml"]);
        let mut living = call.start();
        let pid = living.id();
        let mounted = format!("/tmp/drivelab-matrix-{pid}/mount");
        let is_mounted =
            || fs::read_to_string("/proc/self/mounts").is_ok_and(|all| all.contains(&mounted));
        living.wait_until("a file system is mounted", is_mounted);
        living.signal(signal);
        living.wait();
        if signal == "KILL" {
            let left = left_behind(&bench, pid);
            assert!(left.iter().any(|line| line.contains("-journal")), "{left:?}");
            restore(&bench, &[]).succeeded();
        }
        assert_eq!(left_behind(&bench, pid), [""; 0], "after {signal}");
    }
}

#[test]
fn a_journal_that_cannot_be_had_is_refused_in_one_sentence() {
    let bench = bench();
    let cases: [(&[&str], &[&str]); 8] = [
        (&["--fs", "ext4", "--journal", "outside"], &["--journal outside", "write inside, a size"]),
        (&["--fs", "ext4", "--journal", "64M,64M"], &["stands there twice"]),
        (&["--fs", "ext4", "--journal", "1M"], &["--journal 1M", "needs 4 MiB", "name more"]),
        (&["--fs", "xfs", "--journal", "inside,16M"], &["needs 64 MiB"]),
        (&["--fs", "xfs,btrfs", "--journal", "64M"], &["leave btrfs out"]),
        (&["--fs", "ext2", "--journal", "64M"], &["leave ext2 out"]),
        (&["--fs", "xfs", "--journal", "100T"], &["--journal 100T", "name less"]),
        (&["--fs", "xfs", "--journal", "/dev/nowhere"], &["/dev/nowhere"]),
    ];
    for (words, cures) in cases {
        let words = [&["--loop", ".", "--loop-size", "400M"], words].concat();
        let outcome = matrix::matrix(&bench, &words).and(SMALL).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {outcome:?}");
        assert_one_sentence(&outcome.stderr, cures);
    }
    let of_model = ["model:intel-x25e-32", "--fs", "xfs", "--journal", "64M"];
    let outcome = matrix::matrix(&bench, &of_model).and(SMALL).done();
    assert_one_sentence(&outcome.stderr, &["--journal 64M", "leave it inside"]);
    assert!(!state(&bench).exists(), "a ledger was opened");
}

#[test]
fn one_device_is_not_taken_twice() {
    let bench = bench();
    let device = need!(LoopDevice::of_zeros(400 * MIB), common::ROOT);
    let link = bench.path("link");
    std::os::unix::fs::symlink(device.text(), &link).expect("a link");
    for journal in [Path::new(device.text()), &link] {
        let journal = journal.to_str().expect("plain");
        let words = [device.text(), "--destroy", device.name(), "--fs", "ext4"];
        let call = matrix::matrix(&bench, &words).and(["--journal", journal]).and(SMALL);
        let outcome = call.done();
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert_one_sentence(&outcome.stderr, &["has this device already", "name one for each"]);
    }
    assert!(!state(&bench).exists(), "a ledger was opened");
}
