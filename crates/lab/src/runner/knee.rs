//! A run that searches for rates: which rate a pass is made at, and what it says.

use super::pass::PassDone;
use crate::{
    knee::{Condition, Next, OpenLoop, Search, judge},
    method::CellSpec,
    plan::{Plan, Step},
    workload::Rate,
};
use record::{Cell, Flag, Knee, LeftOut, Record, Warning};
use stats::Grade;

/// What parts a cell's name from the rate that was tried of it.
const AT: char = '@';
/// A pass at a low rate takes as long as it needs for so many times the least operations.
const OPERATIONS_FACTOR: f64 = 1.5;
/// Of the closed loop's rate: nobody wants to know of less.
const FLOOR: f64 = 1.0 / 4096.0;

/// The cell of the method that a cell of the record is of: its group, without the rate that was
/// tried.
pub(crate) fn planned<'n>(plan: &Plan, group: &'n str) -> &'n str {
    match group.rsplit_once(AT) {
        Some((base, _)) if plan.until.is_some() => base,
        _ => group,
    }
}

/// The rate that a cell of the record was tried at; 0 of a closed loop.
pub(super) fn rate_of(cell: &Cell) -> f64 {
    cell.coordinates.get("rate").and_then(serde_json::Value::as_f64).unwrap_or(0.0)
}

/// The search that a step belongs to, if it has begun.
fn known<'r>(record: &'r Record, plan: &Plan, step: Step) -> Option<&'r Knee> {
    let name = &plan.cells[step.cell].name;
    record.knees.iter().find(|knee| knee.cell == *name && knee.target == step.target)
}

/// Whether a step of a search was done, or is not needed any more.
pub(super) fn is_settled(record: &Record, plan: &Plan, step: Step) -> bool {
    let name = &plan.cells[step.cell].name;
    // After a pass that failed nothing is known of the rates that would have followed.
    let failed = |failed: &record::FailedCell| {
        failed.name == *name && failed.target == step.target && failed.pass < step.pass
    };
    let left_out = |cell: &LeftOut| cell.name == *name && step.pass > 0;
    if record.failed.iter().any(failed) || record.left_out.iter().any(left_out) {
        return true;
    }
    known(record, plan, step).is_some_and(|knee| {
        let passes = knee.probes.len() + usize::from(knee.closed_loop_iops.is_some());
        knee.outcome.is_some() || (step.pass as usize) < passes
    })
}

/// How the search goes on after the closed loop; `None` before it.
fn search(plan: &Plan, cell: &CellSpec, condition: &Condition, knee: &Knee) -> Option<Search> {
    let closed_loop = knee.closed_loop_iops.filter(|iops| *iops > 0.0)?;
    let judgeable = condition.operations_min() * OPERATIONS_FACTOR / plan.rule_of(cell).seconds_max;
    Some(Search {
        closed_loop,
        floor: judgeable.max(FLOOR * closed_loop),
        precision: match plan.grade {
            Grade::Quick => 0.02,
            Grade::Normal => 0.01,
            Grade::Publish => 0.005,
        },
    })
}

/// The cell as a step of a search runs it: a closed loop first, then rates.
pub(super) fn spec(plan: &Plan, record: &Record, step: Step) -> Result<CellSpec, LeftOut> {
    let cell = &plan.cells[step.cell];
    let condition = plan.until.expect("the plan searches");
    let mut spec = cell.clone();
    spec.streams[0].rate = None;
    if step.pass == 0 {
        return Ok(spec);
    }
    let searched = known(record, plan, step)
        .and_then(|knee| Some((search(plan, cell, &condition, knee)?, knee)));
    let Some((search, knee)) = searched else {
        let reason = "its closed loop did nothing: no rate of it can be sought".to_owned();
        return Err(LeftOut { name: cell.name.clone(), reason });
    };
    let Next::Rate(rate) = search.next(&knee.probes) else {
        unreachable!("a search that is over has an outcome");
    };
    let rule = plan.rule_of(cell);
    let needed_s = condition.operations_min() * OPERATIONS_FACTOR / rate;
    // As much again as the warm-up takes, and the tick that is cut short.
    let seconds = (needed_s * 1.2 + 0.2).max(rule.seconds_min).min(rule.seconds_max);
    spec.seconds = Some(seconds);
    spec.streams[0].rate = Some(Rate::Constant(rate));
    spec.name = format!("{}{AT}{rate}", cell.name);
    Ok(spec)
}

/// Notes what a pass of a search said, and whether the search is over.
pub(super) fn note(plan: &Plan, record: &mut Record, step: Step, done: &PassDone) {
    let Some(condition) = plan.until else { return };
    let (cell, pass) = (&plan.cells[step.cell], &done.streams[0]);
    let at = record.knees.iter().position(|k| k.cell == cell.name && k.target == step.target);
    let at = at.unwrap_or_else(|| {
        record.knees.push(begun(&condition, &cell.name, step.target));
        record.knees.len() - 1
    });
    let knee = &mut record.knees[at];
    match step.pass {
        0 => {
            let judged = pass.assessment.operations_per_second;
            let whole = pass.operations as f64 / pass.seconds;
            knee.closed_loop_iops = Some(if judged > 0.0 { judged } else { whole });
        }
        number => {
            let Some(search) = search(plan, cell, &condition, knee) else { return };
            let Next::Rate(rate) = search.next(&knee.probes) else { return };
            let (latencies, ticks) = (pass.by_tick.as_slice(), pass.ticks.len());
            let seen = OpenLoop { pass: number, rate, latencies, ticks };
            knee.probes.push(judge(&condition, seen));
        }
    }
    if let Some(search) = search(plan, cell, &condition, knee) {
        if let Next::Over(outcome) = search.next(&knee.probes) {
            knee.outcome = Some(outcome);
        }
        (knee.iops, knee.iops_ci95) = search.answer(&knee.probes);
    }
}

fn begun(condition: &Condition, cell: &str, target: usize) -> Knee {
    Knee {
        target,
        cell: cell.to_owned(),
        condition: condition.to_string(),
        percent: condition.percent(),
        limit_ns: condition.limit_ns,
        closed_loop_iops: None,
        outcome: None,
        iops: None,
        iops_ci95: None,
        probes: Vec::new(),
    }
}

/// What a search brings about itself is no finding: rates that are too high are part of it, and its
/// passes have a length of their own.
pub(super) fn without_expected(plan: &Plan, step: Step, found: &mut [Vec<Warning>]) {
    const EXPECTED: [Flag; 5] = [
        Flag::RateNotReached,
        Flag::CoordinatedOmission,
        Flag::NotConverged,
        Flag::Insufficient,
        Flag::Drifting,
    ];
    if plan.until.is_some() && step.pass > 0 {
        let is_expected = |warning: &Warning| warning.flag.is_some_and(|f| EXPECTED.contains(&f));
        found.iter_mut().for_each(|warnings| warnings.retain(|warning| !is_expected(warning)));
    }
}
