//! What a matrix lacks is said in one sentence before anything is touched: no ledger is opened,
//! nothing is mounted or attached, no byte of a device changes.

use crate::common;

use common::{
    Bench, Call, LoopDevice, MIB, Nobody, Outcome, assert_one_sentence, hash_device, system,
};
use std::{fs, path::Path};

const XFS: &str = "/usr/sbin/mkfs.xfs";

fn matrix(bench: &Bench, words: &[&str]) -> Call {
    let state = bench.path("state");
    let call = bench.drivelab(["matrix", "--method", "small.toml", "--quiet"]);
    call.and(words).variable("XDG_STATE_HOME", state.to_str().expect("plain"))
}

fn assert_refused(bench: &Bench, outcome: &Outcome, cures: &[&str]) {
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_one_sentence(&outcome.stderr, cures);
    assert!(!bench.path("state").exists(), "a ledger was opened");
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

fn is_root() -> bool {
    system("id", &["-u"]).is_some_and(|said| said.trim() == "0")
}

#[test]
fn a_plain_user_is_told_to_be_root() {
    let nobody = need!(Nobody::new(), "root and setpriv");
    let words = ["--loop", ".", "--loop-size", "64M", "--fs", "raw,ext4"];
    let outcome = nobody.does(matrix(&nobody.bench, &words));
    assert_refused(&nobody.bench, &outcome, &["as root", "sudo drivelab matrix"]);
}

#[test]
fn a_file_system_that_nobody_can_make_here_is_named_with_its_package() {
    if !is_root() || !Path::new(XFS).exists() {
        return common::skip("root and mkfs.xfs");
    }
    // In a mount namespace of its own there is a device where the program was.
    let hide = format!("mount --bind /dev/null {XFS} && exec \"$0\" \"$@\"");
    let without = ["unshare", "--mount", "sh", "-c", &hide];
    need!(system(without[0], &[&without[1..], &["true"]].concat()), "unshare");
    let bench = Bench::new();
    let words = ["--loop", ".", "--loop-size", "400M", "--fs", "ext4,xfs"];
    let binary = Path::new(env!("CARGO_BIN_EXE_drivelab"));
    let outcome = matrix(&bench, &words).through(&without, binary).done();
    assert_refused(&bench, &outcome, &["no mkfs.xfs", "install xfsprogs"]);
}

#[test]
fn a_write_cache_that_cannot_be_switched_is_refused() {
    // Without its file systems' programs the same matrix is refused for these.
    if !common::can_make_file_systems() {
        return;
    }
    let device = need!(LoopDevice::of_zeros(32 * MIB), common::ROOT);
    let before = hash_device(&device);
    let bench = Bench::new();
    let words = [device.text(), "--destroy", device.name(), "--write-cache", "on,off"];
    let outcome = matrix(&bench, &words).done();
    assert_refused(&bench, &outcome, &["write cache", "leave --write-cache out"]);
    assert_eq!(hash_device(&device), before);
}

#[test]
fn a_device_in_use_is_refused() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), common::ROOT);
    let mounted = need!(device.mounted("mkfs.ext4", &[]), "ext4");
    fs::write(mounted.path().join("mine"), "kept").expect("room");
    let before = hash_device(&device);
    let bench = Bench::new();
    let words = [device.text(), "--destroy", device.name(), "--fs", "raw,xfs"];
    let outcome = matrix(&bench, &words).done();
    assert_refused(&bench, &outcome, &["mounted", "umount"]);
    assert_eq!(hash_device(&device), before);
}

#[test]
fn a_loop_device_over_memory_is_refused() {
    let bench = Bench::new();
    let place = bench.path("ram");
    fs::create_dir(&place).expect("a directory");
    let at = place.to_str().expect("plain names");
    // Of the file systems that every kernel has, it is the one that refuses O_DIRECT.
    need!(system("mount", &["-t", "ramfs", "none", at]), "root and ramfs");
    let outcome = matrix(&bench, &["--loop", "ram", "--loop-size", "64M"]).done();
    system("umount", &[at]).expect("nobody uses it");
    assert_refused(&bench, &outcome, &["O_DIRECT", "another one"]);
}

#[test]
fn more_than_the_whole_drive_is_written_only_when_agreed_to() {
    let device = need!(LoopDevice::of_zeros(64 * MIB), common::ROOT);
    let before = hash_device(&device);
    let bench = Bench::new();
    let words = [device.text(), "--destroy", device.name(), "--fs", "raw", "--passes", "40"];
    let outcome = matrix(&bench, &[]).and(words).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_one_sentence(&outcome.stderr, &["in 40 turns", "times the drive", "add --yes"]);
    assert_eq!(hash_device(&device), before);
}
