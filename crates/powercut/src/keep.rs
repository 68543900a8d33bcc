//! Rounds as a run of the history.

use crate::order::PowerCutOrder;
use lab::order::Opening;
use record::{MethodInfo, PowerCuts, Record};
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
    let method = MethodInfo {
        name: METHOD.to_owned(),
        title: Some("Promises of a program under power cuts".to_owned()),
        layout: METHOD.to_owned(),
        grade: "normal".to_owned(),
        text: String::new(),
        options: BTreeMap::new(),
        span_bytes: order.bytes,
        passes: cuts.last - cuts.first + 1,
        not_measured: None,
    };
    Record {
        labels,
        // No engine of drivelab's measures anything.
        calibration: Vec::new(),
        power_cuts: Some(cuts),
        ..opening.record(method, order.seed)
    }
}
