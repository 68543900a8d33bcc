//! What is known beside records, as a person writes it: prices, data sheets, findings.
//!
//! ```text
//!   NAME=129EUR      price.rs     an amount, and the targets that NAME means
//!   NAME=sheet.toml  sheet.rs     where the name ends
//!   spec,drifting    finding.rs   which findings count, and what records say of them
//! ```
//!
//! What cannot be meant comes back as a kind. A sentence that needs the option's own words is told
//! them.

mod finding;
mod price;
mod sheet;

pub use finding::{Finding, NothingComparable, UnknownFinding, findings};
pub use price::{BadPrice, money, priced};
pub use sheet::parted;

use record::{Record, TargetInfo};
use std::{borrow::Cow, ffi::OsString};

/// A record and the words by which `WHAT=...` may name it.
pub struct Named<'r> {
    /// As on the command line.
    pub word: Cow<'r, str>,
    /// What it holds.
    pub id: &'r str,
    /// Its targets.
    pub targets: &'r [TargetInfo],
}

impl<'r> Named<'r> {
    /// Records as they were named on the command line.
    pub fn all(words: &'r [OsString], records: &'r [Record]) -> Vec<Self> {
        let named = |(word, record): (&'r OsString, &'r Record)| Self {
            word: word.to_string_lossy(),
            id: &record.id,
            targets: &record.targets,
        };
        words.iter().zip(records).map(named).collect()
    }

    /// Targets of a run that is yet to come: no run has a name.
    pub fn of_targets(targets: &'r [TargetInfo]) -> Vec<Self> {
        vec![Self { word: Cow::Borrowed(""), id: "", targets }]
    }

    /// The targets that `name` means: all of a run by its word or id, or one by its own text.
    pub fn targets_of(&self, name: &str) -> Vec<usize> {
        let is_run = !name.is_empty() && (self.word == name || self.id == name);
        let is_meant = |at: &usize| is_run || self.targets[*at].text == name;
        (0..self.targets.len()).filter(is_meant).collect()
    }
}

/// A name that means no run and no target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is for something that is not here: write one of {}", known.join(", "))]
pub struct NotHere {
    /// The names that do.
    pub known: Vec<String>,
}

/// The run and target of each place that `name` means; without a name every place.
///
/// # Errors
/// There is none.
pub fn places(named: &[Named<'_>], name: Option<&str>) -> Result<Vec<(usize, usize)>, NotHere> {
    let of_run = |run: usize| {
        let targets = match name {
            Some(name) => named[run].targets_of(name),
            None => (0..named[run].targets.len()).collect(),
        };
        targets.into_iter().map(move |target| (run, target))
    };
    let places: Vec<_> = (0..named.len()).flat_map(of_run).collect();
    if places.is_empty() {
        let targets = named.iter().flat_map(|run| run.targets).map(|target| target.text.as_str());
        let words = named.iter().map(|run| &*run.word).filter(|word| !word.is_empty());
        let mut known: Vec<&str> = words.chain(targets).collect();
        known.dedup();
        return Err(NotHere { known: known.into_iter().map(str::to_owned).collect() });
    }
    Ok(places)
}
