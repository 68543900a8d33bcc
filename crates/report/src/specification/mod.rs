//! A maker's promises, and what a run says of each. `docs/reference/spec-format.md` describes the
//! file and the verdicts.
//!
//! ```text
//!   TOML      -> Specification {Entry...}        read.rs, metric.rs
//!   Entry, cells -> Finding {verdict, reason, cure}   judge.rs, reading.rs
//!   Findings  -> table, text                     show.rs
//! ```

mod held;
mod judge;
mod metric;
mod read;
mod reading;
mod show;
#[cfg(test)]
mod tests;

pub use held::{Held, document, held, tables};
pub use judge::capacity;
pub(crate) use judge::operation;
pub use judge::{Finding, Verdict, judge};
pub use metric::Metric;
pub use read::BadSpecification;
pub use reading::Reading;
pub use show::{promise, section, text};

/// What a data sheet says.
#[derive(Clone, PartialEq, Debug)]
pub struct Specification {
    /// Of which drive.
    pub name: String,
    /// Who printed it.
    pub source: String,
    /// Line by line.
    pub entries: Vec<Entry>,
}

/// One figure of a data sheet with its conditions; what the sheet does not state is `None`.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// What is promised.
    pub metric: Metric,
    /// The figure in the metric's own unit: operations/s, bytes/s, ns, bytes, W.
    pub value: f64,
    /// Half of the last digit as written, in the same unit: what rounding took or gave.
    pub granted: f64,
    /// As written, with its unit.
    pub printed: String,
    /// Whether it is what can be reached or what is always reached.
    pub promise: Promise,
    /// `read`, `write`, `mixed`, `commit`...
    pub op: Option<String>,
    /// Share of reads of a `mixed` operation.
    pub read_percent: Option<f64>,
    /// `seq`, `random`...
    pub pattern: Option<String>,
    /// Bytes of one operation.
    pub block_bytes: Option<u64>,
    /// Operations in flight: of each thread with `threads`, else of all.
    pub depth: Option<u32>,
    /// Workers at once.
    pub threads: Option<u32>,
    /// The most that may be in use.
    pub span_bytes: Option<u64>,
    /// What was done to the drive before.
    pub state: Option<DriveState>,
    /// Of a latency, in percent; the mean without it.
    pub percentile: Option<f64>,
}

/// How a figure is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// "Up to": the best cell counts.
    UpTo,
    /// Without that: every cell counts.
    Always,
}

/// What was done to a drive before it was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveState {
    /// Nothing was written, or all was discarded.
    Fresh,
    /// Written until rounds agreed.
    Steady,
}

impl DriveState {
    /// The word in files and sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Steady => "steady",
        }
    }
}
