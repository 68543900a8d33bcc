//! A pass whose workers have a thread each: they open, start together, and are followed until the
//! rule is satisfied or all are done.

use super::{End, Ended, Live, PassError, PassOrder, Progress, worker::OpenPassWorker};
use crate::{method::FinalFlush, target::TargetError, workload::TickPart};
use block::Instant;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant as WallInstant},
};

/// How long a pass waits for workers that hang in the kernel before it gives them up: Ctrl-C must
/// end a run within a second.
const GIVE_UP: Duration = Duration::from_millis(700);

/// A real run: one thread a worker.
pub(super) fn threads(
    order: &PassOrder<'_>,
    assignments: Vec<Assignment>,
    parts: &Receiver<TickPart>,
    progress: &mut Progress,
    watch: &mut dyn FnMut(Live) -> bool,
) -> Result<Ended, PassError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flushers = Arc::new(AtomicUsize::new(assignments.len()));
    let (ready, readiness) = channel();
    let mut threads = Vec::new();
    for (number, assignment) in assignments.into_iter().enumerate() {
        let (go, signal) = channel();
        let context = WorkerContext {
            stop: Arc::clone(&stop),
            working: Arc::clone(&flushers),
            flush: order.cell.flush != FinalFlush::None && order.cell.writes(),
            ready: ready.clone(),
            go: signal,
        };
        let thread = Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || context.work(assignment))
            .map_err(|error| {
                PassError::Target(TargetError::refused(format!(
                    "cannot start worker {number} ({error}): use fewer threads"
                )))
            })?;
        threads.push((thread, go));
    }
    drop(ready);
    let mut start = Some(Instant(0));
    for _ in &threads {
        // A worker that panics never reports; then the channel closes, nobody starts, and the join
        // below tells.
        let Ok(ready) = readiness.recv() else {
            start = None;
            break;
        };
        start = start.max(Some(ready.map_err(PassError::Target)?));
    }
    let (workers, signals): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
    for go in signals {
        let _ = start.map(|start| go.send(start));
    }
    let start = start.unwrap_or(Instant::NEVER);
    let interrupted = follow(parts, progress, watch, &stop);
    let ends = gather(workers, parts, progress, interrupted)?;
    if interrupted { Err(PassError::Interrupted) } else { Ok((start, ends)) }
}

/// Follows the parts until the rule is satisfied or every worker is done; whether the user
/// interrupted.
fn follow(
    parts: &Receiver<TickPart>,
    progress: &mut Progress,
    watch: &mut dyn FnMut(Live) -> bool,
    stop: &AtomicBool,
) -> bool {
    let mut shown = 0;
    loop {
        let mut quiet = false;
        match parts.recv_timeout(Duration::from_millis(100)) {
            Ok(part) => progress.take(part),
            Err(RecvTimeoutError::Timeout) => quiet = true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        parts.try_iter().for_each(|part| progress.take(part));
        if progress.board.all_done() {
            return false;
        }
        let complete = progress.board.complete_ticks();
        if complete == shown && !quiet {
            continue;
        }
        shown = complete;
        let over = progress.is_over(progress.board.any_done());
        let interrupted = !watch(progress.live());
        if over || interrupted {
            stop.store(true, Ordering::Relaxed);
            return interrupted;
        }
    }
}

/// Waits for the workers to end. After an interrupt, only so long.
fn gather(
    workers: Vec<JoinHandle<Result<End, TargetError>>>,
    parts: &Receiver<TickPart>,
    progress: &mut Progress,
    interrupted: bool,
) -> Result<Vec<End>, PassError> {
    let patience = WallInstant::now() + GIVE_UP;
    while interrupted && !workers.iter().all(JoinHandle::is_finished) {
        if WallInstant::now() > patience {
            return Err(PassError::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut ends = Vec::new();
    for worker in workers {
        match worker.join() {
            Ok(end) => ends.push(end.map_err(PassError::Target)?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    parts.try_iter().for_each(|part| progress.board.add(part));
    Ok(ends)
}

/// One worker: its stream, and what opens its engine.
pub(super) struct Assignment {
    pub stream: usize,
    pub open: OpenPassWorker,
}

/// What a worker's thread needs besides.
struct WorkerContext {
    stop: Arc<AtomicBool>,
    working: Arc<AtomicUsize>,
    flush: bool,
    ready: Sender<Result<Instant, TargetError>>,
    go: Receiver<Instant>,
}

impl WorkerContext {
    fn work(self, assignment: Assignment) -> Result<End, TargetError> {
        let _guard = StopOnPanic(Arc::clone(&self.stop));
        let mut worker = match (assignment.open)() {
            Ok(worker) => worker,
            Err(error) => {
                let _ = self.ready.send(Err(error.clone()));
                return Err(error);
            }
        };
        let _ = self.ready.send(Ok(worker.now()));
        // Once all have reported or are gone, the channel must close.
        drop(self.ready);
        let start = self.go.recv().unwrap_or(Instant::NEVER);
        if start != Instant::NEVER {
            worker.now();
            worker.drive(start, &self.stop);
        }
        let finished = worker.now();
        // Before the flush, whose processor time is not the operations'.
        worker.finish();
        if worker.failure().is_some() {
            self.stop.store(true, Ordering::Relaxed);
        }
        // The last worker to finish flushes for all.
        let is_last = self.working.fetch_sub(1, Ordering::AcqRel) == 1;
        let flush = (is_last && self.flush)
            .then(|| (assignment.stream, worker.flush().map(|done| done.since(finished))));
        let (failure, errors) = (worker.failure(), worker.errors().clone());
        let (engine, replayed) = (worker.describe(), worker.replayed());
        Ok(End { failure, errors, finished, flush, engine, replayed })
    }
}

/// Ends the pass for the others when its worker panics: nobody should wait for ticks that never
/// come.
struct StopOnPanic(Arc<AtomicBool>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
