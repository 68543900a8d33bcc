//! A pass on a tree that all workers share, on a virtual clock: a tick at a time, on this thread.

use super::{End, Ended, Live, PassError, PassOrder, Progress};
use crate::{
    method::FinalFlush,
    workload::{
        Recorder, TickPart,
        tree::{SharedTree, SharedTreeWorker, TreeCell},
    },
};
use block::Instant;
use stats::TICK_NS;
use std::sync::mpsc::{Receiver, Sender};

/// As `shared` of blocks.
pub(super) fn shared_tree(
    order: &PassOrder<'_>,
    (cell, mut tree): (&TreeCell, Box<dyn SharedTree>),
    sink: Sender<TickPart>,
    parts: &Receiver<TickPart>,
    progress: &mut Progress,
    watch: &mut dyn FnMut(Live) -> bool,
) -> Result<Ended, PassError> {
    let of = u64::from(order.cell.streams[0].threads);
    let worker = |number: u64| {
        let cpu_clock = if number == 0 { order.cpu_clock } else { || 0 };
        let recorder = Recorder::new(0, number as usize, TICK_NS, sink.clone(), cpu_clock);
        SharedTreeWorker::new(order.tree_plan(cell, number, of), recorder)
    };
    let mut workers: Vec<SharedTreeWorker> = (0..of).map(worker).collect();
    drop(sink);
    let start = tree.now();
    workers.iter_mut().for_each(|worker| worker.start(start));
    let (mut finished, mut is_interrupted) = (start, false);
    for tick in 1.. {
        let until = start.after(tick * TICK_NS);
        let mut last = start;
        drive(tree.as_mut(), &mut workers, until, &mut last);
        finished = finished.max(last);
        let now = tree.reached();
        workers.iter_mut().for_each(|worker| worker.turn_to(now.min(until)));
        parts.try_iter().for_each(|part| progress.board.add(part));
        let failed = workers.iter().any(|worker| worker.failure().is_some());
        let spent = workers.iter().all(SharedTreeWorker::is_idle);
        is_interrupted = !watch(progress.live());
        if is_interrupted || failed || spent || progress.is_over(false) {
            break;
        }
    }
    // What is under way ends; its workers begin nothing more.
    let mut ended = Vec::new();
    while workers.iter().any(|worker| !worker.is_idle()) {
        tree.wait(Instant::NEVER, &mut ended);
        for end in ended.drain(..) {
            finished = finished.max(end.finished);
            workers[usize::from(end.worker)].end(end);
        }
    }
    if is_interrupted {
        return Err(PassError::Interrupted);
    }
    let mut flush = (order.cell.flush != FinalFlush::None && order.cell.writes()).then(|| {
        let before = tree.now();
        (0, tree.flush().map(|done| done.since(before)))
    });
    let mut ends = Vec::new();
    for worker in &mut workers {
        worker.finish();
        let (failure, errors) = (worker.failure(), worker.errors().clone());
        let (flush, engine) = (flush.take(), ("tree".to_owned(), vec!["sim".to_owned()]));
        ends.push(End { failure, errors, finished, flush, engine, replayed: None });
    }
    parts.try_iter().for_each(|part| progress.board.add(part));
    Ok((start, ends))
}

/// Until `until`, or until no worker has anything to do; `last` is when the last operation ended.
fn drive(
    tree: &mut dyn SharedTree,
    workers: &mut [SharedTreeWorker],
    until: Instant,
    last: &mut Instant,
) {
    let mut ended = Vec::new();
    loop {
        workers.iter_mut().for_each(|worker| worker.begin(tree));
        if workers.iter().all(SharedTreeWorker::is_idle) {
            return;
        }
        tree.wait(until, &mut ended);
        if ended.is_empty() && tree.reached() >= until {
            return;
        }
        for end in ended.drain(..) {
            *last = end.finished.max(*last);
            workers[usize::from(end.worker)].end(end);
        }
    }
}
