//! What a plan's cells are called while they run: as in the table at the end.

use lab::{method::CellSpec, plan::Plan, runner};
use record::Cell;
use report::terminal::{self, Style};
use std::collections::BTreeMap;

/// A name for each cell, by its name in the record.
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Names that tell the cells of each plan apart.
    pub fn of(plans: &[Plan], style: &Style) -> Self {
        let mut all = BTreeMap::new();
        for plan in plans {
            let cells: Vec<Cell> = plan.cells.iter().flat_map(runner::cells_of).collect();
            let names = terminal::cell_names(&cells, style);
            all.extend(cells.into_iter().map(|cell| cell.name).zip(names));
        }
        Self(all)
    }

    /// Of a cell of the record.
    pub fn of_cell<'a>(&'a self, cell: &'a Cell) -> &'a str {
        self.0.get(&cell.name).unwrap_or(&cell.name)
    }

    /// Of all streams of a cell.
    pub fn of_spec(&self, spec: &CellSpec) -> String {
        let cells = runner::cells_of(spec);
        cells.iter().map(|cell| self.of_cell(cell)).collect::<Vec<_>>().join(" beside ")
    }
}
