//! What a cell that was not measured well enough lacks, and the command that would give it, with
//! its cost.

use super::pass::StreamPass;
use crate::{
    plan::{Plan, SECOND_LOOK},
    workload::Stream,
};
use block::{counted, display_bytes, one_or};
use record::{Flag, LARGE_BLOCK_BYTES, Record, Warning};
use stats::{Assessment, Stop, Test};

/// What the run allows a pass, and how it was ordered.
#[derive(Clone, Copy)]
pub(super) struct Remedy<'a> {
    pub record: &'a Record,
    pub plan: &'a Plan,
}

/// An interval narrows with the root of the time, and no two minutes are alike: this much longer.
const MARGIN: f64 = 1.2;
/// A rate that moved must be seen for this many times as long to show whether it settles.
const LONGER_TO_SETTLE: f64 = 2.0;
/// What was doubted wants noticeably more bytes, or the next run is doubted as well.
const TIMES_MIN: f64 = 1.5;
/// A pass that ended so much before its time had written its bytes, s.
const EARLY_S: f64 = 0.5;

impl Remedy<'_> {
    /// The flag that a stop stands for: the test that failed, and what would meet it.
    pub fn warning(&self, stream: &Stream, pass: &StreamPass) -> Option<Warning> {
        let seen = &pass.assessment;
        let (flag, failed) = match pass.stop? {
            Stop::Converged => return None,
            Stop::NotConverged => (Flag::NotConverged, self.failed(pass)),
            Stop::Insufficient => {
                let (count, seconds) = (pass.operations, pass.seconds);
                let are = one_or(&count, "is", "are");
                let count = counted(count, "operation");
                let text = format!("{count} in {seconds:.1} s {are} too few to say");
                (Flag::Insufficient, text)
            }
        };
        let early = pass.seconds + EARLY_S < self.plan.rule.seconds_max;
        if pass.spent || stream.op.writes() && early {
            return Some(Warning { flag: Some(flag), text: self.spent(pass) });
        }
        let needed_s = self.needed_seconds(seen, pass);
        let does = match seen.failed(&self.plan.rule) {
            Some(Test::Steadiness) => "shows whether it settles",
            _ => "would do",
        };
        let cost = self.cost(stream, pass, needed_s);
        // `--max-time` is divided among the passes of all cells on all targets.
        let all = duration(needed_s * self.plan.steps.len() as f64);
        let cure = self.command("--max-time", &all).unwrap_or_else(|| flag.cure().to_owned());
        Some(Warning { flag: Some(flag), text: format!("{failed}; {cost} {does}: {cure}") })
    }

    fn command(&self, option: &str, value: &str) -> Option<String> {
        self.record.again(&[(option, Some(value))]).map(|command| format!("`{command}`"))
    }

    /// What is said of a pass that ended when its bytes were written, before it was known well
    /// enough.
    fn spent(&self, pass: &StreamPass) -> String {
        let (seen, plan) = (&pass.assessment, self.plan);
        let wanted = plan.rule.half_width_max;
        let width = seen.half_width_relative;
        let found = match width {
            None => "too short for an interval".to_owned(),
            Some(width) if width > wanted => format!("the interval was ±{:.1} %", width * 100.0),
            Some(_) if !seen.steady => "the rate was not steady".to_owned(),
            Some(_) => "with too few operations to be sure".to_owned(),
        };
        // Twice as narrow takes four times as long; the least is what any cell is given.
        let narrower = width.map_or(1.0, |width| (width / wanted).powi(2));
        let rule = &plan.rule;
        let times = narrower.max(rule.seconds_min * SECOND_LOOK / pass.seconds).max(TIMES_MIN);
        // More bytes than its time allows would not be written.
        let times = times.min(rule.seconds_max / pass.seconds).max(1.0);
        let cure = if plan.written_bytes_max < plan.unbounded_bytes {
            let bytes = display_bytes(plan.bound_for(times)).replace(' ', "");
            let command = self.command("--max-written", &bytes);
            let command = command.unwrap_or_else(|| format!("--max-written {bytes}"));
            let gives_s = (pass.seconds * times).min(rule.seconds_max);
            let digits = usize::from(gives_s < 10.0);
            format!("{command} gives it {gives_s:.digits$} s")
        } else {
            "a method file with a higher `written_max` gives it more".to_owned()
        };
        format!(
            "the {} that it may write were written in {:.1} s, {found}: {cure}",
            display_bytes(pass.bytes),
            pass.seconds
        )
    }

    /// `precision: +-7.1 % after 12.0 s, +-5 % asked for`.
    fn failed(&self, pass: &StreamPass) -> String {
        let (seen, seconds) = (&pass.assessment, pass.seconds);
        let width = seen
            .half_width_relative
            .map_or("unknown".to_owned(), |width| format!("±{:.1} %", width * 100.0));
        match seen.failed(&self.plan.rule).unwrap_or(Test::Precision) {
            Test::Amount | Test::Precision => {
                let asked = self.plan.rule.half_width_max * 100.0;
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
        let needed = match seen.failed(&self.plan.rule) {
            Some(Test::Amount) => {
                enough(pass.operations as f64, self.plan.rule.completions_min as f64)
                    .max(self.plan.rule.seconds_min)
            }
            Some(Test::Precision) | None => {
                let width = seen.half_width_relative.unwrap_or(2.0 * self.plan.rule.half_width_max);
                let factor = (width / self.plan.rule.half_width_max).powi(2);
                enough(1.0, factor.max(1.0))
            }
            Some(Test::Steadiness) => pass.seconds * LONGER_TO_SETTLE,
        };
        needed.max(pass.seconds).ceil()
    }

    /// `13 s and 1.2 GiB more`, of a pass.
    fn cost(&self, stream: &Stream, pass: &StreamPass, needed_s: f64) -> String {
        let seconds = (needed_s - pass.seconds).ceil();
        let bytes = match stream.op.writes() {
            true => {
                let more = pass.bytes as f64 * (needed_s / pass.seconds.max(1e-9) - 1.0).max(0.0);
                format!(" and {}", display_bytes(more as u64))
            }
            false => String::new(),
        };
        let each = if self.plan.passes > 1 { " a pass" } else { "" };
        format!("{seconds:.0} s{bytes} more{each}")
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
        (operations_per_second * stream.block_bytes_mean() / 1e6, "MB/s")
    } else {
        (operations_per_second, "IOPS")
    };
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}
