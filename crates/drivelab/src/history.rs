//! `drivelab history`.

use crate::{cli::HistoryArguments, output};
use anyhow::Result;
use std::process::ExitCode;

/// Lists the runs in the store.
pub fn history(arguments: &HistoryArguments) -> Result<ExitCode> {
    let mut store = output::open_store(arguments.store.as_deref())?;
    store.close_orphans()?;
    let runs = store.list(arguments.limit)?;
    if arguments.json {
        for run in &runs {
            output::print(&format!("{}\n", serde_json::to_string(run)?))?;
        }
    } else if runs.is_empty() {
        eprintln!("no runs in {} yet: start with `drivelab run .`", store.path().display());
    } else {
        output::print(&report::terminal::history(&runs, &output::style()))?;
    }
    Ok(ExitCode::SUCCESS)
}
