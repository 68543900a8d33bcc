//! The engine of a history in a file.

use super::{
    StoreError, schema,
    sql::{Database, Dialect, Row, Value},
};
use rusqlite::{
    Connection, ToSql, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};
use std::path::{Path, PathBuf};

/// An open file.
pub struct Sqlite {
    path: PathBuf,
    /// Tests look behind the store's back.
    pub connection: Connection,
}

impl Sqlite {
    /// Opens the file, makes it, or brings it up to date.
    ///
    /// # Errors
    /// As [`super::Store::open`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned(), connection: schema::open(path)? })
    }

    /// Opens the file to look at it; `None` where there is none.
    ///
    /// # Errors
    /// As [`super::Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Option<Self>, StoreError> {
        let connection = schema::open_to_read(path)?;
        Ok(connection.map(|connection| Self { path: path.to_owned(), connection }))
    }

    fn told<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        outcome.map_err(|source| schema::sqlite_error(&self.path, source))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Integer(number) => number.to_sql(),
            Self::Real(number) => number.to_sql(),
            Self::Text(text) => text.to_sql(),
            Self::Bytes(bytes) => bytes.to_sql(),
        }
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.told(self.connection.prepare_cached(statement))?;
        let columns = statement.column_count();
        let rows = statement.query_map(params_from_iter(values), |row| {
            (0..columns).map(|column| row.get_ref(column).map(value)).collect()
        });
        self.told(self.told(rows)?.map(|row| row.map(Row)).collect())
    }

    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        let mut statement = self.told(self.connection.prepare_cached(statement))?;
        self.told(statement.execute(params_from_iter(values))).map(|rows| rows as u64)
    }

    fn batch(&self, statements: &str) -> Result<(), StoreError> {
        self.told(self.connection.execute_batch(statements))
    }
}

fn value(found: ValueRef<'_>) -> Value {
    match found {
        ValueRef::Null => Value::Text(None),
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}
