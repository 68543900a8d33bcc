//! What can go wrong with the history, each with its cure.

use super::place::Place;
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
    /// A database's server, or what it was asked.
    #[error("{}", trouble.sentence(place, reason))]
    Server {
        /// Which.
        place: Place,
        /// What kind of trouble.
        trouble: ServerTrouble,
        /// What the server or the system said.
        reason: String,
    },
    /// A database without a history.
    #[error(
        "there is no history in {place} yet: `drivelab push` makes one of the runs that are here"
    )]
    Blank {
        /// Which.
        place: Place,
    },
    /// A database with the tables of an earlier drivelab: many machines share it, and one of them
    /// decides when all go on to the later tables.
    #[error(
        "the history in {place} has schema {found}, and this drivelab writes and reads schema \
         {known}"
    )]
    Older {
        /// Which.
        place: Place,
        /// Its schema version.
        found: i64,
        /// This crate's.
        known: i64,
    },
    /// A database with the tables of a later drivelab.
    #[error(
        "the history in {place} has schema {found}, this drivelab knows up to {known}: use the \
         newer drivelab here, too; the runs of this machine stay in its own history"
    )]
    LaterSchema {
        /// Which.
        place: Place,
        /// Its schema version.
        found: i64,
        /// The newest version this crate knows.
        known: i64,
    },
    /// An address, and a program that was built without PostgreSQL.
    #[error(
        "{place} is a PostgreSQL database, and this drivelab was built without: the packages \
         have it, and so has `cargo install` or `cargo build` with the feature `postgresql`"
    )]
    WithoutPostgresql {
        /// Which.
        place: Place,
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
    #[error("no run `{text}`: {}", too_few(*stored))]
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

/// What kind of trouble with a server: each has its cure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerTrouble {
    /// The address or a variable of the environment is not understood.
    Settings,
    /// Nobody answers.
    Unreachable,
    /// No safe connection.
    Tls,
    /// The user or the password is not accepted.
    Password,
    /// There is no such database.
    NoDatabase,
    /// The user may not do it.
    Denied,
    /// The connection broke, or the server ends.
    Lost,
    /// The server has no room, or too many connections.
    Full,
    /// Anything else.
    Other,
}

impl StoreError {
    /// Whether it may be over in a moment: a server that is started again, another that writes.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Server { trouble, .. } => trouble.may_pass(),
            error => matches!(error, Self::Busy { .. }),
        }
    }

    /// Whether a run was not found since there is none at all.
    pub fn is_of_empty(&self) -> bool {
        matches!(self, Self::NotThatMany { stored: 0, .. } | Self::NotFound { newest: None, .. })
    }
}

impl ServerTrouble {
    /// Whether it may be over in a moment: a server that is started again.
    fn may_pass(self) -> bool {
        matches!(self, Self::Unreachable | Self::Lost | Self::Full)
    }

    fn sentence(self, place: &Place, reason: &str) -> String {
        match self {
            Self::Settings => format!("the address {place} is not understood: {reason}"),
            Self::Unreachable => format!(
                "cannot reach the database {place}: {reason}; see that the server runs, and that \
                 host and port are right"
            ),
            Self::Tls => format!(
                "no safe connection to {place}: {reason}; sslmode and sslrootcert of the address \
                 say whom to believe (docs/guide/store.md)"
            ),
            Self::Password => format!(
                "the database {place} does not accept the user: {reason}; put the password into \
                 ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD, mode 0600, or into PGPASSWORD"
            ),
            Self::NoDatabase => {
                format!("{reason} ({place}): make it with `createdb`, or name another")
            }
            Self::Denied => format!(
                "the user of {place} may not do that: {reason}; its owner can GRANT it \
                 (docs/guide/store.md)"
            ),
            Self::Lost => format!(
                "the connection to {place} was lost: {reason}; all that was pushed before is \
                 there: do it again"
            ),
            Self::Full => format!(
                "the server of {place} has no room now: {reason}; try again later, or ask who \
                 runs it"
            ),
            Self::Other => format!("the database {place} failed: {reason}"),
        }
    }
}

/// Of an empty history.
const EMPTY: &str = "the history is empty, `drivelab run` makes a first one";

fn too_few(stored: u64) -> String {
    match stored {
        0 => EMPTY.to_owned(),
        _ => format!("the history holds {}; `drivelab history` lists them", runs(stored)),
    }
}

fn hint(nearest: &[String], newest: Option<&str>) -> String {
    match (nearest, newest) {
        ([], None) => format!(": {EMPTY}"),
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
