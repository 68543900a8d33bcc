//! `cargo xtask accuracy`: how far the models are from what was printed, fitted and predicted cells apart.

pub mod table;

use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    sync::mpsc::channel,
    thread,
};
use study::{Basis, Case, Effort, ErrorSummary, Group, Op, Outcome, cases, relative_error, run as run_trial};
use target::catalog::Catalog;

/// What was asked for.
struct Options {
    cells: bool,
    threads: usize,
    groups: Vec<Group>,
}

/// Runs every cell and prints how far the models are.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let catalog = Catalog::built_in()?;
    let mut chosen = cases();
    if !options.groups.is_empty() {
        chosen.retain(|case| options.groups.contains(&case.group));
    }
    let outcomes = run_all(&chosen, &catalog, options.threads)?;
    let modelled: Vec<f64> = outcomes.iter().map(|outcome| outcome.value).collect();
    if options.cells {
        table::print_cells(&chosen, &modelled);
        println!();
    }
    print_groups(&chosen, &modelled);
    let hash = outcomes.iter().fold(0u64, |hash, outcome| hash.rotate_left(5) ^ outcome.hash);
    println!("\nCompletions of all trials: {hash:016x}");
    Ok(())
}

/// Runs every case, on `threads` threads; the outcomes in the order of the cases.
pub fn run_all(cases: &[Case], catalog: &Catalog, threads: usize) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let (sink, outcomes) = channel();
    let mut found = thread::scope(|scope| {
        for _ in 0..threads {
            let sink = sink.clone();
            let next = &next;
            scope.spawn(move || {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(case) = cases.get(number)
                {
                    let outcome = run_trial(case, catalog, Effort::REPORT)
                        .with_context(|| format!("model:{}, {:?}", case.stack, case.trial));
                    if sink.send((number, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sink);
        outcomes.iter().collect::<Vec<_>>()
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, outcome)| outcome).collect()
}

/// One line a group, operation and basis.
fn print_groups(cases: &[Case], modelled: &[f64]) {
    let mut errors: BTreeMap<(Group, bool, Op), Vec<f64>> = BTreeMap::new();
    for (case, &value) in cases.iter().zip(modelled) {
        let key = (case.group, case.basis == Basis::Predicted, case.trial.op());
        errors.entry(key).or_default().push(relative_error(value, case.figure.value));
    }
    println!(
        "{:<40} {:<9} {:<5} {:>5} {:>7} {:>7} {:>7} {:>9} {:>7}",
        "", "", "", "cells", "mean", "median", "max", "in 10 %", "lean"
    );
    for ((group, predicted, op), errors) in &errors {
        let summary = ErrorSummary::of(errors).expect("a group has cells");
        println!(
            "{:<40} {:<9} {:<5} {:>5} {:>6.1}% {:>6.1}% {:>6.1}% {:>8.0}% {:>+6.1}%",
            group.title(),
            if *predicted { "predicted" } else { "fitted" },
            if *op == Op::Read { "read" } else { "write" },
            summary.cells,
            100.0 * summary.mean,
            100.0 * summary.median,
            100.0 * summary.max,
            100.0 * summary.within_tenth,
            100.0 * summary.lean
        );
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self { cells: false, threads, groups: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--cells" => options.cells = true,
                "--threads" => {
                    let text = arguments.next().map_or("", String::as_str);
                    let threads = text.parse().ok().filter(|threads| (1..=64).contains(threads));
                    options.threads =
                        threads.with_context(|| format!("--threads `{text}`: 1 to 64"))?;
                }
                word => {
                    let named = Group::ALL.into_iter().filter(|group| group.name() == word);
                    let before = options.groups.len();
                    options.groups.extend(named);
                    if options.groups.len() == before {
                        let names = Group::ALL.map(Group::name).join(", ");
                        bail!("`{word}` is unknown: --cells, --threads N, or a group: {names}");
                    }
                }
            }
        }
        Ok(options)
    }
}
