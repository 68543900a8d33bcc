//! What a pass came to, once its workers have ended.

use super::{End, Failed, PassDone, PassError, PassOrder, Progress, StreamPass};
use crate::{
    method::CellBound,
    workload::{ErrorLog, Failure, Rate},
};
use block::Instant;
use stats::{Change, Histogram, Stop, StopRule, TICK_NS, Tick, assess, lasting_change};
use std::ops::Range;

/// Lasting changes of the whole pass, and of what follows its warm-up: one may hide the other.
fn changes(ticks: &[Tick], warm_up: usize, writes: bool) -> Vec<Change> {
    let mut changes: Vec<Change> = lasting_change(ticks, TICK_NS).into_iter().collect();
    let after = |ticks: &[Tick], from: usize| {
        let bytes_before = ticks[..from].iter().map(|tick| tick.bytes).sum::<u64>();
        lasting_change(&ticks[from..], TICK_NS).map(|change| change.later(from, bytes_before))
    };
    let is_new = |change: &Change| {
        changes.iter().all(|known| known.at_tick.abs_diff(change.at_tick) > SAME_CHANGE_TICKS)
    };
    let second = (warm_up > 0).then(|| after(ticks, warm_up)).flatten().filter(is_new);
    changes.extend(second);
    changes.sort_by_key(|change| change.at_tick);
    // Writes that start fast start in a cache, however soon it is full.
    let until = changes.first().map_or(ticks.len(), |change| change.at_tick);
    let start = writes.then(|| Change::of_fast_start(&ticks[..until], warm_up)).flatten();
    start.into_iter().chain(changes).collect()
}

/// Changes that are no further apart than this are one: 1 s.
const SAME_CHANGE_TICKS: usize = 10;

/// The failures of these workers together.
fn errors_of(ends: &[End]) -> ErrorLog {
    let mut errors = ErrorLog::default();
    ends.iter().for_each(|end| errors.merge(&end.errors));
    errors
}

/// A pass that `failure` ended.
fn failed(progress: &Progress, ends: &[End], failure: Failure) -> PassError {
    let mut errors = errors_of(ends);
    // The flush that ends a pass is no worker's.
    if (failure.operation, failure.bytes) == ("flush", 0) {
        errors.merge(&ErrorLog { count: 1, first: vec![failure], ..ErrorLog::default() });
    }
    let mut latencies = Histogram::new();
    (0..progress.looks.len())
        .for_each(|index| latencies.merge(progress.board.stream(index).failed()));
    PassError::Failed(Box::new(Failed { failure, errors, latencies }))
}

/// Turns the progress of a pass into its result.
pub(super) fn finish(
    order: &PassOrder<'_>,
    mut progress: Progress,
    start: Instant,
    ends: &[End],
) -> Result<PassDone, PassError> {
    if let Some(failure) = ends.iter().find_map(|end| end.failure) {
        return Err(failed(&progress, ends, failure));
    }
    let flush = ends.iter().find_map(|end| end.flush);
    if let Some((_, Err(error))) = flush {
        let (operation, offset, bytes) = ("flush", 0, 0);
        return Err(failed(&progress, ends, Failure { operation, offset, bytes, error }));
    }
    let flush_seconds = flush.and_then(|(_, took)| took.ok()).map(|ns| ns as f64 / 1e9);
    let ended = ends.iter().map(|end| end.finished).max().unwrap_or(start);
    let seconds = ended.since(start).max(1) as f64 / 1e9;
    let quiet = progress.quiet.min(progress.ticks());
    let mut first_worker = 0;
    let mut done = PassDone {
        streams: Vec::new(),
        seconds,
        fast_caches: Vec::new(),
        engines: Vec::new(),
        busy: 0.0,
    };
    for (index, stream) in order.cell.streams.iter().enumerate() {
        let own = first_worker..first_worker + usize::from(stream.threads);
        let mut pass = of_stream(order, &progress, index, (own, seconds), ends)?;
        pass.flush_seconds = flush_seconds.filter(|_| stream.op.writes());
        // Ticks count from the end of the quiet time, as those of the rate do.
        let by_tick = progress.board.take_latencies(index).into_iter();
        let counted = by_tick.filter_map(|(tick, delta)| Some((tick.checked_sub(quiet)?, delta)));
        pass.by_tick = counted.collect();
        done.streams.push(pass);
        done.engines.push(ends[first_worker].engine.clone());
        first_worker += usize::from(stream.threads);
    }
    done.busy = progress.board.busiest_ns() as f64 / (seconds * 1e9);
    Ok(done)
}

/// What one stream of a pass of so many seconds did, by its own workers' ends; without the
/// latencies of single ticks.
fn of_stream(
    order: &PassOrder<'_>,
    progress: &Progress,
    index: usize,
    (own, seconds): (Range<usize>, f64),
    ends: &[End],
) -> Result<StreamPass, PassError> {
    let stream = &order.cell.streams[index];
    let board = progress.board.stream(index);
    let own = &ends[own];
    let errors = errors_of(own);
    // A rate of nothing is none.
    if let Some(failure) = errors.first.first().filter(|_| board.operations() == 0) {
        return Err(failed(progress, ends, *failure));
    }
    let complete = progress.ticks();
    let ticks = board.ticks(progress.quiet.min(complete)..complete);
    // No look came too early where no byte was left for a later one: what was seen decides.
    let judged_s = ticks.len() as f64 * TICK_NS as f64 / 1e9;
    let rule = match progress.is_spent() {
        true => StopRule { seconds_min: order.rule.seconds_min.min(judged_s), ..order.rule },
        false => order.rule,
    };
    let assessment = assess(&ticks, TICK_NS, &rule);
    // Rate and latency are of the same time, or they do not belong together.
    let is_judged = progress.timed && !stream.rate.is_some_and(Rate::is_ramp);
    let warm_up = if is_judged { assessment.warm_up_ticks } else { 0 };
    let in_the_end = match assessment {
        seen if seen.satisfies(&rule) => Stop::Converged,
        seen if seen.sufficient => Stop::NotConverged,
        _ => Stop::Insufficient,
    };
    // An exhausting pass goes on after good looks; what they saw is not its result.
    let stop = match progress.bound {
        CellBound::Exhaust | CellBound::Drain => in_the_end,
        _ => progress.stops[index].unwrap_or(in_the_end),
    };
    Ok(StreamPass {
        stop: is_judged.then_some(stop),
        spent: progress.is_spent(),
        seconds: (seconds - stream.start_after_s).max(1e-9),
        operations: board.operations(),
        bytes: board.bytes(),
        latencies: board.latencies_from(progress.quiet + warm_up),
        by_tick: Vec::new(),
        flushes: board.flushes().clone(),
        services: board.services().clone(),
        errors,
        failed: board.failed().clone(),
        replayed: own[0].replayed.as_ref().map(|replayed| replayed.streams[0].clone()),
        longest: board.longest().and_then(|wait| wait.later_than(progress.quiet)),
        cpu_ns: board.cpu_ns(),
        flush_seconds: None,
        changes: match is_judged || !progress.timed {
            true => changes(&ticks, warm_up, stream.op.stores()),
            false => Vec::new(),
        },
        burst: None,
        ticks,
        assessment,
    })
}
