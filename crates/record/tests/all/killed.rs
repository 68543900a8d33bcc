//! A process is killed by SIGKILL between and within its saves; what it saved must be there.
#![cfg(feature = "store")]

use record::{Record, State, Store};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

/// The child's store; unset in the parent.
const STORE: &str = "DRIVELAB_TEST_KILLED_STORE";
/// Saves that the parent sees before it kills.
const SAVES: usize = 40;

fn example() -> Record {
    Record::from_json(include_str!("../example.json"), "example.json").expect("a record")
}

/// Saves a run that grows by a cell each time, and says so after each save, until it is killed.
fn save_for_ever(path: &Path) -> ! {
    let mut store = Store::open(path).expect("opens");
    let full = example();
    let mut record = Record { state: State::Running, cells: Vec::new(), ..full.clone() };
    store.note_scratch(&record.id, Path::new("/mnt/a/scratch")).expect("notes");
    loop {
        record.cells.push(full.cells[record.cells.len() % full.cells.len()].clone());
        store.save(&record).expect("saves");
        println!("saved {}", record.cells.len());
        std::io::stdout().flush().expect("the parent reads");
    }
}

#[test]
fn a_killed_process_leaves_a_store_that_opens_with_its_partial_run() {
    if let Some(path) = std::env::var_os(STORE) {
        save_for_ever(Path::new(&path));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("history.sqlite");
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--nocapture"])
        .arg("killed::a_killed_process_leaves_a_store_that_opens_with_its_partial_run")
        .env(STORE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts itself");
    // Kept open until the kill: a closed pipe would end the child early.
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let said = lines.by_ref().map_while(Result::ok);
    let saves = said.filter(|line| line.contains("saved ")).take(SAVES);
    assert_eq!(saves.count(), SAVES);

    let mut store = Store::open(&path).expect("opens beside the writer");
    assert_eq!(store.close_orphans().expect("looks"), [], "the run is alive");
    assert_eq!(store.list(9).expect("lists")[0].state, State::Running);

    child.kill().expect("ours to kill"); // SIGKILL.
    child.wait().expect("ours to wait for");
    drop(store);
    let mut store = Store::open(&path).expect("opens after the kill");
    let orphans = store.close_orphans().expect("closes");
    assert_eq!(orphans.len(), 1);
    assert_eq!(orphans[0].scratch, [Path::new("/mnt/a/scratch")]);
    let record = store.resolve("last").expect("the partial run");
    assert_eq!(record.state, State::Interrupted);
    assert!(record.cells.len() >= SAVES, "{} cells", record.cells.len());
    let full = example();
    for (position, cell) in record.cells.iter().enumerate() {
        assert_eq!(cell, &full.cells[position % full.cells.len()]);
    }
}
