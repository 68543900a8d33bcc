//! Which cells of two runs measured the same thing.

use crate::runs::Subject;
use record::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// What a cell did, without its name, its engine and its result: everything that must be equal to
/// compare two.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    workload: Workload,
    /// What ran beside it.
    companions: Vec<Workload>,
    /// Which of several cells that did the same, from 0.
    repeated: usize,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Workload {
    op: String,
    pattern: String,
    block_bytes: u64,
    threads: u32,
    queue_depth: u32,
    io: String,
    coordinates: BTreeMap<String, String>,
}

fn workload(cell: &Cell, apart: &BTreeSet<String>) -> Workload {
    let coordinate = |(key, value): (&String, &serde_json::Value)| (key.clone(), value.to_string());
    Workload {
        op: cell.op.clone(),
        pattern: cell.pattern.clone(),
        block_bytes: cell.block_bytes,
        threads: cell.threads,
        queue_depth: cell.queue_depth,
        io: cell.io.clone(),
        coordinates: cell
            .coordinates
            .iter()
            .filter(|(key, _)| !apart.contains(*key))
            .map(coordinate)
            .collect(),
    }
}

/// The cells of two subjects with their keys. In one run the levels of a matrix's configurations
/// are what is compared, and no part of the keys.
pub(crate) fn keyed<'r>(ours: &Subject<'r>, theirs: &Subject<'r>) -> [Vec<(Key, &'r Cell)>; 2] {
    let apart = match std::ptr::eq(ours.record, theirs.record) {
        true => apart(&ours.cells, &theirs.cells),
        false => BTreeSet::new(),
    };
    [ours, theirs].map(|subject| keys(&subject.cells, &apart))
}

/// Coordinates that tell two targets of one run apart, and not the cells of either: the levels of a
/// matrix's configurations.
fn apart(ours: &[&Cell], theirs: &[&Cell]) -> BTreeSet<String> {
    let keys = ours.iter().chain(theirs).flat_map(|cell| cell.coordinates.keys());
    let level = |cells: &[&Cell], key: &String| {
        let mut values = cells.iter().map(|cell| cell.coordinates.get(key).cloned());
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    };
    let differs = |key: &&String| {
        let levels = level(ours, key).zip(level(theirs, key));
        levels.is_some_and(|(ours, theirs)| ours != theirs)
    };
    keys.filter(differs).cloned().collect()
}

/// Every cell with its key; no two keys are equal. What is in `apart` is no part of it.
fn keys<'r>(cells: &[&'r Cell], apart: &BTreeSet<String>) -> Vec<(Key, &'r Cell)> {
    let mut groups = BTreeMap::<&str, Vec<usize>>::new();
    for (at, cell) in cells.iter().enumerate() {
        groups.entry(&cell.group).or_default().push(at);
    }
    let mut counts = BTreeMap::<(Workload, Vec<Workload>), usize>::new();
    let key = |(at, cell): (usize, &&'r Cell)| {
        let beside = groups[cell.group.as_str()].iter().filter(|other| **other != at);
        let mut companions: Vec<Workload> =
            beside.map(|other| workload(cells[*other], apart)).collect();
        companions.sort();
        let workload = workload(cell, apart);
        let count = counts.entry((workload.clone(), companions.clone())).or_default();
        let repeated = *count;
        *count += 1;
        (Key { workload, companions, repeated }, *cell)
    };
    cells.iter().enumerate().map(key).collect()
}
