//! What the tasks of a campaign say together: each treatment's cells over its repetitions.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    answer::{Answer, CellFound},
    task::{Task, Work},
};
use stats::{Headline, Host, PassRate, headline};
use std::collections::BTreeMap;

/// One cell of one treatment, all its repetitions.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What was measured.
    pub target: String,
    /// Name of the method.
    pub method: String,
    /// Settings, as ` depth=4`.
    pub settings: String,
    /// The cell in words.
    pub cell: String,
    /// Whether the rate is bytes per second.
    pub is_bandwidth: bool,
    /// The rate over repetitions.
    pub rate: Headline,
    /// The median of the repetitions' 99th percentiles, ns.
    pub p99_ns: Option<u64>,
}

impl Row {
    /// Target and settings.
    pub fn label(&self) -> String {
        format!("{}{}", self.target, self.settings)
    }

    /// Half of the interval over the value.
    pub fn half_width_relative(&self) -> Option<f64> {
        let [low, high] = self.rate.ci95?;
        (self.rate.median > 0.0).then(|| (high - low) / 2.0 / self.rate.median)
    }
}

/// Target, method and settings of a treatment.
type Treatment = (String, String, String);

/// A cell in several answers.
type Measured<'a> = Vec<(&'a Answer, &'a CellFound)>;

/// Rows by treatment and cell, in the order of their names: that of work is random.
pub fn rows<'a>(tasks: &[Task], answers: impl Iterator<Item = &'a Answer>) -> Vec<Row> {
    let mut groups: BTreeMap<(Treatment, usize, &str), Measured<'_>> = BTreeMap::new();
    for answer in answers {
        let Some(task) = tasks.get(answer.task as usize) else { continue };
        let Work::Measure(measure) = &task.work else { continue };
        let treatment = (measure.target.clone(), measure.method.clone(), settings(task));
        for (at, cell) in answer.found.cells.iter().enumerate() {
            let key = (treatment.clone(), at, cell.name.as_str());
            groups.entry(key).or_default().push((answer, cell));
        }
    }
    groups.into_iter().map(|((treatment, ..), cells)| row(treatment, &cells)).collect()
}

fn row((target, method, settings): Treatment, cells: &[(&Answer, &CellFound)]) -> Row {
    let passes: Vec<PassRate> = cells.iter().map(|(answer, cell)| rate_of(answer, cell)).collect();
    let (answer, first) = cells[0];
    let p99: Vec<f64> = cells.iter().filter_map(|(_, cell)| Some(cell.p99_ns? as f64)).collect();
    Row {
        target,
        method,
        settings,
        cell: first.title.clone(),
        is_bandwidth: first.is_large_block,
        rate: headline(&passes, host_of(answer)),
        p99_ns: (!p99.is_empty()).then(|| stats::median(&p99).round() as u64),
    }
}

/// A repetition's rate, as a pass.
fn rate_of(answer: &Answer, cell: &CellFound) -> PassRate {
    PassRate {
        rate: cell.rate(),
        half_width_relative: cell.half_width_relative,
        at_seconds: answer.began_unix_s + answer.seconds / 2.0,
    }
}

fn host_of(answer: &Answer) -> Host {
    if answer.found.is_virtual { Host::Virtual } else { Host::Real }
}

/// The method that all rows have; none where there are several.
pub fn only_method(rows: &[Row]) -> Option<&str> {
    let first = rows.first()?.method.as_str();
    rows.iter().all(|row| row.method == first).then_some(first)
}

/// The method of a task; nothing where it has none.
pub fn method(task: &Task) -> &str {
    match &task.work {
        Work::Measure(measure) => &measure.method,
        Work::Seeds(_) => "",
    }
}

/// The settings of a task, as ` depth=4 op=read`.
pub fn settings(task: &Task) -> String {
    match &task.work {
        Work::Measure(measure) => {
            measure.set.iter().map(|(key, value)| format!(" {key}={value}")).collect()
        }
        Work::Seeds(_) => String::new(),
    }
}
