//! Data sheets held against the targets of a run: as a table, and for programs
//! (`docs/reference/spec-format.md`).

use super::{
    DriveState, Entry, Finding, Promise, Specification, judge,
    show::{promise, text},
};
use crate::{
    runs::{self, Run},
    terminal::Style,
};
use record::Record;
use serde_json::{Map, Value, json};

/// A data sheet held against each target of a record that has one.
pub struct Held<'s> {
    /// What is promised.
    pub specification: &'s Specification,
    /// The target as it was typed.
    pub target: String,
    /// The target's short name where there are several; else empty.
    pub of: String,
    /// What became of each entry.
    pub findings: Vec<Finding<'s>>,
}

/// All targets of a record against their sheets.
pub fn held<'s>(record: &Record, sheets: &'s [Option<Specification>]) -> Vec<Held<'s>> {
    let subjects = runs::subjects(&[Run { record, prices: Vec::new() }]);
    let several = subjects.len() > 1;
    let held = subjects.iter().filter_map(|subject| {
        let specification = sheets.get(subject.target)?.as_ref()?;
        let findings = judge(specification, subject);
        let of = if several { subject.name.clone() } else { String::new() };
        let target = record.targets[subject.target].text.clone();
        Some(Held { specification, target, of, findings })
    });
    held.collect()
}

/// What stands below a run's table.
pub fn tables(held: &[Held<'_>], style: &Style) -> String {
    let one = |held: &Held<'_>| {
        let of = if held.of.is_empty() { String::new() } else { format!("{}\n", held.of) };
        format!("\n{of}{}", text(held.specification, &held.findings, style))
    };
    held.iter().map(one).collect()
}

/// One object for a run.
pub fn document(record: &Record, held: &[Held<'_>]) -> Value {
    json!({ "run": record.id, "sheets": held.iter().map(sheet).collect::<Vec<_>>() })
}

fn sheet(held: &Held<'_>) -> Value {
    json!({
        "target": held.target,
        "name": held.specification.name,
        "source": held.specification.source,
        "entries": held.findings.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn entry(finding: &Finding<'_>) -> Value {
    let entry = finding.entry;
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    json!({
        "metric": entry.metric.name(),
        "promised": promise(finding),
        "figure": entry.printed,
        "value": entry.value,
        "up_to": entry.promise == Promise::UpTo,
        "conditions": conditions(entry),
        "verdict": finding.verdict.name(),
        "measured": finding.measured.map(|reading| reading.value),
        "measured_ci95": finding.measured.and_then(|reading| reading.ci95),
        "cell": finding.cell,
        "because": said(&finding.because),
        "cure": said(&finding.cure),
    })
}

/// Those that the sheet states.
fn conditions(entry: &Entry) -> Value {
    let stated = [
        ("op", json!(entry.op)),
        ("read_percent", json!(entry.read_percent)),
        ("pattern", json!(entry.pattern)),
        ("block_bytes", json!(entry.block_bytes)),
        ("depth", json!(entry.depth)),
        ("threads", json!(entry.threads)),
        ("span_bytes", json!(entry.span_bytes)),
        ("state", json!(entry.state.map(DriveState::name))),
        ("percentile", json!(entry.percentile)),
    ];
    let stated = stated.into_iter().filter(|(_, value)| !value.is_null());
    stated.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}
