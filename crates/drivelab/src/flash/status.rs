//! `drivelab flash status`.

use super::arguments::StatusArguments;
use crate::output;
use anyhow::{Result, anyhow};
use engine::Clock;
use flash::tools;
use std::{ops::ControlFlow, process::ExitCode};
use target::volume::{HeldDrive, Use, page::status};

/// Prints how a volume stands.
pub fn status(arguments: &StatusArguments) -> Result<ExitCode> {
    let path = &arguments.path;
    let mut drive = HeldDrive::open(path, Use::Read, Clock::start())?;
    let seen = tools::status(&mut *drive.engine, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| anyhow!("{}: {error}", path.display()))?;
    output::print(&match arguments.json {
        true => serde_json::to_string_pretty(&status::json(path, &seen))? + "\n",
        false => status::text(path, &seen, &output::style()),
    })?;
    Ok(ExitCode::SUCCESS)
}
