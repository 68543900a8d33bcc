//! SQLite: a row a transaction. SQLite is compiled into drivelab.

use super::{Contents, Failure, Setting, contents, promise};
use rusqlite::{Connection, OptionalExtension, config::DbConfig};
use std::{io::Write, path::Path};

const FILE: &str = "case.db";
/// SQLite's own defaults, journal_mode=delete and synchronous=full, do not sync the directory after
/// the journal's name is gone: the last transaction may be rolled back after a power cut
/// (sqlite.org, PRAGMA synchronous, "EXTRA").
const SAFE: [(&str, &str); 2] = [("journal_mode", "wal"), ("synchronous", "full")];

pub fn run(settings: &[Setting], at: &Path, said: &mut dyn Write) -> Result<(), Failure> {
    let mut database = Connection::open(at.join(FILE))?;
    // In this order: the settings that keep a promise, then those that were asked for.
    for (key, value) in SAFE {
        database.pragma_update(None, key, value)?;
    }
    for (key, value) in settings {
        database.pragma_update(None, key, value)?;
    }
    database.execute("CREATE TABLE IF NOT EXISTS kept (id INTEGER PRIMARY KEY, body TEXT)", ())?;
    for id in 0.. {
        let transaction = database.transaction()?;
        transaction.execute("INSERT INTO kept VALUES (?1, ?2)", (id as i64, contents(id)))?;
        transaction.commit()?;
        promise(said, id)?;
    }
    Ok(())
}

pub fn check(
    at: &Path,
    promised: &[u64],
    contents: &mut Contents,
    said: &mut dyn Write,
) -> Result<(), Failure> {
    let database = Connection::open(at.join(FILE))?;
    // What the journal has need not be written to its place for nobody: that takes fsyncs.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let verdict: String = database.query_row("PRAGMA integrity_check", (), |row| row.get(0))?;
    if verdict != "ok" {
        writeln!(said, "broken integrity_check: {}", verdict.lines().next().unwrap_or_default())?;
        return Ok(());
    }
    let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'kept'";
    let has_table: bool = database.query_row(tables, (), |row| row.get(0))?;
    let mut row = match has_table {
        true => Some(database.prepare("SELECT body FROM kept WHERE id = ?1")?),
        false => None,
    };
    for &id in promised {
        let body = match &mut row {
            Some(row) => row.query_row([id as i64], |row| row.get::<_, String>(0)).optional()?,
            None => None,
        };
        match body {
            None => writeln!(said, "lost {id}")?,
            Some(body) if body != contents.of(id) => writeln!(said, "torn {id}")?,
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_missing_or_other_are_named_and_so_is_a_file_that_is_none() {
        let at = tempfile::tempdir().expect("room");
        let database = Connection::open(at.path().join(FILE)).expect("room");
        let checked = |promised: &[u64]| {
            let mut said = Vec::new();
            let done = check(at.path(), promised, &mut Contents::default(), &mut said);
            (done.is_ok(), String::from_utf8(said).expect("text"))
        };
        assert_eq!(checked(&[0]), (true, "lost 0\n".to_owned()));
        let make = "CREATE TABLE kept (id INTEGER PRIMARY KEY, body TEXT)";
        database.execute(make, ()).expect("room");
        for (id, body) in [(0_i64, contents(0)), (1, contents(0))] {
            database.execute("INSERT INTO kept VALUES (?1, ?2)", (id, body)).expect("room");
        }
        assert_eq!(checked(&[0, 1, 2]), (true, "torn 1\nlost 2\n".to_owned()));
        drop(database);
        std::fs::write(at.path().join(FILE), vec![7; 8192]).expect("room");
        assert!(!checked(&[0]).0, "it is no database");
    }
}
