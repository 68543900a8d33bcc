//! Workers that share one tree on a virtual clock: each begins an operation and is told when it has
//! ended, so that those of several are under way at a time.

use super::{
    Act, TreeOp, TreeWorkerPlan,
    worker::{Paths, failure_of, visits},
};
use crate::workload::{ErrorLog, Failure, Recorder};
use block::{Instant, IoError, split_mix};
use std::collections::BTreeMap;

/// A tree that all workers of a pass share.
pub trait SharedTree {
    /// The time now; with nothing under way.
    fn now(&mut self) -> Instant;

    /// The time that the last [`wait`](Self::wait) reached.
    fn reached(&self) -> Instant;

    /// A worker begins an operation; it has none under way.
    fn begin(&mut self, worker: u16, act: &Act<'_>);

    /// Lets time pass until an operation ends or `until` comes; what ended is appended.
    fn wait(&mut self, until: Instant, ended: &mut Vec<TreeEnd>);

    /// Makes everything durable, with nothing under way; gives the time when it was.
    ///
    /// # Errors
    /// The drive's.
    fn flush(&mut self) -> Result<Instant, IoError>;
}

/// An operation's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeEnd {
    /// Whose it was.
    pub worker: u16,
    /// When.
    pub finished: Instant,
    /// Bytes of files that it moved.
    pub result: Result<u64, IoError>,
}

/// A worker of a shared tree: as [`TreeWorker`](super::TreeWorker), without a thread.
pub struct SharedTreeWorker {
    plan: TreeWorkerPlan,
    number: u16,
    recorder: Recorder,
    visits: Vec<u32>,
    turn: usize,
    left: u64,
    /// What is under way: which file, and how many bytes it has.
    under_way: Option<(u64, u64)>,
    paths: Paths,
    issued: Instant,
    failure: Option<Failure>,
    errors: ErrorLog,
}

impl SharedTreeWorker {
    /// Makes the visiting order. Where it is that of listings, those of a model are in the order of
    /// a hash of the name, as ext4 and XFS list.
    pub fn new(plan: TreeWorkerPlan, recorder: Recorder) -> Self {
        let listed = |numbers: &mut Vec<u32>| {
            let layout = &plan.cell.layout;
            let mut by_hash = BTreeMap::new();
            for number in numbers.drain(..) {
                let hash = split_mix(&mut (u64::from(number) ^ plan.tree_seed));
                by_hash.insert((layout.leaf_of(number.into()), hash, number), number);
            }
            numbers.extend(by_hash.into_values());
            Ok(())
        };
        let visits = visits(&plan, listed).unwrap_or_default();
        Self {
            number: plan.share.worker as u16,
            errors: ErrorLog::new(plan.errors_max),
            left: plan.budget.operations(visits.len()),
            turn: 0,
            under_way: None,
            paths: Paths::default(),
            issued: Instant(0),
            failure: None,
            recorder,
            visits,
            plan,
        }
    }

    /// The pass begins.
    pub fn start(&mut self, start: Instant) {
        self.issued = start;
        self.recorder.start(start);
    }

    /// Begins its next operation, if there is one and none is under way.
    pub fn begin(&mut self, tree: &mut dyn SharedTree) {
        if self.left == 0 || self.failure.is_some() || self.under_way.is_some() {
            return;
        }
        self.left -= 1;
        let number = u64::from(self.visits[self.turn]);
        self.turn = (self.turn + 1) % self.visits.len();
        let act = self.paths.act(&self.plan, number);
        self.under_way = Some((number, act.bytes));
        tree.begin(self.number, &act);
    }

    /// Its operation has ended.
    pub fn end(&mut self, end: TreeEnd) {
        let (number, bytes) = self.under_way.take().expect("one was under way");
        let latency_ns = end.finished.since(self.issued);
        self.issued = end.finished;
        match end.result {
            Ok(moved) => self.recorder.record_moved(latency_ns, end.finished, moved),
            Err(error) => {
                self.recorder.record_failed(latency_ns, end.finished);
                let failure = failure_of(self.op(), number, bytes, error);
                if self.errors.add(failure) {
                    self.failure = Some(failure);
                }
            }
        }
    }

    fn op(&self) -> TreeOp {
        self.plan.cell.op
    }

    /// Whether nothing of it is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    /// Sends ticks that ended before `now` without an operation in them.
    pub fn turn_to(&mut self, now: Instant) {
        self.recorder.turn_to(now);
    }

    /// Sends what is left to the runner.
    pub fn finish(&mut self) {
        self.recorder.finish();
    }

    /// Why it gave up, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Its operations that failed, whether it gave up or not.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }
}
