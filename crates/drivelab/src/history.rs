//! `drivelab history`.

use crate::{cli::HistoryArguments, output};
use anyhow::Result;
use record::RunSummary;
use report::{brief, number};
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
        output::talk!("no runs in {} yet: start with `drivelab run .`", store.path().display());
    } else {
        let now = jiff::Timestamp::now().as_second();
        let when = |run: &RunSummary| started(run, now);
        output::print(&report::terminal::history(&runs, when, &output::style_of_list()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How long ago, or the date of an old one.
fn started(run: &RunSummary, now: i64) -> String {
    let then = run.started.parse::<jiff::Timestamp>();
    let ago = then.ok().and_then(|then| number::ago(now - then.as_second()));
    ago.unwrap_or_else(|| brief::started(run).chars().take(10).collect())
}
