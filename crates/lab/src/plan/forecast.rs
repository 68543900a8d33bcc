//! How long a plan may take: a range, from what a fast and a slow drive would need.

use super::{Plan, area, tree_written};
use crate::{
    method::{CellBound, CellSpec},
    workload::{
        Caching, Op, Pattern, Stream, Syncing,
        replay::{ReplayCell, Speed, What},
        tree::TreeSync,
    },
};
use stats::StopRule;
use std::fmt;

/// What a drive is taken to do, where only bytes bound a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Seconds of an operation that neither read-ahead nor write-back hides.
    pub access_s: f64,
    /// What such a drive is, in words.
    pub drive: &'static str,
}

/// Hardly any plan is done sooner.
pub const FAST: Pace = Pace { bytes_per_s: 2e9, access_s: 20e-6, drive: "a fast SSD" };
/// Few drives in use take longer.
pub const SLOW: Pace = Pace { bytes_per_s: 100e6, access_s: 10e-3, drive: "a disk" };

impl fmt::Display for Pace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, access_us) = (self.bytes_per_s / 1e6, self.access_s * 1e6);
        write!(formatter, "{}: {rate:.0} MB/s, {access_us:.0} us an access", self.drive)
    }
}

/// Processor time that an operation on a name costs at least: a few system calls of about a
/// microsecond each.
const TREE_OPERATION_S: f64 = 5e-6;
/// Rounds that a steady state takes at least: the window of the SNIA specification.
const ROUNDS_LEAST: u32 = 5;
/// The stop rule wants two good looks, the second 15 % later.
pub(crate) const SECOND_LOOK: f64 = 1.15;

/// What lasts is looked at for so long.
const DRAIN_S_LEAST: f64 = 10.0;

/// Shortest and longest time of all passes on all targets, and of the fills, on this machine.
pub(super) fn run(plan: &Plan, targets: usize) -> (f64, f64) {
    let fill_bytes = plan.fill_bytes() as f64;
    let passes_least = match plan.method.file.rounds {
        Some(_) => plan.passes.min(ROUNDS_LEAST),
        None => plan.passes,
    };
    let (mut least, mut most) = (fill_bytes / FAST.bytes_per_s, fill_bytes / SLOW.bytes_per_s);
    for cell in &plan.cells {
        let (low, high) = pass(plan, cell);
        least += low * f64::from(passes_least);
        most += high * f64::from(plan.passes);
    }
    let times = targets as f64 * f64::from(plan.slower.get());
    (least * times, most * times)
}

/// Shortest and longest time of one pass over one cell.
pub(super) fn pass(plan: &Plan, cell: &CellSpec) -> (f64, f64) {
    if let Some(replay) = &cell.replay {
        return of_replay(replay);
    }
    let StopRule { seconds_min, seconds_max, .. } = plan.rule_of(cell);
    let at = |pace: Pace| {
        let times = cell.streams.iter().map(|stream| seconds(plan, cell, stream, pace));
        times.fold(0.0, f64::max)
    };
    let (least, most) = match cell.bound {
        CellBound::Time if cell.is_ramp() => (seconds_max, seconds_max),
        CellBound::Time => ((seconds_min * SECOND_LOOK).min(seconds_max), seconds_max),
        CellBound::Exhaust => (at(FAST).min(seconds_max), at(SLOW).min(seconds_max)),
        CellBound::Drain => (DRAIN_S_LEAST.min(seconds_max), at(SLOW).min(seconds_max)),
        CellBound::Once | CellBound::Operations(_) => (at(FAST), at(SLOW)),
    };
    let before = cell.rest_s + cell.quiet_s();
    (least + before, most + before)
}

/// A schedule takes its time; without one, what its operations take one after the other at most.
fn of_replay(replay: &ReplayCell) -> (f64, f64) {
    let survey = &replay.survey;
    let bytes = survey.bytes[What::Read as usize].saturating_add(survey.written_bytes_max) as f64;
    let operations = survey.operations.iter().sum::<u64>() as f64;
    let at = |pace: Pace| bytes / pace.bytes_per_s + operations * pace.access_s;
    match replay.speed {
        Speed::Times(_) => (replay.seconds(), replay.seconds()),
        Speed::Max => (bytes / FAST.bytes_per_s, at(SLOW)),
    }
}

fn seconds(plan: &Plan, cell: &CellSpec, stream: &Stream, pace: Pace) -> f64 {
    if let Some(tree) = &cell.tree {
        let operations = match cell.bound {
            CellBound::Operations(count) => count as f64 * f64::from(stream.threads),
            CellBound::Time => f64::INFINITY,
            CellBound::Once | CellBound::Exhaust | CellBound::Drain => tree.operations() as f64,
        };
        // Without fsync, names and bytes go to memory; what fsync waits for, it waits for each
        // time.
        let accesses = if tree.sync == TreeSync::None { 0.0 } else { 1.0 };
        return operations * (accesses * pace.access_s + TREE_OPERATION_S)
            + tree_written(tree, cell, plan.tree_seed()) as f64 / pace.bytes_per_s;
    }
    let block = stream.block_bytes_mean();
    let operations = match cell.bound {
        CellBound::Once => stream.operations_once(area(cell, stream, plan.span_bytes)) as f64,
        CellBound::Operations(count) => count as f64 * f64::from(stream.threads),
        CellBound::Time | CellBound::Exhaust | CellBound::Drain => match stream.op.stores() {
            true => plan.written_max_of(cell) as f64 / block,
            false => f64::INFINITY,
        },
    };
    let pauses = match (cell.bound, stream.think) {
        (CellBound::Once | CellBound::Operations(_), Some(think)) => {
            let each = operations / f64::from(stream.threads);
            (each / f64::from(think.every)).floor() * think.time_ns as f64 / 1e9
        }
        _ => 0.0,
    };
    operations * block / pace.bytes_per_s + operations * accesses(stream) * pace.access_s + pauses
}

/// Accesses an operation costs that nothing hides.
pub(super) fn accesses(stream: &Stream) -> f64 {
    let buffered = stream.io.caching == Caching::Buffered;
    let scattered = match stream.pattern {
        Pattern::Sequential => false,
        Pattern::Rewrite => !buffered,
        _ => true,
    };
    let durable = stream.op == Op::Commit || stream.io.syncing != Syncing::None;
    let flushes = match stream.flush_every {
        0 => 0.0,
        every => 1.0 / f64::from(every),
    };
    if scattered || (durable && stream.op.writes()) { 1.0 } else { flushes }
}
