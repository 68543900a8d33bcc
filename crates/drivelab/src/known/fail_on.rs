//! `--fail-on`: which findings end a command with exit code 1.

use anyhow::{Result, anyhow, ensure};
use record::Record;
pub use report::known::Finding as Kind;
use report::{
    known::{NothingComparable, findings},
    specification::Held,
};
use std::process::ExitCode;

/// Exit code of a finding.
pub const FINDING: u8 = 1;

/// Reads `spec,drifting`. `words` are those that the command knows beside flags.
pub fn parse(given: &[String], words: &[(&str, Kind)]) -> Result<Vec<Kind>> {
    findings(given, words).map_err(|unknown| anyhow!("--fail-on {unknown}"))
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
        found.extend(kind.in_record(record, held).map_err(|NothingComparable| {
            anyhow!(
                "--fail-on spec checked nothing: no entry of the data sheet can be compared with \
                 what was measured; the notes below the table name the options that would make \
                 them comparable"
            )
        })?);
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
