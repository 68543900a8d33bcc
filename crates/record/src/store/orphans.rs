//! Runs whose process is gone, and what they left on the machine: of a history in a file alone.

use super::{
    Store, StoreError,
    owner::{Life, Owner},
    sql::{Database, Purpose, Value, within},
};
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// A run that was found running without a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orphan {
    /// The run's id: `drivelab run --resume ID` continues it.
    pub id: String,
    /// Scratch files it noted and did not forget.
    pub scratch: Vec<PathBuf>,
}

/// The sentence a killed run is given.
pub const KILLED: &str =
    "the process ended without closing the run: killed, crashed, or the power went";

impl Store {
    /// Whether the process of a run that the store has running is gone.
    pub(super) fn is_killed(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.killed()?.iter().any(|killed| killed == id))
    }

    /// Ids of the runs whose process is gone, though the store has them running; oldest first. A
    /// database has none: what is pushed has ended.
    pub(super) fn killed(&self) -> Result<Vec<String>, StoreError> {
        let Some(here) = &self.owner else { return Ok(Vec::new()) };
        let rows = self.database.rows(
            "SELECT id, owner_pid, owner_started, owner_boot, owner_namespace FROM run
             WHERE state = 'running' ORDER BY sequence",
            &[],
        )?;
        let dead = rows.iter().filter(|row| {
            let owner = Owner {
                pid: u32::try_from(row.integer(1)).unwrap_or(0),
                started_ticks: row.integer(2).cast_unsigned(),
                boot: row.text(3),
                namespace: row.text(4),
            };
            owner.life(here) == Life::Dead
        });
        Ok(dead.map(|row| row.text(0)).collect())
    }

    /// Marks the runs whose process is gone as interrupted, in the table and in the record, and
    /// tells which they were. Call it at start, before making a run.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn close_orphans(&mut self) -> Result<Vec<Orphan>, StoreError> {
        if self.owner.is_none() {
            return Ok(Vec::new());
        }
        let dead = within(self.database.as_ref(), Purpose::Write, || {
            let dead = self.killed()?;
            dead.iter().try_for_each(|id| interrupted(self.database.as_ref(), id))?;
            Ok(dead)
        })?;
        dead.into_iter()
            .map(|id| {
                let noted = "SELECT path FROM scratch WHERE run_id = ?";
                let scratch = self.paths(noted, &[Value::from(id.as_str())])?;
                Ok(Orphan { id, scratch })
            })
            .collect()
    }

    /// Notes a file that the run is about to make and will remove. Call it *before* making the
    /// file: after a kill in between there is a note without a file, never a file without a note.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn note_scratch(&mut self, run_id: &str, path: &Path) -> Result<(), StoreError> {
        assert!(path.is_absolute(), "a scratch file is found again from any directory");
        let statement = "INSERT INTO scratch (path, run_id) VALUES (?, ?)
                         ON CONFLICT (path) DO UPDATE SET run_id = excluded.run_id";
        self.database.change(statement, &[bytes(path), Value::from(run_id)]).map(drop)
    }

    /// Takes the note back, after the file was removed.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn forget_scratch(&mut self, path: &Path) -> Result<(), StoreError> {
        self.database.change("DELETE FROM scratch WHERE path = ?", &[bytes(path)]).map(drop)
    }

    /// Noted files of runs that no longer run: to be removed and forgotten. Call it after
    /// [`Store::close_orphans`].
    ///
    /// # Errors
    /// A failure of the store.
    pub fn orphaned_scratch(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.paths(
            "SELECT path FROM scratch WHERE run_id NOT IN
                 (SELECT id FROM run WHERE state = 'running')
             ORDER BY path",
            &[],
        )
    }

    /// First column of every row, as paths.
    fn paths(&self, statement: &str, values: &[Value]) -> Result<Vec<PathBuf>, StoreError> {
        let rows = self.database.rows(statement, values)?;
        Ok(rows.iter().map(|row| PathBuf::from(OsString::from_vec(row.bytes(0)))).collect())
    }
}

fn bytes(path: &Path) -> Value {
    Value::Bytes(path.as_os_str().as_bytes().to_vec())
}

fn interrupted(database: &dyn Database, id: &str) -> Result<(), StoreError> {
    // By SQLite's own JSON functions: fields that this version does not know stay as they are.
    let statement = "UPDATE run SET state = 'interrupted',
             document = json_set(document, '$.state', 'interrupted',
                 '$.error', coalesce(json_extract(document, '$.error'), ?)),
             summary = json_set(summary, '$.state', 'interrupted'),
             owner_pid = NULL, owner_started = NULL, owner_boot = NULL, owner_namespace = NULL
         WHERE id = ?";
    database.change(statement, &[Value::from(KILLED), Value::from(id)]).map(drop)
}
