//! A plan that searches for rates: which cells have one, and the steps of a search.

use super::{PlanError, Step};
use crate::method::{CellBound, CellSpec, Method};

/// Leaves a method with what a search has: a list of cells, no rounds.
///
/// # Errors
/// A method in rounds, which end by themselves.
pub(super) fn adapt(method: &mut Method) -> Result<(), PlanError> {
    if method.file.rounds.is_some() {
        return Err(PlanError(format!(
            "method {} runs in rounds until its rates are steady, and a search has rates of its \
             own: take one such as quick or etcd",
            method.file.name
        )));
    }
    "list".clone_into(&mut method.file.layout);
    method.file.not_measured = None;
    Ok(())
}

/// Why no rate of a cell can be sought.
pub(super) fn obstacle(cell: &CellSpec) -> Option<String> {
    let reason = match cell {
        _ if cell.tree.is_some() => "it works on a file tree, which has no open loop",
        _ if cell.streams.len() > 1 => "it has several streams, and a search has one rate",
        _ if cell.streams[0].think.is_some() => "it pauses to think, which no rate does",
        _ if cell.rate_of.is_some() => "its rate is a share of another cell's",
        _ if cell.bound != CellBound::Time => "it ends by operations, and a search by time",
        _ => return None,
    };
    Some(format!("{reason}: no rate of it was sought"))
}

/// All that the searches may take, cell after cell, so that a search meets a drive that did the
/// same before; targets take turns.
pub(super) fn steps(cells: usize, passes: u32, targets: usize) -> Vec<Step> {
    let of_cell = |cell| {
        (0..passes).flat_map(move |pass| {
            (0..targets).map(move |turn| {
                let target = if pass % 2 == 1 { targets - 1 - turn } else { turn };
                Step { pass, cell, target }
            })
        })
    };
    (0..cells).flat_map(of_cell).collect()
}
