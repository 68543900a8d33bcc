//! The document of one run.

use crate::{Cell, Environment, Expectation, FailedCell, Flag, Knee, PowerCuts, TargetInfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `format` of every record.
pub const FORMAT: &str = "drivelab-record";
/// `version` of the records this crate writes.
pub const VERSION: u32 = 1;

/// Everything one run leaves behind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Always [`FORMAT`].
    pub format: String,
    /// The format's version, [`VERSION`].
    pub version: u32,
    /// Eight hexadecimal digits or more, unique in a store.
    pub id: String,
    /// How far the run got.
    pub state: State,
    /// Why it stopped early: the error's sentence.
    pub error: Option<String>,
    /// What wrote this.
    pub tool: Tool,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// The user's `--label key=value`; a bare label stands under `label`.
    pub labels: BTreeMap<String, String>,
    /// Which task of a campaign the run is; absent of a run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<CampaignTask>,
    /// RFC 3339, with the zone.
    pub started: String,
    /// RFC 3339; absent while running.
    pub finished: Option<String>,
    /// Whose seconds: `wall`, or `virtual` on a model.
    pub time: String,
    /// Where all random choices came from.
    pub seed: u64,
    /// What was measured; two when the run compares.
    pub targets: Vec<TargetInfo>,
    /// The machine.
    pub environment: Environment,
    /// The workload.
    pub method: MethodInfo,
    /// The engines' own cost, measured at the start; by engine name.
    pub calibration: Vec<Calibration>,
    /// Measured cells, in the method's order.
    pub cells: Vec<Cell>,
    /// Cells that did not run, and why.
    pub left_out: Vec<LeftOut>,
    /// Passes of cells that failed, in the order in which they ran; the run went on without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedCell>,
    /// With two targets: one verdict a cell.
    pub paired: Vec<Paired>,
    /// For a method in rounds: how the tracked cell settled.
    #[serde(default)]
    pub rounds: Option<Rounds>,
    /// Rates that were sought: the highest at which a latency holds, one a cell and target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knees: Vec<Knee>,
    /// Of power cuts under a program: what the rounds found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cuts: Option<PowerCuts>,
    /// What the method expects of latencies, and whether it was so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// Flags of the run as a whole, sorted.
    pub flags: Vec<Flag>,
    /// What the user should know, with the cure.
    pub warnings: Vec<Warning>,
}

impl Record {
    /// A copy without the cells, which may be large.
    #[cfg(feature = "store")]
    pub(crate) fn without_cells(&self) -> Self {
        Self {
            format: self.format.clone(),
            version: self.version,
            id: self.id.clone(),
            state: self.state,
            error: self.error.clone(),
            tool: self.tool.clone(),
            command_line: self.command_line.clone(),
            labels: self.labels.clone(),
            campaign: self.campaign.clone(),
            started: self.started.clone(),
            finished: self.finished.clone(),
            time: self.time.clone(),
            seed: self.seed,
            targets: self.targets.clone(),
            environment: self.environment.clone(),
            method: self.method.clone(),
            calibration: self.calibration.clone(),
            cells: Vec::new(),
            left_out: self.left_out.clone(),
            failed: self.failed.clone(),
            paired: self.paired.clone(),
            rounds: self.rounds.clone(),
            knees: self.knees.clone(),
            power_cuts: self.power_cuts.clone(),
            expectations: self.expectations.clone(),
            flags: self.flags.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

/// How far a run got.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Running now, or killed: the store tells which by the process.
    Running,
    /// The plan completed.
    Complete,
    /// Stopped by the user or a signal; `--resume` continues it.
    Interrupted,
    /// Ended by an error, or a cell failed; the other cells are kept.
    Failed,
}

impl State {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// A task of a campaign: many runs that one file asked for, on one machine or on many.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CampaignTask {
    /// The campaign's name: it joins the runs of all machines.
    pub name: String,
    /// The task's number within it, from 0.
    pub task: u64,
    /// How many tasks the campaign has.
    pub of: u64,
}

/// What wrote the record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tool {
    /// `drivelab`.
    pub name: String,
    /// Semantic version.
    pub version: String,
}

/// The workload as it was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MethodInfo {
    /// Its name.
    pub name: String,
    /// One line that says what it is for; absent in records before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Layout of the printed table.
    pub layout: String,
    /// `quick`, `normal`, `publish`.
    pub grade: String,
    /// The method file's text, whole, so that the run can be repeated and resumed.
    pub text: String,
    /// Options that changed it (`size`, `span`, `data`...), as the user wrote them.
    pub options: BTreeMap<String, String>,
    /// Bytes of the tested area.
    pub span_bytes: u64,
    /// Passes planned over the method.
    pub passes: u32,
    /// What this method does not measure, and what that would cost.
    pub not_measured: Option<String>,
}

/// An engine's own cost on this machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// `null`, `sync`, `uring`...
    pub engine: String,
    /// Per operation at depth 1 with full recording and no device, ns.
    pub ns_per_operation: f64,
    /// The clock that was used.
    pub clock: String,
    /// One reading of it, ns.
    pub clock_read_ns: f64,
    /// Kernel features in use and given up, in words.
    pub features: Vec<String>,
}

impl Calibration {
    /// Of virtual time: what this machine costs has no part in it.
    pub fn of_virtual_time() -> Self {
        Self {
            engine: "null".to_owned(),
            ns_per_operation: 0.0,
            clock: "virtual".to_owned(),
            clock_read_ns: 0.0,
            features: Vec::new(),
        }
    }
}

/// A cell of the method that did not run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// The cell's name.
    pub name: String,
    /// Why, one sentence.
    pub reason: String,
}

/// Steady state after the SNIA performance test specification: rounds of the whole method until
/// five consecutive ones agree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rounds {
    /// The cell that decides.
    pub tracked: String,
    /// Its rate in each round, operations per second.
    pub rates: Vec<f64>,
    /// The round (from 1) that completed the first steady window of five; absent if none did.
    pub steady_at_round: Option<u32>,
}

/// Target 1 against target 0 for one cell, passes interleaved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Paired {
    /// The cell's name.
    pub name: String,
    /// Pairs of passes.
    pub n: u32,
    /// Rate of target 1 over rate of target 0, geometric mean.
    pub ratio: f64,
    /// 95 % interval of the ratio; absent with one pair.
    pub ratio_ci95: Option<[f64; 2]>,
    /// In a word.
    pub verdict: PairedVerdict,
}

/// Whether two targets differ by more than the 2 % band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedVerdict {
    /// Target 1 is faster, beyond doubt and beyond the band.
    Faster,
    /// Target 1 is slower, beyond doubt and beyond the band.
    Slower,
    /// The difference lies within the band, beyond doubt.
    Same,
    /// The interval does not say.
    Undecided,
}

/// A sentence for the user, with the flag it explains.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Warning {
    /// The flag, if it has one.
    pub flag: Option<Flag>,
    /// One or two sentences; the last one names the cure.
    pub text: String,
}
