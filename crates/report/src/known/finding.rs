//! Which findings count, and whether records have them.

use crate::{
    comparison::Comparison,
    specification::{Held, Verdict},
};
use block::{counted, names::did_you_mean};
use record::{Flag, PairedVerdict, Record};

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// An entry of a data sheet that fails.
    Spec,
    /// A cell that is slower than the baseline's.
    Slower,
    /// A flag on a cell, a target or the run.
    Flag(Flag),
}

/// A word that is no finding.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{word} is no finding.{near} Write {}, or a flag of docs/reference/record-format.md",
    words.join(", ")
)]
pub struct UnknownFinding {
    /// It.
    pub word: String,
    /// The nearest that is one, as a sentence.
    pub near: String,
    /// Those that are no flags.
    pub words: Vec<String>,
}

/// Reads `spec,drifting`. `words` are those that are known beside flags.
///
/// # Errors
/// A word that is none.
pub fn findings(
    given: &[String],
    words: &[(&str, Finding)],
) -> Result<Vec<Finding>, UnknownFinding> {
    let flags = Flag::ALL.iter().map(|flag| (flag.name(), Finding::Flag(*flag)));
    let known: Vec<(&str, Finding)> = words.iter().copied().chain(flags).collect();
    let find = |word: &str| match known.iter().find(|(name, _)| *name == word) {
        Some((_, kind)) => Ok(*kind),
        None => Err(UnknownFinding {
            word: word.to_owned(),
            near: did_you_mean(word, known.iter().map(|(name, _)| *name)),
            words: words.iter().map(|(name, _)| (*name).to_owned()).collect(),
        }),
    };
    given.iter().flat_map(|text| text.split(',')).map(|word| find(word.trim())).collect()
}

/// Not one entry of the data sheets can be compared: nothing was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NothingComparable;

impl Finding {
    /// What is found of it in a record and in what was held against it, in words.
    ///
    /// # Errors
    /// Data sheets were to be checked, and nothing of them can be.
    pub fn in_record(
        self,
        record: &Record,
        held: &[Held<'_>],
    ) -> Result<Option<String>, NothingComparable> {
        match self {
            Self::Spec => of_sheets(held),
            Self::Flag(flag) => Ok(of_flag(record, flag)),
            Self::Slower => Ok(None),
        }
    }

    /// What is found of it in a comparison and its records, the baseline left out.
    pub fn in_comparison(self, comparison: &Comparison<'_>, records: &[Record]) -> Vec<String> {
        match self {
            Self::Slower => {
                let slower = comparison.count(PairedVerdict::Slower);
                let are = if slower == 1 { "is" } else { "are" };
                let cells = counted(slower, "cell");
                (slower > 0).then(|| format!("{cells} {are} slower")).into_iter().collect()
            }
            Self::Flag(flag) => {
                let others = records.iter().skip(1);
                others.filter_map(|record| of_flag(record, flag)).collect()
            }
            Self::Spec => Vec::new(),
        }
    }
}

fn of_sheets(held: &[Held<'_>]) -> Result<Option<String>, NothingComparable> {
    let verdicts: Vec<Verdict> =
        held.iter().flat_map(|held| &held.findings).map(|finding| finding.verdict).collect();
    let count = |verdict| verdicts.iter().filter(|found| **found == verdict).count();
    if count(Verdict::NotComparable) >= verdicts.len() {
        return Err(NothingComparable);
    }
    let (failed, all) = (count(Verdict::Fail), verdicts.len());
    Ok((failed > 0).then(|| format!("{failed} of {all} entries of the data sheet fail")))
}

/// What a record says of a flag; none where it does not have it.
fn of_flag(record: &Record, flag: Flag) -> Option<String> {
    let cells = record.cells.iter().filter(|cell| cell.flags.contains(&flag)).count();
    let elsewhere = record.flags.contains(&flag)
        || record.targets.iter().any(|target| target.flags.contains(&flag));
    match (cells, elsewhere) {
        (0, false) => None,
        (0, true) => Some(format!("{flag}: {}", flag.meaning())),
        (count, _) => Some(format!("{flag} in {count} of {} cells", record.cells.len())),
    }
}
