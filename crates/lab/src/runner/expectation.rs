//! Whether latencies are what a method expects of them, by the interval.

use super::{fold::stream_name, pass::PassDone};
use crate::{
    knee::{OpenLoop, judge},
    method::{CellSpec, Expect},
    plan::{Plan, Step},
};
use record::{Expectation, ExpectationVerdict, Judged, Record};
use stats::student_t_975;

/// Judges a pass of a cell by all that its method expects of it.
pub(super) fn note(plan: &Plan, record: &mut Record, step: Step, spec: &CellSpec, done: &PassDone) {
    // What is tried on the way to a rate is not what the method means.
    if plan.until.is_some() {
        return;
    }
    for (stream, pass) in spec.streams.iter().zip(&done.streams) {
        let name = stream_name(spec, stream);
        for expect in plan.method.expect.iter().filter(|expect| expect.is_of(&name)) {
            // A closed loop has no rate that it could miss.
            let (latencies, ticks) = (pass.by_tick.as_slice(), pass.ticks.len());
            let seen = OpenLoop { pass: step.pass, rate: 0.0, latencies, ticks };
            let seen = judge(&expect.condition, seen);
            let judged = Judged {
                pass: step.pass,
                operations: seen.operations,
                latency_ns: seen.latency_ns,
                ratio: seen.ratio,
                ratio_half_width: seen.ratio_half_width,
            };
            add(record, step.target, &name, expect, judged);
        }
    }
}

fn add(record: &mut Record, target: usize, name: &str, expect: &Expect, judged: Judged) {
    let condition = expect.condition.to_string();
    let is_it = |known: &Expectation| {
        (known.target, known.cell.as_str(), &known.condition) == (target, name, &condition)
    };
    let at = record.expectations.iter().position(is_it).unwrap_or_else(|| {
        record.expectations.push(Expectation {
            target,
            cell: name.to_owned(),
            condition: condition.clone(),
            meaning: expect.meaning.clone(),
            source: expect.source.clone(),
            passes: Vec::new(),
            verdict: ExpectationVerdict::Inconclusive,
        });
        record.expectations.len() - 1
    });
    let known = &mut record.expectations[at];
    known.passes.retain(|pass| pass.pass != judged.pass);
    known.passes.push(judged);
    known.passes.sort_by_key(|pass| pass.pass);
    known.verdict = verdict(&known.passes, expect.condition.operations_min());
}

/// Of all passes: the interval of their mean, from what each knows of itself or from how they
/// differ, whichever is wider.
fn verdict(passes: &[Judged], operations_min: f64) -> ExpectationVerdict {
    let operations: u64 = passes.iter().map(|pass| pass.operations).sum();
    let own: Option<Vec<f64>> = passes.iter().map(|pass| pass.ratio_half_width).collect();
    let Some(own) = own else { return ExpectationVerdict::Inconclusive };
    // What fails may do so by few operations; that none of few was beyond says nothing.
    let enough = operations as f64 >= operations_min * (1.0 - 1e-9);
    let count = passes.len() as f64;
    let mean = passes.iter().map(|pass| pass.ratio).sum::<f64>() / count;
    let within = own.iter().map(|half| half * half).sum::<f64>().sqrt() / count;
    let squares = passes.iter().map(|pass| (pass.ratio - mean).powi(2)).sum::<f64>();
    let between = match passes.len() {
        1 => 0.0,
        n => student_t_975(n - 1) * (squares / (count - 1.0) / count).sqrt(),
    };
    let half = within.max(between);
    match () {
        () if enough && mean + half < 1.0 => ExpectationVerdict::Pass,
        () if mean - half > 1.0 => ExpectationVerdict::Fail,
        () => ExpectationVerdict::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ratio: f64, half: f64) -> Judged {
        let (latency_ns, ratio_half_width) = (Some(1e6), Some(half));
        Judged { pass: 0, operations: 2000, latency_ns, ratio, ratio_half_width }
    }

    #[test]
    fn the_interval_of_all_passes_decides() {
        let of = |passes: &[Judged]| verdict(passes, 1000.0);
        assert_eq!(of(&[judged(0.5, 0.1)]), ExpectationVerdict::Pass);
        assert_eq!(of(&[judged(1.5, 0.1)]), ExpectationVerdict::Fail);
        assert_eq!(of(&[judged(0.95, 0.1)]), ExpectationVerdict::Inconclusive);
        // Each pass is sure of itself, and they do not agree.
        let differing = [judged(0.2, 0.01), judged(0.3, 0.01), judged(1.6, 0.01)];
        assert_eq!(of(&differing), ExpectationVerdict::Inconclusive);
        // Few operations suffice to fail.
        assert_eq!(verdict(&[judged(0.1, 0.01)], 3000.0), ExpectationVerdict::Inconclusive);
        assert_eq!(verdict(&[judged(99.0, 9.0)], 3000.0), ExpectationVerdict::Fail);
    }
}
