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
            let condition = Condition::of(search, &killed, self.database.dialect());
            // The index answers alone where every run counts.
            let of_runs = match *search == Search::default() {
                true => String::new(),
                false => {
                    format!("AND run IN (SELECT sequence FROM run WHERE {})", condition.text())
                }
            };
            let statement = format!(
                "WITH placed AS (
                     SELECT method, name, drive, firmware, host, iops,
                         row_number() OVER (PARTITION BY method, name, drive, firmware
                                            ORDER BY iops) AS place,
                         count(*) OVER (PARTITION BY method, name, drive, firmware) AS n
                     FROM cell WHERE drive IS NOT NULL {of_runs})
                 SELECT method, name, drive, firmware, count(*), count(DISTINCT host), min(iops),
                     avg(CASE WHEN place IN ((n + 1) / 2, n / 2 + 1) THEN iops END), max(iops)
                 FROM placed GROUP BY method, name, drive, firmware
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
