//! Paths that are no UTF-8, as they stand on disks that were written under another encoding:
//! `caf\xe9` is Latin-1.

use crate::common;

use common::{Bench, Call, assert_one_sentence, can_make_file_systems, names_in};
use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Longer than the longest of these calls takes.
const DEADLINE: Duration = Duration::from_secs(170);

/// `caf\xe9` with something before and behind it.
fn word(before: &str, behind: &str) -> OsString {
    OsString::from_vec([before.as_bytes(), b"caf\xe9", behind.as_bytes()].concat())
}

/// A bench with a directory `caf\xe9`.
fn bench() -> (Bench, PathBuf) {
    let bench = Bench::new();
    let directory = bench.path(".").canonicalize().expect("it is there").join(word("", ""));
    fs::create_dir(&directory).expect("a file system takes any bytes");
    (bench, directory)
}

/// `run $'/tmp/caf\xe9'` panicked in the middle of its complaint about the argument. What is right:
/// it is measured, kept, and gone on with by its record.
#[test]
fn a_directory_is_measured_and_a_killed_run_of_it_goes_on() {
    let (bench, directory) = bench();
    bench.small_run([&directory]).and(["--json", "-", "-q"]).done().succeeded();
    let record = bench.record("last");
    let target = &record["targets"][0];
    let exact = target["path_exact"].as_str().expect("the path is no text");
    assert!(exact.ends_with("/caf%E9"), "{exact}");
    assert!(target["path"].as_str().is_some_and(|path| path.ends_with("/caf\u{fffd}")));
    assert!(names_in(&directory).is_empty(), "the scratch file is gone");
    // Relative, and a new file in it.
    bench.small_run([word("./", "")]).done().succeeded();
    bench.small_run([word("", "/new.img")]).done().succeeded();
    assert!(names_in(&directory).is_empty(), "the new file is gone");
    // Killed: the next run finds its scratch file, and it is resumed.
    let long = bench.drivelab(["run"]).and([&directory]).and(["--method", "small.toml"]);
    let mut living = long.and(["--max-time", "20s"]).start();
    living.wait_until("it has a scratch file", || !names_in(&directory).is_empty());
    living.wait_until("it is in the history", || bench.history().len() == 4);
    living.signal("KILL");
    drop(living);
    bench.small_run(["null:"]).done().succeeded();
    assert!(names_in(&directory).is_empty(), "left behind: {:?}", names_in(&directory));
    let killed = &bench.history()[1]["id"];
    let killed = killed.as_str().expect("an id");
    let resumed = bench.drivelab(["run", "--resume", killed]).start();
    let outcome = resumed.wait_within(DEADLINE).succeeded();
    assert!(outcome.stdout.contains("/caf"), "{outcome:?}");
}

#[test]
fn files_of_every_kind_are_read_and_written() {
    let (bench, directory) = bench();
    let method = directory.join(word("m-", ".toml"));
    fs::copy(bench.path("small.toml"), &method).expect("a copy");
    let record = directory.join(word("r-", ".json"));
    let store = directory.join(word("s-", ".sqlite"));
    let words = ["run", "null:", "--max-time", "0.3s", "--method"];
    let run = bench.drivelab_without_store(words).and([&method]);
    run.and(["--store"]).and([&store]).and(["--json"]).and([&record]).done().succeeded();
    let show = Call::new(["show"], &directory).and([&record]).and(["--store"]).and([&store]);
    assert!(show.done().succeeded().stdout.contains("null:"));
    for (option, name) in [("--html", "a.html"), ("--xlsx", "a.xlsx"), ("--csv", "a.csv")] {
        let page = directory.join(word("p-", name));
        let report = bench.drivelab(["report"]).and([&record]).and([option]).and([&page]);
        report.done().succeeded();
        assert!(fs::metadata(&page).is_ok_and(|found| found.len() > 100), "{option}");
    }
    let compare = bench.drivelab(["compare"]).and([&record, &record]);
    compare.done().succeeded();
    let sheet = directory.join(word("", ".toml"));
    let refused = bench.drivelab(["show"]).and([&record]).and(["--spec"]).and([&sheet]).done();
    assert_eq!(refused.code, Some(2));
    assert_one_sentence(&refused.stderr, &["data sheet", "there is no such file"]);
    let store = directory.join(word("h-", ".sqlite"));
    let history = bench.drivelab_without_store(["history", "--store"]).and([&store]).done();
    assert!(history.succeeded().stderr.contains("there is no history"));
}

#[test]
fn a_managed_volume_is_made_looked_at_checked_measured_and_served() {
    let (bench, directory) = bench();
    let volume = directory.join(word("v-", ".img"));
    let flash = |verb: &str| bench.drivelab_without_store(["flash", verb]).and([&volume]);
    let made = flash("create").and(["--drive-size", "256M"]).done().succeeded();
    assert!(made.stdout.contains(r"drivelab run $'flash:"), "{}", made.stdout);
    for verb in ["status", "check"] {
        let said = flash(verb).and(["--json"]).done().succeeded().json();
        assert!(said["path"].as_str().is_some_and(|path| path.ends_with("v-caf\u{fffd}.img")));
        assert!(said["path_exact"].as_str().is_some_and(|path| path.ends_with("v-caf%E9.img")));
    }
    // What would be lost is agreed to by its name.
    let again = flash("create").done();
    assert_eq!(again.code, Some(2), "{again:?}");
    assert_one_sentence(&again.stderr, &["--destroy $'", r"caf\351.img'"]);
    flash("create").and(["--dry-run", "--destroy"]).and([&volume]).done().succeeded();
    let mut target = OsString::from("flash:");
    target.push(&volume);
    bench.small_run([&target]).done().succeeded();
    let info = &bench.record("last")["targets"][0];
    assert_eq!(info["kind"], "flash");
    assert!(info["path_exact"].as_str().is_some_and(|path| path.ends_with("v-caf%E9.img")));
    let rescued = directory.join(word("i-", ".raw"));
    flash("rescue").and(["--to"]).and([&rescued]).done();
    assert!(rescued.exists());
    // Served at a socket of such a name.
    let mut address = OsString::from("unix:");
    address.push(directory.join(word("", ".sock")));
    let serve = bench.drivelab_without_store(["serve"]).and([&target]);
    let mut server = serve.and(["--nbd"]).and([&address]).start();
    let line = server.line();
    assert!(line.contains("caf%E9.sock") || server.line().contains("caf%E9.sock"), "{line}");
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_study_measures_a_directory() {
    let (bench, directory) = bench();
    let page = directory.join(word("", ".html"));
    let study = bench.drivelab(["study", "easyco2007", "--on"]).and([&directory]);
    let study = study.and(["--size", "16M", "--max-time", "2s", "--passes", "1", "--yes"]);
    let outcome = study.and(["--html"]).and([&page]).start();
    outcome.wait_within(DEADLINE).succeeded();
    assert!(page.exists());
    assert_eq!(names_in(&directory).len(), 1, "{:?}", names_in(&directory));
}

/// The ledger could hold no such path, and the loop device over such a file was not found again.
#[test]
fn a_matrix_on_a_loop_device_is_measured_and_cleaned_up() {
    if !can_make_file_systems() {
        return;
    }
    let (bench, directory) = bench();
    let mut option = OsString::from("--loop=");
    option.push(&directory);
    let words = ["--loop-size", "300M", "--fs", "raw,ext4", "--size", "8M", "--passes", "1"];
    let matrix = || {
        let call = bench.drivelab(["matrix"]).and([&option]).and(words);
        let call = call.and(["--method", "small.toml", "--max-time", "2s"]);
        call.variable("XDG_STATE_HOME", bench.path("state").to_str().expect("plain"))
    };
    matrix().done().succeeded();
    assert!(names_in(&directory).is_empty(), "left behind: {:?}", names_in(&directory));
    let mut living = matrix().start();
    living.wait_until("a loop device is over its file", || over(&directory) == 1);
    living.signal("KILL");
    drop(living);
    let restore = bench.drivelab_without_store(["restore"]);
    let state = bench.path("state");
    restore.variable("XDG_STATE_HOME", state.to_str().expect("plain")).done().succeeded();
    assert_eq!(over(&directory), 0);
    assert!(names_in(&directory).is_empty(), "left behind: {:?}", names_in(&directory));
}

/// Loop devices over files in this directory.
fn over(directory: &Path) -> usize {
    let backing = |entry: fs::DirEntry| fs::read(entry.path().join("loop/backing_file")).ok();
    let all = fs::read_dir("/sys/block").expect("sysfs").flatten().filter_map(backing);
    all.filter(|path| path.starts_with(directory.as_os_str().as_bytes())).count()
}
