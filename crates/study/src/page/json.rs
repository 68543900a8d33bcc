//! Every value of a study as one JSON object; `docs/reference/study-format.md` describes them.

use super::{
    claims::because,
    yours::{Measured, Part},
};
use crate::{BadClaim, Beside, Dossier, Models, Printed, TableFile};
use serde_json::{Value, json};

/// The cells of these tables: published, computed and modelled values.
pub fn cells(dossier: &Dossier, models: &Models, tables: &[&TableFile]) -> Vec<Value> {
    let mut rows = Vec::new();
    for (at, cell) in dossier.cells.iter().enumerate() {
        let id = cell.coordinate("table").expect("a cell stands in a table");
        let Some(table) = tables.iter().find(|table| table.id == id) else { continue };
        let mut coordinates = cell.at.clone();
        coordinates.remove("table");
        let notes = dossier.notes[at].iter().map(|note| dossier.file.notes[*note].text.as_str());
        let notes: Vec<&str> = notes.collect();
        let basis = match (table.beside, &models.bases[at]) {
            (Beside::Ours, _) => Some("ours"),
            (Beside::Model, basis) => basis.as_ref().map(crate::Basis::name),
        };
        let row = |kind: &str, value: Option<f64>, text: Option<&str>| {
            json!({
                "study": dossier.study.name(), "table": id, "coordinates": coordinates, "kind": kind,
                "basis": basis.filter(|_| kind == "modelled"),
                "value": value, "unit": table.unit, "text": text, "interval": null, "notes": notes,
            })
        };
        rows.extend(match &cell.printed {
            Printed::Figure(number, text) => Some(row("published", Some(*number), Some(text))),
            Printed::Blank => Some(row("published", None, Some("left blank"))),
            Printed::Added => None,
        });
        rows.extend(dossier.computed[at].map(|value| row(table.follows.name(), Some(value), None)));
        // What follows from printed figures alone was not modelled.
        let modelled = models.values[at].as_ref().filter(|value| value.is_err() || basis.is_some());
        rows.extend(modelled.map(|value| match value {
            Ok(value) => row("modelled", Some(*value), None),
            Err(reason) => row("modelled", None, Some(reason)),
        }));
    }
    rows
}

/// The user's values, each at the coordinates under which it was measured; the text is the run that
/// has it, none where it was derived.
pub fn yours(dossier: &Dossier, measured: &Measured) -> Vec<Value> {
    let parts = &measured.parts;
    let run = |value: &crate::yours::Value| {
        let is_measured = |part: &&Part| {
            value.interval.is_some()
                && part.on.tables.contains(&value.at["table"])
                && part.on.ops.values().any(|op| *op == value.at["op"])
        };
        parts.iter().find(is_measured).map(|part| part.record.id.clone())
    };
    let one = |value: &crate::yours::Value| {
        let table = dossier.file.table(&value.at["table"]).expect("a value stands in a table");
        let mut coordinates = value.at.clone();
        coordinates.remove("table");
        json!({
            "study": dossier.study.name(), "table": table.id, "coordinates": coordinates, "kind": "yours",
            "value": value.number, "unit": table.unit, "text": run(value), "interval": value.interval,
            "means": value.origin.means.iter().map(|(_, phrase)| phrase).collect::<Vec<_>>(),
            "flags": value.origin.flags, "notes": [],
        })
    };
    super::yours::of(dossier, measured).values.iter().map(one).collect()
}

/// All claims with their verdicts.
///
/// # Errors
/// A claim's expression that is wrong.
pub fn claims(dossier: &Dossier, models: &Models) -> Result<Vec<Value>, BadClaim> {
    let one = |claim: &crate::Claim| {
        let judgement = claim.judge(&dossier.printed, Some(&models.book))?;
        let numbers = |values: &[crate::expression::Value]| -> Vec<f64> {
            values.iter().map(|value| value.number).collect()
        };
        Ok(json!({
            "study": dossier.study.name(),
            "id": claim.file.id,
            "text": claim.file.text,
            "kind": claim.file.kind.name(),
            "printed": claim.file.printed,
            "verdict": judgement.verdict.name(),
            "computed": numbers(&judgement.values),
            "modelled": judgement.modelled.as_ref().map(|seen| numbers(&seen.values)),
            "rule": claim.rule(),
            "also": judgement.also.iter()
                .map(|(words, values)| json!({ "what": words, "values": numbers(values) }))
                .collect::<Vec<_>>(),
            "command": claim.file.command,
            "because": because(dossier, &judgement),
        }))
    };
    dossier.claims.iter().map(one).collect()
}
