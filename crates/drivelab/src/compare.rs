//! `drivelab compare`: runs against a baseline, cell by cell.

use crate::{
    cli::CompareArguments,
    known::{Named, fail_on, prices},
    output,
};
use anyhow::Result;
use record::{PairedVerdict, Record};
use report::{comparison, number::counted, runs::Run};
use std::process::ExitCode;

/// Prints what differs around the runs, and the ratio of every cell that they have in common.
pub fn compare(arguments: &CompareArguments) -> Result<ExitCode> {
    let kinds = fail_on::parse(&arguments.fail_on, &[("slower", fail_on::Kind::Slower)])?;
    let mut store = output::open_store(arguments.store.as_deref())?;
    store.close_orphans()?;
    let records: Vec<Record> =
        arguments.runs.iter().map(|run| Ok(store.resolve(run)?)).collect::<Result<_>>()?;
    let prices = prices::of(&Named::all(&arguments.runs, &records), &arguments.price)?;
    let runs: Vec<Run<'_>> =
        records.iter().zip(prices).map(|(record, prices)| Run { record, prices }).collect();
    let comparison = comparison::compare(&runs)?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&comparison::document(&comparison))? + "\n"
    } else {
        comparison::text(&comparison, &output::style())
    };
    output::print(&text)?;
    let mut found = Vec::new();
    for kind in kinds {
        match kind {
            fail_on::Kind::Slower => {
                let slower = comparison.count(PairedVerdict::Slower);
                let are = if slower == 1 { "is" } else { "are" };
                let cells = counted(slower, "cell");
                found.extend((slower > 0).then(|| format!("{cells} {are} slower")));
            }
            fail_on::Kind::Flag(flag) => {
                let with_flag =
                    records[1..].iter().filter_map(|record| fail_on::of_flag(record, flag));
                found.extend(with_flag);
            }
            fail_on::Kind::Spec => {}
        }
    }
    Ok(fail_on::concluded(&found))
}
