//! The highest rate at which a cell's operations still hold a limit on their latency.

use crate::{Cell, Record};
use serde::{Deserialize, Serialize};

/// What a search found for one cell on one target, and everything it tried.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Knee {
    /// Index into the record's `targets`.
    pub target: usize,
    /// The cell whose rate was sought. It stands among the cells as a closed loop, and each rate
    /// that was tried as a cell of its own: `NAME@RATE`.
    pub cell: String,
    /// What the latency must hold: `p99<1ms`.
    pub condition: String,
    /// The percentile that is limited, in percent; absent for the mean.
    pub percent: Option<f64>,
    /// Its limit.
    pub limit_ns: u64,
    /// Operations per second of the closed loop, from where the search began.
    pub closed_loop_iops: Option<f64>,
    /// How it ended; absent while it goes on.
    pub outcome: Option<KneeOutcome>,
    /// The highest rate that holds the condition, in operations per second.
    pub iops: Option<f64>,
    /// From the highest rate that holds it beyond doubt to the lowest that does not; each of the
    /// two by the 95 % interval of its latencies.
    pub iops_ci95: Option<[f64; 2]>,
    /// Every pass at some rate, in the order in which they ran.
    pub probes: Vec<KneeProbe>,
}

impl Record {
    /// Whether a cell is one of the rates that a search tried, `NAME@RATE`: a point of its curve.
    pub fn is_probe(&self, cell: &Cell) -> bool {
        let base = cell.name.rsplit_once('@').map(|(base, _)| base);
        base.is_some_and(|base| self.knees.iter().any(|knee| knee.cell == base))
    }
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeOutcome {
    /// At higher rates the latency is beyond its limit.
    Latency,
    /// The condition holds at every rate that the target keeps up with: the highest is what it can
    /// do at all.
    Capacity,
    /// No rate that was tried holds it, down to the least that can be judged in the time.
    NoneHolds,
    /// Every rate that was tried holds it, up to several times that of the closed loop.
    AllHold,
}

/// One pass at one rate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KneeProbe {
    /// Its number among the passes of the search; 0 is the closed loop.
    pub pass: u32,
    /// Operations per second that were to be started.
    pub rate: f64,
    /// Operations that were judged.
    pub operations: u64,
    /// The latency that is limited: the percentile, where there were operations enough, or the
    /// mean.
    pub latency_ns: Option<f64>,
    /// The share of operations beyond the limit over the share that the condition allows; of a
    /// mean, it over its limit. Above 1 the condition does not hold.
    pub ratio: f64,
    /// Half of the 95 % interval of `ratio`, from batches of ticks; absent where there were too
    /// few.
    pub ratio_half_width: Option<f64>,
    /// Whether operations came faster than they were done, so that latencies grew all the time.
    pub overload: bool,
    /// What follows.
    pub verdict: KneeVerdict,
}

/// Whether a pass held its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeVerdict {
    /// Beyond doubt.
    Holds,
    /// It does not, beyond doubt.
    Fails,
    /// The interval does not say.
    Open,
}
