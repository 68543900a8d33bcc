//! What a task came to: small, so that ten thousand of them are read in a second.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use record::Record;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `format` of every answer.
pub const FORMAT: &str = "drivelab-task";
/// `version` of the answers this crate writes.
pub const VERSION: u32 = 1;

/// What one attempt at a task came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Always [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The task's number.
    pub task: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Why it failed: one sentence; none where it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The host it ran on.
    pub host: String,
    /// When it began, seconds since 1970.
    pub began_unix_s: f64,
    /// How long it took, from the claim to the written record.
    pub seconds: f64,
    /// Of that, the measurement alone: without opening and planning, which each task does anew.
    pub work_seconds: f64,
    /// What it found.
    #[serde(flatten)]
    pub found: Found,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// The run's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Its record, a path in the campaign's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// Whether its time was a model's.
    #[serde(default)]
    pub is_virtual: bool,
    /// Completion hash of what was modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<String>,
    /// Drives under the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<Drive>,
    /// Cells, in the method's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellFound>,
    /// Counts of work that is no measurement, such as crash points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
}

/// A drive as it names itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Drive {
    /// Model, or the name in the catalog.
    pub model: String,
    /// Serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Firmware revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
}

/// A cell in a line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CellFound {
    /// Its name in the method.
    pub name: String,
    /// In words.
    pub title: String,
    /// Whether its rate is told as bandwidth.
    pub is_large_block: bool,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Half of the 95 % interval over the value, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width_relative: Option<f64>,
    /// Median latency, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
}

impl Found {
    /// What a record says. `path` is where it lies.
    pub fn of(record: &Record, path: String) -> Self {
        let hashes = record.targets.iter().filter_map(|target| target.completions.as_ref());
        let hashes: Vec<&str> = hashes.map(|completions| completions.hash.as_str()).collect();
        let drives = record.targets.iter().flat_map(|target| &target.stack).filter_map(|layer| {
            let drive = layer.drive.as_ref()?;
            Some(Drive {
                model: drive.model.clone().unwrap_or_else(|| layer.name.clone()),
                serial: drive.serial.clone(),
                firmware: drive.firmware.clone(),
            })
        });
        let cells = record.cells.iter().map(|cell| CellFound {
            name: cell.name.clone(),
            title: cell.title.clone().unwrap_or_else(|| cell.name.clone()),
            is_large_block: cell.is_large_block(),
            iops: cell.iops,
            bytes_per_s: cell.bytes_per_s,
            half_width_relative: cell.half_width_relative,
            p50_ns: cell.latency.as_ref().and_then(|latency| latency.percentile(50.0)),
            p99_ns: cell.latency.as_ref().and_then(|latency| latency.percentile(99.0)),
        });
        Self {
            run: Some(record.id.clone()),
            record: Some(path),
            is_virtual: record.time == "virtual",
            completions: (!hashes.is_empty()).then(|| hashes.join("+")),
            drives: drives.collect(),
            cells: cells.collect(),
            counts: BTreeMap::new(),
        }
    }
}

impl CellFound {
    /// The rate that is told of it.
    pub fn rate(&self) -> f64 {
        if self.is_large_block { self.bytes_per_s } else { self.iops }
    }
}
