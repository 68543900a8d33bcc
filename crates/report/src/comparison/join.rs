//! Which cells of two runs measured the same thing.

use record::Cell;
use std::collections::BTreeMap;

/// What a cell did, without its name, its engine and its result: everything that must be equal to compare two.
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

fn workload(cell: &Cell) -> Workload {
    let coordinate = |(key, value): (&String, &serde_json::Value)| (key.clone(), value.to_string());
    Workload {
        op: cell.op.clone(),
        pattern: cell.pattern.clone(),
        block_bytes: cell.block_bytes,
        threads: cell.threads,
        queue_depth: cell.queue_depth,
        io: cell.io.clone(),
        coordinates: cell.coordinates.iter().map(coordinate).collect(),
    }
}

/// Every cell with its key; no two keys are equal.
pub(crate) fn keyed<'r>(cells: &[&'r Cell]) -> Vec<(Key, &'r Cell)> {
    let mut groups = BTreeMap::<&str, Vec<usize>>::new();
    for (at, cell) in cells.iter().enumerate() {
        groups.entry(&cell.group).or_default().push(at);
    }
    let mut counts = BTreeMap::<(Workload, Vec<Workload>), usize>::new();
    let key = |(at, cell): (usize, &&'r Cell)| {
        let beside = groups[cell.group.as_str()].iter().filter(|other| **other != at);
        let mut companions: Vec<Workload> = beside.map(|other| workload(cells[*other])).collect();
        companions.sort();
        let workload = workload(cell);
        let count = counts.entry((workload.clone(), companions.clone())).or_default();
        let repeated = *count;
        *count += 1;
        (Key { workload, companions, repeated }, *cell)
    };
    cells.iter().enumerate().map(key).collect()
}
