//! What the user or the catalog knows beside a record: prices, data sheets, and what counts as a
//! finding.
//!
//! ```text
//!   --price RUN=129EUR   prices.rs     a price for each target
//!   --spec FILE          sheets.rs     a data sheet for each target
//!   --fail-on spec|FLAG  fail_on.rs    exit code 1
//! ```

pub mod fail_on;
pub mod prices;
pub mod sheets;

use anyhow::{Result, anyhow, bail};
use record::{
    Record, TargetInfo,
    input::{TEXT_BYTES_MAX, read_text},
};
use std::{borrow::Cow, ffi::OsString, path::Path};

/// The text of a file that a person wrote and an option names; `what` says what it is.
///
/// # Errors
/// Not there, with the nearest names; no text; too long.
pub fn read_file(option: &str, what: &str, path: &Path) -> Result<String> {
    read_text(path, TEXT_BYTES_MAX).map_err(|error| {
        let near = match error.kind() {
            std::io::ErrorKind::NotFound => target::did_you_mean(path),
            _ => String::new(),
        };
        anyhow!(
            "{}",
            format!("{option}: cannot read the {what} {}: {error}.{near}", path.display())
                .trim_end_matches('.')
        )
    })
}

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

/// The run and target of each place that `name` means; without a name every place.
fn places(named: &[Named<'_>], name: Option<&str>, option: &str) -> Result<Vec<(usize, usize)>> {
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
        bail!("{option} is for something that is not here: write one of {}", known.join(", "));
    }
    Ok(places)
}
