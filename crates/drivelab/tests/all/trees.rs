//! File trees end to end: the methods on a real directory, what is left of a killed run, a full
//! file system, and targets that have no directory.

use crate::common;

use common::{Bench, Mounted, names_in};
use serde_json::Value;
use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// A short life of a tree, in eight cells.
const LIFE: &str = r#"
name = "life"
title = "a tree's life"
about = "For tests."
order = "fixed"
span = "1MiB"
passes = 2
[defaults.tree]
files = 600
file_size = "1KiB..9KiB"
directories = 12
levels = 2
[[cell]]
op = "create"
threads = 3
tree = { sync = "directory" }
flush = "timed"
[[cell]]
op = "readdir"
[[cell]]
op = "stat"
pattern = "readdir"
[[cell]]
op = "read_file"
pattern = "random"
[[cell]]
op = "link"
[[cell]]
name = "unlink-links"
op = "unlink"
[[cell]]
op = "rename"
pattern = "random"
[[cell]]
op = "unlink"
threads = 2
pattern = "readdir"
"#;

/// Passes over a tree that is made and removed, until somebody stops it.
const CHURN: &str = r#"
name = "churn"
title = "made and removed"
about = "For tests."
order = "fixed"
span = "64KiB"
passes = 1000
[defaults.tree]
files = 1500
file_size = "4KiB"
[[cell]]
op = "create"
[[cell]]
op = "unlink"
"#;

fn cell<'a>(record: &'a Value, name: &str) -> &'a Value {
    let cells = record["cells"].as_array().expect("cells");
    cells.iter().find(|cell| cell["name"] == name).unwrap_or_else(|| panic!("no cell {name}"))
}

#[test]
fn a_tree_lives_in_a_directory_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("life.toml", LIFE);
    let done = bench.drivelab(["run", "area", "--method", "life.toml"]).done().succeeded();
    assert!(done.stdout.contains("stat as listed, 600 files"), "{}", done.stdout);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
    let record = bench.record("last");
    let names: Vec<_> =
        record["cells"].as_array().expect("cells").iter().map(|c| &c["name"]).collect();
    assert_eq!(
        names,
        [
            "create-t3",
            "readdir",
            "stat-readdir",
            "read_file-random",
            "link",
            "unlink-links",
            "rename-random",
            "unlink-readdir-t2"
        ]
    );
    for (name, operations) in
        [("create-t3", 1200), ("readdir", 24), ("unlink-links", 1200), ("link", 1200)]
    {
        assert_eq!(cell(&record, name)["total"]["operations"], operations, "{name}, two passes");
        assert_eq!(cell(&record, name)["engine"], "tree");
    }
    let (made, read) = (cell(&record, "create-t3"), cell(&record, "read_file-random"));
    // Both passes write what both read; 600 sizes from 1 to 9 KiB have 5 KiB as their mean.
    let bytes = made["total"]["bytes"].as_u64().expect("a number");
    assert_eq!(read["total"]["bytes"], bytes);
    let mean = bytes as f64 / 1200.0;
    // Five standard errors: 5 x 8,192 / sqrt(12 x 600) = 483 bytes.
    assert!((mean - 5120.0).abs() < 483.0, "{mean}");
    assert_eq!(
        (&made["block_bytes"], &cell(&record, "link")["block_bytes"]),
        (&5120.into(), &0.into())
    );
    assert_eq!(
        (&made["pattern"], &made["coordinates"]["sync"]),
        (&"creation".into(), &"directory".into())
    );
    assert!(made["passes"][0]["flush_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert_eq!(cell(&record, "stat-readdir")["pattern"], "readdir");
}

#[test]
fn the_methods_that_come_along_run_in_small() {
    let bench = Bench::new();
    for method in ["bonnie", "small-files", "maildir", "untar-build-delete"] {
        let mut call = bench.drivelab(["run", "area", "--method", method, "--passes", "1"]);
        call = call.and(["--set", "files=900"]);
        if method == "bonnie" {
            call = call.and(["--size", "16M"]);
        }
        let done = call.done().succeeded();
        assert!(done.stdout.contains("900 files"), "{method}: {}", done.stdout);
        assert_eq!(bench.left_behind(), Vec::<String>::new(), "{method}");
        let record = bench.record("last");
        assert_eq!(record["left_out"], Value::Array(Vec::new()), "{method}");
        if method == "bonnie" {
            for cell in ["create, 900 files ", "create, 900 files, random names "] {
                assert!(done.stdout.contains(cell), "no `{cell}`: {}", done.stdout);
            }
            // Its files are empty, and "0 B fit into 23.5 GiB of memory" was said of them.
            let cells = record["cells"].as_array().expect("cells").iter();
            let empty: Vec<&Value> = cells.filter(|cell| cell["total"]["bytes"] == 0).collect();
            assert!(!empty.is_empty() && !record.to_string().contains("0 B fit into"));
            let fits = Value::from("fits_in_memory");
            let is_free =
                |cell: &&Value| !cell["flags"].as_array().is_some_and(|all| all.contains(&fits));
            assert!(empty.iter().all(is_free), "{empty:?}");
        }
    }
    let bonnie = bench.history().iter().any(|run| run["method"] == "bonnie");
    assert!(bonnie, "it is in the history");
}

#[test]
fn a_dry_run_names_files_and_bytes_and_makes_nothing() {
    let bench = Bench::new();
    let words = ["run", "area", "--method", "small-files", "--dry-run"];
    let done = bench.drivelab(words).done().succeeded();
    for words in
        ["create in the order of creation", "20000 files of 1 KiB to 16 KiB", "100 directories"]
    {
        assert!(done.stdout.contains(words), "no `{words}`: {}", done.stdout);
    }
    assert_eq!(bench.left_behind(), Vec::<String>::new());

    // A plan for four seconds took a minute and a half, without a word.
    let limited = bench.drivelab(words).and(["--max-time", "4"]).done().succeeded();
    let said = "every cell is done whole, whatever time was asked for";
    assert!(limited.stdout.contains(said), "{}", limited.stdout);
    assert!(!done.stdout.contains(said), "{}", done.stdout);
}

#[test]
fn a_killed_run_leaves_its_tree_and_the_next_run_removes_it() {
    let bench = Bench::new();
    bench.file("churn.toml", CHURN);
    let mut living = bench.drivelab(["run", "area", "--method", "churn.toml"]).start();
    let area = bench.path("area");
    let is_tree = |name: &String| name.starts_with(".drivelab-tree-");
    living.wait_until("there are files", || {
        let tree = names_in(&area).into_iter().find(is_tree);
        tree.is_some_and(|tree| !names_in(&area.join(tree)).is_empty())
    });
    living.signal("KILL");
    assert_eq!(living.wait().code, None, "it was killed");
    assert_eq!(bench.left_behind().iter().filter(|name| is_tree(name)).count(), 1, "an orphan");
    let next = bench.small_run(["area"]).done().succeeded();
    assert!(next.stderr.contains("left behind by a killed run"), "{}", next.stderr);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn an_interrupted_run_removes_its_tree_and_can_be_resumed() {
    let bench = Bench::new();
    bench.file("churn.toml", CHURN.replace("passes = 1000", "passes = 30").replace("1500", "200"));
    let mut living = bench.drivelab(["run", "area", "--method", "churn.toml"]).start();
    living.wait_until("a pass is kept", || {
        let shown = bench.drivelab(["show", "last", "--json"]).done();
        shown.code == Some(0) && !shown.json()["cells"].as_array().expect("cells").is_empty()
    });
    living.signal("INT");
    living.wait();
    assert_eq!(bench.left_behind(), Vec::<String>::new());
    let before = bench.record("last")["cells"][0]["passes"].as_array().expect("passes").len();
    bench.drivelab(["run", "--resume", "last"]).done().succeeded();
    let after = bench.record("last");
    assert!(before < 30, "{before}: it was over before it was interrupted");
    assert_eq!(after["cells"][1]["passes"].as_array().expect("passes").len(), 30);
    assert_eq!(after["cells"][1]["total"]["operations"], 30 * 200);
}

fn tmpfs(options: &str) -> Option<Mounted> {
    Mounted::new(Path::new("tmpfs"), &["-t", "tmpfs", "-o", options])
}

#[test]
fn a_tree_that_does_not_fit_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    let small = need!(tmpfs("size=4M"), "root, to mount a tmpfs");
    let few = need!(tmpfs("size=64M,nr_inodes=100"), "root, to mount a tmpfs");
    bench.file("churn.toml", CHURN);
    for (place, words) in [(&small, "room for"), (&few, "has room for")] {
        let call = bench.drivelab(["run", place.text(), "--method", "churn.toml"]);
        call.done().refused(&[words, "lower --set files="]);
        assert_eq!(names_in(place.path()), Vec::<String>::new());
    }
}

/// What others write while a tree is made no plan can know.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A run went on to its next cell, and a thousand passes met the same full disk.
#[test]
fn a_file_system_that_runs_full_ends_the_run_with_a_sentence_and_no_tree() {
    let bench = Bench::new();
    let place = need!(tmpfs("size=16M"), "root, to mount a tmpfs");
    bench.file("churn.toml", CHURN);
    let mut living = bench.drivelab(["run", place.text(), "--method", "churn.toml"]).start();
    living.wait_until("it is under way", || {
        names_in(place.path()).iter().any(|name| name.starts_with(".drivelab-tree-"))
    });
    let mut other = File::create(place.path().join("other")).expect("a file");
    // To the end: whatever a pass removes is taken at once, so that no later one has room.
    let is_over = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                if other.write_all(&[1; 1 << 16]).is_err() {
                    thread::yield_now();
                }
            }
        });
        // Also where the wait is in vain, or this test would never end.
        let _over = Over(&is_over);
        living.wait()
    });
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    for words in ["create number", "No space left on device", "--set files="] {
        assert!(done.stderr.contains(words), "no `{words}`: {}", done.stderr);
    }
    assert_eq!(names_in(place.path()), ["other"]);
    assert_eq!(bench.history()[0]["state"], "failed");
}

#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    let bench = Bench::new();
    let place = need!(tmpfs("ro"), "root, to mount a tmpfs");
    bench.file("churn.toml", CHURN);
    bench.drivelab(["run", place.text(), "--method", "churn.toml"]).done().refused(&["Read-only"]);
}

const DURABLE: &str = r#"
name = "durable"
title = "made, renamed, read and removed, durably"
about = "For tests."
order = "fixed"
span = "64KiB"
fill = 0
[defaults]
threads = 3
[defaults.tree]
files = 300
file_size = "1KiB..16KiB"
directories = 6
names = "random"
sync = "both"
[[cell]]
op = "create"
flush = "timed"
[[cell]]
op = "readdir"
[[cell]]
op = "stat"
pattern = "readdir"
[[cell]]
op = "rename"
pattern = "random"
[[cell]]
op = "read_file"
pattern = "random"
[[cell]]
op = "unlink"
"#;

/// A model with a file system has a tree: the same operations as in a directory, the same
/// completions again with the same seed, and a disk with its metadata on flash is done sooner.
#[test]
fn a_modelled_file_system_has_a_tree_on_one_drive_or_on_two() {
    let bench = Bench::new();
    bench.file("durable.toml", DURABLE);
    let run = |stack: &str| {
        let target = format!("model:{stack}");
        let words = ["run", &target, "--method", "durable.toml", "--passes", "1", "--seed", "7"];
        bench.drivelab(words).done().succeeded();
        bench.record("last")
    };
    let rate = |record: &Value, name: &str| {
        let total = &cell(record, name)["total"];
        assert_eq!(total["operations"], if name == "readdir-t3" { 6 } else { 300 }, "{name}");
        cell(record, name)["iops"].as_f64().expect("a rate")
    };
    for file_system in ["ext3", "ext4", "xfs"] {
        let one = run(&format!("hdd-7200-cmr/{file_system}"));
        let placed = format!(
            "hdd-7200-cmr/{file_system}:metadata-on=nvme-tlc,small-files-on=nvme-tlc,small=8K"
        );
        let (two, again) = (run(&placed), run(&placed));
        let completions = |record: &Value| record["targets"][0]["completions"].clone();
        assert!(!completions(&two).is_null(), "{two:#}");
        assert_eq!(completions(&two), completions(&again), "{file_system}");
        for name in ["create-t3", "rename-random-t3", "unlink-t3"] {
            let (alone, beside) = (rate(&one, name), rate(&two, name));
            assert!(beside > alone, "{file_system} {name}: {beside} and {alone} a second");
        }
        rate(&two, "readdir-t3");
    }
    let words = ["run", "model:hdd-7200-cmr/ext2", "--method", "durable.toml"];
    bench.drivelab(words).done().refused(&["modelled ext2", "use /ext3, /ext4 or /xfs"]);
}

#[test]
fn targets_without_a_directory_have_no_tree() {
    let bench = Bench::new();
    for target in ["null:", "model:sata-tlc", "memory:64M", "new.bin"] {
        let call = bench.drivelab(["run", target, "--method", "small-files"]);
        call.done().refused(&["has no directory", "name a directory"]);
    }
    let words = ["run", "area", "--method", "quick", "--set", "files=9"];
    bench.drivelab(words).done().refused(&["no cells on a file tree"]);
    let words = ["run", "area", "--method", "small-files", "--io", "direct"];
    bench.drivelab(words).done().refused(&["`io` is for blocks"]);
    assert!(bench.history().is_empty(), "a refusal is no run");
}
