//! `drivelab history`.

use crate::{cli::HistoryArguments, output};
use anyhow::Result;
use record::{RunSummary, Search, Store};
use report::{brief, number};
use std::process::ExitCode;

/// Lists the runs in the store.
pub fn history(arguments: &HistoryArguments) -> Result<ExitCode> {
    if let Some(missing) = crate::store::missing(arguments.store.as_deref())? {
        output::talk!("{missing}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut store = crate::store::open(arguments.store.as_deref())?;
    store.close_orphans()?;
    let search = Search {
        words: arguments.find.clone(),
        host: arguments.host.clone(),
        drive: arguments.drive.clone(),
        campaign: arguments.campaign.clone(),
        ..Search::default()
    };
    if arguments.fleet {
        return fleet(&store, &search, arguments.json);
    }
    let is_all = search == Search::default();
    let runs = match is_all {
        true => store.list(arguments.limit)?,
        false => store.search(&search, 0, arguments.limit as u64)?.runs,
    };
    if arguments.json {
        for run in &runs {
            output::print(&format!("{}\n", serde_json::to_string(run)?))?;
        }
    } else if runs.is_empty() && !is_all {
        output::talk!("no such runs in {}: `drivelab history` lists all", store.place());
    } else if runs.is_empty() {
        output::talk!("no runs in {} yet: start with `drivelab run .`", store.place());
    } else {
        let now = jiff::Timestamp::now().as_second();
        let when = |run: &RunSummary| started(run, now);
        output::print(&report::terminal::history(&runs, when, &output::style_of_list()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what each model of drive did, over all machines.
fn fleet(store: &Store, search: &Search, json: bool) -> Result<ExitCode> {
    let rows = store.fleet(search)?;
    if json {
        let lines = rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n"));
        output::print(&lines.collect::<Result<String>>()?)?;
    } else if rows.is_empty() {
        output::talk!(
            "no runs on a drive in {}: arrays and files in memory have none",
            store.place()
        );
    } else {
        output::print(&report::terminal::fleet(&rows, &output::style()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How long ago, or the date of an old one.
fn started(run: &RunSummary, now: i64) -> String {
    let then = run.started.parse::<jiff::Timestamp>();
    let ago = then.ok().and_then(|then| number::ago(now - then.as_second()));
    ago.unwrap_or_else(|| brief::started(run).chars().take(10).collect())
}
