//! `drivelab compare`: runs against a baseline, cell by cell.

use crate::{
    cli::CompareArguments,
    known::{Named, fail_on, prices},
    output,
};
use anyhow::{Result, ensure};
use report::{comparison, power_cuts, runs::Run};
use std::process::ExitCode;

/// Prints what differs around the runs, and the ratio of every cell that they have in common.
pub fn compare(arguments: &CompareArguments) -> Result<ExitCode> {
    let kinds = fail_on::parse(&arguments.fail_on, &[("slower", fail_on::Kind::Slower)])?;
    let records = crate::store::load(arguments.store.as_deref(), &arguments.runs)?;
    if let Some(cuts) = power_cuts::compare(&records) {
        let cuts = cuts?;
        ensure!(
            kinds.is_empty() && arguments.price.is_empty(),
            "--fail-on and --price are for rates, and these are runs of power cuts: `--json` has \
             their verdicts"
        );
        let text = match arguments.json {
            true => serde_json::to_string_pretty(&cuts.document())? + "\n",
            false => cuts.text(&output::style()),
        };
        output::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
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
    let found: Vec<String> =
        kinds.iter().flat_map(|kind| kind.in_comparison(&comparison, &records)).collect();
    Ok(fail_on::concluded(&found))
}
