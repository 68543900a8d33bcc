//! What stands in the way of a run, as sentences that name the option.

use anyhow::{Error, anyhow};
use run::{CannotRun, OptionNames, Refusal};

/// The options that a page names.
pub const OPTIONS: OptionNames = OptionNames { agree: "--yes", most_written: "--max-written" };

/// What cannot be run, with the option and the cure.
pub fn in_words(error: CannotRun) -> Error {
    let refusal = match error {
        CannotRun::Refused(refusal) => refusal,
        CannotRun::MethodFile(_) => return anyhow!("--method: {error}"),
        other => return other.into(),
    };
    match &refusal {
        Refusal::Complete(id) => anyhow!("{refusal}: `drivelab show {id}` prints it"),
        Refusal::Running(_) | Refusal::OfMatrix(_) | Refusal::OfReplay(_) => anyhow!("{refusal}"),
        Refusal::OfPowerCuts(id) => anyhow!("{refusal}: `drivelab power-cut --resume {id}`"),
        Refusal::Changed { id, .. } => anyhow!(
            "{refusal}, or begin anew without --resume (`drivelab show {id}` prints what was \
             measured)"
        ),
        Refusal::NoPurge(target) => anyhow!(
            "--purge discards a whole block device that --destroy names and write cells may \
             overwrite, and {target} is none: leave it out"
        ),
        Refusal::MustAgree { .. } => anyhow!(
            "{refusal}: look at it with --dry-run, then add --yes, or limit it with --max-written"
        ),
    }
}
