//! `cargo xtask accuracy`: how far the models are from what was printed, fitted and predicted cells
//! apart.
//!
//! ```text
//!   study::cases -> study::run on every stack -> errors by group, by drive, without one block size
//! ```

mod kinds;
mod leave_out;
mod options;
pub mod table;

use crate::fit::UNITS;
use anyhow::{Context, Result};
pub use options::Options;
use std::collections::BTreeMap;
use study::{
    Basis, Case, Effort, ErrorSummary, Group, Op, Trial, cases, relative_error, resists, run_all,
};
use target::catalog::Catalog;

/// A cell that is off by more resists the model.
const RESISTS_FROM: f64 = 0.1;

/// A case with what the model said.
struct Cell {
    case: Case,
    modelled: f64,
    error: f64,
}

/// Runs every cell and prints how far the models are.
pub fn run(options: &Options) -> Result<()> {
    let catalog = Catalog::built_in()?;
    if let Some(names) = &options.depths {
        println!("Fitted without one depth or load, asked for that:");
        print_left(&leave_out::depths(&catalog, names)?, "depths");
        return Ok(());
    }
    if options.kinds {
        return kinds::run(options);
    }
    let mut chosen = cases();
    if !options.groups.is_empty() {
        chosen.retain(|case| options.groups.contains(&case.group));
    }
    let outcomes = run_all(&chosen, &catalog, Effort::REPORT, options.threads());
    let told = chosen.iter().zip(outcomes).map(|(case, outcome)| {
        outcome.with_context(|| format!("model:{}, {:?}", case.stack, case.trial))
    });
    let outcomes = told.collect::<Result<Vec<_>>>()?;
    let hash = outcomes.iter().fold(0u64, |hash, outcome| hash.rotate_left(5) ^ outcome.hash);
    let cell = |(case, modelled): (Case, f64)| {
        let error = relative_error(modelled, case.figure.value);
        Cell { case, modelled, error }
    };
    let values = outcomes.iter().map(|outcome| outcome.value);
    let cells: Vec<Cell> = chosen.into_iter().zip(values).map(cell).collect();
    if options.cells {
        table::print_cells(cells.iter().map(|cell| (&cell.case, cell.modelled)));
        println!();
    }
    print_groups(&cells);
    print_today(&cells);
    print_resisting(&cells);
    if options.groups.is_empty() {
        print_numbers(&catalog);
        print_targets(&cells);
        if !options.quick {
            print_left_out(&catalog, options.threads())?;
        }
    }
    println!("\nCompletions of all trials: {hash:016x}");
    Ok(())
}

fn summary<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<ErrorSummary> {
    ErrorSummary::of(&cells.into_iter().map(|cell| cell.error).collect::<Vec<_>>())
}

/// One line a group and basis: reads, writes, and both where there are both.
fn print_groups(cells: &[Cell]) {
    println!(
        "{:<40} {:<9} {:<5} {:>5} {:>7} {:>7} {:>7} {:>9} {:>7}",
        "", "", "", "cells", "mean", "median", "max", "in 10 %", "lean"
    );
    let mut groups: BTreeMap<(Group, bool), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        let key = (cell.case.group, cell.case.basis == Basis::Predicted);
        groups.entry(key).or_default().push(cell);
    }
    for ((group, predicted), cells) in groups {
        let of = |op| cells.iter().copied().filter(move |cell| cell.case.trial.op() == op);
        let parts = [("read", summary(of(Op::Read))), ("write", summary(of(Op::Write)))];
        let both = parts.iter().all(|(_, part)| part.is_some());
        let all = summary(cells.iter().copied()).filter(|_| both);
        for (op, errors) in parts.into_iter().chain([("both", all)]) {
            let Some(errors) = errors else { continue };
            println!(
                "{:<40} {:<9} {:<5} {:>5} {:>6.1}% {:>6.1}% {:>6.1}% {:>9} {:>+6.1}%",
                group.title(),
                if predicted { "predicted" } else { "fitted" },
                op,
                errors.cells,
                100.0 * errors.mean,
                100.0 * errors.median,
                100.0 * errors.max,
                errors.within_tenth,
                100.0 * errors.lean
            );
        }
    }
}

/// Drives of today by what is measured, and how far each drive's rates and means are.
fn print_today(cells: &[Cell]) {
    let today: Vec<&Cell> = cells.iter().filter(|cell| cell.case.group == Group::Today).collect();
    if today.is_empty() {
        return;
    }
    println!("\nDrives of today, by metric:");
    let mut metrics: BTreeMap<(bool, &str), Vec<&Cell>> = BTreeMap::new();
    let mut drives: BTreeMap<(bool, &str, &str), Vec<&Cell>> = BTreeMap::new();
    for cell in today {
        let figure = &cell.case.figure;
        let predicted = cell.case.basis == Basis::Predicted;
        metrics.entry((predicted, &figure.metric)).or_default().push(cell);
        if !is_percentile(&figure.metric) {
            drives.entry((predicted, &figure.device, trial_name(cell))).or_default().push(cell);
        }
    }
    let line = |what: &str, predicted: bool, cells: Vec<&Cell>| {
        let Some(errors) = summary(cells) else { return };
        println!(
            "  {what:<44} {:<9} {:>5} mean {:>6.1}% median {:>6.1}% max {:>7.1}%",
            if predicted { "predicted" } else { "fitted" },
            errors.cells,
            100.0 * errors.mean,
            100.0 * errors.median,
            100.0 * errors.max,
        );
    };
    for ((predicted, metric), cells) in metrics {
        line(metric, predicted, cells);
    }
    println!("\nDrives of today, rates and means by drive:");
    for ((predicted, drive, trial), cells) in drives {
        line(&format!("{drive}, {trial}"), predicted, cells);
    }
}

fn is_percentile(metric: &str) -> bool {
    metric.starts_with('p')
}

fn trial_name(cell: &Cell) -> &'static str {
    match (cell.case.trial, cell.case.trial.op()) {
        (Trial::Fill { .. }, _) => "fill",
        (_, Op::Read) => "reads",
        (_, Op::Write) => "writes",
    }
}

/// Cells beyond a tenth, with the cause that is written down for each.
fn print_resisting(cells: &[Cell]) {
    let resisting: Vec<&Cell> =
        cells.iter().filter(|cell| cell.error.abs() > RESISTS_FROM).collect();
    println!(
        "\nBeyond 10 %: {} of {} cells ({:.1} %)",
        resisting.len(),
        cells.len(),
        100.0 * resisting.len() as f64 / cells.len() as f64
    );
    let mut told: Vec<(String, usize, String)> = Vec::new();
    let causes = resists();
    for cell in resisting {
        let figure = &cell.case.figure;
        let about = causes.iter().find(|cause| cause.is_about(figure));
        let cause = match about {
            Some(about) => format!("{}. Tested: {}.", about.cause, about.tested),
            None => "NO CAUSE IS WRITTEN DOWN".to_owned(),
        };
        let what = format!("{} table {}, {}", figure.study.name(), figure.table, figure.op);
        match told.iter_mut().find(|(where_, _, known)| *where_ == what && *known == cause) {
            Some((_, count, _)) => *count += 1,
            None => told.push((what, 1, cause)),
        }
    }
    for (what, count, cause) in told {
        println!("  {count} in {what}: {cause}");
    }
}

/// How many numbers were fitted on how many cells.
fn print_numbers(catalog: &Catalog) {
    println!("\nNumbers fitted, on cells:");
    for unit in UNITS {
        let (numbers, cells) = (unit.handles(catalog).len(), unit.cases().len());
        println!("  {:<32} {numbers:>2} on {cells:>2}", unit.name);
    }
}

/// The whole against what it is meant to reach.
fn print_targets(cells: &[Cell]) {
    let of = |groups: &[Group], predicted: bool| {
        let groups = groups.to_vec();
        let wanted = move |cell: &&Cell| {
            groups.contains(&cell.case.group) && (cell.case.basis == Basis::Predicted) == predicted
        };
        summary(cells.iter().filter(wanted)).expect("every group has cells")
    };
    let fitted = of(&[Group::CmuFiles, Group::EasycoDrives], false);
    println!("\nMeant, and reached:");
    println!("  fitted, mean at most 3 %: {:.1} %", 100.0 * fitted.mean);
    println!("  fitted, 95 % within 10 %: {} of {}", fitted.within_tenth, fitted.cells);
    for (group, limit) in
        [(Group::EasycoFour, 5), (Group::EasycoEightMd, 10), (Group::EasycoEightHighpoint, 10)]
    {
        let mean = 100.0 * of(&[group], true).mean;
        println!("  {}, mean at most {limit} %: {mean:.1} %", group.title());
    }
    for (group, limit) in [(Group::LatencyFiles, 10), (Group::StfcPercent, 8)] {
        let median = 100.0 * of(&[group], true).median;
        println!("  {}, median at most {limit} %: {median:.1} %", group.title());
    }
}

fn print_left_out(catalog: &Catalog, threads: usize) -> Result<()> {
    println!("\nFitted without one block size, asked for that size:");
    print_left(&leave_out::run(catalog, threads)?, "sizes");
    Ok(())
}

fn print_left(all: &[leave_out::LeftOut], what: &str) {
    for left in all {
        println!(
            "  {:<32} {:>2} {what}, {:>2} cells: mean {:>4.1} %, max {:>4.1} %",
            left.name,
            left.left_out,
            left.errors.cells,
            100.0 * left.errors.mean,
            100.0 * left.errors.max
        );
    }
}
