//! What can go wrong with the history, each with its cure.

use crate::{FileError, VERSION};
use std::path::PathBuf;

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// Why the history could not be used, or a RUN not be found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither `XDG_DATA_HOME` nor `HOME` says where the user's data lives.
    #[error(
        "no place for the history: neither XDG_DATA_HOME nor HOME is set; name one with --store PATH"
    )]
    NoHome,
    /// The directory or the file could not be made or opened.
    #[error("cannot open the history {}: {reason}; name another place with --store PATH", path.display())]
    Open {
        /// The store's file.
        path: PathBuf,
        /// What the system or SQLite said.
        reason: String,
    },
    /// The file is something else: left untouched.
    #[error(
        "{} is not a drivelab history ({found}); it was left as it is: name another file with --store \
         PATH", path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// The history was written by a later drivelab.
    #[error(
        "the history {} has schema {found}, this drivelab knows up to {known}: use the newer drivelab, \
         or keep a second history with --store PATH", path.display()
    )]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest version this crate knows.
        known: i64,
    },
    /// Another process kept the store locked for longer than the busy timeout.
    #[error(
        "the history {} stayed locked by another program for {seconds} s: end it, or use --store PATH",
        path.display()
    )]
    Busy {
        /// The store's file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// SQLite failed for another reason: full disk, I/O error, damaged file.
    #[error("the history {} failed: {source}; name another place with --store PATH", path.display())]
    Sqlite {
        /// The store's file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A record that could not be read back: a number in it is infinite or not a number.
    #[error("the record {id} was not saved: {source} when read back; please report this as a bug")]
    Unwritable {
        /// The run.
        id: String,
        /// Which field.
        source: serde_json::Error,
    },
    /// A stored document of a later record format.
    #[error(
        "run {id} is stored as a record of version {found}; this drivelab reads versions up to \
         {VERSION}: use a newer drivelab"
    )]
    NewerRecord {
        /// The run.
        id: String,
        /// Its version.
        found: u64,
    },
    /// A stored document that is no record.
    #[error("run {id} is damaged in the history: {source}; the other runs are not affected")]
    Damaged {
        /// The run.
        id: String,
        /// Which field.
        source: serde_json::Error,
    },
    /// No run answers to the text.
    #[error("no run `{text}`{}", hint(nearest, newest.as_deref()))]
    NotFound {
        /// As the user wrote it.
        text: String,
        /// Ids and labels that look alike.
        nearest: Vec<String>,
        /// The newest run's id; none in an empty history.
        newest: Option<String>,
    },
    /// `last~N` reaches behind the first run.
    #[error("no run `{text}`: the history holds {}; `drivelab history` lists them", runs(*stored))]
    NotThatMany {
        /// As the user wrote it.
        text: String,
        /// Runs stored.
        stored: u64,
    },
    /// A prefix of several ids.
    #[error("`{text}` is the beginning of several runs: {}; write more of it", candidates.join(", "))]
    Ambiguous {
        /// As the user wrote it.
        text: String,
        /// The ids, newest first.
        candidates: Vec<String>,
    },
    /// A record file that could not be read.
    #[error(transparent)]
    File(#[from] FileError),
}

fn hint(nearest: &[String], newest: Option<&str>) -> String {
    match (nearest, newest) {
        ([], None) => ": the history is empty, `drivelab run` makes a first one".to_owned(),
        ([], Some(newest)) => {
            format!("; the newest is `{newest}`, `drivelab history` lists them all")
        }
        ([only], _) => format!(": did you mean `{only}`? `drivelab history` lists them all"),
        (several, _) => format!(
            ": did you mean one of `{}`? `drivelab history` lists them all",
            several.join("`, `")
        ),
    }
}
