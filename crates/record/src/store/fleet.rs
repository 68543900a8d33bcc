//! A fleet in a table: what each model of drive did in each cell, over all machines.

use super::{
    Search, Store, StoreError,
    search::Condition,
    sql::{Purpose, Row, within},
};
use crate::FleetRow;

impl Store {
    /// Rates of all drives in the runs that fit, a row a method, cell, model and firmware, in their
    /// order. Cells on arrays are in none: their rate is no drive's.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn fleet(&self, search: &Search) -> Result<Vec<FleetRow>, StoreError> {
        within(self.database.as_ref(), Purpose::Read, || {
            let killed = self.killed()?;
            let dialect = self.database.dialect();
            // A cell has its run's method and machine: an index answers alone, without the runs.
            let of_cells = Search {
                method: search.method.clone(),
                host: search.host.clone(),
                ..Search::default()
            };
            let of_runs = Search { method: String::new(), host: String::new(), ..search.clone() };
            let mut condition = Condition::of(&of_cells, &killed, dialect);
            if of_runs != Search::default() {
                condition.of_runs(Condition::of(&of_runs, &killed, dialect));
            }
            let text = condition.text();
            let median = dialect.median("iops");
            let statement = format!(
                "SELECT method, name, drive, firmware, count(*), count(DISTINCT host), min(iops),
                     {median}, max(iops)
                 FROM cell WHERE drive IS NOT NULL AND {text}
                 GROUP BY method, name, drive, firmware
                 ORDER BY method, name, drive, coalesce(firmware, '')"
            );
            let rows = self.database.rows(&statement, &condition.values)?;
            Ok(rows.iter().map(read).collect())
        })
    }
}

fn read(row: &Row) -> FleetRow {
    FleetRow {
        method: row.text(0),
        cell: row.text(1),
        drive: row.text(2),
        firmware: row.optional_text(3),
        cells: row.integer(4).unsigned_abs(),
        hosts: row.integer(5).unsigned_abs(),
        iops_min: row.real(6),
        iops_median: row.real(7),
        iops_max: row.real(8),
    }
}
