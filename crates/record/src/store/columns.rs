//! What of a record stands in columns of its own, because it is searched for.

use super::sql::Value;
use crate::{Record, RunSummary};

/// The words by which a run is found, in lower case of the letters A to Z, a line each: id, method,
/// targets, start, machine, drives, campaign, labels, flags.
pub fn words(record: &Record, summary: &RunSummary) -> String {
    let mut lines = vec![
        record.id.clone(),
        record.method.name.clone(),
        targets(record),
        record.started.clone(),
        record.environment.host.name.clone(),
    ];
    for (_, _, drive) in drives(record) {
        lines.extend(drive.into_iter().flatten());
    }
    lines.extend(record.campaign.as_ref().map(|task| task.name.clone()));
    lines.extend(record.labels.iter().map(|(key, value)| format!("{key}={value}")));
    lines.extend(summary.flags.iter().map(|flag| flag.name().to_owned()));
    lines.join("\n").to_ascii_lowercase()
}

/// The targets as they were typed, one behind the other.
pub fn targets(record: &Record) -> String {
    let targets: Vec<&str> = record.targets.iter().map(|target| target.text.as_str()).collect();
    targets.join(" ")
}

/// Of each drive below each target: the target's number, the layer's, and model, serial number and
/// firmware.
pub fn drives(record: &Record) -> Vec<(i64, i64, [Option<String>; 3])> {
    let mut found = Vec::new();
    for (target, info) in record.targets.iter().enumerate() {
        for (layer, below) in info.stack.iter().enumerate() {
            if let Some(drive) = &below.drive {
                let told = [drive.model.clone(), drive.serial.clone(), drive.firmware.clone()];
                found.push((target as i64, layer as i64, told));
            }
        }
    }
    found
}

/// The campaign's name and the task's number.
pub fn campaign(record: &Record) -> [Value; 2] {
    let task = record.campaign.as_ref();
    [
        Value::Text(task.map(|task| task.name.clone())),
        Value::Integer(task.map(|task| task.task.cast_signed())),
    ]
}
