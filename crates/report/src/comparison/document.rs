//! A comparison for programs.

use super::{Comparison, Effort, KneeRow, Row};
use crate::{chart::Entry, runs::Subject};
use record::Cell;
use serde_json::{Value, json};

/// As `docs/reference/report-formats.md` describes it.
pub fn document(comparison: &Comparison<'_>) -> Value {
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
        value["knees"] = other.knees.iter().map(knee).collect();
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

fn knee(row: &KneeRow<'_>) -> Value {
    json!({
        "name": row.cell.name,
        "condition": row.baseline.condition,
        "baseline_iops": row.baseline.iops,
        "iops": row.other.iops,
        "ratio": row.ratio.map(|ratio| ratio.ratio),
        "ratio_ci95": row.ratio.and_then(|ratio| ratio.ci95),
        "verdict": row.ratio.map(|ratio| ratio.verdict),
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
