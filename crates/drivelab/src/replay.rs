//! `drivelab replay`: a trace is played on targets; a run like every other.

use crate::{
    cli::ReplayArguments,
    output,
    run::{How, Keep, in_words, measure},
    trace,
};
use anyhow::{Error, Result, anyhow, bail};
use host::Consent;
use lab::{order::labels, plan::Options};
use report::terminal::Notes;
use run::{CannotReplay, CannotRun, ReplayOrder, RunOrder, Wear};
use std::{path::Path, process::ExitCode};
use target::TargetText;

/// Replays, and prints what was measured.
pub fn replay(arguments: &ReplayArguments) -> Result<ExitCode> {
    let keep = Keep::new(arguments.store.as_deref(), arguments.quiet, arguments.dry_run);
    let how = How { keep, json: arguments.json.as_deref(), prices: &[], sheets: &[] };
    let measured = measure(order(arguments)?, &how).map_err(|error| with_cure(error, arguments))?;
    let Some(measured) = measured else { return Ok(ExitCode::SUCCESS) };
    let record = &measured.record;
    let json = || serde_json::to_string_pretty(record).map(|text| text + "\n");
    let text = match arguments.json.as_deref() {
        Some(path) if path == Path::new("-") => json()?,
        path => {
            path.map_or(Ok(()), |path| output::write_json(path, &json()?))?;
            let store = output::store_option(arguments.store.as_deref());
            let more = format!("drivelab show {}{store} --explain", record.id);
            report::terminal::run(record, &output::style(), Notes::Brief { more: &more })
        }
    };
    let given = output::print(&text);
    let ended = measured.conclude()?;
    given?;
    Ok(ended)
}

/// What may not be written to can still be read.
fn with_cure(error: Error, arguments: &ReplayArguments) -> Error {
    let is_plan = matches!(error.downcast_ref(), Some(CannotRun::Plan(_)));
    if is_plan && !arguments.reads_only {
        return anyhow!("{error}; what a trace writes and trims is left out with --reads-only");
    }
    error
}

fn order(arguments: &ReplayArguments) -> Result<RunOrder> {
    if arguments.targets.len() > 2 {
        bail!(
            "replay plays on one TARGET or compares two, and {} were named: leave some out",
            arguments.targets.len()
        );
    }
    let targets = arguments.targets.iter().map(|word| TargetText::of_word(word));
    let order = ReplayOrder {
        trace: trace::file(&arguments.file, arguments.volume.as_deref()),
        targets: targets.collect::<Result<_, _>>()?,
        speed: arguments.speed,
        queue_depth: arguments.depth,
        trace_seconds_max: arguments.first,
        options: Options {
            span_bytes: arguments.size,
            passes: Some(arguments.passes),
            reads_only: arguments.reads_only,
            seed: arguments.seed.unwrap_or_else(host::chosen_seed),
            ..Options::default()
        },
        labels: labels(&arguments.label),
        consent: Consent::typed(&arguments.destroy),
        wear: if arguments.yes { Wear::AgreedTo } else { Wear::Unasked },
        kept_max: 0,
    };
    order.to_run().map_err(|error| match error {
        CannotReplay::Trace(error) => trace::in_words(error),
        CannotReplay::Run(error) => in_words(error),
        CannotReplay::Nothing(_) => error.into(),
    })
}
