//! `drivelab show`.

use crate::{cli::ShowArguments, output};
use anyhow::Result;
use std::process::ExitCode;

/// Prints a run's table, or its record.
pub fn show(arguments: &ShowArguments) -> Result<ExitCode> {
    let mut store = output::open_store(arguments.store.as_deref())?;
    store.close_orphans()?;
    let record = store.resolve(&arguments.run)?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&record)? + "\n"
    } else {
        report::terminal::run(&record, &output::style())
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
