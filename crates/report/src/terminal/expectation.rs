//! What a method expects of latencies, and whether it was so.

use super::{Notes, page::Page, style::Paint};
use crate::number;
use record::{Expectation, ExpectationVerdict, Record};

/// A line each; what it means and who says so where it is explained.
pub(super) fn render(page: &mut Page, record: &Record, notes: Notes<'_>) {
    if record.expectations.is_empty() {
        return;
    }
    page.gap();
    for expectation in &record.expectations {
        let paint = match expectation.verdict {
            ExpectationVerdict::Pass => Paint::Plain,
            ExpectationVerdict::Fail => Paint::Wrong,
            ExpectationVerdict::Inconclusive => Paint::Alert,
        };
        page.hanging("verdict ", &line(record, expectation), paint);
        if notes == Notes::Explained {
            let text = format!("{} Source: {}.", expectation.meaning, expectation.source);
            page.hanging("        ", &text, Paint::Plain);
        }
    }
}

/// `append-2300: p99<10ms: pass; p99 is 1.28 ms, and 0.2 % of the operations allowed beyond were`.
fn line(record: &Record, expectation: &Expectation) -> String {
    let Expectation { cell, condition, verdict, passes, .. } = expectation;
    let target = match record.targets.get(expectation.target) {
        Some(target) if record.targets.len() > 1 => format!("{}, ", target.text),
        _ => String::new(),
    };
    let mut seen: Vec<f64> = passes.iter().filter_map(|pass| pass.latency_ns).collect();
    seen.sort_by(f64::total_cmp);
    let what = condition.split('<').next().unwrap_or_default();
    let seen = match (seen.first(), seen.last()) {
        (Some(least), Some(most)) if seen.len() > 1 => {
            let [least, most] = [least, most].map(|ns| number::duration_ns(*ns));
            format!("{what} of {} passes {least} to {most}", seen.len())
        }
        (Some(only), _) => format!("{what} {}", number::duration_ns(*only)),
        _ if *verdict == ExpectationVerdict::Fail => {
            let ratios = passes.iter().map(|pass| pass.ratio);
            let most = number::significant(ratios.fold(0.0, f64::max));
            format!("{most} times as many operations beyond the limit as may be")
        }
        _ => "too few operations".to_owned(),
    };
    let word = verdict.name();
    let why = match verdict {
        ExpectationVerdict::Inconclusive => ", and its interval holds the limit",
        _ => "",
    };
    let why = if seen.starts_with("too few") { "" } else { why };
    format!("{target}{cell}: {condition}: {word} ({seen}{why})")
}
