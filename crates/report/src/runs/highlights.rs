//! The telling numbers of a report: the same cells of every target, with what they come to against
//! the first.

use super::{Subject, rates};
use crate::{
    chart::Unit,
    comparison::{self, Other},
    document::{Against, Highlight, Reading},
    number,
    terminal::words,
};
use record::{Cell, Flag};

/// Highlights of a report.
const HIGHLIGHTS_MAX: usize = 8;
/// Of more targets than [`FEW`], whose highlights are long.
const HIGHLIGHTS_OF_MANY: usize = 4;
const FEW: usize = 4;

/// For every operation and pattern: the largest bandwidth, and the most operations of 4 KiB; of
/// several targets the cells that all have.
pub(super) fn highlights(groups: &[Vec<Subject<'_>>]) -> Vec<Highlight> {
    let most = (HIGHLIGHTS_MAX / groups.len().max(1)).max(2);
    groups.iter().flat_map(|group| of_group(group, groups.len() > 1, most)).collect()
}

fn of_group(group: &[Subject<'_>], named: bool, most: usize) -> Vec<Highlight> {
    let Some((baseline, others)) = group.split_first() else { return Vec::new() };
    if others.is_empty() {
        return alone(baseline, named, most);
    }
    let others: Vec<Other<'_>> =
        others.iter().map(|other| comparison::against(baseline, other.clone())).collect();
    let row = |other: &Other<'_>, cell: &Cell| {
        other.rows.iter().position(|row| std::ptr::eq(row.baseline, cell))
    };
    let is_common = |cell: &&Cell| others.iter().all(|other| row(other, cell).is_some());
    let common: Vec<&Cell> = baseline.cells.iter().copied().filter(is_common).collect();
    if common.is_empty() {
        let most = (most / group.len()).max(1);
        return group.iter().flat_map(|subject| alone(subject, true, most)).collect();
    }
    let most = if group.len() > FEW { most.min(HIGHLIGHTS_OF_MANY) } else { most };
    let chosen = telling(&common, most);
    let names = rates::cell_names(&chosen);
    let highlight = |(cell, name): (&&Cell, String)| {
        let mut readings = vec![reading(baseline, cell, true)];
        for other in &others {
            let row = &other.rows[row(other, cell).expect("all have it")];
            let against = row.ratio.map(|ratio| Against {
                ratio: ratio.ratio,
                ci95: ratio.ci95,
                verdict: comparison::word(ratio.verdict),
            });
            readings.push(Reading { against, ..reading(&other.subject, row.other, true) });
        }
        Highlight { name, readings }
    };
    chosen.iter().zip(names).map(highlight).collect()
}

fn alone(subject: &Subject<'_>, named: bool, most: usize) -> Vec<Highlight> {
    let chosen = telling(&subject.cells, most);
    let names = rates::cell_names(&chosen);
    let highlight = |(cell, name): (&&Cell, String)| Highlight {
        name,
        readings: vec![reading(subject, cell, named)],
    };
    chosen.iter().zip(names).map(highlight).collect()
}

/// Of every kind of cell the fastest, at most this many: what is durable is left out last, for
/// nothing else stands for it.
fn telling<'c>(cells: &[&'c Cell], most: usize) -> Vec<&'c Cell> {
    let mut chosen: Vec<&Cell> = Vec::new();
    let kind = |cell: &Cell| (cell.op.clone(), cell.pattern.clone(), cell.io.clone());
    for wanted in words::in_order(cells, kind) {
        let of_kind = cells.iter().copied().filter(|cell| kind(cell) == wanted);
        let large = of_kind.clone().filter(|cell| cell.is_large_block());
        let largest = large.max_by(|one, other| one.bytes_per_s.total_cmp(&other.bytes_per_s));
        let small = of_kind.filter(|cell| cell.block_bytes == 4096);
        let fastest = small.max_by(|one, other| one.iops.total_cmp(&other.iops));
        chosen.extend(fastest.into_iter().chain(largest));
    }
    if chosen.is_empty() {
        chosen.extend(cells.first());
    }
    while chosen.len() > most {
        let at = chosen.iter().rposition(|cell| !is_durable(cell));
        chosen.remove(at.unwrap_or(chosen.len() - 1));
    }
    chosen
}

/// Whether its operations outlive a power cut by themselves.
fn is_durable(cell: &Cell) -> bool {
    cell.op == "commit" || cell.io.split(',').any(|word| ["dsync", "sync"].contains(&word))
}

fn reading(subject: &Subject<'_>, cell: &Cell, named: bool) -> Reading {
    let (value, unit) = match cell.is_large_block() {
        true => (cell.bytes_per_s, Unit::BytesPerS),
        false if words::is_tree(cell) => (cell.iops, Unit::Other("/s".to_owned())),
        false => (cell.iops, Unit::Iops),
    };
    let p99 = cell.latency.as_ref().and_then(|latency| latency.percentile(99.0));
    Reading {
        of: if named { subject.name.clone() } else { String::new() },
        half_width: words::half_width(cell),
        note: p99.map_or(String::new(), |ns| format!("p99 {}", number::duration_ns(ns as f64))),
        doubts: own_flags(subject, cell).into_iter().map(Flag::name).collect(),
        ..Reading::new(value, unit)
    }
}

/// Flags of the cell that are not the whole target's, whatever is measured on it.
fn own_flags(subject: &Subject<'_>, cell: &Cell) -> Vec<Flag> {
    let target = subject.record.targets.get(subject.target);
    let of_target = target.map_or(&[][..], |target| &target.flags);
    cell.flags.iter().copied().filter(|flag| !of_target.contains(flag)).collect()
}
