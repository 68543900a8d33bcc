//! The history of runs in one SQLite file, safe against a kill or a power cut at any moment.
//!
//! ```text
//!   run      one row a run: the record without its cells, and what is searched for
//!   cell     one row a cell: rewritten only when it changed
//!   label    key, value        scratch   files that a run made and has not removed yet
//! ```
//!
//! Write-ahead log with `synchronous=FULL`: [`Store::save`] returns when the record is on the
//! drive, and after a SIGKILL the store opens with the last save in it. A running run names its
//! process, so that the next drivelab can tell a killed run ([`Store::close_orphans`]) from a live
//! one.

mod error;
mod owner;
mod resolve;
mod schema;
mod search;
mod watch;

pub use error::StoreError;
pub use owner::{Life, Owner};
pub use search::{Found, Search};
pub use watch::News;

use crate::{Cell, FORMAT, Record, RunSummary, State, VERSION};
use rusqlite::{Connection, Params, TransactionBehavior, params};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// Runs of the history among which one like another is looked for.
const LOOK_BACK: usize = 50;
/// `$XDG_DATA_HOME/drivelab/history.sqlite`, or `~/.local/share/drivelab/history.sqlite`.
/// `variable` looks up an environment variable. A relative `XDG_DATA_HOME` is ignored, as the XDG
/// base directory specification asks.
///
/// # Errors
/// [`StoreError::NoHome`] when neither variable is set.
pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StoreError> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .map(|data| data.join("drivelab/history.sqlite"))
        .ok_or(StoreError::NoHome)
}

/// An open history.
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// This process.
    owner: Owner,
    /// Fingerprints of the cells as last written by this process, by run.
    written: BTreeMap<String, Vec<u64>>,
}

/// A run that was found running without a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orphan {
    /// The run's id: `drivelab run --resume ID` continues it.
    pub id: String,
    /// Scratch files it noted and did not forget.
    pub scratch: Vec<PathBuf>,
}

impl Store {
    /// Opens the history at `path`, or makes it with the directories above it.
    ///
    /// # Errors
    /// [`StoreError`]: not ours, from a newer drivelab, locked, or not to be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let owner = here(path)?;
        let connection = schema::open(path)?;
        Ok(Self { path: path.to_owned(), connection, owner, written: BTreeMap::new() })
    }

    /// Opens the history at `path` to look at it while others write; `None` where there is none
    /// yet. Nothing is created and nothing changed, but that an older store is brought up to date.
    /// A killed run is told from a live one when it is read ([`Store::search`], [`Store::news`]),
    /// so [`Store::close_orphans`] is not needed.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Option<Self>, StoreError> {
        let Some(connection) = schema::open_to_read(path)? else { return Ok(None) };
        Ok(Some(Self {
            path: path.to_owned(),
            connection,
            owner: here(path)?,
            written: BTreeMap::new(),
        }))
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the record, new or as it now is. Call it when the run starts and after each cell: it
    /// costs one flush of the drive the store is on, and the bytes of the cells that changed. While
    /// the record's state is [`State::Running`], this process is noted as its owner.
    ///
    /// # Errors
    /// [`StoreError`]; the store then still holds the state of the save before.
    pub fn save(&mut self, record: &Record) -> Result<(), StoreError> {
        assert!(!record.id.is_empty(), "a record without an id");
        let header = checked_json(&record.id, &record.without_cells())?;
        let before = self.written.get(&record.id);
        let mut fingerprints = Vec::with_capacity(record.cells.len());
        let mut changed = Vec::new();
        for (position, cell) in record.cells.iter().enumerate() {
            let document = serde_json::to_string(cell).expect("a cell has only string keys");
            let fingerprint = fingerprint(&document);
            if before.and_then(|before| before.get(position)) != Some(&fingerprint) {
                readable::<Cell>(&record.id, &document)?;
                changed.push((position as i64, document));
            }
            fingerprints.push(fingerprint);
        }
        let outcome = write(&mut self.connection, &self.owner, record, &header, &changed);
        self.sql(outcome)?;
        if record.state == State::Running {
            self.written.insert(record.id.clone(), fingerprints);
        } else {
            self.written.remove(&record.id);
        }
        Ok(())
    }

    /// Whether a run of this id is stored.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn contains(&self, id: &str) -> Result<bool, StoreError> {
        let statement = "SELECT EXISTS (SELECT 1 FROM run WHERE id = ?1)";
        self.sql(self.connection.query_row(statement, [id], |row| row.get(0)))
    }

    /// An id that no run of this store has. `random` gives one number after another.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn fresh_id(&self, mut random: impl FnMut() -> u32) -> Result<String, StoreError> {
        loop {
            let id = Record::id_from(random());
            if !self.contains(&id)? {
                return Ok(id);
            }
        }
    }

    /// The last whole run of the same method and grade in the same time as `record`, on the same
    /// targets where there is one.
    pub fn last_like(&self, record: &Record) -> Option<Record> {
        let (new, runs) = (record.summary(), self.list(LOOK_BACK).ok()?);
        let alike: Vec<_> = runs
            .iter()
            .filter(|run| run.state == State::Complete && run.id != new.id)
            .filter(|run| run.method == new.method && run.grade == new.grade)
            .collect();
        let same = alike.iter().find(|run| run.targets == new.targets).or(alike.first())?;
        self.load(&same.id).ok().filter(|earlier| earlier.time == record.time)
    }

    /// The whole record of the run `id`; interrupted when its process is gone.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Damaged`], [`StoreError::NewerRecord`], or a failure
    /// of the store.
    pub fn load(&self, id: &str) -> Result<Record, StoreError> {
        // One statement, so that header and cells are of one moment though another drivelab is
        // writing.
        let documents = self.texts(
            "SELECT document FROM (
                 SELECT -1 AS position, document FROM run WHERE id = ?1
                 UNION ALL
                 SELECT position, cell.document FROM cell JOIN run ON cell.run = run.sequence
                 WHERE run.id = ?1)
             ORDER BY position",
            [id],
        )?;
        let Some((header, cells)) = documents.split_first() else {
            return Err(StoreError::NotFound {
                text: id.to_owned(),
                nearest: Vec::new(),
                newest: self.list(1)?.into_iter().map(|run| run.id).next(),
            });
        };
        let damaged = |source| StoreError::Damaged { id: id.to_owned(), source };
        let head: serde_json::Value = serde_json::from_str(header).map_err(damaged)?;
        let found = head["version"].as_u64().unwrap_or(0);
        if found > u64::from(VERSION) {
            return Err(StoreError::NewerRecord { id: id.to_owned(), found });
        }
        let mut record: Record = serde_json::from_value(head).map_err(damaged)?;
        debug_assert_eq!(record.format, FORMAT);
        record.cells = cells
            .iter()
            .map(|cell| serde_json::from_str(cell))
            .collect::<Result<_, _>>()
            .map_err(damaged)?;
        if record.state == State::Running && self.is_killed(id)? {
            record.state = State::Interrupted;
            record.error.get_or_insert_with(|| KILLED.to_owned());
        }
        Ok(record)
    }

    /// Whether the process of a run that the store has running is gone.
    fn is_killed(&self, id: &str) -> Result<bool, StoreError> {
        let killed = self.sql(killed(&self.connection, &self.owner))?;
        Ok(killed.iter().any(|killed| killed == id))
    }

    /// The newest `limit` runs, newest first.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or a failure of the store.
    pub fn list(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let summaries =
            self.texts("SELECT summary FROM run ORDER BY sequence DESC LIMIT ?1", [limit])?;
        let read = |text: &String| {
            serde_json::from_str(text)
                .map_err(|source| StoreError::Damaged { id: "in a summary".to_owned(), source })
        };
        summaries.iter().map(read).collect()
    }

    /// Marks the runs whose process is gone as interrupted, in the table and in the record, and
    /// tells which they were. Call it at start, before making a run.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn close_orphans(&mut self) -> Result<Vec<Orphan>, StoreError> {
        let outcome = close_orphans(&mut self.connection, &self.owner);
        let ids = self.sql(outcome)?;
        ids.into_iter()
            .map(|id| {
                let scratch = self.paths("SELECT path FROM scratch WHERE run_id = ?1", [&id])?;
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
        let statement = "INSERT INTO scratch (path, run_id) VALUES (?1, ?2)
                         ON CONFLICT (path) DO UPDATE SET run_id = excluded.run_id";
        let bytes = path.as_os_str().as_bytes();
        self.sql(self.connection.execute(statement, params![bytes, run_id])).map(drop)
    }

    /// Takes the note back, after the file was removed.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn forget_scratch(&mut self, path: &Path) -> Result<(), StoreError> {
        let bytes = path.as_os_str().as_bytes();
        self.sql(self.connection.execute("DELETE FROM scratch WHERE path = ?1", [bytes])).map(drop)
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
            [],
        )
    }

    fn sql<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        outcome.map_err(|source| schema::sqlite_error(&self.path, source))
    }

    /// First column of every row, as text.
    fn texts(&self, statement: &str, values: impl Params) -> Result<Vec<String>, StoreError> {
        let mut statement = self.sql(self.connection.prepare(statement))?;
        let rows = self.sql(statement.query_map(values, |row| row.get(0)))?;
        self.sql(rows.collect())
    }

    /// First column of every row, as paths.
    fn paths(&self, statement: &str, values: impl Params) -> Result<Vec<PathBuf>, StoreError> {
        let mut statement = self.sql(self.connection.prepare(statement))?;
        let rows = self.sql(statement.query_map(values, |row| row.get::<_, Vec<u8>>(0)))?;
        self.sql(rows.map(|bytes| Ok(PathBuf::from(OsString::from_vec(bytes?)))).collect())
    }
}

/// This process.
fn here(path: &Path) -> Result<Owner, StoreError> {
    Owner::current()
        .map_err(|error| StoreError::Open { path: path.to_owned(), reason: error.to_string() })
}

/// All of one save, or nothing of it.
fn write(
    connection: &mut Connection,
    owner: &Owner,
    record: &Record,
    header: &str,
    changed: &[(i64, String)],
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let summary = serde_json::to_string(&record.summary()).expect("only string keys");
    let targets: Vec<&str> = record.targets.iter().map(|target| target.text.as_str()).collect();
    let owner = (record.state == State::Running).then_some(owner);
    let (run, save): (i64, i64) = transaction.query_row(
        "INSERT INTO run (id, started, state, method, target, summary, document,
                          owner_pid, owner_started, owner_boot, owner_namespace, saves)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1)
         ON CONFLICT (id) DO UPDATE SET
             started = excluded.started, state = excluded.state, method = excluded.method,
             target = excluded.target, summary = excluded.summary, document = excluded.document,
             owner_pid = excluded.owner_pid, owner_started = excluded.owner_started,
             owner_boot = excluded.owner_boot, owner_namespace = excluded.owner_namespace,
             saves = run.saves + 1
         RETURNING sequence, saves",
        params![
            record.id,
            record.started,
            record.state.name(),
            record.method.name,
            targets.join(" "),
            summary,
            header,
            owner.map(|owner| owner.pid),
            owner.map(|owner| owner.started_ticks.cast_signed()),
            owner.map(|owner| &owner.boot),
            owner.map(|owner| &owner.namespace),
        ],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    for (position, document) in changed {
        transaction.execute(
            "INSERT INTO cell (run, position, document, save) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (run, position) DO UPDATE SET document = excluded.document, save = excluded.save",
            params![run, position, document, save],
        )?;
    }
    let cells = record.cells.len() as i64;
    transaction
        .execute("DELETE FROM cell WHERE run = ?1 AND position >= ?2", params![run, cells])?;
    transaction.execute("DELETE FROM label WHERE run = ?1", [run])?;
    for (key, value) in &record.labels {
        transaction.execute(
            "INSERT INTO label (run, key, value) VALUES (?1, ?2, ?3)",
            params![run, key, value],
        )?;
    }
    transaction.commit()
}

/// The sentence a killed run is given.
const KILLED: &str =
    "the process ended without closing the run: killed, crashed, or the power went";

/// Ids of the runs whose process is gone, though the store has them running; oldest first.
fn killed(connection: &Connection, here: &Owner) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT id, owner_pid, owner_started, owner_boot, owner_namespace FROM run
         WHERE state = 'running' ORDER BY sequence",
    )?;
    let rows = statement.query_map([], |row| {
        let owner = Owner {
            pid: row.get::<_, Option<u32>>(1)?.unwrap_or(0),
            started_ticks: row.get::<_, Option<i64>>(2)?.unwrap_or(0).cast_unsigned(),
            boot: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            namespace: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        };
        Ok((row.get::<_, String>(0)?, owner.life(here)))
    })?;
    rows.filter_map(|row| match row {
        Ok((id, Life::Dead)) => Some(Ok(id)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
    .collect()
}

fn close_orphans(connection: &mut Connection, here: &Owner) -> rusqlite::Result<Vec<String>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let dead = killed(&transaction, here)?;
    for id in &dead {
        // By SQLite's own JSON functions: fields that this version does not know stay as they are.
        transaction.execute(
            "UPDATE run SET state = 'interrupted',
                 document = json_set(document, '$.state', 'interrupted',
                     '$.error', coalesce(json_extract(document, '$.error'), ?2)),
                 summary = json_set(summary, '$.state', 'interrupted'),
                 owner_pid = NULL, owner_started = NULL, owner_boot = NULL, owner_namespace = NULL
             WHERE id = ?1",
            params![id, KILLED],
        )?;
    }
    transaction.commit()?;
    Ok(dead)
}

/// The record as JSON that is known to be readable again.
fn checked_json(id: &str, record: &Record) -> Result<String, StoreError> {
    let document = serde_json::to_string(record).expect("a record has only string keys");
    readable::<Record>(id, &document)?;
    Ok(document)
}

/// JSON has no infinity and no NaN: they are written as null and refused on reading. Better to hear
/// of it while the numbers are still at hand.
fn readable<T: serde::de::DeserializeOwned>(id: &str, document: &str) -> Result<(), StoreError> {
    serde_json::from_str::<T>(document)
        .map(drop)
        .map_err(|source| StoreError::Unwritable { id: id.to_owned(), source })
}

fn fingerprint(document: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
