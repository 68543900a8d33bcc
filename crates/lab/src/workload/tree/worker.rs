//! One worker on a tree: its files one after another, each operation timed.
//!
//! Budget per operation beside the system calls: one clock read, one histogram record, two or three
//! paths written into strings that are kept. The order of visits is made before the start.

use super::{Act, Tree, TreeCell, TreeOp, TreeOrder};
use crate::workload::{ErrorLog, Failure, Recorder, Share};
use block::{Instant, IoError, Rng};
use std::sync::atomic::{AtomicBool, Ordering};

/// How much a worker does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeBudget {
    /// Every file of its share once.
    Once,
    /// Its share over and over, until it is told to stop.
    Endless,
    /// So many operations, over and over through its share.
    Operations(u64),
}

impl TreeBudget {
    /// Operations of a worker that goes round through so many visits.
    pub(super) fn operations(self, visits: usize) -> u64 {
        match self {
            _ if visits == 0 => 0,
            Self::Once => visits as u64,
            Self::Endless => u64::MAX,
            Self::Operations(count) => count,
        }
    }
}

/// Everything that makes one worker.
#[derive(Clone, Debug)]
pub struct TreeWorkerPlan {
    /// What it does.
    pub cell: TreeCell,
    /// Its place among the workers.
    pub share: Share,
    /// How much of it.
    pub budget: TreeBudget,
    /// Where a random order comes from.
    pub seed: u64,
    /// Where names and sizes come from: the same for all cells of a tree.
    pub tree_seed: u64,
    /// So many of its operations may fail before it gives up.
    pub errors_max: u64,
}

/// A worker at work.
pub struct TreeWorker {
    plan: TreeWorkerPlan,
    recorder: Recorder,
    /// Numbers of files (or of directories, for `readdir`) in the order of their turns.
    visits: Vec<u32>,
    paths: Paths,
    issued: Instant,
    failure: Option<Failure>,
    errors: ErrorLog,
}

/// The strings that paths are written into.
#[derive(Default)]
pub(super) struct Paths {
    path: String,
    to: String,
    parent: String,
}

impl TreeWorker {
    /// Makes the visiting order; lists the worker's directories where the order is theirs.
    pub fn new(plan: TreeWorkerPlan, recorder: Recorder, tree: &mut dyn Tree) -> Self {
        let listed = |numbers: &mut Vec<u32>| list(&plan, numbers, tree);
        let (visits, failure) = match visits(&plan, listed) {
            Ok(visits) => (visits, None),
            Err(error) => (Vec::new(), Some(failure_of(TreeOp::Readdir, 0, 0, error))),
        };
        let mut errors = ErrorLog::new(plan.errors_max);
        if let Some(failure) = failure {
            errors.add(failure);
        }
        let (paths, issued) = (Paths::default(), Instant(0));
        Self { plan, recorder, visits, paths, issued, failure, errors }
    }

    /// The pass begins, on the worker's own thread.
    pub fn start(&mut self, start: Instant) {
        self.issued = start;
        self.recorder.start(start);
    }

    /// Works until its budget is spent, `stop` is raised, or an operation fails.
    pub fn drive(&mut self, tree: &mut dyn Tree, stop: &AtomicBool) {
        let mut left = self.plan.budget.operations(self.visits.len());
        if self.failure.is_some() || left == 0 {
            return;
        }
        loop {
            for turn in 0..self.visits.len() {
                if left == 0 || stop.load(Ordering::Relaxed) {
                    return;
                }
                left -= 1;
                if let Err(failure) = self.one(tree, u64::from(self.visits[turn])) {
                    let now = tree.now();
                    self.recorder.record_failed(now.since(self.issued), now);
                    self.issued = now;
                    if self.errors.add(failure) {
                        self.failure = Some(failure);
                        return;
                    }
                }
            }
        }
    }

    fn one(&mut self, tree: &mut dyn Tree, number: u64) -> Result<(), Failure> {
        let act = self.paths.act(&self.plan, number);
        let moved = match act.op {
            TreeOp::Readdir => {
                let mut names = 0u64;
                let listed = tree.list(act.path, &mut |_| names += 1);
                listed.map(|()| 0)
            }
            _ => tree.carry_out(&act),
        };
        let bytes = moved.map_err(|error| failure_of(act.op, number, act.bytes, error))?;
        let finished = tree.now();
        self.recorder.record_moved(finished.since(self.issued), finished, bytes);
        self.issued = finished;
        Ok(())
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

impl Paths {
    /// The operation on file (or directory) `number`.
    pub(super) fn act(&mut self, plan: &TreeWorkerPlan, number: u64) -> Act<'_> {
        let TreeCell { op, layout, stage, sync, .. } = &plan.cell;
        self.to.clear();
        let bytes = if *op == TreeOp::Readdir {
            self.parent.clear();
            layout.directory(number as u32, &mut self.path);
            0
        } else {
            let (kind, to) = stage.kinds(*op);
            layout.directory(layout.leaf_of(number), &mut self.parent);
            self.path.clone_from(&self.parent);
            layout.name(plan.tree_seed, number, kind, &mut self.path);
            if let Some(to) = to {
                self.to.clone_from(&self.parent);
                layout.name(plan.tree_seed, number, to, &mut self.to);
            }
            if op.moves_bytes() { layout.file_bytes(plan.tree_seed, number) } else { 0 }
        };
        Act {
            op: *op,
            path: &self.path,
            to: &self.to,
            parent: &self.parent,
            number,
            bytes,
            sync: *sync,
        }
    }
}

/// The worker's numbers in the order of their turns; `listed` puts them in that of listings.
pub(super) fn visits(
    plan: &TreeWorkerPlan,
    listed: impl FnOnce(&mut Vec<u32>) -> Result<(), IoError>,
) -> Result<Vec<u32>, IoError> {
    let TreeCell { order, op, .. } = &plan.cell;
    let end = |worker: u64| {
        (u128::from(plan.cell.operations()) * u128::from(worker) / u128::from(plan.share.of)) as u64
    };
    let own = end(plan.share.worker)..end(plan.share.worker + 1);
    let mut visits: Vec<u32> = own.map(|number| number as u32).collect();
    match order {
        TreeOrder::Random => Rng::new(plan.seed, plan.share.worker).shuffle(&mut visits),
        TreeOrder::Readdir if *op != TreeOp::Readdir && !visits.is_empty() => listed(&mut visits)?,
        TreeOrder::Creation | TreeOrder::Readdir => {}
    }
    Ok(visits)
}

/// Puts neighbouring numbers in the order in which their directories list them.
fn list(plan: &TreeWorkerPlan, numbers: &mut Vec<u32>, tree: &mut dyn Tree) -> Result<(), IoError> {
    let TreeCell { layout, stage, op, .. } = &plan.cell;
    let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return Ok(()) };
    let own = u64::from(first)..u64::from(last) + 1;
    numbers.clear();
    let (kind, _) = stage.kinds(*op);
    let mut path = String::new();
    for leaf in layout.leaf_of(own.start)..=layout.leaf_of(own.end - 1) {
        layout.directory(leaf, &mut path);
        tree.list(&path, &mut |name| {
            let number = layout.number_in(name, kind).filter(|number| own.contains(number));
            numbers.extend(number.map(|number| number as u32));
        })?;
    }
    Ok(())
}

pub(super) fn failure_of(op: TreeOp, number: u64, bytes: u64, error: IoError) -> Failure {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    Failure { operation: op.name(), offset: number, bytes, error }
}
