//! Refuses to go on where something is another than when the run was begun.

use anyhow::{Result, bail};
use lab::{order::difference, plan::Plan};
use record::{Environment, Record, TargetInfo};

/// `targets` and `plan` are those of now; nothing was written yet.
///
/// # Errors
/// One sentence with what differs, and the cure.
pub fn check(
    record: &Record,
    targets: &[TargetInfo],
    plan: &Plan,
    environment: &Environment,
) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let Some(difference) = difference(record, targets, plan, environment, version) else {
        return Ok(());
    };
    bail!(
        "run {0} cannot go on: {difference}, or begin anew without --resume (`drivelab show {0}` \
         prints what was measured)",
        record.id
    )
}
