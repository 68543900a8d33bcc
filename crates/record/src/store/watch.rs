//! A run while it goes on, read by another process: only what is new since the last look.

use super::{
    Store, StoreError,
    sql::{Purpose, Value, within},
};
use crate::{Cell, State};

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
        within(self.database.as_ref(), Purpose::Read, || self.news_of(id, seen))
    }

    fn news_of(&self, id: &str, seen: u64) -> Result<Option<News>, StoreError> {
        let statement = "SELECT sequence, saves, state FROM run WHERE id = ?";
        let Some(row) = self.database.rows(statement, &[Value::from(id)])?.pop() else {
            return Ok(None);
        };
        let (run, saves) = (row.integer(0), row.integer(1).unsigned_abs());
        let damaged = |source| StoreError::Damaged { id: id.to_owned(), source };
        let mut state: State =
            serde_json::from_value(serde_json::Value::from(row.text(2))).map_err(damaged)?;
        if state == State::Running && self.is_killed(id)? {
            state = State::Interrupted;
        }
        let count = "SELECT count(*) FROM cell WHERE run = ?";
        let cells = self.database.rows(count, &[Value::from(run)])?[0].integer(0).unsigned_abs();
        // Cells that an earlier drivelab wrote bear save 0: they are news to whoever has seen
        // nothing.
        let seen = if seen == 0 { -1 } else { i64::try_from(seen).unwrap_or(i64::MAX) };
        let rows = self.database.rows(
            "SELECT position, CAST(document AS text) FROM cell WHERE run = ? AND save > ?
             ORDER BY position",
            &[Value::from(run), Value::from(seen)],
        )?;
        let read = |row: &super::sql::Row| {
            let cell: Cell = serde_json::from_str(&row.text(1)).map_err(damaged)?;
            Ok((row.integer(0).unsigned_abs(), cell))
        };
        let changed = rows.iter().map(read).collect::<Result<_, StoreError>>()?;
        Ok(Some(News { saves, state, cells, changed }))
    }
}
