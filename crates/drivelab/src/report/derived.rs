//! `--table`: which tables are asked for, and what they are derived from.

use crate::known::Named;
use anyhow::{Context, Result, bail};
use block::names::did_you_mean;
use report::{
    derive::{Evidence, KINDS, Kind},
    runs::{Run, subjects},
    specification::Specification,
};

/// The tables of `price,mix` or `all`.
pub fn kinds(given: &[String]) -> Result<Vec<&'static Kind>> {
    let mut kinds: Vec<&Kind> = Vec::new();
    for word in given.iter().flat_map(|text| text.split(',')).map(str::trim) {
        let found: Vec<&Kind> =
            KINDS.iter().filter(|kind| word == "all" || kind.name == word).collect();
        if found.is_empty() {
            let near = did_you_mean(word, KINDS.iter().map(|kind| kind.name));
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            bail!("--table {word} is no table.{near} Write all, or some of {}", names.join(", "));
        }
        for kind in found {
            if !kinds.iter().any(|known| known.name == kind.name) {
                kinds.push(kind);
            }
        }
    }
    Ok(kinds)
}

/// All targets of all runs with what is known of them.
pub fn evidence<'r>(
    runs: &[Run<'r>],
    sheets: &'r [Vec<Option<Specification>>],
    named: &[Named<'_>],
    baseline: Option<&str>,
) -> Result<Evidence<'r>> {
    let subjects = subjects(runs);
    let run_of = |record: &record::Record| {
        runs.iter().position(|run| std::ptr::eq(run.record, record)).expect("of these runs")
    };
    let sheet = |subject: &report::runs::Subject<'_>| {
        sheets[run_of(subject.record)].get(subject.target)?.as_ref()
    };
    let sheets = subjects.iter().map(sheet).collect();
    let baseline = match baseline {
        None => 0,
        Some(name) => {
            let is_it = |subject: &report::runs::Subject<'_>| {
                let of_run = named[run_of(subject.record)].targets_of(name);
                subject.name == name || of_run.contains(&subject.target)
            };
            subjects.iter().position(is_it).with_context(|| {
                let names: Vec<&str> =
                    subjects.iter().map(|subject| subject.name.as_str()).collect();
                format!(
                    "--baseline {name} is not among the runs: write one of {}",
                    names.join(", ")
                )
            })?
        }
    };
    Ok(Evidence { subjects, sheets, baseline })
}
