//! What became of data sheets, for programs; `docs/reference/spec-format.md` describes it.

use super::sheets::Held;
use record::Record;
use report::specification::{DriveState, Entry, Finding, Promise, promise};
use serde_json::{Map, Value, json};

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
