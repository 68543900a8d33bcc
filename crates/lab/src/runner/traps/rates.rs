//! Rates that changed: by heat, by a cache that was full, by credit that was spent, or for no
//! reason that shows.

use super::{Scene, of_pass, warn};
use crate::{runner::remedy::rate, workload::Op};
use block::display_bytes;
use record::{Burst, Flag, TargetKind, Warning};
use stats::{
    Cause, Change, Levels, TICK_NS, Temperatures, burst_credit, falling_slope, held_rate,
    is_spindle_rate,
};

/// `from 470 IOPS to 240 IOPS`, as the cell's rate is read.
fn from_to(scene: &Scene<'_>, before: f64, after: f64) -> String {
    let words = |operations_per_second| rate(scene.stream, scene.pass, operations_per_second);
    format!("from {} to {}", words(before), words(after))
}

/// A rate that moved, unless heat explains it.
pub(super) fn drifting(scene: &Scene<'_>) -> Option<Warning> {
    scene.pass.stop?;
    let Levels { before, after, .. } = scene.pass.assessment.drift?;
    if throttling(scene).is_some() {
        return None;
    }
    let (levels, of_pass) = (from_to(scene, before, after), of_pass(scene));
    warn(Flag::Drifting, format!("the rate moved {levels} while it was judged{of_pass}"))
}

/// Levels differ by more than this factor before a warm-up is worth a word.
const WARM_UP_FACTOR: f64 = 1.10;

/// A first level that lasted this long is a state of its own, not a warm-up: 2 s.
const STATE_TICKS_MIN: usize = 20;

/// Lasting changes that no other flag explains, and that are no warm-up.
fn changes<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = &'a Change> {
    let timed = scene.pass.stop.is_some();
    let ends_burst = |change: &Change| scene.stream.op.stores() && change.ends_burst();
    let of_state = |change: &Change| change.at_tick >= STATE_TICKS_MIN;
    let changes = scene.pass.changes.iter().filter(move |change| timed && of_state(change));
    changes.filter(move |change| !ends_burst(change))
}

/// A lasting change of the rate in either direction, wherever it lies: what was before it may have
/// been cut off as warm-up, and must not be lost.
pub(super) fn left_steady_state(scene: &Scene<'_>) -> Option<Warning> {
    if credit(scene).is_some_and(|(_, stepped)| stepped) {
        return None;
    }
    let change = changes(scene).next()?;
    let per_second = 1e9 / TICK_NS as f64;
    let levels = from_to(
        scene,
        change.operations_per_tick_before * per_second,
        change.operations_per_tick_after * per_second,
    );
    let at_s = change.at_tick as f64 / per_second;
    let is_cut = change.at_tick <= scene.pass.assessment.warm_up_ticks + STATE_TICKS_MIN / 2;
    let of = if is_cut && scene.pass.assessment.warm_up.is_some() { "the second" } else { "both" };
    let of_pass = of_pass(scene);
    warn(
        Flag::LeftSteadyState,
        format!("the rate went {levels} after {at_s:.1} s{of_pass}, and the headline is of {of}"),
    )
}

/// What was cut off, if it was another rate and nothing else says so.
pub(super) fn warm_up(scene: &Scene<'_>) -> Option<Warning> {
    scene.pass.stop?;
    let Levels { at_seconds, before, after } = scene.pass.assessment.warm_up?;
    let differs = before.max(after) > WARM_UP_FACTOR * before.min(after);
    let cut_ticks = scene.pass.assessment.warm_up_ticks;
    let is_said = |change: &Change| change.at_tick <= cut_ticks + STATE_TICKS_MIN / 2;
    let is_burst = scene.stream.op.stores() && before > after;
    let said = is_burst
        || credit(scene).is_some_and(|(_, stepped)| stepped)
        || changes(scene).any(is_said);
    (differs && !said).then(|| {
        let [first, rest] = [before, after].map(|level| rate(scene.stream, scene.pass, level));
        let of_pass = of_pass(scene);
        warn(
            Flag::WarmUp,
            format!("the first {at_seconds:.1} s{of_pass} ran at {first}, the rest at {rest}"),
        )
    })?
}

/// Writes that a cache took, or that one took until it was full.
pub(super) fn burst(scene: &Scene<'_>) -> Option<Warning> {
    let Burst { cache, share, lasting_iops, .. } = scene.pass.burst?;
    let name = cache.name();
    let of_pass = of_pass(scene);
    let fall = scene.pass.changes.iter().find(|change| change.ends_burst());
    let seen = match (fall.filter(|_| lasting_iops.is_some()), share) {
        (Some(fall), _) => {
            let per_second = 1e9 / TICK_NS as f64;
            let levels = from_to(
                scene,
                fall.operations_per_tick_before * per_second,
                fall.operations_per_tick_after * per_second,
            );
            let bytes = display_bytes(fall.bytes_until);
            format!("after {bytes} the rate fell {levels}{of_pass}: the {name} was full")
        }
        (None, share) => {
            let percent = share.unwrap_or(1.0) * 100.0;
            let bytes = display_bytes(scene.moved.1);
            format!(
                "{percent:.0} % of the {bytes} written{of_pass} stayed in the {name}, and the rate \
                 that lasts was not seen"
            )
        }
    };
    warn(Flag::Burst, seen)
}

/// What a limiter was seen to do, and whether the rate stepped down to it.
fn credit(scene: &Scene<'_>) -> Option<(String, bool)> {
    // Nobody sells credit for a model's time, and its rate may well sit still.
    let unlimited =
        matches!(scene.target.kind, TargetKind::Null | TargetKind::Model | TargetKind::Memory);
    if scene.stream.is_paced() || unlimited {
        return None;
    }
    let Some(found) = burst_credit(&scene.pass.ticks, TICK_NS) else {
        return held(scene).map(|seen| (seen, false));
    };
    let in_turn = scene.stream.threads == 1 && scene.stream.queue_depth == 1;
    if in_turn && is_spindle_rate(found.plateau.iops) {
        return None;
    }
    let (rate, even) = (found.plateau.iops, found.plateau.variation * 100.0);
    Some(match found.before {
        None => (format!("the rate sat at {rate:.0} IOPS within {even:.1} %, like a quota"), false),
        Some(before) => {
            let (from, at_s) = (before.iops, found.from_tick as f64 * TICK_NS as f64 / 1e9);
            let seen =
                format!("the rate stepped from {from:.0} to {rate:.0} IOPS after {at_s:.1} s");
            (seen + ", like spent credit", true)
        }
    })
}

/// More in flight than this may share a bottleneck that serves them unfairly and evenly.
const HELD_DEPTH_MAX: u32 = 8;

/// Larger blocks may be held by a link.
const HELD_BLOCK_BYTES_MAX: u32 = 16 << 10;

/// Reads that wait for one another and yet come at a rate that is held: a bucket pays for them.
/// Writes may have a beat of their own, such as a page that is full.
fn held(scene: &Scene<'_>) -> Option<String> {
    let (stream, pass) = (scene.stream, scene.pass);
    let in_flight = u32::from(stream.threads) * stream.queue_depth;
    let is_small = in_flight <= HELD_DEPTH_MAX && stream.block_bytes <= HELD_BLOCK_BYTES_MAX;
    let timed = pass.stop.is_some() && scene.cell.streams.len() == 1;
    if stream.op != Op::Read || !is_small || !timed {
        return None;
    }
    let warm_up = pass.assessment.warm_up_ticks;
    let held = held_rate(&pass.ticks, warm_up, TICK_NS, &pass.latencies)?;
    let varies = pass.latencies.variation()? * 100.0;
    let seen = format!(
        "the rate was held at {:.0} IOPS while latencies varied by {varies:.0} %, like a quota",
        held.iops
    );
    Some(seen)
}

pub(super) fn spent_credit(scene: &Scene<'_>) -> Option<Warning> {
    let (seen, _) = credit(scene)?;
    warn(Flag::BurstCredit, seen)
}

pub(super) fn throttling(scene: &Scene<'_>) -> Option<Warning> {
    let (before_c, after_c) =
        scene.before.temperature_celsius.zip(scene.after.temperature_celsius)?;
    let temperatures = Temperatures { before_c, after_c };
    let found = falling_slope(&scene.pass.ticks, Some(temperatures))?;
    (found.cause == Cause::Throttling).then(|| {
        let percent = found.fall_relative * 100.0;
        warn(
            Flag::ThermalThrottling,
            format!("the rate fell by {percent:.0} % while the drive went from {before_c:.0} to {after_c:.0} °C"),
        )
    })?
}
