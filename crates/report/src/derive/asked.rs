//! What is asked for: which tables, and what they are derived from.

use super::{Evidence, KINDS, Kind};
use crate::{
    known::Named,
    runs::{Run, Subject, subjects},
    specification::Specification,
};
use block::names::did_you_mean;
use record::Record;

/// A word that is no table.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{word} is no table.{near} Write all, or some of {}", names().join(", "))]
pub struct UnknownTable {
    /// It.
    pub word: String,
    /// The nearest that is one, as a sentence.
    pub near: String,
}

/// A baseline that is none of what is compared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name} is not among the runs: write one of {}", names.join(", "))]
pub struct NoBaseline {
    /// As it was named.
    pub name: String,
    /// What there is.
    pub names: Vec<String>,
}

fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// The tables of `price,mix` or `all`, each once.
///
/// # Errors
/// A word that is none.
pub fn kinds(given: &[String]) -> Result<Vec<&'static Kind>, UnknownTable> {
    let mut kinds: Vec<&Kind> = Vec::new();
    for word in given.iter().flat_map(|text| text.split(',')).map(str::trim) {
        let found: Vec<&Kind> =
            KINDS.iter().filter(|kind| word == "all" || kind.name == word).collect();
        if found.is_empty() {
            let near = did_you_mean(word, names());
            return Err(UnknownTable { word: word.to_owned(), near });
        }
        for kind in found {
            if !kinds.iter().any(|known| known.name == kind.name) {
                kinds.push(kind);
            }
        }
    }
    Ok(kinds)
}

impl<'r> Evidence<'r> {
    /// All targets of all runs with what is known of them. `baseline` names a run or one of its
    /// targets; else it is the first.
    ///
    /// # Errors
    /// It names neither.
    pub fn of(
        runs: &[Run<'r>],
        sheets: &'r [Vec<Option<Specification>>],
        named: &[Named<'_>],
        baseline: Option<&str>,
    ) -> Result<Self, NoBaseline> {
        let subjects = subjects(runs);
        let run_of = |record: &Record| {
            runs.iter().position(|run| std::ptr::eq(run.record, record)).expect("of these runs")
        };
        let is_it = |name: &str, subject: &Subject<'_>| {
            let of_run = named[run_of(subject.record)].targets_of(name);
            subject.name == name || of_run.contains(&subject.target)
        };
        let found = |name: &str| {
            let at = subjects.iter().position(|subject| is_it(name, subject));
            at.ok_or_else(|| NoBaseline {
                name: name.to_owned(),
                names: subjects.iter().map(|subject| subject.name.clone()).collect(),
            })
        };
        let baseline = baseline.map_or(Ok(0), found)?;
        let sheet =
            |subject: &Subject<'_>| sheets[run_of(subject.record)].get(subject.target)?.as_ref();
        let sheets = subjects.iter().map(sheet).collect();
        Ok(Self { subjects, sheets, baseline })
    }
}
