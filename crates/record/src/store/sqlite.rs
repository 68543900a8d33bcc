//! The engine of a history in a file.

use super::{
    StoreError, schema,
    sql::{Database, Dialect, Row, Value},
};
use rusqlite::{
    Connection, ToSql,
    functions::{Aggregate, Context, FunctionFlags},
    params_from_iter,
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
        Self::with(path, schema::open(path)?)
    }

    /// An empty history in the place of a file that is not there.
    ///
    /// # Errors
    /// As [`super::Store::open`].
    pub fn empty(path: &Path) -> Result<Self, StoreError> {
        Self::with(path, schema::empty(path)?)
    }

    /// Opens the file to look at it; `None` where there is none.
    ///
    /// # Errors
    /// As [`super::Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Option<Self>, StoreError> {
        schema::open_to_read(path)?.map(|connection| Self::with(path, connection)).transpose()
    }

    fn with(path: &Path, connection: Connection) -> Result<Self, StoreError> {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let made = connection.create_aggregate_function("median", 1, flags, Median);
        let file = Self { path: path.to_owned(), connection };
        file.told(made).map(|()| file)
    }

    fn told<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        outcome.map_err(|source| schema::sqlite_error(&self.path, source))
    }
}

/// `median(column)`: SQLite has none of its own. NULL of no rows.
struct Median;

impl Aggregate<Vec<f64>, Option<f64>> for Median {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn step(&self, row: &mut Context<'_>, numbers: &mut Vec<f64>) -> rusqlite::Result<()> {
        numbers.push(row.get(0)?);
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        numbers: Option<Vec<f64>>,
    ) -> rusqlite::Result<Option<f64>> {
        Ok(numbers.map(|numbers| stats::median(&numbers)))
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
