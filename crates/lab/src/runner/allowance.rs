//! Bytes that may still be written to each target. The plan's limit is kept, whatever a pass is
//! asked to do: a pass that could exceed it is cut short or left out before it starts.

use crate::{
    method::CellSpec,
    plan::{self, Plan, narrowed, tree_written},
    workload::{Area, Op, Stream},
};
use record::{Cell, Record, TargetInfo, TargetKind};

/// What is left, a target each; `None` where there is no limit.
pub(super) struct Allowance {
    left: Vec<Option<u64>>,
}

impl Allowance {
    /// The plan's limit less what the passes of `record` wrote: a resumed run goes on counting, and
    /// only its fills start anew.
    pub fn new(plan: &Plan, record: &Record) -> Self {
        let left = |(target, info): (usize, &TargetInfo)| match info.kind {
            // Nothing is worn where nothing is written.
            TargetKind::Null => None,
            _ => Some(plan.written_bytes_max.saturating_sub(written_by_cells(record, target))),
        };
        Self { left: record.targets.iter().enumerate().map(left).collect() }
    }

    /// Whether so many bytes may be written to a target.
    pub fn allows(&self, target: usize, bytes: u64) -> bool {
        self.left[target].is_none_or(|left| bytes <= left)
    }

    /// These bytes were written, or are about to be.
    pub fn spend(&mut self, target: usize, bytes: u64) {
        self.left[target] = self.left[target].map(|left| left.saturating_sub(bytes));
    }

    /// How many bytes each writing stream of a pass over `cell` may write; `None` if that is too
    /// little: not all of a cell bound by operations, or not one operation for each worker of any
    /// other.
    pub fn of_pass(
        &self,
        plan: &Plan,
        target: usize,
        cell: &CellSpec,
        areas: &[Area],
    ) -> Option<u64> {
        if !cell.writes() {
            return Some(0);
        }
        if let Some(tree) = &cell.tree {
            let bytes = narrowed(tree_written(tree, cell, plan.tree_seed()));
            return self.allows(target, bytes).then_some(bytes);
        }
        if let Some(bytes) = bound_bytes(cell, areas) {
            return self.allows(target, bytes).then_some(bytes);
        }
        let writers = || cell.streams.iter().filter(|stream| stream.op.stores());
        if writers().next().is_none() {
            return Some(0);
        }
        let each = match self.left[target] {
            Some(left) => plan.written_max_of(cell).min(left / writers().count() as u64),
            None => u64::MAX,
        };
        let least = |stream: &Stream| u64::from(stream.threads) * u64::from(stream.block_bytes);
        writers().all(|stream| least(stream) <= each).then_some(each)
    }
}

/// Bytes that the cells of a target wrote in all their passes, as far as the record knows.
pub fn written_by_cells(record: &Record, target: usize) -> u64 {
    let cells = record.cells.iter().filter(|cell| cell.target == target);
    cells
        .filter(|cell| Op::parse(&cell.op).is_none_or(Op::writes))
        .fold(0, |sum: u64, cell: &Cell| sum.saturating_add(cell.total.bytes))
}

/// Most bytes that a stream wrote when it moved `bytes`. Which operations of a mix are writes is a
/// matter of chance: all of them count.
pub(super) fn written_bytes(stream: &Stream, bytes: u64) -> u64 {
    if stream.op.stores() { bytes } else { 0 }
}

/// What a pass writes that is bound by operations; `None` for other bounds. More than 64 bits hold
/// is more than any allowance.
pub(super) fn bound_bytes(cell: &CellSpec, areas: &[Area]) -> Option<u64> {
    plan::bound_bytes(cell, areas).map(narrowed)
}
