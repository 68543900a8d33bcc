//! What a cell that was not measured well enough lacks, and the command that would give it, with
//! its cost.

use super::pass::StreamPass;
use crate::{
    statistics::{Assessment, Stop, StopRule, Test},
    workload::Stream,
};
use block::display_bytes;
use record::{Flag, LARGE_BLOCK_BYTES, Record, Warning};

/// What the run allows a pass, and how it was ordered.
#[derive(Clone, Copy)]
pub(super) struct Remedy<'a> {
    pub record: &'a Record,
    pub rule: StopRule,
    /// Passes of all cells on all targets: `--max-time` is divided among them.
    pub steps: usize,
    /// Passes of this cell.
    pub passes: u32,
    /// Most bytes that the whole run writes to a target.
    pub written_bytes_max: u64,
}

/// An interval narrows with the root of the time, and no two minutes are alike: this much longer.
const MARGIN: f64 = 1.2;
/// A rate that moved must be seen for this many times as long to show whether it settles.
const LONGER_TO_SETTLE: f64 = 2.0;

impl Remedy<'_> {
    /// The flag that a stop stands for: the test that failed, and what would meet it.
    pub fn warning(&self, stream: &Stream, pass: &StreamPass) -> Option<Warning> {
        let seen = &pass.assessment;
        let (flag, failed) = match pass.stop? {
            Stop::Converged => return None,
            Stop::NotConverged => (Flag::NotConverged, self.failed(pass)),
            Stop::Insufficient => {
                let (count, seconds) = (pass.operations, pass.seconds);
                let text = format!("{count} operations in {seconds:.1} s are too few to say");
                (Flag::Insufficient, text)
            }
        };
        let needed_s = self.needed_seconds(seen, pass);
        let does = match seen.failed(&self.rule) {
            Some(Test::Steadiness) => "shows whether it settles",
            _ => "would do",
        };
        let cost = self.cost(stream, pass, needed_s);
        let (option, value) = self.option(stream, pass, needed_s);
        let cure = match self.record.again(&[(option, Some(&value))]) {
            Some(command) => format!("`{command}`"),
            None => flag.cure().to_owned(),
        };
        Some(Warning { flag: Some(flag), text: format!("{failed}; {cost} {does}: {cure}") })
    }

    /// `precision: +-7.1 % after 12.0 s, +-5 % asked for`.
    fn failed(&self, pass: &StreamPass) -> String {
        let (seen, seconds) = (&pass.assessment, pass.seconds);
        let width = seen
            .half_width_relative
            .map_or("unknown".to_owned(), |width| format!("±{:.1} %", width * 100.0));
        match seen.failed(&self.rule).unwrap_or(Test::Precision) {
            Test::Amount | Test::Precision => {
                let asked = self.rule.half_width_max * 100.0;
                format!("precision: {width} after {seconds:.1} s, ±{asked:.0} % asked")
            }
            Test::Steadiness => {
                let (trend, spread) = (seen.trend_relative * 100.0, seen.spread_relative * 100.0);
                format!(
                    "steadiness: in {seconds:.1} s the rate moved by {trend:.0} %, parts of it by \
                     {spread:.0} %"
                )
            }
        }
    }

    /// Seconds of a pass that would pass the test that this one failed.
    fn needed_seconds(&self, seen: &Assessment, pass: &StreamPass) -> f64 {
        let enough = |have: f64, need: f64| pass.seconds * (need / have.max(1e-9)) * MARGIN;
        let needed = match seen.failed(&self.rule) {
            Some(Test::Amount) => enough(pass.operations as f64, self.rule.completions_min as f64)
                .max(self.rule.seconds_min),
            Some(Test::Precision) | None => {
                let width = seen.half_width_relative.unwrap_or(2.0 * self.rule.half_width_max);
                let factor = (width / self.rule.half_width_max).powi(2);
                enough(1.0, factor.max(1.0))
            }
            Some(Test::Steadiness) => pass.seconds * LONGER_TO_SETTLE,
        };
        needed.max(pass.seconds).ceil()
    }

    /// The option that lets a pass go on for so long: its time was over, or its bytes were.
    fn option(&self, stream: &Stream, pass: &StreamPass, needed_s: f64) -> (&'static str, String) {
        if stream.op.writes() && pass.seconds + 0.5 < self.rule.seconds_max {
            let more = self.more_bytes(pass, needed_s) * f64::from(self.passes);
            let all = self.written_bytes_max.saturating_add(more as u64);
            return ("--max-written", format!("{}GiB", all.div_ceil(1 << 30)));
        }
        ("--max-time", duration(needed_s * self.steps as f64))
    }

    /// `13 s and 1.2 GiB more`, of a pass.
    fn cost(&self, stream: &Stream, pass: &StreamPass, needed_s: f64) -> String {
        let seconds = (needed_s - pass.seconds).ceil();
        let bytes = match stream.op.writes() {
            true => {
                format!(" and {}", display_bytes(self.more_bytes(pass, needed_s) as u64))
            }
            false => String::new(),
        };
        let each = if self.passes > 1 { " a pass" } else { "" };
        format!("{seconds:.0} s{bytes} more{each}")
    }

    fn more_bytes(&self, pass: &StreamPass, needed_s: f64) -> f64 {
        pass.bytes as f64 * (needed_s / pass.seconds.max(1e-9) - 1.0).max(0.0)
    }
}

/// As `--max-time` reads it: `45s`, `12m`, rounded up.
fn duration(seconds: f64) -> String {
    if seconds < 600.0 {
        format!("{:.0}s", seconds.ceil())
    } else {
        format!("{:.0}m", (seconds / 60.0).ceil())
    }
}

/// A rate as the cell's is read: bandwidth of large blocks, else operations.
pub(super) fn rate(stream: &Stream, pass: &StreamPass, operations_per_second: f64) -> String {
    let is_large = u64::from(stream.block_bytes) >= LARGE_BLOCK_BYTES && pass.bytes > 0;
    let (value, unit) = if is_large {
        (operations_per_second * f64::from(stream.block_bytes) / 1e6, "MB/s")
    } else {
        (operations_per_second, "IOPS")
    };
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}
