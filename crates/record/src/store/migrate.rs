//! A history's tables in a database: found, made, brought up to date. They lie in a schema of
//! their own, `drivelab`, so that a database may hold other things besides.

use super::{
    StoreError, Tables,
    place::Place,
    sql::{Database, Purpose, Value, within},
    steps::{KNOWN, STEPS},
};

/// One number for all who make or change tables: the letters `DrLa`, as of a file.
const LOCK: i64 = 0x4472_4c61;

/// Looks at the tables, and does what may be done to them.
///
/// # Errors
/// [`StoreError::Blank`], [`StoreError::Older`], [`StoreError::LaterSchema`], or a failure.
pub fn bring_up(database: &dyn Database, place: &Place, tables: Tables) -> Result<(), StoreError> {
    database.batch("SET search_path TO drivelab")?;
    match (version(database)?, tables) {
        (Some(found), _) if found == KNOWN => Ok(()),
        (Some(found), _) if found > KNOWN => Err(later(place, found)),
        (None, Tables::Kept) => Err(StoreError::Blank { place: place.clone() }),
        (Some(found), Tables::Kept | Tables::Made) => {
            Err(StoreError::Older { place: place.clone(), found, known: KNOWN })
        }
        _ => within(database, Purpose::Write, || {
            database.batch(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
            migrate(database, place, KNOWN)
        }),
    }
}

/// The tables as the drivelab of schema `known` made them: what tests of older ones begin with.
///
/// # Errors
/// [`StoreError::LaterSchema`], or a failure.
pub fn made_as(database: &dyn Database, place: &Place, known: i64) -> Result<(), StoreError> {
    database.batch("SET search_path TO drivelab")?;
    within(database, Purpose::Write, || migrate(database, place, known))
}

/// Takes the steps that are missing up to schema `known`.
fn migrate(database: &dyn Database, place: &Place, known: i64) -> Result<(), StoreError> {
    // Asked again under the lock: another drivelab may have been faster, or newer.
    let found = version(database)?.unwrap_or(0);
    if found > known {
        return Err(later(place, found));
    }
    if found == 0 {
        database.batch(
            "CREATE SCHEMA IF NOT EXISTS drivelab;
             CREATE TABLE schema_version (version bigint NOT NULL);
             INSERT INTO schema_version VALUES (0);",
        )?;
    }
    for step in &STEPS[found as usize..known as usize] {
        database.batch(step.postgresql)?;
    }
    database.change("UPDATE schema_version SET version = ?", &[Value::from(known)]).map(drop)
}

/// The version of the tables; none where there are none.
fn version(database: &dyn Database) -> Result<Option<i64>, StoreError> {
    let there = "SELECT to_regclass('drivelab.schema_version') IS NOT NULL";
    if database.rows(there, &[])?[0].integer(0) == 0 {
        return Ok(None);
    }
    let rows = database.rows("SELECT version FROM drivelab.schema_version", &[])?;
    Ok(rows.first().map(|row| row.integer(0)))
}

fn later(place: &Place, found: i64) -> StoreError {
    StoreError::LaterSchema { place: place.clone(), found, known: KNOWN }
}
