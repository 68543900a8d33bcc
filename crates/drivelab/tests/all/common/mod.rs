//! A place to run the real binary in as a user would, and devices that are gone again whatever
//! happens.
#![allow(dead_code, unused_imports)] // Each test file uses its own part.

pub mod browser;
mod call;
mod device;
#[macro_use]
pub mod serving;

pub use call::{Call, DRIVELAB, Living, Outcome, assert_one_sentence};
pub use device::{fill, hash_device, write_mbr};
pub use testkit::{LoopDevice, Mounted, hash, skip, system};

use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

pub const MIB: u64 = 1 << 20;

/// Why most device tests may be skipped.
pub const ROOT: &str = "root and a loop device";

/// One read cell and one write cell: the least that shows both. Add `--max-time`.
pub const SMALL: &str = r#"
name = "small"
title = "a read and a write cell"
about = "For tests."
order = "fixed"
span = "16MiB"
fill = 1
grade = "quick"
ask_above = 1e9
[[cell]]
name = "reads"
op = "read"
pattern = "random"
block = "4KiB"
[[cell]]
name = "writes"
op = "write"
pattern = "random"
block = "4KiB"
"#;

/// A method without a cell that reads.
pub const WRITES: &str = r#"
name = "writes"
title = "a write cell"
about = "For tests."
span = "1MiB"
grade = "quick"
ask_above = 1e9
[[cell]]
name = "writes"
op = "write"
pattern = "random"
block = "4KiB"
"#;

/// A method of `count` read cells that each take as long as they are given.
pub fn many_reads(count: usize) -> String {
    let cell = |at| {
        format!(
            "[[cell]]\nname = \"reads-{at}\"\nop = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n"
        )
    };
    let head = "name = \"many\"\ntitle = \"many read cells\"\nabout = \"For tests.\"\norder = \"fixed\"\n\
                span = \"8MiB\"\nfill = 1\ngrade = \"quick\"\nask_above = 1e9\n";
    head.to_owned() + &(0..count).map(cell).collect::<String>()
}

/// Whether there are root, loop devices and the programs of ext4 and XFS; else says that the test
/// is skipped.
pub fn can_make_file_systems() -> bool {
    let is_root = fs::metadata("/proc/self")
        .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    let has = ["mkfs.ext4", "mkfs.xfs"].iter().all(|program| testkit::has(program));
    let able = is_root && has && system("losetup", &["--find"]).is_some();
    if !able {
        skip("root, a loop device, mkfs.ext4 and mkfs.xfs");
    }
    able
}

/// A directory of its own with a store, method files and a directory `area` to measure; gone on
/// drop.
pub struct Bench {
    top: TempDir,
}

impl Bench {
    /// Beside the build, which is seldom in memory.
    pub fn new() -> Self {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// In `parent`, for a file system of the test's own.
    pub fn below(parent: &Path) -> Self {
        let top = tempfile::tempdir_in(parent).expect("a directory");
        fs::create_dir(top.path().join("area")).expect("a directory to measure");
        fs::write(top.path().join("small.toml"), SMALL).expect("a method");
        fs::write(top.path().join("writes.toml"), WRITES).expect("a method");
        Self { top }
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// Writes a file into the directory.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("a file");
        path
    }

    /// `drivelab VERB --store STORE WORDS...`, started in the directory.
    pub fn drivelab(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Call {
        let mut words = words.into_iter();
        let call = Call::new(words.next(), self.top.path());
        call.and(["--store"]).and([self.path("store.sqlite")]).and(words)
    }

    /// `drivelab WORDS...`, started in the directory.
    pub fn drivelab_without_store(
        &self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Call {
        Call::new(words, self.top.path())
    }

    /// A quick run of the small method:
    /// `drivelab run WORDS... --method small.toml --max-time 0.6s`.
    pub fn small_run(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Call {
        let method = self.path("small.toml");
        self.drivelab(["run"]).and(words).and(["--max-time", "0.6s", "--method"]).and([method])
    }

    /// The record of RUN.
    pub fn record(&self, run: &str) -> Value {
        self.drivelab(["show", run, "--json"]).done().succeeded().json()
    }

    /// One JSON object a run, newest first.
    pub fn history(&self) -> Vec<Value> {
        let listed = self.drivelab(["history", "--json"]).done().succeeded();
        listed.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Names in the directory `area`.
    pub fn left_behind(&self) -> Vec<String> {
        names_in(&self.path("area"))
    }
}

/// A bench of somebody who is not root, and the way to be him. What root makes in it stays root's,
/// until
/// [`Nobody::gets_it_all`].
pub struct Nobody {
    pub bench: Bench,
    binary: PathBuf,
}

/// A copy that can be started at once. Written by this process it was "Text file busy" now and
/// then: a program that another test started meanwhile had the descriptor for a moment.
pub fn copy_of_drivelab(to: &Path) {
    let done = std::process::Command::new("cp").arg(DRIVELAB).arg(to).status().expect("cp starts");
    assert!(done.success(), "a copy");
}

impl Nobody {
    const SETPRIV: [&str; 6] =
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

    /// None where nobody can become him: it takes root and `setpriv`.
    pub fn new() -> Option<Self> {
        system(Self::SETPRIV[0], &[&Self::SETPRIV[1..], &["true"]].concat())?;
        // A place and a binary that others than root can reach.
        let bench = Bench::below(&std::env::temp_dir());
        let binary = bench.path("drivelab");
        copy_of_drivelab(&binary);
        let nobody = Self { bench, binary };
        nobody.may("", 0o777);
        nobody.may("drivelab", 0o777);
        Some(nobody)
    }

    /// Sets the rights of `name` in the bench.
    pub fn may(&self, name: &str, mode: u32) {
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.bench.path(name), rights).expect("chmod");
    }

    /// Everything in the bench is his.
    pub fn gets_it_all(&self) {
        let top = self.bench.path(".").canonicalize().expect("it is there");
        system("chown", &["-R", "65534", top.to_str().expect("plain names")]).expect("root");
    }

    /// `call` as he makes it.
    pub fn does(&self, call: Call) -> Outcome {
        call.through(&Self::SETPRIV, &self.binary).done()
    }
}

/// Names in a directory, sorted.
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is listed").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The cell of this name.
pub fn cell<'r>(record: &'r Value, name: &str) -> &'r Value {
    let cells = record["cells"].as_array().expect("a record has cells");
    let found = cells.iter().find(|cell| cell["name"] == name);
    found.unwrap_or_else(|| panic!("no cell {name} in {cells:?}"))
}

/// Flags of a cell, a target or a run.
pub fn flags(of: &Value) -> Vec<&str> {
    of["flags"].as_array().expect("a list of flags").iter().filter_map(Value::as_str).collect()
}

/// Names of the measured cells.
pub fn cell_names(record: &Value) -> Vec<&str> {
    let cells = record["cells"].as_array().expect("a record has cells");
    cells.iter().filter_map(|cell| cell["name"].as_str()).collect()
}
