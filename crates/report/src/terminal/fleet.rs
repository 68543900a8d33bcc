//! A fleet in a table: a line a method, cell, model of drive and firmware.

use super::{Align, Page, Style, Table};
use crate::number;
use record::FleetRow;

/// What each model of drive did in each cell, over all machines.
pub fn fleet(rows: &[FleetRow], style: &Style) -> String {
    let mut page = Page::new(style);
    let heads = [
        ("method", Align::Left),
        ("cell", Align::Left),
        ("drive", Align::Left),
        ("firmware", Align::Left),
        ("hosts", Align::Right),
        ("n", Align::Right),
        ("lowest", Align::Right),
        ("median", Align::Right),
        ("IOPS at most", Align::Right),
    ];
    let mut table = Table::new(&heads);
    for row in rows {
        let clean = |text: &str| style.clean(text);
        let firmware = row.firmware.as_deref().unwrap_or_default();
        table.row(vec![
            clean(&row.method),
            clean(&row.cell),
            clean(&row.drive),
            clean(firmware),
            row.hosts.to_string(),
            row.cells.to_string(),
            number::iops(row.iops_min),
            number::iops(row.iops_median),
            number::iops(row.iops_max),
        ]);
    }
    page.table(&table);
    page.finish()
}
