//! Rounds as a run of the history.

use crate::order::PowerCutOrder;
use lab::order::Opening;
use record::{FORMAT, MethodInfo, PowerCuts, Record, State, VERSION};
use std::collections::BTreeMap;

/// The method that a run of power cuts bears.
pub const METHOD: &str = "power-cut";

/// The record of rounds that are about to begin.
pub fn record(
    order: &PowerCutOrder,
    cuts: PowerCuts,
    opening: Opening,
    labels: BTreeMap<String, String>,
) -> Record {
    Record {
        format: FORMAT.to_owned(),
        version: VERSION,
        id: opening.id,
        state: State::Running,
        error: None,
        tool: opening.tool,
        command_line: opening.command_line,
        labels,
        campaign: None,
        started: opening.started,
        finished: None,
        time: opening.time.name().to_owned(),
        seed: order.seed,
        targets: opening.targets,
        environment: opening.environment,
        method: MethodInfo {
            name: METHOD.to_owned(),
            title: Some("Promises of a program under power cuts".to_owned()),
            layout: METHOD.to_owned(),
            grade: "normal".to_owned(),
            text: String::new(),
            options: BTreeMap::new(),
            span_bytes: order.bytes,
            passes: cuts.last - cuts.first + 1,
            not_measured: None,
        },
        calibration: Vec::new(),
        cells: Vec::new(),
        left_out: Vec::new(),
        failed: Vec::new(),
        paired: Vec::new(),
        rounds: None,
        knees: Vec::new(),
        power_cuts: Some(cuts),
        expectations: Vec::new(),
        flags: Vec::new(),
        warnings: Vec::new(),
    }
}
