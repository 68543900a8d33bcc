//! A worker with what it works on: blocks of an engine, or files of a tree. Its thread need not
//! know which.

use crate::{
    target::{Drivable, OpenEngine, OpenTree, TargetError},
    workload::{
        ErrorLog, Failure, Recorder, Worker, WorkerPlan,
        replay::Replayed,
        tree::{Tree, TreeWorker, TreeWorkerPlan},
    },
};
use block::{Instant, IoError};
use std::sync::atomic::AtomicBool;

/// Makes a worker ready, on the thread that will use it.
pub(super) type OpenPassWorker =
    Box<dyn FnOnce() -> Result<Box<dyn PassWorker>, TargetError> + Send>;

/// One worker with its engine or tree open.
pub(super) trait PassWorker {
    /// The time now; with nothing in flight.
    fn now(&mut self) -> Instant;
    /// Works from `start` until its budget is spent, it fails, or `stop` is raised; nothing stays
    /// in flight.
    fn drive(&mut self, start: Instant, stop: &AtomicBool);
    /// Sends its last part.
    fn finish(&mut self);
    /// Why it gave up, if it did.
    fn failure(&self) -> Option<Failure>;
    /// Its operations that failed.
    fn errors(&self) -> &ErrorLog;
    /// Makes everything durable; gives the time when it was.
    fn flush(&mut self) -> Result<Instant, IoError>;
    /// The engine's name and features.
    fn describe(&self) -> (String, Vec<String>);
    /// What a replay did besides.
    fn replayed(&self) -> Option<Replayed> {
        None
    }
}

/// A worker that moves blocks.
pub(super) fn on_engine(open: OpenEngine, plan: WorkerPlan, recorder: Recorder) -> OpenPassWorker {
    Box::new(move || {
        let mut engine = open()?;
        let workers = [engine.worker(&plan, recorder)];
        Ok(Box::new(OnEngine { engine, workers, held_back: None }))
    })
}

/// A worker on a file tree.
pub(super) fn on_tree(open: OpenTree, plan: TreeWorkerPlan, recorder: Recorder) -> OpenPassWorker {
    Box::new(move || {
        let mut tree = open()?;
        let worker = TreeWorker::new(plan, recorder, tree.as_mut());
        Ok(Box::new(OnTree { tree, worker }))
    })
}

/// Why acknowledged bytes do not get beyond an engine, if they do not.
pub(super) fn held_back(engine: &mut dyn Drivable) -> Option<Failure> {
    let failure = |error| Failure { operation: "flush", offset: 0, bytes: 0, error };
    engine.hand_over().err().map(failure)
}

struct OnEngine {
    engine: Box<dyn Drivable>,
    workers: [Worker; 1],
    /// Why acknowledged bytes did not get beyond the engine.
    held_back: Option<Failure>,
}

impl PassWorker for OnEngine {
    fn now(&mut self) -> Instant {
        self.engine.now()
    }

    fn drive(&mut self, start: Instant, stop: &AtomicBool) {
        self.workers[0].start(start);
        self.engine.drive(&mut self.workers, Instant::NEVER, stop);
        self.engine.drain(&mut self.workers);
        // Within the time: a byte that no call has passed on was not written.
        self.held_back = held_back(self.engine.as_mut());
    }

    fn finish(&mut self) {
        self.workers[0].finish();
    }

    fn failure(&self) -> Option<Failure> {
        self.workers[0].failure().or(self.held_back)
    }

    fn errors(&self) -> &ErrorLog {
        self.workers[0].errors()
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        self.engine.flush()
    }

    fn describe(&self) -> (String, Vec<String>) {
        self.engine.describe()
    }
}

struct OnTree {
    tree: Box<dyn Tree>,
    worker: TreeWorker,
}

impl PassWorker for OnTree {
    fn now(&mut self) -> Instant {
        self.tree.now()
    }

    fn drive(&mut self, start: Instant, stop: &AtomicBool) {
        self.worker.start(start);
        self.worker.drive(self.tree.as_mut(), stop);
    }

    fn finish(&mut self) {
        self.worker.finish();
    }

    fn failure(&self) -> Option<Failure> {
        self.worker.failure()
    }

    fn errors(&self) -> &ErrorLog {
        self.worker.errors()
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        self.tree.flush()
    }

    fn describe(&self) -> (String, Vec<String>) {
        ("tree".to_owned(), Vec::new())
    }
}
