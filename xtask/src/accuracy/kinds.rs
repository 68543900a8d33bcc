//! `cargo xtask accuracy --kinds`: the generic kinds in place of the drives that they are medians
//! of.
//!
//! ```text
//!   median_of in catalog/*.toml -> the kind, with each drive's capacity and port
//!     -> the drive's published rates, mean latencies and write cliffs -> errors by kind and drive
//! ```
//!
//! A kind cannot meet all of its drives: they differ. How far is printed beside the errors: what
//! the median of the other drives' own figures would miss, where two or more show the same cell.

use super::Options;
use crate::{bench::sample::median, fit};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use study::{Case, Effort, Group, Trial, cases, relative_error, run_all};
use target::catalog::{Catalog, Parameter};

/// A published figure with what its drive's kind gives.
struct Cell {
    kind: String,
    case: Case,
    modelled: f64,
}

/// What makes cells of different drives one: table, setting, operation, bytes, threads, metric.
type Place = (String, String, String, Option<u64>, Option<u16>, String);

fn place(case: &Case) -> Place {
    let figure = &case.figure;
    let (table, config, op) = (figure.table.clone(), figure.config.clone(), figure.op.clone());
    (table, config, op, figure.block_bytes, figure.threads, figure.metric.clone())
}

/// Runs every cell of every kind's drives, and prints how far the kinds are.
pub fn run(options: &Options) -> Result<()> {
    let catalog = fit::as_it_lies_there()?;
    let (changed, kind_of) = in_place_of_drives(&catalog, options.leave_one_out);
    let is_asked = |case: &Case| {
        let metric = case.figure.metric.as_str();
        let is_of_one = kind_of.contains_key(&case.figure.device);
        is_of_one && case.group == Group::Today && !metric.starts_with('p')
    };
    let chosen: Vec<Case> = cases().into_iter().filter(is_asked).collect();
    let effort = if options.quick { Effort::SEARCH } else { Effort::REPORT };
    let mut cells = Vec::new();
    let mut without_step = Vec::new();
    let outcomes = run_all(&chosen, &changed, effort, options.threads());
    for (case, outcome) in chosen.into_iter().zip(outcomes) {
        let kind = kind_of[&case.figure.device].clone();
        match outcome {
            Ok(outcome) => cells.push(Cell { kind, case, modelled: outcome.value }),
            // Not every drive gets slower where its kind does.
            Err(study::TrialError::NoStep) => without_step.push((kind, case)),
            Err(error) => {
                return Err(error).with_context(|| format!("model:{} as {kind}", case.stack));
            }
        }
    }
    if options.cells {
        super::table::print_cells(cells.iter().map(|cell| (&cell.case, cell.modelled)));
        println!();
    }
    print(&cells, options.leave_one_out);
    for (kind, case) in without_step {
        let figure = &case.figure;
        println!("{kind} as {}: no such step: {}", figure.device, figure.metric);
    }
    Ok(())
}

/// The catalog with every drive of a kind replaced by the kind, and which kind each drive is of.
fn in_place_of_drives(
    catalog: &Catalog,
    leave_one_out: bool,
) -> (Catalog, BTreeMap<String, String>) {
    let mut changed = catalog.clone();
    let mut kind_of = BTreeMap::new();
    for kind in catalog.drives() {
        for name in &kind.median_of {
            let but_for: &[&str] = if leave_one_out { &[name] } else { &[] };
            let drive = changed.drive_mut(name).expect("a kind's drives are of the catalog");
            let mut instead = catalog.without(kind, but_for).at_capacity(drive.capacity_bytes);
            // A disk's sector is the drive's, too: some were asked for 512 B.
            if instead.entry.parameters.contains_key("sector") {
                let own = drive.entry.parameters.get("sector");
                let bytes = own.map_or(512.0, Parameter::base);
                instead.entry.set("sector", bytes).expect("a number that is there");
            }
            (instead.entry.name, instead.port) = (drive.entry.name.clone(), drive.port.clone());
            *drive = instead;
            kind_of.insert(name.clone(), kind.name().to_owned());
        }
    }
    (changed, kind_of)
}

/// Reads, writes or a write cliff; a rate or a mean.
fn what(case: &Case) -> String {
    match (case.trial, case.figure.metric.as_str()) {
        (Trial::Fill { .. }, "cache_gb" | "second_gb") => "cliff, place".to_owned(),
        (Trial::Fill { .. }, _) => "cliff, rate".to_owned(),
        (trial, metric) => {
            let op = if trial.op() == study::Op::Read { "reads" } else { "writes" };
            format!("{op}, {}", if metric == "iops" { "rate" } else { "mean" })
        }
    }
}

fn print(cells: &[Cell], leave_one_out: bool) {
    println!(
        "{:<13} {:<24} {:<13} {:>5} {:>7} {:>7} {:>6} | {:>5} {:>7} {:>7}",
        "kind", "as", "", "cells", "mean", "median", "ratio", "cells", "drives", "median"
    );
    let mut lines: BTreeMap<(&str, &str, String), Vec<&Cell>> = BTreeMap::new();
    let mut kinds: BTreeMap<(&str, String), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        let what = what(&cell.case);
        lines.entry((&cell.kind, &cell.case.figure.device, what.clone())).or_default().push(cell);
        kinds.entry((&cell.kind, what)).or_default().push(cell);
    }
    let published = published(cells);
    let tell = |kind: &str, drive: &str, what: &str, of: &[&Cell]| {
        let errors = of.iter().map(|cell| relative_error(cell.modelled, cell.case.figure.value));
        let sizes: Vec<f64> = errors.map(f64::abs).collect();
        let ratios: Vec<f64> =
            of.iter().map(|cell| cell.modelled / cell.case.figure.value).collect();
        let apart: Vec<f64> =
            of.iter().filter_map(|cell| apart(cell, &published, leave_one_out)).collect();
        let percent = |value: f64| match value.is_nan() {
            true => "-".to_owned(),
            false => format!("{:.1}%", 100.0 * value),
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        println!(
            "{kind:<13} {drive:<24} {what:<13} {:>5} {:>7} {:>7} {:>6.2} | {:>5} {:>7} {:>7}",
            of.len(),
            percent(mean(&sizes)),
            percent(median(&sizes)),
            median(&ratios),
            apart.len(),
            percent(mean(&apart)),
            percent(if apart.is_empty() { f64::NAN } else { median(&apart) }),
        );
    };
    for ((kind, drive, what), of) in &lines {
        tell(kind, drive, what, of);
    }
    println!();
    for ((kind, what), of) in &kinds {
        tell(kind, "all", what, of);
    }
    tell("all", "all", "", &cells.iter().collect::<Vec<_>>());
    println!(
        "ratio: modelled to published, the median. drives: what the median of the drives' own \
         figures misses in the cells that two or more show{}, mean and median.",
        if leave_one_out { ", without the drive itself" } else { "" }
    );
}

/// What the drives of each kind show at each place.
fn published(cells: &[Cell]) -> BTreeMap<(String, Place), Vec<(String, f64)>> {
    let mut shown: BTreeMap<_, Vec<(String, f64)>> = BTreeMap::new();
    for cell in cells {
        let figure = &cell.case.figure;
        let of = shown.entry((cell.kind.clone(), place(&cell.case))).or_default();
        of.push((figure.device.clone(), figure.value));
    }
    shown
}

/// How far the median of a kind's drives is from one of them, where at least two show the cell.
fn apart(
    cell: &Cell,
    published: &BTreeMap<(String, Place), Vec<(String, f64)>>,
    leave_one_out: bool,
) -> Option<f64> {
    let figure = &cell.case.figure;
    let all = &published[&(cell.kind.clone(), place(&cell.case))];
    let others = all.iter().filter(|(device, _)| *device != figure.device).count();
    let counts = |device: &str| !leave_one_out || device != figure.device;
    let values: Vec<f64> =
        all.iter().filter(|(device, _)| counts(device)).map(|(_, value)| *value).collect();
    (others > 0).then(|| relative_error(median(&values), figure.value).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_in_place_of_a_drive_has_its_capacity_and_port_and_no_number_of_it() {
        let catalog = Catalog::built_in().expect("a catalog");
        let drive = catalog.drive("kioxia-cm7r-3840").expect("a drive");
        let read = |catalog: &Catalog| {
            let instead = catalog.drive("kioxia-cm7r-3840").expect("it is still there");
            assert_eq!(
                (instead.capacity_bytes, &instead.port),
                (drive.capacity_bytes, &drive.port)
            );
            instead.entry.parameters["suspend"].base()
        };
        let (all, kind_of) = in_place_of_drives(&catalog, false);
        let (others, _) = in_place_of_drives(&catalog, true);
        assert_eq!(kind_of["kioxia-cm7r-3840"], "nvme-plp");
        // It has the shortest of four: without it the middle of the others is longer.
        assert!(
            drive.entry.parameters["suspend"].base() < read(&all) && read(&all) < read(&others)
        );
    }
}
