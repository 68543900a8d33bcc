//! What the steps of a plan took the last time.

use super::eta::{Eta, Expected};
use lab::plan::{FAST, Plan, SLOW, Step};
use record::{Record, State, Store};

/// Runs of the history that are looked at.
const LOOK_BACK: usize = 50;
/// Rounds that a steady state takes at least.
const ROUNDS_LEAST: f64 = 5.0;

/// The estimate for `plan`, whose run `record` has begun: from the last run like it, where the
/// history has one.
pub fn estimate(plan: &Plan, record: &Record, store: &Store) -> Eta {
    let earlier = last_like(record, store);
    let fill_s = earlier.as_ref().and_then(until_first).unwrap_or_else(|| {
        let bytes = plan.fill_bytes() as f64 * record.targets.len() as f64;
        Expected::between((bytes / FAST.bytes_per_s, bytes / SLOW.bytes_per_s)).seconds
    });
    // Where rounds end by themselves, between the least and the most of them.
    let rounds = match plan.method.file.rounds {
        Some(_) => (ROUNDS_LEAST * f64::from(plan.passes)).sqrt().ceil() as u32,
        None => plan.passes,
    };
    let steps = plan.steps.iter().map(|step| {
        let range = plan.seconds_of(step.cell);
        let name = &plan.cells[step.cell].name;
        match earlier.as_ref().and_then(|earlier| took(earlier, name, *step)) {
            _ if step.pass >= rounds => Expected { seconds: 0.0, seconds_max: range.1 },
            Some(seconds) => Expected::as_before(seconds, range),
            None => Expected::between(range),
        }
    });
    Eta::new(fill_s, steps.collect())
}

/// The last whole run of the same method and grade, on the same targets where there is one.
fn last_like(record: &Record, store: &Store) -> Option<Record> {
    let (new, runs) = (record.summary(), store.list(LOOK_BACK).ok()?);
    let alike: Vec<_> = runs
        .iter()
        .filter(|run| run.state == State::Complete && run.id != new.id)
        .filter(|run| run.method == new.method && run.grade == new.grade)
        .collect();
    let same = alike.iter().find(|run| run.targets == new.targets).or(alike.first())?;
    store.load(&same.id).ok().filter(|earlier| earlier.time == record.time)
}

/// Seconds before the first cell.
fn until_first(earlier: &Record) -> Option<f64> {
    let passes = earlier.cells.iter().flat_map(|cell| &cell.passes);
    passes.map(|pass| pass.started_s).reduce(f64::min)
}

/// Seconds of the same pass, or of any pass of the same cell.
fn took(earlier: &Record, name: &str, step: Step) -> Option<f64> {
    let of_cell = || earlier.cells.iter().filter(|cell| cell.group == name);
    let passes = || of_cell().filter(|cell| cell.target == step.target).flat_map(|c| &c.passes);
    let same = passes().find(|pass| pass.pass == step.pass);
    let any = || of_cell().flat_map(|cell| &cell.passes).next();
    same.or_else(any).map(|pass| pass.total.seconds)
}
