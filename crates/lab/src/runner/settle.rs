//! What follows from a record's passes: what is done already, when rounds are over, and how a run
//! ended.

use super::{RunError, fold, knee, limiter};
use crate::plan::{Plan, Step};
use record::{Cell, Flag, Paired, PairedVerdict, Record, Rounds, State};
use stats::{SniaVerdict, Verdict, paired, snia_steady};
use std::collections::BTreeMap;

/// Puts the record's cells into the method's order, and says in it how the run ended.
pub fn conclude(plan: &Plan, record: &mut Record, outcome: &Result<(), RunError>) {
    sort_cells(record, plan);
    limiter::tell_of_all(record);
    let outcome = outcome.clone().and_then(|()| all_measured(record));
    record.state = match outcome {
        Ok(()) => State::Complete,
        Err(RunError::Interrupted) => State::Interrupted,
        Err(_) => State::Failed,
    };
    record.error = outcome.as_ref().err().map(ToString::to_string);
}

/// A plan of which a cell failed is not complete, however many others were measured.
pub(super) fn all_measured(record: &Record) -> Result<(), RunError> {
    record.failed_sentence().map_or(Ok(()), |sentence| Err(RunError::Failed(sentence)))
}

pub(super) fn is_done(record: &Record, plan: &Plan, step: Step) -> bool {
    if plan.until.is_some() {
        return knee::is_settled(record, plan, step);
    }
    let group = &plan.cells[step.cell].name;
    record.cells.iter().any(|cell| {
        cell.group == *group
            && cell.target == step.target
            && cell.passes.iter().any(|pass| pass.pass == step.pass)
    })
}

/// Cells in the method's order, whatever order they ran in.
fn sort_cells(record: &mut Record, plan: &Plan) {
    let rank = |cell: &Cell| {
        let base = knee::planned(plan, &cell.group);
        let group = plan.cells.iter().position(|spec| spec.name == base);
        let stream = group.and_then(|at| {
            let spec = &plan.cells[at];
            spec.streams.iter().position(|stream| fold::stream_name(spec, stream) == cell.name)
        });
        (cell.target, group, stream)
    };
    record
        .cells
        .sort_by(|a, b| rank(a).cmp(&rank(b)).then(knee::rate_of(a).total_cmp(&knee::rate_of(b))));
}

/// SNIA rounds end when the tracked cell's last five are steady.
pub(super) fn rounds_are_over(record: &mut Record, plan: &Plan, order: usize) -> bool {
    let Some(rounds) = &plan.method.file.rounds else { return false };
    let ends_round =
        plan.steps.get(order + 1).is_none_or(|next| next.pass != plan.steps[order].pass);
    if !ends_round {
        return false;
    }
    let Some(cell) = record.cells.iter().find(|cell| cell.name == rounds.tracked) else {
        return false;
    };
    let rates: Vec<f64> = cell.passes.iter().map(|pass| pass.iops).collect();
    let verdict = snia_steady(&rates);
    let steady_at = match verdict {
        SniaVerdict::Steady { round, .. } => Some(round as u32),
        _ => None,
    };
    record.rounds =
        Some(Rounds { tracked: rounds.tracked.clone(), rates, steady_at_round: steady_at });
    steady_at.is_some()
}

/// One verdict a cell from the passes that both targets have.
pub(super) fn pair(record: &Record, plan: &Plan) -> Vec<Paired> {
    if record.targets.len() != 2 {
        return Vec::new();
    }
    let mut verdicts = Vec::new();
    for spec in &plan.cells {
        for stream in &spec.streams {
            let name = fold::stream_name(spec, stream);
            let rates = |target: usize| -> BTreeMap<u32, f64> {
                let of = |cell: &&Cell| cell.name == name && cell.target == target;
                let passes = record.cells.iter().find(of).map(|cell| cell.passes.as_slice());
                passes.unwrap_or_default().iter().map(|pass| (pass.pass, pass.iops)).collect()
            };
            let (a, b) = (rates(0), rates(1));
            let common = a.iter().filter_map(|(pass, a)| Some((*a, *b.get(pass)?)));
            let (a, b): (Vec<_>, Vec<_>) = common.filter(|(a, b)| *a > 0.0 && *b > 0.0).unzip();
            if a.is_empty() {
                continue;
            }
            let result = paired(&a, &b);
            verdicts.push(Paired {
                name,
                n: result.n as u32,
                ratio: result.ratio,
                ratio_ci95: result.ci95,
                verdict: match result.verdict {
                    Verdict::Faster => PairedVerdict::Faster,
                    Verdict::Slower => PairedVerdict::Slower,
                    Verdict::Same => PairedVerdict::Same,
                    Verdict::Undecided => PairedVerdict::Undecided,
                },
            });
        }
    }
    verdicts
}

/// Flags of the whole run: those of its targets and cells.
pub fn flags_of(record: &Record) -> Vec<Flag> {
    let cells = record.cells.iter().flat_map(|cell| cell.flags.iter());
    let targets = record.targets.iter().flat_map(|target| target.flags.iter());
    let mut flags: Vec<Flag> = cells.chain(targets).copied().collect();
    flags.sort();
    flags.dedup();
    flags
}
