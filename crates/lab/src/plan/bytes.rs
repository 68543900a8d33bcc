//! How many bytes a plan writes. Every factor is the user's or a method's, and a product of three
//! of them may exceed 64 bits: it is counted in 128 and refused, never wrapped into a small number
//! that a limit allows.

use super::{PlanError, area};
use crate::{
    method::{CellBound, CellSpec},
    workload::{Area, Stream, tree::TreeCell},
};
use block::display_bytes;

/// What decides how much a whole run writes to each target.
pub(super) struct Budget<'a> {
    /// Cells that run.
    pub cells: &'a [CellSpec],
    /// Size of the tested area.
    pub span_bytes: u64,
    /// Most bytes of each writing stream in a pass that nothing else bounds.
    pub cell_written_max: u64,
    /// How often `fill_span_bytes` are written before the first cell.
    pub fill: u32,
    /// The tested area, or all that the target offers.
    pub fill_span_bytes: u64,
    /// What is written to see whether the target compresses.
    pub probe_bytes: u64,
    /// Passes over all cells.
    pub passes: u32,
    /// Of names and sizes in trees.
    pub tree_seed: u64,
}

impl Budget<'_> {
    /// What is written before the first cell.
    pub fn fill_bytes(&self) -> u128 {
        u128::from(self.fill_span_bytes) * u128::from(self.fill)
    }

    /// Most bytes that a run writes to each target, fills included, and no more than `limit`.
    ///
    /// # Errors
    /// When the limit does not suffice for the fill, or when 64 bits do not hold the bytes.
    pub fn written_bytes_max(&self, limit: Option<u64>) -> Result<u64, PlanError> {
        let fill_bytes = self.fill_bytes();
        let (filled, cure) = match self.fill_span_bytes > self.span_bytes {
            true => ("the whole target", "lower the method's `precondition`"),
            false => ("the tested area", "lower --size or the method's `fill`"),
        };
        if let Some(limit) = limit.filter(|limit| fill_bytes > u128::from(*limit)) {
            return Err(PlanError(format!(
                "--max-written {} is less than filling {filled} takes ({}): {cure}, or raise it",
                display_bytes(limit),
                size(fill_bytes)
            )));
        }
        let mut sum = fill_bytes + u128::from(self.probe_bytes);
        if sum > u128::from(u64::MAX) {
            return Err(PlanError(format!(
                "filling {filled} {} times would write 16 EiB or more, which no drive takes: \
                 {cure}",
                self.fill
            )));
        }
        for cell in self.cells {
            let pass = of_pass(cell, self.span_bytes, self.cell_written_max, self.tree_seed);
            sum = sum.saturating_add(pass.saturating_mul(u128::from(self.passes)));
            if sum > u128::from(u64::MAX) {
                return Err(self.too_many(cell, pass));
            }
        }
        let all = narrowed(sum);
        Ok(limit.map_or(all, |limit| all.min(limit)))
    }

    fn too_many(&self, cell: &CellSpec, pass: u128) -> PlanError {
        let cure = match cell.bound {
            CellBound::Time | CellBound::Exhaust | CellBound::Drain => "`written_max`",
            CellBound::Once => "`passes`",
            CellBound::Operations(_) => "`bound` (--set bound=), `threads` or `block`",
        };
        PlanError(format!(
            "cell {} would write {} in each of {} passes, and all cells together 16 EiB or more, \
             which no drive \
             takes: lower its {cure}",
            cell.name,
            size(pass),
            self.passes
        ))
    }
}

/// As a person reads it; what 64 bits do not hold is not told apart any more.
fn size(bytes: u128) -> String {
    match u64::try_from(bytes) {
        Ok(bytes) => display_bytes(bytes),
        Err(_) => "16 EiB or more".to_owned(),
    }
}

/// As 64 bits hold it: what is more is the most they hold, which no limit allows.
pub(crate) fn narrowed(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Most bytes that one pass of a cell writes.
pub(super) fn of_pass(
    cell: &CellSpec,
    span_bytes: u64,
    cell_written_max: u64,
    tree_seed: u64,
) -> u128 {
    if let Some(tree) = &cell.tree {
        return tree_written(tree, cell, tree_seed);
    }
    let areas: Vec<Area> =
        cell.streams.iter().map(|stream| area(cell, stream, span_bytes)).collect();
    bound_bytes(cell, &areas).unwrap_or_else(|| {
        let writers = cell.streams.iter().filter(|stream| stream.op.stores()).count();
        u128::from(cell.written_max.unwrap_or(cell_written_max)) * writers as u128
    })
}

/// What a pass writes that is bound by operations; `None` for other bounds.
pub(crate) fn bound_bytes(cell: &CellSpec, areas: &[Area]) -> Option<u128> {
    if let Some(replay) = &cell.replay {
        return Some(if cell.writes() { replay.survey.written_bytes_max.into() } else { 0 });
    }
    let each = |(stream, area): (&Stream, &Area)| {
        let block = u128::from(stream.block_bytes);
        let bytes = match cell.bound {
            CellBound::Once => u128::from(stream.bytes_once(*area)),
            CellBound::Operations(count) => u128::from(count) * u128::from(stream.threads) * block,
            CellBound::Time | CellBound::Exhaust | CellBound::Drain => return None,
        };
        // Which operations of a mix are writes is a matter of chance: all of them count.
        Some(if stream.op.stores() { bytes } else { 0 })
    };
    cell.streams.iter().zip(areas).map(each).sum()
}

/// Bytes of files that one pass of a tree's cell writes.
pub(crate) fn tree_written(tree: &TreeCell, cell: &CellSpec, seed: u64) -> u128 {
    let once = u128::from(tree.written_bytes(seed));
    match cell.bound {
        // Rounds that are begun count as whole ones.
        CellBound::Operations(count) => {
            let all = u128::from(count) * u128::from(cell.streams[0].threads);
            once * all.div_ceil(u128::from(tree.operations()))
        }
        _ => once,
    }
}

#[cfg(test)]
mod tests;
