//! Root measures in a directory of another user, who exchanges directories and links all the while.
//!
//! The story: root measured `/home/someone`. That user renamed the scratch tree and put a symbolic
//! link in its place: root deleted and rewrote everything in the link's target. He did the same to
//! the scratch file, which every worker opened again by its path: another's file was overwritten,
//! and the superblock of a mounted loop device, with a table and no error. Right is that root goes
//! on in what it opened or made, and that not one byte outside changes.
//!
//! `DRIVELAB_SWAPS=1000 cargo test -p drivelab --test all swapped::` runs a thousand lives in each
//! place (and a hundred calls of the binary, twenty matrices); without it, some tens.

#[path = "swapped/canary.rs"]
mod canary;
use crate::common;
#[path = "swapped/other.rs"]
mod other;
#[path = "swapped/stepped.rs"]
mod stepped;

use canary::{Owner, Stage};
use common::{Bench, Call, LoopDevice, can_make_file_systems, system};
use engine::Clock;
use lab::{
    method::Method,
    plan::{Options, Plan},
    runner::run,
    target::Target,
};
use other::Other;
use record::Record;
use std::path::Path;
use stepped::{Pace, Stepped, Steps};
use target::{Permission, TargetText};

/// The test that is the other user's process.
const HIM: &str = "swapped::he_does_as_he_is_told";

/// Every way to open a file and every operation on a tree, a few times each.
const METHOD: &str = r#"
name = "short"
title = "a little of everything"
about = "For tests."
order = "fixed"
span = "64KiB"
fill = 1
passes = 1
grade = "quick"
ask_above = 1e9
[[cell]]
name = "fresh"
op = "write"
pattern = "sequential"
block = "4KiB"
io = "buffered"
bound = "6"
before = ["new_file"]
[[cell]]
name = "writes"
op = "write"
pattern = "random"
block = "4KiB"
io = "buffered"
threads = 2
bound = "6"
[[cell]]
name = "stdio"
op = "write"
pattern = "sequential"
block = "4KiB"
io = "buffered"
engine = "stdio"
bound = "6"
[[cell]]
name = "reads"
op = "read"
pattern = "sequential"
block = "4KiB"
io = "buffered"
bound = "6"
before = ["drop_cache"]
[[cell]]
op = "create"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1, sync = "both" }
[[cell]]
op = "write_file"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
op = "link"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
name = "unlink-links"
op = "unlink"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
op = "rename"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
op = "mkdir"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
op = "readdir"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
op = "rmdir"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
[[cell]]
op = "unlink"
tree = { files = 12, file_size = "1KiB..9KiB", directories = 3, levels = 1 }
"#;

#[test]
fn he_does_as_he_is_told() {
    other::obey();
}

/// How often, in the suite and when asked for more.
fn rounds(usual: u64, share: u64) -> u64 {
    let asked = std::env::var("DRIVELAB_SWAPS").ok().and_then(|text| text.parse::<u64>().ok());
    asked.map_or(usual, |asked| (asked / share).max(1))
}

/// One life of a target in this process: looked at, planned, measured, dropped. Whether it was
/// measured to the end.
fn live(path: &Path, steps: &Steps, seed: u64) -> Result<(), String> {
    let text = TargetText::Path(path.to_owned());
    steps.pass();
    let opened = target::open(
        &text,
        &Permission::default(),
        target::Pace::real(Clock::start_monotonic()),
        seed,
    );
    let inner = opened.map_err(|error| error.to_string())?;
    let mut target: Box<dyn Target> = Box::new(Stepped { inner, steps: steps.clone() });
    let method = Method::parse("short", METHOD, &[]).expect("a method");
    let options = Options { seed, ..Options::default() };
    let plan = Plan::new(method, &options, &[target.offer()]).expect("a plan");
    let example = include_str!("../../../record/tests/example.json");
    let mut record = Record::from_json(example, "example.json").expect("a record");
    record.targets = vec![target.info().clone()];
    (record.cells, record.paired, record.rounds) = (Vec::new(), Vec::new(), None);
    let done = run(&plan, std::slice::from_mut(&mut target), &mut record, &mut ());
    steps.pass();
    drop(target);
    done.map_err(|error| error.to_string())
}

/// Lives in `parent`, some with a move between every two steps, some against him running free.
fn race_in(parent: &Path, what: &str) {
    let stage = need!(Stage::new(parent), common::ROOT);
    let (mut ended, mut all, mut moves) = (0, 0, 0);
    for round in 0..rounds(18, 1) {
        let owner = Owner::ALL[(round % 3) as usize];
        stage.begin(owner);
        let other = Other::start(HIM, &stage.yard(), &stage.aims());
        let pace = if round % 2 == 0 { Pace::Stepped } else { Pace::Free };
        let path = if round % 5 == 4 { stage.area().join("new.bin") } else { stage.area() };
        let story = format!("{what}, round {round}, {owner:?}, {pace:?}, {}", path.display());
        let steps = Steps::with(other, pace, round);
        let lived = live(&path, &steps, round);
        moves += steps.end();
        all += 1;
        match lived {
            Ok(()) => ended += 1,
            Err(error) => eprintln!("{story}: {error}"),
        }
        stage.check(&story);
        assert_eq!(stage.left_bytes(), 0, "{story}: root's files still take space");
        if round % 16 == 0 {
            stage.check_all(&story);
        }
    }
    stage.check_all(what);
    eprintln!("{what}: {all} lives, {ended} to the end, {moves} moves");
    // Some do not begin, when he has taken the directory away.
    assert!(ended * 2 > all && moves > all, "{ended} of {all} were measured, with {moves} moves");
}

#[test]
fn on_the_disk_nothing_outside_is_touched() {
    race_in(Path::new(env!("CARGO_TARGET_TMPDIR")), "on the disk");
}

#[test]
fn on_a_tmpfs_nothing_outside_is_touched() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let text = place.path().to_str().expect("plain names").to_owned();
    need!(system("mount", &["-t", "tmpfs", "-o", "size=64m", "tmpfs", &text]), "root and tmpfs");
    let outcome = std::panic::catch_unwind(|| race_in(Path::new(&text), "on a tmpfs"));
    system("umount", &["--lazy", &text]);
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn on_ext4_nothing_outside_is_touched() {
    let device = need!(LoopDevice::of_zeros(128 << 20), common::ROOT);
    let mounted = need!(device.mounted("mkfs.ext4", &[]), "root and ext4");
    race_in(mounted.path(), "on ext4");
}

/// Calls of the binary as a user makes them, against him running free, until `wanted` were measured
/// to the end: others do not begin, because he has taken the directory away at that moment.
fn race_the_binary(what: &str, wanted: u64, call: impl Fn(&Bench, &Stage, u64) -> Call) {
    let stage = need!(Stage::new(Path::new(env!("CARGO_TARGET_TMPDIR"))), common::ROOT);
    let bench = Bench::new();
    bench.file("short.toml", METHOD);
    let (mut all, mut succeeded, mut moves) = (0, 0, 0);
    while succeeded < wanted {
        let owner = Owner::ALL[(all % 3) as usize];
        stage.begin(owner);
        let other = Other::start(HIM, &stage.yard(), &stage.aims());
        let steps = Steps::with(other, Pace::Free, all);
        let done = call(&bench, &stage, all).done();
        moves += steps.end();
        all += 1;
        succeeded += u64::from(done.code == Some(0));
        let story = format!("{what}, call {all}, {owner:?}: {done:?}");
        stage.check_all(&story);
        assert_eq!(stage.left_bytes(), 0, "{story}: root's files still take space");
        let loops = system("losetup", &["--list", "--noheadings"]).expect("losetup");
        let yard = stage.yard().display().to_string();
        assert!(!loops.contains(&yard), "{story}: a loop device is left: {loops}");
        assert!(all < 30 * wanted, "{story}: hardly one begins");
    }
    eprintln!("{what}: {all} calls, {succeeded} to the end, {moves} moves");
    assert!(moves > all, "he did nothing");
}

#[test]
fn the_binary_touches_nothing_outside() {
    race_the_binary("the binary", rounds(3, 10), |bench, stage, call| {
        let file = stage.area().join("new.bin");
        let target = if call % 4 == 3 { file } else { stage.area() };
        bench.drivelab(["run", target.to_str().expect("plain"), "--method", "short.toml"])
    });
}

/// `matrix --loop` makes its image in a directory of his, puts a loop device over it, and formats
/// that.
#[test]
fn a_matrix_touches_nothing_outside() {
    if !can_make_file_systems() {
        return;
    }
    race_the_binary("a matrix", rounds(1, 50), |bench, stage, _| {
        let (area, state) = (stage.area(), bench.path("state"));
        let words = ["matrix", "--loop", area.to_str().expect("plain"), "--loop-size", "64M"];
        let more = ["--fs", "raw,ext4", "--method", "small.toml", "--passes", "1", "--size", "8M"];
        let call = bench.drivelab(words).and(more).and(["--max-time", "2s"]);
        call.variable("XDG_STATE_HOME", state.to_str().expect("plain"))
    });
}
