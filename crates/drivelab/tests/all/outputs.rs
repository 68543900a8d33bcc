//! Files that a user names for what a command writes: whole or as they were, and nobody else's.

use crate::common;

use common::{Bench, Call, LoopDevice, MIB, ROOT, assert_one_sentence, names_in, skip};
use std::{
    fs,
    io::Read,
    os::unix::fs::{PermissionsExt, lchown, symlink},
    path::Path,
    process::Command,
    thread,
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/example-run.json");

/// A measurement of no device that takes a moment.
fn run(bench: &Bench, json: &str) -> Call {
    let words = ["run", "null:", "--max-time", "0.2s", "--grade", "quick", "--json", json];
    bench.drivelab(words).and(["--method", "small.toml"])
}

fn report(bench: &Bench, csv: &str) -> Call {
    bench.drivelab(["report", EXAMPLE, "--csv", csv])
}

fn is_record(text: &[u8]) -> bool {
    let value: serde_json::Value = serde_json::from_slice(text).expect("JSON");
    value["format"] == "drivelab-record"
}

/// To see whether the record could be written, its file was opened and removed again: on a link
/// that led nowhere the aim was made, the link removed, and the record written where the link had
/// been.
#[test]
fn a_link_to_nothing_is_refused_and_stays() {
    let bench = Bench::new();
    symlink("aim.json", bench.path("link.json")).expect("a link");
    for call in [run(&bench, "link.json"), report(&bench, "link.json")] {
        let outcome = call.done();
        assert_eq!(outcome.code, Some(2));
        assert_one_sentence(&outcome.stderr, &["link.json is a link to", "aim.json", "remove"]);
        assert!(!bench.path("aim.json").exists(), "the aim was made");
        assert_eq!(fs::read_link(bench.path("link.json")).expect("a link"), Path::new("aim.json"));
    }
    assert!(bench.history().is_empty(), "nothing was measured for it");
}

#[test]
fn a_link_to_a_file_is_written_through_and_keeps_link_and_mode() {
    let bench = Bench::new();
    fs::create_dir(bench.path("kept")).expect("a directory");
    let aim = bench.file("kept/aim.json", "old");
    fs::set_permissions(&aim, fs::Permissions::from_mode(0o640)).expect("it is ours");
    symlink("kept/aim.json", bench.path("first")).expect("a link");
    symlink("first", bench.path("link.json")).expect("a link to a link");
    run(&bench, "link.json").done().succeeded();
    assert!(fs::symlink_metadata(bench.path("link.json")).expect("it is there").is_symlink());
    assert!(is_record(&fs::read(&aim).expect("a record")));
    assert_eq!(fs::metadata(&aim).expect("a file").permissions().mode() & 0o7777, 0o640);
    assert_eq!(names_in(&bench.path("kept")), ["aim.json"], "nothing is left beside it");
}

/// As root in a directory of everybody's, a link is anybody's wish.
#[test]
fn a_link_of_another_user_is_not_followed() {
    if !common::can_make_file_systems() {
        return;
    }
    let bench = Bench::new();
    let precious = bench.file("precious", "mine");
    symlink("precious", bench.path("link.csv")).expect("a link");
    lchown(bench.path("link.csv"), Some(65_534), None).expect("root may");
    let outcome = report(&bench, "link.csv").and(["--force"]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["link of another user (uid 65534)", "precious"]);
    assert_eq!(fs::read(precious).expect("a file"), b"mine");
}

/// In a pipe, `/dev/stdout` leads to no path. It was taken for a new file, which root can put in
/// its place.
#[test]
fn stdout_by_its_path_is_a_dash() {
    let bench = Bench::new();
    let is_link = || fs::symlink_metadata("/dev/stdout").is_ok_and(|found| found.is_symlink());
    if !is_link() {
        return skip("/dev/stdout");
    }
    for path in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let said = report(&bench, path).done().succeeded();
        assert!(said.stdout.starts_with("run,method,target,cell,"), "{path}: {}", said.stdout);
    }
    assert!(is_link());
    // To a file, behind what is there already.
    let script = format!(
        "echo before > out; \"$0\" report {EXAMPLE} --csv /dev/stdout >> out && echo after >> out"
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, common::DRIVELAB]).current_dir(bench.path(""));
    assert!(shell.status().expect("a shell").success());
    let text = fs::read_to_string(bench.path("out")).expect("a file");
    assert!(text.starts_with("before\nrun,method,") && text.ends_with("\nafter\n"), "{text:.60}");
}

/// Looked at before the measurement, a pipe lost its reader.
#[test]
fn a_pipe_gets_the_whole_record() {
    let bench = Bench::new();
    let pipe = bench.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let path = pipe.clone();
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        fs::File::open(path).and_then(|mut pipe| pipe.read_to_end(&mut text)).expect("it is read");
        text
    });
    run(&bench, "pipe").done().succeeded();
    assert!(is_record(&reader.join().expect("it ends")));
}

#[test]
fn what_is_no_file_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    for (path, words) in [
        ("area", &["area is a directory", "name a file in it"][..]),
        ("absent/r.json", &["the directory absent does not exist", "mkdir -p absent"]),
    ] {
        let outcome = run(&bench, path).done();
        assert_eq!(outcome.code, Some(2));
        assert_one_sentence(&outcome.stderr, words);
    }
    assert!(bench.history().is_empty());
    let device = need!(LoopDevice::of_zeros(MIB), ROOT);
    let outcome = report(&bench, device.text()).and(["--force"]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["is a block device", "name a file"]);
    assert!(fs::read(&device.image).expect("an image").iter().all(|byte| *byte == 0));
}

/// The name of the file beside it had been the file's own and more: too long for a name that just
/// fits.
#[test]
fn the_longest_name_can_be_written() {
    let bench = Bench::new();
    let name = format!("{}.csv", "x".repeat(251));
    report(&bench, &name).done().succeeded();
    report(&bench, &name).done().succeeded();
    assert!(bench.path(&name).is_file());
}
