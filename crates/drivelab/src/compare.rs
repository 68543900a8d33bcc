//! `drivelab compare`: runs against a baseline, cell by cell.

use crate::{
    cli::CompareArguments,
    known::{Named, fail_on, prices},
    output,
};
use anyhow::Result;
use record::{Cell, PairedVerdict, Record};
use report::{
    chart::Entry,
    comparison::{self, Comparison, Effort, Row},
    number::counted,
    runs::{Run, Subject},
};
use serde_json::{Value, json};
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
        serde_json::to_string_pretty(&document(&comparison))? + "\n"
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

/// As `docs/reference/report-formats.md` describes it.
fn document(comparison: &Comparison<'_>) -> Value {
    let subject = |subject: &Subject<'_>| {
        let target = subject.record.targets.get(subject.target);
        json!({
            "name": subject.name,
            "run": subject.record.id,
            "target": target.map(|target| &target.text),
        })
    };
    let difference = |row: &Vec<Entry>| {
        let words = row.iter().map(|entry| match entry {
            Entry::Text(text) => Value::from(text.as_str()),
            Entry::Number(number) => Value::from(*number),
            Entry::Empty => Value::Null,
        });
        let mut words = words;
        json!({ "fact": words.next(), "in_runs": words.collect::<Vec<_>>() })
    };
    let names = |cells: &[&Cell]| cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>();
    let others = comparison.others.iter().map(|other| {
        let mut value = subject(&other.subject);
        value["design"] = other.design.name().into();
        value["cells"] = other.rows.iter().map(row).collect();
        value["only_in_baseline"] = names(&other.only_in_baseline).into();
        value["only_in_this"] = names(&other.only_in_other).into();
        value["to_tell_5_percent"] = other.effort.as_ref().map(effort).into();
        value
    });
    json!({
        "baseline": subject(&comparison.baseline),
        "differences": comparison.differences.rows.iter().map(difference).collect::<Vec<_>>(),
        "others": others.collect::<Vec<_>>(),
    })
}

fn effort(effort: &Effort) -> Value {
    json!({
        "design": effort.design.name(),
        "passes": effort.passes,
        "seconds": effort.seconds,
        "commands": effort.commands,
    })
}

fn row(row: &Row<'_>) -> Value {
    let cell = row.baseline;
    json!({
        "name": cell.name,
        "op": cell.op,
        "pattern": cell.pattern,
        "block_bytes": cell.block_bytes,
        "threads": cell.threads,
        "queue_depth": cell.queue_depth,
        "io": cell.io,
        "coordinates": cell.coordinates,
        "baseline_iops": cell.iops,
        "iops": row.other.iops,
        "ratio": row.ratio.map(|ratio| ratio.ratio),
        "ratio_ci95": row.ratio.and_then(|ratio| ratio.ci95),
        "verdict": row.ratio.map(|ratio| ratio.verdict),
        "passes": row.ratio.map(|ratio| ratio.passes),
    })
}
