//! `--fail-on`: which findings end a command with exit code 1.

use anyhow::{Result, bail, ensure};
use block::names::did_you_mean;
use record::{Flag, Record};
use report::specification::{Held, Verdict};
use std::process::ExitCode;

/// Exit code of a finding.
pub const FINDING: u8 = 1;

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An entry of a data sheet that fails.
    Spec,
    /// A cell that is slower than the baseline's.
    Slower,
    /// A flag on a cell, a target or the run.
    Flag(Flag),
}

/// Reads `spec,drifting`. `words` are those that the command knows beside flags.
pub fn parse(given: &[String], words: &[(&str, Kind)]) -> Result<Vec<Kind>> {
    let flags = Flag::ALL.iter().map(|flag| (flag.name(), Kind::Flag(*flag)));
    let known: Vec<(&str, Kind)> = words.iter().copied().chain(flags).collect();
    let mut kinds = Vec::new();
    for word in given.iter().flat_map(|text| text.split(',')).map(str::trim) {
        let Some((_, kind)) = known.iter().find(|(name, _)| *name == word) else {
            let near = did_you_mean(word, known.iter().map(|(name, _)| *name));
            let words: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
            bail!(
                "--fail-on {word} is no finding.{near} Write {}, or a flag of \
                 docs/reference/record-format.md",
                words.join(", ")
            );
        };
        kinds.push(*kind);
    }
    Ok(kinds)
}

/// `--fail-on spec` says nothing without a sheet.
pub fn check(kinds: &[Kind], has_sheet: bool) -> Result<()> {
    ensure!(
        has_sheet || !kinds.contains(&Kind::Spec),
        "--fail-on spec needs a data sheet: add --spec FILE"
    );
    Ok(())
}

/// The exit code, with a line on stderr for each kind that was found.
///
/// # Errors
/// When data sheets were to be checked and not one entry could be compared: nothing was checked.
pub fn outcome(kinds: &[Kind], record: &Record, held: &[Held<'_>]) -> Result<ExitCode> {
    let mut found = Vec::new();
    for kind in kinds {
        match kind {
            Kind::Spec => found.extend(of_sheets(held)?),
            Kind::Flag(flag) => found.extend(of_flag(record, *flag)),
            Kind::Slower => {}
        }
    }
    Ok(concluded(&found))
}

/// 1 with a line each, or 0.
pub fn concluded(found: &[String]) -> ExitCode {
    for finding in found {
        crate::output::talk!("drivelab: found: {finding}");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) }
}

fn of_sheets(held: &[Held<'_>]) -> Result<Option<String>> {
    let verdicts: Vec<Verdict> =
        held.iter().flat_map(|held| &held.findings).map(|finding| finding.verdict).collect();
    let count = |verdict| verdicts.iter().filter(|found| **found == verdict).count();
    ensure!(
        count(Verdict::NotComparable) < verdicts.len(),
        "--fail-on spec checked nothing: no entry of the data sheet can be compared with what was measured; the notes \
         below the table name the options that would make them comparable"
    );
    let (failed, all) = (count(Verdict::Fail), verdicts.len());
    Ok((failed > 0).then(|| format!("{failed} of {all} entries of the data sheet fail")))
}

/// What a record says of a flag; none where it does not have it.
pub fn of_flag(record: &Record, flag: Flag) -> Option<String> {
    let cells = record.cells.iter().filter(|cell| cell.flags.contains(&flag)).count();
    let elsewhere = record.flags.contains(&flag)
        || record.targets.iter().any(|target| target.flags.contains(&flag));
    match (cells, elsewhere) {
        (0, false) => None,
        (0, true) => Some(format!("{flag}: {}", flag.meaning())),
        (count, _) => Some(format!("{flag} in {count} of {} cells", record.cells.len())),
    }
}
