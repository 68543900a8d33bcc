//! A run while it goes on, read by another process: only what is new since the last look.

use super::{Store, StoreError};
use crate::{Cell, State};
use rusqlite::{OptionalExtension, params};

/// What changed in a run since a save.
#[derive(Clone, PartialEq, Debug)]
pub struct News {
    /// How often the run was saved; to be given back at the next look.
    pub saves: u64,
    /// How far it is; interrupted when its process is gone.
    pub state: State,
    /// Cells it has now; what stood behind them is gone.
    pub cells: u64,
    /// The cells that are new or were measured again, by their place.
    pub changed: Vec<(u64, Cell)>,
}

impl Store {
    /// What changed in the run `id` after the first `seen` saves; all of it after 0. Costs the
    /// cells that changed, not the whole record. `None` where there is no such run.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or a failure of the store.
    pub fn news(&self, id: &str, seen: u64) -> Result<Option<News>, StoreError> {
        // One snapshot, so that the count of saves and the cells are of one moment.
        let snapshot = self.sql(self.connection.unchecked_transaction())?;
        let run = snapshot
            .query_row("SELECT sequence, saves, state FROM run WHERE id = ?1", [id], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
            })
            .optional();
        let Some((run, saves, state)) = self.sql(run)? else { return Ok(None) };
        let damaged = |source| StoreError::Damaged { id: id.to_owned(), source };
        let mut state: State =
            serde_json::from_value(serde_json::Value::from(state)).map_err(damaged)?;
        if state == State::Running && self.is_killed(id)? {
            state = State::Interrupted;
        }
        let count = "SELECT count(*) FROM cell WHERE run = ?1";
        let cells: i64 = self.sql(snapshot.query_row(count, [run], |row| row.get(0)))?;
        // Cells that an earlier drivelab wrote bear save 0: they are news to whoever has seen
        // nothing.
        let seen = if seen == 0 { -1 } else { i64::try_from(seen).unwrap_or(i64::MAX) };
        let documents = {
            let statement = "SELECT position, document FROM cell WHERE run = ?1 AND save > ?2 ORDER BY position";
            let mut statement = self.sql(snapshot.prepare(statement))?;
            let rows = statement.query_map(params![run, seen], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            });
            let rows: rusqlite::Result<Vec<(i64, String)>> = rows.and_then(Iterator::collect);
            self.sql(rows)?
        };
        let read = |(position, document): &(i64, String)| {
            let cell: Cell = serde_json::from_str(document).map_err(damaged)?;
            Ok((position.unsigned_abs(), cell))
        };
        let changed = documents.iter().map(read).collect::<Result<_, StoreError>>()?;
        Ok(Some(News { saves: saves.unsigned_abs(), state, cells: cells.unsigned_abs(), changed }))
    }
}
