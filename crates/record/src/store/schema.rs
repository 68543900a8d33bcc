//! A history's file: the care taken before touching it, and its steps.

use super::{
    StoreError,
    steps::{KNOWN, STEPS},
};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::{fs, io::ErrorKind, path::Path, time::Duration};

/// `application_id` of our files: the letters `DrLa` (SQLite file format, section 1.3.11).
pub const APPLICATION_ID: i64 = 0x4472_4c61;

/// How long to wait while another drivelab writes, in seconds.
pub const BUSY_SECONDS: u64 = 10;

/// Opens or creates the store, and brings an older one up to date.
pub fn open(path: &Path) -> Result<Connection, StoreError> {
    let refused = |reason: String| StoreError::Open { path: path.to_owned(), reason };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| refused(error.to_string()))?;
    }
    if path.is_dir() {
        return Err(refused("it is a directory".to_owned()));
    }
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    )
    .map_err(|error| refused(error.to_string()))?;
    set_up(&mut connection, path)?;
    Ok(connection)
}

/// An empty store in memory, in the place of the one at `path`.
pub fn empty(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_in_memory();
    let mut connection = connection.map_err(|source| sqlite_error(path, source))?;
    set_up(&mut connection, path)?;
    Ok(connection)
}

/// Opens the store to look at it: nothing is created, and nothing of it changed. `None` where there
/// is none yet, or one that another drivelab is just making.
pub fn open_to_read(path: &Path) -> Result<Option<Connection>, StoreError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Ok(found) if found.is_dir() => {
            let reason = "it is a directory".to_owned();
            return Err(StoreError::Open { path: path.to_owned(), reason });
        }
        _ => {}
    }
    let failed = |source| sqlite_error(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS)).map_err(failed)?;
    match recognise(&connection, path)? {
        0 => Ok(None),
        KNOWN => Ok(Some(connection)),
        _ => {
            // An older store: every verb brings it up to date, and so does looking at it.
            drop(connection);
            open(path).map(Some)
        }
    }
}

fn set_up(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| sqlite_error(path, source);
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS)).map_err(failed)?;
    recognise(connection, path)?;
    write_ahead(connection).map_err(failed)?;
    // FULL: a commit is on the drive before `save` returns, also in WAL mode.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    migrate(connection, path)
}

/// Refuses what is not ours before anything is changed in it; tells the schema's version, 0 of a
/// blank file.
fn recognise(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    // All questions within one read transaction: another drivelab may be making the store right
    // now.
    let snapshot =
        connection.unchecked_transaction().map_err(|source| sqlite_error(path, source))?;
    let not_ours = |found: String| StoreError::NotOurs { path: path.to_owned(), found };
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|error| {
            match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => not_ours("not an SQLite file".to_owned()),
                _ => sqlite_error(path, error),
            }
        })
    };
    let application = pragma("application_id")?;
    if application != APPLICATION_ID {
        let tables = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
            .map_err(|source| sqlite_error(path, source))?;
        let is_blank = application == 0 && tables == 0 && pragma("user_version")? == 0;
        if !is_blank {
            return Err(not_ours("an SQLite file of another program".to_owned()));
        }
    }
    let found = pragma("user_version")?;
    if found > KNOWN {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    snapshot.commit().map_err(|source| sqlite_error(path, source))?;
    Ok(found)
}

/// Switches to the write-ahead log, where readers and one writer do not wait for each other. SQLite
/// does not call the busy handler for the switch, so two first openings at once are told apart
/// here.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let pause = Duration::from_millis(20);
    for _ in 0..BUSY_SECONDS * 1000 / 20 {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                std::thread::sleep(pause);
            }
            other => return other,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Takes the steps that are missing, all or none of them.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| sqlite_error(path, source);
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    if version(connection).map_err(failed)? == KNOWN {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Asked again under the lock: another drivelab may have been faster, or newer.
    let found = version(&transaction).map_err(failed)?;
    if found > KNOWN {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    for step in &STEPS[found as usize..] {
        transaction.execute_batch(step.sqlite).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", KNOWN).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// SQLite's error with the path, and "busy" told apart.
pub fn sqlite_error(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { path, seconds: BUSY_SECONDS }
        }
        Some(ErrorCode::NotADatabase) => {
            StoreError::NotOurs { path, found: "not an SQLite file".to_owned() }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::Open { path, reason: source.to_string() }
        }
        _ => StoreError::Sqlite { path, source },
    }
}
