//! Runs that are killed, stopped or fail in the middle keep what they measured and leave nothing
//! else.

use crate::common;

use common::{
    Bench, DRIVELAB, Living, LoopDevice, MIB, ROOT, assert_one_sentence, cell_names, many_reads,
    names_in,
};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Six cells of half a second each, in a fixed order; the run has finished two and is in the middle
/// of one.
fn in_the_middle(bench: &Bench) -> Living {
    let method = bench.file("many.toml", many_reads(6));
    let run = bench.drivelab(["run", "area", "--max-time", "3s", "--label", "crash", "--method"]);
    let mut living = run.and([method]).start();
    living.wait_until("two cells are kept", || {
        // A store that is being made has no run yet.
        let shown = bench.drivelab(["show", "crash", "--json"]).done();
        shown.code == Some(0) && cell_names(&shown.json()).len() >= 2
    });
    living
}

fn killed(bench: &Bench) {
    let living = in_the_middle(bench);
    living.signal("KILL");
    assert_eq!(living.wait().code, None, "it was killed");
    assert_eq!(bench.left_behind().len(), 1, "the scratch file is orphaned");
}

/// Seed, and name and rate of every cell so far.
fn measured(record: &Value) -> (Value, Vec<(String, Value)>) {
    let cells = record["cells"].as_array().expect("cells").iter();
    let cells = cells.map(|cell| (cell["name"].to_string(), cell["iops"].clone()));
    (record["seed"].clone(), cells.collect())
}

#[test]
fn a_killed_run_is_in_the_history_as_interrupted_with_what_it_measured() {
    let bench = Bench::new();
    killed(&bench);
    let runs = bench.history();
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &"interrupted".into()));
    let record = bench.record("last");
    let cells = cell_names(&record);
    assert!((2..6).contains(&cells.len()) && cells[0] == "reads-0", "{cells:?}");
    assert!(record["cells"][0]["iops"].as_f64().is_some_and(|iops| iops > 0.0));
    let shown = bench.drivelab(["show", "last"]).done().succeeded();
    assert!(shown.stdout.contains("interrupted") && shown.stdout.contains("--resume"));
}

#[test]
fn the_next_run_in_the_same_directory_removes_the_orphan() {
    let bench = Bench::new();
    killed(&bench);
    let next = bench.small_run(["area"]).done().succeeded();
    assert!(next.stderr.contains("left behind by a killed run"), "{}", next.stderr);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn the_next_run_anywhere_with_the_same_store_removes_the_orphan() {
    let bench = Bench::new();
    killed(&bench);
    let next = bench.small_run(["null:"]).within(Path::new("/")).done().succeeded();
    assert!(next.stderr.contains("left behind by a killed run"), "{}", next.stderr);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn a_run_with_another_store_removes_the_orphan_of_its_own_directory() {
    let bench = Bench::new();
    killed(&bench);
    let other = Bench::new();
    let area = bench.path("area");
    other.small_run([&area]).done().succeeded();
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn a_living_runs_scratch_file_is_left_alone() {
    let bench = Bench::new();
    let living = in_the_middle(&bench);
    // On a busy machine the other run took longer than what was left of this one: it lives on, and
    // does not end meanwhile.
    living.signal("STOP");
    let before = bench.left_behind();
    bench.small_run(["area"]).done().succeeded();
    assert_eq!(bench.left_behind(), before);
    assert_eq!(before.len(), 1, "the living run's");
    living.signal("CONT");
    let living = living.wait().succeeded();
    assert!(!living.stderr.contains("killed"), "{}", living.stderr);
    assert!(bench.history().iter().all(|run| run["state"] == "complete"));
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn a_killed_run_is_completed_by_resume_with_the_same_seed_and_cells() {
    let bench = Bench::new();
    killed(&bench);
    let (seed, before) = measured(&bench.record("crash"));
    bench.drivelab(["run", "--resume", "last"]).within(Path::new("/")).done().succeeded();
    let record = bench.record("last");
    let (seed_now, after) = measured(&record);
    assert_eq!((seed_now, &record["state"]), (seed, &"complete".into()));
    assert_eq!(after[..before.len()], before, "what was measured is not measured again");
    let names: Vec<String> = (0..6).map(|at| format!("reads-{at}")).collect();
    assert_eq!(cell_names(&record), names);
    assert_eq!(bench.history().len(), 1, "it is the same run");
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn an_interrupted_run_keeps_its_cells_says_how_to_go_on_and_goes_on() {
    let bench = Bench::new();
    let living = in_the_middle(&bench);
    living.signal("INT");
    let outcome = living.wait();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    let id = bench.history()[0]["id"].as_str().expect("an id").to_owned();
    let store = bench.path("store.sqlite");
    let cure = format!("`drivelab run --resume {id} --store {}`", store.display());
    assert!(outcome.stderr.trim_end().ends_with(&cure), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("interrupted"), "{}", outcome.stdout);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
    let (seed, before) = measured(&bench.record(&id));
    assert!(before.len() >= 2, "{before:?}");
    bench.drivelab(["run", "--resume", &id]).done().succeeded();
    let (seed_now, after) = measured(&bench.record(&id));
    assert_eq!((seed_now, after.len()), (seed, 6));
    assert_eq!(after[..before.len()], before);
}

/// A cell that would go on for an hour ends within moments (a tenth of a second, when nothing else
/// runs).
#[test]
fn every_signal_that_asks_to_stop_ends_a_long_cell_soon() {
    for signal in ["INT", "TERM", "HUP"] {
        let bench = Bench::new();
        let method = bench.file("many.toml", many_reads(1));
        let run = bench.drivelab(["run", "area", "--grade", "publish", "--max-time", "5h"]);
        // Under `nohup cargo test` a hangup is ignored here, and would be there.
        let run = run.through(&["env", "--default-signal=HUP"], Path::new(DRIVELAB));
        let mut living = run.and(["--method"]).and([method]).start();
        living.wait_until("the area is written", || {
            let [name] = &bench.left_behind()[..] else { return false };
            fs::metadata(bench.path("area").join(name)).is_ok_and(|meta| meta.len() == 8 * MIB)
        });
        let sent = Instant::now();
        living.signal(signal);
        let outcome = living.wait();
        assert!(sent.elapsed() < Duration::from_secs(5), "{:?} after {signal}", sent.elapsed());
        assert_eq!(outcome.code, Some(130), "{outcome:?}");
        assert_eq!(bench.left_behind(), Vec::<String>::new());
    }
}

#[test]
fn interrupted_with_json_the_record_alone_is_on_stdout() {
    let bench = Bench::new();
    let method = bench.file("many.toml", many_reads(6));
    let run = bench.drivelab(["run", "area", "--max-time", "3s", "--json", "-", "--method"]);
    let mut living = run.and([method]).start();
    living.wait_until("a cell is kept", || {
        let shown = bench.drivelab(["show", "--json"]).done();
        shown.code == Some(0) && !cell_names(&shown.json()).is_empty()
    });
    living.signal("INT");
    assert_eq!(living.wait().json()["state"], "interrupted");
}

/// Two cells: the first fits behind the device, the second does not.
const FILLS_UP: &str = r#"
name = "fills-up"
title = "writes until the backing file system is full"
about = "For tests."
order = "fixed"
span = "88MiB"
grade = "quick"
ask_above = 1e9
[defaults]
op = "write"
pattern = "seq"
block = "1MiB"
bound = "once"
[[cell]]
name = "fits"
part = [0.0, 0.1]
[[cell]]
name = "fills"
"#;

/// A file system of 64 MiB and on it a file of 128 MiB that is nothing but a hole: room promised
/// and not there.
struct Promise {
    inner: LoopDevice,
    // Undone in this order, after the device above.
    _mounted: common::Mounted,
    _outer: LoopDevice,
}

impl Promise {
    fn new() -> Option<Self> {
        let outer = LoopDevice::of_zeros(64 * MIB)?;
        let mounted = outer.mounted("mkfs.ext4", &[])?;
        let image = mounted.path().join("promise");
        fs::File::create_new(&image).and_then(|file| file.set_len(128 * MIB)).expect("a hole");
        let inner = LoopDevice::over(image, &[])?;
        Some(Self { inner, _mounted: mounted, _outer: outer })
    }
}

fn assert_names_the_offset(stderr: &str) {
    let last = stderr.lines().last().expect("an error");
    assert_one_sentence(last, &["write of 1 MiB at offset ", " failed: ", "--resume"]);
    let (_, after) = last.split_once("at offset ").expect("it names one");
    let offset: u64 = after.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    assert!(offset < 88 * MIB && offset.is_multiple_of(MIB), "{last}");
}

#[test]
fn a_device_that_fills_up_ends_the_run_with_the_offset_and_earlier_cells_are_kept() {
    let promise = need!(Promise::new(), ROOT);
    let bench = Bench::new();
    let method = bench.file("fills-up.toml", FILLS_UP);
    let run = bench.drivelab(["run", promise.inner.text(), "--destroy", promise.inner.name()]);
    let outcome = run.and(["--method"]).and([method]).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_names_the_offset(&outcome.stderr);
    let record = bench.record("last");
    assert_eq!((&record["state"], cell_names(&record)), (&"failed".into(), vec!["fits"]));
    let error = record["error"].as_str().expect("the error is kept");
    assert!(outcome.stderr.contains(error), "{error}");
}

#[test]
fn a_file_system_that_fails_below_its_scratch_file_ends_the_run_with_the_offset() {
    let promise = need!(Promise::new(), ROOT);
    let mounted = need!(promise.inner.mounted("mkfs.ext4", &[]), "ext4");
    let before = names_in(mounted.path());
    let bench = Bench::new();
    let method = bench.file("fills-up.toml", FILLS_UP);
    let run = bench.drivelab(["run", mounted.text(), "--method"]).and([method]);
    let outcome = run.done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_names_the_offset(&outcome.stderr);
    assert_eq!(cell_names(&bench.record("last")), ["fits"]);
    assert_eq!(names_in(mounted.path()), before, "the scratch file is gone");
}

#[test]
fn a_device_that_vanishes_in_the_middle_ends_the_run() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    common::fill(&device.image, 16 * MIB);
    let bench = Bench::new();
    let method = bench.file("many.toml", many_reads(6));
    let run = bench.drivelab(["run", device.text(), "--reads-only", "--max-time", "3s"]);
    let mut living = run.and(["--label", "crash", "--method"]).and([method]).start();
    living.wait_until("two cells are kept", || {
        let shown = bench.drivelab(["show", "crash", "--json"]).done();
        shown.code == Some(0) && cell_names(&shown.json()).len() >= 2
    });
    // What a pulled plug looks like from above: the data behind the device is gone.
    fs::OpenOptions::new().write(true).open(&device.image).and_then(|f| f.set_len(0)).expect("cut");
    let outcome = living.wait();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("read of 4 KiB at offset"), "{}", outcome.stderr);
    let record = bench.record("last");
    assert_eq!(record["state"], "failed");
    assert!(cell_names(&record).len() >= 2);
}
