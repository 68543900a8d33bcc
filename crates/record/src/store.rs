//! The history of runs: in one SQLite file, safe against a kill or a power cut at any moment, or in
//! a PostgreSQL database that many machines share.
//!
//! ```text
//!   run      one row a run: the record without its cells, and what is searched for
//!   cell     one row a cell: rewritten only when it changed
//!   drive    the drives below      label    key, value
//!   scratch  of a file: what a run made and has not removed yet
//!
//!   a run -> save -> file -> push -> database        one set of statements reads both: sql
//! ```
//!
//! A run is always saved to a file first. What has ended is pushed into a database by its id.
//!
//! Write-ahead log with `synchronous=FULL`: [`Store::save`] returns when the record is on the
//! drive, and after a SIGKILL the store opens with the last save in it. A running run names its
//! process, so that the next drivelab can tell a killed run ([`Store::close_orphans`]) from a live
//! one.

mod columns;
mod delivery;
mod error;
mod fleet;
mod migrate;
mod orphans;
mod owner;
mod place;
mod push;
mod resolve;
mod schema;
mod search;
pub(crate) mod sql;
mod sqlite;
mod steps;
mod watch;
mod write;

pub use delivery::{Delivery, DeliveryCount};
pub use error::{ServerTrouble, StoreError};
pub use migrate::made_as;
pub use orphans::Orphan;
pub use place::{Address, Connect, Place};
pub use push::{Ended, Pushed};
pub use search::{Found, Search};
pub use steps::KNOWN;
pub use watch::News;

use crate::{FORMAT, Record, RunSummary, State, VERSION};
pub use owner::{Life, Owner};
use sql::{Database, Value};
use sqlite::Sqlite;
use std::{
    collections::BTreeMap,
    ffi::OsString,
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

/// An open history, in a file or in a database.
pub struct Store {
    place: Place,
    database: Box<dyn Database>,
    /// This process, of a file: runs that go on are kept there and nowhere else.
    owner: Option<Owner>,
    /// Fingerprints of the cells as last written by this process, by run.
    written: BTreeMap<String, Vec<u64>>,
}

impl Store {
    /// Opens the history at `path`, or makes it with the directories above it.
    ///
    /// # Errors
    /// [`StoreError`]: not ours, from a newer drivelab, locked, or not to be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::of_file(path, Sqlite::open(path)?, here(path)?))
    }

    /// Opens the history at `path` to look at it while others write; `None` where there is none
    /// yet. Nothing is created and nothing changed, but that an older store is brought up to date.
    /// A killed run is told from a live one when it is read ([`Store::search`], [`Store::news`]),
    /// so [`Store::close_orphans`] is not needed.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Option<Self>, StoreError> {
        let Some(file) = Sqlite::open_to_read(path)? else { return Ok(None) };
        Ok(Some(Self::of_file(path, file, here(path)?)))
    }

    /// Opens the history at a place to read it: a file as [`Store::open`] does, but one that is not
    /// there is read as an empty one, and none is made; of a database nothing is changed.
    ///
    /// # Errors
    /// As [`Store::open`]; [`StoreError::Server`], [`StoreError::Blank`], [`StoreError::Older`],
    /// [`StoreError::LaterSchema`], and [`StoreError::WithoutPostgresql`] of a program that was
    /// built without.
    pub fn at(place: &Place) -> Result<Self, StoreError> {
        match place {
            Place::File(path) if place.is_missing() => {
                Ok(Self::of_file(path, Sqlite::empty(path)?, here(path)?))
            }
            Place::File(path) => Self::open(path),
            Place::Server(address) => Self::of_server(address, Tables::Kept),
        }
    }

    /// The same for who only looks, [`Store::open_to_read`].
    ///
    /// # Errors
    /// As [`Store::at`].
    pub fn at_to_read(place: &Place) -> Result<Option<Self>, StoreError> {
        match place {
            Place::File(path) => Self::open_to_read(path),
            Place::Server(address) => Self::of_server(address, Tables::Kept).map(Some),
        }
    }

    /// Opens the history at a place for what others measured: [`Store::push`].
    ///
    /// # Errors
    /// As [`Store::at`], but [`StoreError::Blank`]; [`StoreError::Older`] only for
    /// [`Tables::Made`].
    pub fn at_to_push(place: &Place, tables: Tables) -> Result<Self, StoreError> {
        match place {
            Place::File(path) => Self::open(path),
            Place::Server(address) => Self::of_server(address, tables),
        }
    }

    fn of_file(path: &Path, file: Sqlite, owner: Owner) -> Self {
        let place = Place::File(path.to_owned());
        Self { place, database: Box::new(file), owner: Some(owner), written: BTreeMap::new() }
    }

    fn of_server(address: &Address, tables: Tables) -> Result<Self, StoreError> {
        let place = Place::Server(address.clone());
        let Some(connect) = address.connect() else {
            return Err(StoreError::WithoutPostgresql { place });
        };
        let database = connect(address)?;
        migrate::bring_up(&*database, &place, tables)?;
        Ok(Self { place, database, owner: None, written: BTreeMap::new() })
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether a run of this id is stored.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn contains(&self, id: &str) -> Result<bool, StoreError> {
        let found = self.database.rows("SELECT 1 FROM run WHERE id = ?", &[Value::from(id)])?;
        Ok(!found.is_empty())
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
            "SELECT CAST(document AS text) FROM (
                 SELECT -1 AS position, document FROM run WHERE id = ?
                 UNION ALL
                 SELECT position, cell.document FROM cell JOIN run ON cell.run = run.sequence
                 WHERE run.id = ?) AS part
             ORDER BY position",
            &[Value::from(id), Value::from(id)],
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
            record.error.get_or_insert_with(|| orphans::KILLED.to_owned());
        }
        Ok(record)
    }

    /// The newest `limit` runs, newest first.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or a failure of the store.
    pub fn list(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let summaries =
            self.texts(&format!("{SUMMARIES} ORDER BY sequence DESC LIMIT ?"), &[limit.into()])?;
        let read = |text: &String| {
            serde_json::from_str(text)
                .map_err(|source| StoreError::Damaged { id: "in a summary".to_owned(), source })
        };
        summaries.iter().map(read).collect()
    }

    /// First column of every row, as text.
    fn texts(&self, statement: &str, values: &[Value]) -> Result<Vec<String>, StoreError> {
        let rows = self.database.rows(statement, values)?;
        Ok(rows.iter().map(|row| row.text(0)).collect())
    }
}

/// The runs in a line each.
const SUMMARIES: &str = "SELECT CAST(summary AS text) FROM run";

/// What may be done to the tables of a database, which many machines share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// Nothing.
    Kept,
    /// They are made where there are none.
    Made,
    /// Older ones are brought up to date, too. An older program then refuses the database.
    BroughtUp,
}

/// This process.
fn here(path: &Path) -> Result<Owner, StoreError> {
    Owner::current()
        .map_err(|error| StoreError::Open { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests;
