//! What a method expects of a cell's latency, and whether it was so.

use serde::{Deserialize, Serialize};

/// One expectation of one cell on one target.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Expectation {
    /// Index into the record's `targets`.
    pub target: usize,
    /// The cell.
    pub cell: String,
    /// What its latency must hold: `p99<10ms`.
    pub condition: String,
    /// What follows where it does not, in the words of the method.
    pub meaning: String,
    /// Where the limit comes from.
    pub source: String,
    /// What each pass saw.
    pub passes: Vec<Judged>,
    /// All passes together, by the 95 % interval.
    pub verdict: ExpectationVerdict,
}

/// What one pass saw of a limited latency.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Judged {
    /// Which pass, from 0.
    pub pass: u32,
    /// Operations that were judged.
    pub operations: u64,
    /// The percentile, where there were operations enough, or the mean.
    pub latency_ns: Option<f64>,
    /// The share of operations beyond the limit over the share that the condition allows; of a
    /// mean, it over its limit. Above 1 the condition does not hold.
    pub ratio: f64,
    /// Half of the 95 % interval of `ratio`; absent where there was too little for any.
    pub ratio_half_width: Option<f64>,
}

/// Whether an expectation was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationVerdict {
    /// Beyond doubt.
    Pass,
    /// It was not, beyond doubt.
    Fail,
    /// The interval does not say, or there were too few operations.
    Inconclusive,
}

impl ExpectationVerdict {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}
