//! Who may write how much, where a run may write less than its cells could.
//!
//! A bound on the whole run is shared out over the cells beforehand, so that every pass of a cell,
//! on every target, has the same bytes. What counts is what a cell can use: at depth 1 the fastest
//! drive writes a tenth of what it does in order. A cell that has spent its share ends there, at
//! full speed until its end. The other ways to spend fewer bytes measure something else: writes at
//! a given rate have another queue, and bursts with pauses between find caches empty and credit
//! refilled that a drive at work does not have. The shorter cell is the same measurement with a
//! wider interval, and says so.

use super::{
    bytes,
    forecast::{FAST, accesses},
};
use crate::{
    method::{CellBound, CellSpec},
    workload::Stream,
};

impl bytes::Budget<'_> {
    /// The limit of a whole run whose time-bound cells write `bytes` at most, fills on top; `None`
    /// where a cell's own bound says how much it writes: that was asked for.
    pub fn at_most(&self, bytes: u64) -> Option<u64> {
        let timed = |cell: &CellSpec| !cell.writes() || is_timed(cell);
        let all = self.fill_bytes() + u128::from(self.probe_bytes) + u128::from(bytes);
        self.cells.iter().all(timed).then_some(bytes::narrowed(all))
    }

    /// Of `limit`, fills included: what each writing stream of a cell may write in one pass; `None`
    /// for cells that write nothing, or as much as their own bound says.
    pub fn shares(&self, limit: u64) -> Vec<Option<u64>> {
        let whole = |cell: &CellSpec| {
            bytes::of_pass(cell, self.span_bytes, self.cell_written_max, self.tree_seed)
        };
        let passes = u128::from(self.passes.max(1));
        let bound: u128 = self.cells.iter().filter(|cell| !is_timed(cell)).map(whole).sum();
        let taken = self.fill_bytes() + u128::from(self.probe_bytes) + bound.saturating_mul(passes);
        let room = u128::from(limit).saturating_sub(taken) / passes;
        let wanted: Vec<(f64, f64)> = self
            .cells
            .iter()
            .map(|cell| match is_timed(cell) {
                true => (usable(cell), whole(cell) as f64),
                false => (0.0, 0.0),
            })
            .collect();
        let level = level(&wanted, room as f64);
        let each = |(cell, (usable, most)): (&CellSpec, &(f64, f64))| {
            let writers = cell.streams.iter().filter(|stream| stream.op.stores()).count();
            is_timed(cell).then(|| (most.min(usable * level) / writers as f64) as u64)
        };
        self.cells.iter().zip(&wanted).map(each).collect()
    }
}

/// Whether nothing but time and bytes end the cell's writes.
fn is_timed(cell: &CellSpec) -> bool {
    let unbound = matches!(cell.bound, CellBound::Time | CellBound::Exhaust | CellBound::Drain);
    let stores = cell.streams.iter().any(|stream| stream.op.stores());
    stores && cell.tree.is_none() && unbound
}

/// Bytes a second that a fast drive writes under the cell.
fn usable(cell: &CellSpec) -> f64 {
    let rate = |stream: &Stream| {
        let block = stream.block_bytes_mean();
        let in_flight = f64::from(stream.threads) * f64::from(stream.queue_depth);
        block / (block / FAST.bytes_per_s + accesses(stream) * FAST.access_s / in_flight)
    };
    cell.streams.iter().filter(|stream| stream.op.stores()).map(rate).sum()
}

/// The factor on what each can use at which all together take `room`, none of them more than its
/// most.
fn level(wanted: &[(f64, f64)], room: f64) -> f64 {
    let mut full: f64 = 0.0;
    let mut open: Vec<(f64, f64)> =
        wanted.iter().copied().filter(|(usable, _)| *usable > 0.0).collect();
    // Who reaches his most first leaves the rest to the others.
    open.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let mut sum: f64 = open.iter().map(|(usable, _)| usable).sum();
    for (usable, most) in &open {
        let level = (room - full).max(0.0) / sum;
        if usable * level <= *most {
            return level;
        }
        full += most;
        sum -= usable;
    }
    f64::INFINITY
}
