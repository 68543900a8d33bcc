//! Cells on a file tree: every file has its turn exactly once, against a tree in memory that knows
//! what exists; and what a wrong method is told.

use block::{Instant, IoError};
use lab::{
    method::{CellBound, Method},
    workload::{
        Recorder, Share, TickPart,
        tree::{
            Act, FileSize, Naming, TREE_FILES_MAX, Tree, TreeBudget, TreeLayout, TreeOp,
            TreeWorker, TreeWorkerPlan,
        },
    },
};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{atomic::AtomicBool, mpsc},
};

const EEXIST: IoError = IoError::Os(17);
const ENOENT: IoError = IoError::Os(2);

/// Names and sizes, a count of what was done to each file by its number, and an order of listing of
/// its own.
#[derive(Default)]
struct Memory {
    files: BTreeMap<String, (u64, u64)>,
    done: BTreeMap<(&'static str, u64), u32>,
    visited: Vec<u64>,
    now: u64,
}

impl Memory {
    fn free(&self, path: &str) -> Result<(), IoError> {
        if self.files.contains_key(path) { Err(EEXIST) } else { Ok(()) }
    }

    fn found(&self, path: &str) -> Result<(u64, u64), IoError> {
        self.files.get(path).copied().ok_or(ENOENT)
    }
}

impl Tree for Memory {
    fn now(&mut self) -> Instant {
        self.now += 1000;
        Instant(self.now)
    }

    fn carry_out(&mut self, act: &Act<'_>) -> Result<u64, IoError> {
        *self.done.entry((act.op.name(), act.number)).or_default() += 1;
        self.visited.push(act.number);
        assert!(act.path.starts_with(act.parent), "{} lies in {}", act.path, act.parent);
        match act.op {
            TreeOp::Create | TreeOp::Mkdir => {
                self.free(act.path)?;
                self.files.insert(act.path.to_owned(), (act.number, act.bytes));
            }
            TreeOp::WriteFile | TreeOp::ReadFile | TreeOp::Stat => {
                let (number, bytes) = self.found(act.path)?;
                assert_eq!(number, act.number);
                assert!(act.op == TreeOp::Stat || bytes == act.bytes, "a file keeps its size");
            }
            TreeOp::Rename | TreeOp::Link => {
                let file = self.found(act.path)?;
                self.free(act.to)?;
                self.files.insert(act.to.to_owned(), file);
                if act.op == TreeOp::Rename {
                    self.files.remove(act.path);
                }
            }
            TreeOp::Unlink | TreeOp::Rmdir => {
                self.found(act.path)?;
                self.files.remove(act.path);
            }
            TreeOp::Readdir => unreachable!("listed, not carried out"),
        }
        Ok(act.bytes)
    }

    /// Backwards by name: no order that the worker could guess.
    fn list(&mut self, directory: &str, each: &mut dyn FnMut(&str)) -> Result<(), IoError> {
        for path in self.files.keys().rev() {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            if parent == directory {
                each(name);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        Ok(Instant(self.now))
    }
}

/// Runs all tree cells of a method on a tree in memory; gives it, and operations and bytes that
/// were recorded.
fn run(method: &Method, memory: &mut Memory) -> (u64, u64) {
    let (sink, parts) = mpsc::channel();
    for spec in &method.cells {
        let cell = spec.tree.clone().expect("a method of trees");
        memory.visited.clear();
        let of = u64::from(spec.streams[0].threads);
        for worker in 0..of {
            let plan = TreeWorkerPlan {
                cell: cell.clone(),
                share: Share { worker, of },
                budget: match spec.bound {
                    CellBound::Operations(count) => TreeBudget::Operations(count),
                    _ => TreeBudget::Once,
                },
                seed: 11,
                tree_seed: 7,
                errors_max: 0,
            };
            let recorder = Recorder::new(0, worker as usize, 1 << 40, sink.clone(), || 0);
            let mut worker = TreeWorker::new(plan, recorder, memory);
            worker.start(Instant(memory.now));
            worker.drive(memory, &AtomicBool::new(false));
            worker.finish();
            assert_eq!(worker.failure(), None, "{}", spec.name);
        }
    }
    drop(sink);
    let sum = |(operations, bytes), part: TickPart| {
        (operations + part.latencies.count(), bytes + part.bytes.unwrap_or(0))
    };
    parts.iter().fold((0, 0), sum)
}

fn method(tree: &str, cells: &[(&str, &str)]) -> Result<Method, String> {
    let head = format!(
        "name = \"t\"\ntitle = \"t\"\nabout = \"t\"\nspan = \"1MiB\"\n[defaults.tree]\n{tree}\n"
    );
    let cell = |(op, rest): &(&str, &str)| format!("[[cell]]\nop = \"{op}\"\n{rest}\n");
    let text = head + &cells.iter().map(cell).collect::<String>();
    Method::parse("t.toml", &text, &[]).map_err(|error| error.to_string())
}

const LIFE: &[&str] = &[
    "create",
    "stat",
    "write_file",
    "read_file",
    "link",
    "rename",
    "unlink",
    "mkdir",
    "rmdir",
    "unlink",
];

proptest! {
    #[test]
    fn each_file_has_its_turn_once_in_every_cell(
        files in 1u64..200,
        directories in 1u32..30,
        levels in 1u32..4,
        threads in 1u32..6,
        names in prop_oneof![Just("ordered"), Just("random")],
        order in prop_oneof![Just("creation"), Just("readdir"), Just("random")],
        size in prop_oneof![Just("0"), Just("4KiB"), Just("1KiB..9KiB"), Just("lognormal:4KiB:1.5")],
    ) {
        let directories = directories.min(files as u32);
        let tree = format!(
            "files = {files}\ndirectories = {directories}\nlevels = {levels}\nnames = \"{names}\"\nfile_size = \"{size}\""
        );
        let pattern = |op: &str| match (op, order) {
            ("create" | "mkdir", "readdir") => "creation",
            _ => order,
        };
        let rests: Vec<String> = LIFE
            .iter()
            .map(|op| format!("threads = {threads}\npattern = \"{}\"", pattern(op)))
            .collect();
        let cells: Vec<(&str, &str)> =
            LIFE.iter().copied().zip(rests.iter().map(String::as_str)).collect();
        let method = method(&tree, &cells).expect("a method");
        let mut memory = Memory::default();
        let (operations, bytes) = run(&method, &mut memory);
        prop_assert!(memory.files.is_empty(), "everything that was made is gone again");
        for (op, number) in LIFE.iter().flat_map(|op| (0..files).map(move |number| (*op, number))) {
            let times = if op == "unlink" { 2 } else { 1 };
            prop_assert_eq!(memory.done.get(&(op, number)), Some(&times), "{} of {}", op, number);
        }
        prop_assert_eq!(operations, files * LIFE.len() as u64);
        let layout = &method.cells[0].tree.as_ref().expect("a tree").layout;
        prop_assert_eq!(bytes, 3 * layout.bytes(7), "created, overwritten and read");
    }

    #[test]
    fn every_file_lies_in_a_directory_of_the_tree_and_every_directory_holds_files(
        files in 1u64..3000,
        directories in 1u32..200,
        levels in 1u32..5,
    ) {
        let directories = directories.min(files as u32);
        let layout =
            TreeLayout::new(files, FileSize::Fixed(0), directories, levels, Naming::Ordered);
        let made = layout.directory_paths();
        let mut held = BTreeMap::<String, u64>::new();
        let mut path = String::new();
        for number in 0..files {
            layout.directory(layout.leaf_of(number), &mut path);
            prop_assert_eq!(path.split('/').count(), levels as usize);
            prop_assert!(made.contains(&path));
            *held.entry(path.clone()).or_default() += 1;
        }
        prop_assert_eq!(held.len(), directories as usize);
        let (least, most) = (held.values().min(), held.values().max());
        prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "evenly");
        for path in &made {
            let parent = path.rsplit_once('/').map(|(parent, _)| parent);
            let place = |wanted: &str| made.iter().position(|path| path == wanted);
            prop_assert!(parent.is_none_or(|parent| place(parent) < place(path)), "parents first");
        }
    }
}

fn visited(pattern: &str) -> Vec<u64> {
    let rest = format!("pattern = \"{pattern}\"");
    let method = method("files = 100", &[("create", ""), ("stat", &rest)]).expect("a method");
    let mut memory = Memory::default();
    run(&method, &mut memory);
    memory.visited
}

#[test]
fn files_are_visited_in_the_order_asked_for() {
    let created: Vec<u64> = (0..100).collect();
    let listed: Vec<u64> = (0..100).rev().collect();
    assert_eq!(visited("creation"), created);
    assert_eq!(visited("readdir"), listed, "the tree in memory lists backwards");
    let shuffled = visited("random");
    let mut sorted = shuffled.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, created);
    let in_place = shuffled.iter().zip(&created).filter(|(a, b)| a == b).count();
    assert!(in_place < 10, "of a shuffle one file is expected in place, not {in_place}");
}

#[test]
fn random_names_do_not_sort_in_the_order_of_creation() {
    let in_order = |names: &str| {
        let tree = format!("files = 100\nnames = \"{names}\"");
        let mut memory = Memory::default();
        run(&method(&tree, &[("create", "")]).expect("a method"), &mut memory);
        memory.files.values().map(|(number, _)| *number).is_sorted()
    };
    assert!(in_order("ordered") && !in_order("random"));
}

#[test]
fn sizes_are_distributed_as_they_say() {
    let sizes = |text: &str| -> Vec<u64> {
        let size = FileSize::parse(text).expect("a size");
        let layout = TreeLayout::new(40_000, size, 1, 0, Naming::Ordered);
        let mut sizes: Vec<u64> = (0..40_000).map(|number| layout.file_bytes(3, number)).collect();
        sizes.sort_unstable();
        sizes
    };
    let range = sizes("1KiB..16KiB");
    assert!(range[0] >= 1024 && range[39_999] <= 16_384);
    let mean = range.iter().sum::<u64>() as f64 / 40_000.0;
    // Five standard errors of the mean of a uniform distribution: 5 x 15,360 / sqrt(12 x 40,000).
    assert!((mean - 8704.0).abs() < 111.0, "{mean}");
    let normal = sizes("lognormal:8KiB:1.5");
    // Of 40,000 the middle one has a standard error of 1.2533 sigma / sqrt(n) in the logarithm:
    // 0.0094.
    let median = (normal[20_000] as f64 / 8192.0).ln();
    assert!(median.abs() < 5.0 * 0.0094, "{median}");
    // One standard deviation up lie 84.134 % of a normal distribution; five standard errors are
    // 1 %.
    let below = normal.partition_point(|size| (*size as f64) < 8192.0 * 1.5_f64.exp());
    assert!((below as f64 / 40_000.0 - 0.84134).abs() < 0.01, "{below}");
}

#[test]
fn a_cell_of_so_many_operations_goes_round_its_files() {
    let method = method("files = 10", &[("create", ""), ("stat", "bound = 25")]).expect("a method");
    let mut memory = Memory::default();
    assert_eq!(run(&method, &mut memory).0, 35);
    assert_eq!((memory.done[&("stat", 0)], memory.done[&("stat", 9)]), (3, 2));
}

#[test]
fn a_failed_operation_ends_the_worker_and_names_the_file() {
    let method = method("files = 10", &[("create", "")]).expect("a method");
    let mut memory = Memory::default();
    run(&method, &mut memory);
    memory.files.retain(|_, (number, _)| *number == 4);
    let (sink, _parts) = mpsc::channel();
    let plan = TreeWorkerPlan {
        cell: method.cells[0].tree.clone().expect("a tree"),
        share: Share { worker: 0, of: 1 },
        budget: TreeBudget::Once,
        seed: 1,
        tree_seed: 7,
        errors_max: 0,
    };
    let mut worker = TreeWorker::new(plan, Recorder::new(0, 0, 1 << 40, sink, || 0), &mut memory);
    worker.start(Instant(0));
    worker.drive(&mut memory, &AtomicBool::new(false));
    let failure = worker.failure().expect("file 4 is there already");
    assert_eq!((failure.operation, failure.offset, failure.error), ("create", 4, EEXIST));
    assert_eq!(memory.files.len(), 5, "0 to 3 were made anew, and 5 was never tried");
}

#[test]
fn cells_that_cannot_follow_one_another_are_refused_with_the_cure() {
    let refused = |tree: &str, cells: &[(&str, &str)], words: &[&str]| {
        let sentence = method(tree, cells).expect_err("a wrong method");
        for word in words {
            assert!(sentence.contains(word), "{sentence} lacks {word}");
        }
    };
    refused("", &[("stat", "")], &["stat needs files", "put a create cell before it"]);
    refused("", &[("create", ""), ("unlink", ""), ("stat", "")], &["needs files", "create cell"]);
    refused("", &[("create", ""), ("link", ""), ("link", "")], &["unlink cell before"]);
    refused("", &[("rmdir", "")], &["put a mkdir cell before it"]);
    refused(
        "",
        &[("create", ""), ("stat", "tree = { files = 7 }")],
        &["not the one", "the same files"],
    );
    refused("", &[("create", "bound = \"time\"")], &["create can be done to each file only once"]);
    refused("", &[("create", "block = \"4KiB\"")], &["`block` is for blocks", "file_size"]);
    refused("", &[("create", "pattern = \"readdir\"")], &["readdir", "use creation or random"]);
    refused("", &[("create", "pattern = \"randm\"")], &["Did you mean `random`?"]);
    refused("files = 0", &[("create", "")], &["files = 0", &TREE_FILES_MAX.to_string()]);
    refused("files = 3\ndirectories = 4", &[("create", "")], &["no more than files"]);
    refused("files = 9\ndirectories = 4\nlevels = 0", &[("create", "")], &["levels = 0"]);
    refused("file_size = \"9..3\"", &[("create", "")], &["the smaller one"]);
    refused("file_size = \"2GiB\"", &[("create", "")], &["up to 1 GiB"]);
    refused("file_size = \"lognormal:4KiB:9\"", &[("create", "")], &["sigma", "0 to 4"]);
    refused("sync = \"fil\"", &[("create", "")], &["Did you mean `file`?"]);
    refused("fils = 3", &[("create", "")], &["`fils`", "Did you mean `files`?"]);
}
