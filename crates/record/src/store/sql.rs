//! A database as the store sees it: statements with values in, rows out, whichever engine it is.
//!
//! Statements are written once, in what SQLite and PostgreSQL have in common; `?` stands for a
//! value. Where they differ, [`Dialect`] has the word.
//!
//! ```text
//!   store -> Database   sqlite here | the room postgresql, which the binary hands in as a Connect
//! ```

use super::StoreError;

/// A value of a statement or of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// 64 bits with a sign.
    Integer(Option<i64>),
    /// A number with a fraction.
    Real(Option<f64>),
    /// Text; a document, too.
    Text(Option<String>),
    /// Bytes as they are.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(Some(number))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(Some(number))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

/// A row: its columns from the left.
#[derive(Clone, PartialEq, Debug)]
pub struct Row(pub Vec<Value>);

impl Row {
    /// A column that is text; empty where it is NULL.
    pub fn text(&self, column: usize) -> String {
        self.optional_text(column).unwrap_or_default()
    }

    /// A column that is text or NULL.
    pub fn optional_text(&self, column: usize) -> Option<String> {
        match &self.0[column] {
            Value::Text(text) => text.clone(),
            Value::Integer(None) | Value::Real(None) => None,
            other => unreachable!("text was asked for, not {other:?}"),
        }
    }

    /// A column that is a whole number; 0 where it is NULL.
    pub fn integer(&self, column: usize) -> i64 {
        match &self.0[column] {
            Value::Integer(number) => number.unwrap_or(0),
            Value::Text(None) => 0,
            other => unreachable!("a number was asked for, not {other:?}"),
        }
    }

    /// A column that is a number with a fraction; 0 where it is NULL.
    pub fn real(&self, column: usize) -> f64 {
        match &self.0[column] {
            Value::Real(number) => number.unwrap_or(0.0),
            Value::Integer(number) => number.unwrap_or(0) as f64,
            Value::Text(None) => 0.0,
            other => unreachable!("a number was asked for, not {other:?}"),
        }
    }

    /// A column of bytes.
    pub fn bytes(&self, column: usize) -> Vec<u8> {
        match &self.0[column] {
            Value::Bytes(bytes) => bytes.clone(),
            other => unreachable!("bytes were asked for, not {other:?}"),
        }
    }
}

/// Whose SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// A file.
    Sqlite,
    /// A server.
    Postgresql,
}

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// All that is read is of one moment.
    Read,
    /// All that is written is there, or nothing of it.
    Write,
}

impl Dialect {
    /// The value of a document.
    pub fn document(self) -> &'static str {
        match self {
            Self::Sqlite => "?",
            Self::Postgresql => "CAST(? AS jsonb)",
        }
    }

    /// A subquery with the texts of a list, which is one value: JSON.
    pub fn list(self) -> &'static str {
        match self {
            Self::Sqlite => "(SELECT value FROM json_each(?))",
            Self::Postgresql => "(SELECT jsonb_array_elements_text(CAST(? AS jsonb)))",
        }
    }

    /// The median of a column of rates in a group: of an even number the mean of the middle two.
    pub fn median(self, column: &str) -> String {
        match self {
            Self::Sqlite => format!("median({column})"),
            // Not percentile_cont: it computes the mean another way, and so to another last bit.
            Self::Postgresql => format!(
                "(percentile_disc(0.5) WITHIN GROUP (ORDER BY {column})
                  + percentile_disc(0.5) WITHIN GROUP (ORDER BY {column} DESC)) / 2"
            ),
        }
    }

    /// Whether runs that go on are kept there, each with its process.
    pub fn has_processes(self) -> bool {
        self == Self::Sqlite
    }

    fn begin(self, purpose: Purpose) -> &'static str {
        match (self, purpose) {
            (Self::Sqlite, Purpose::Read) => "BEGIN",
            (Self::Sqlite, Purpose::Write) => "BEGIN IMMEDIATE",
            (Self::Postgresql, Purpose::Read) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            (Self::Postgresql, Purpose::Write) => "BEGIN",
        }
    }
}

/// An open database.
pub trait Database {
    /// Whose SQL it takes.
    fn dialect(&self) -> Dialect;

    /// The rows that a statement answers.
    ///
    /// # Errors
    /// What the engine said, with the place.
    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// Carries out a statement; how many rows it changed.
    ///
    /// # Errors
    /// As [`Database::rows`].
    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, StoreError>;

    /// Carries out statements without values.
    ///
    /// # Errors
    /// As [`Database::rows`].
    fn batch(&self, statements: &str) -> Result<(), StoreError>;
}

/// Does `work` within one transaction.
///
/// # Errors
/// What `work` or the engine said; then nothing was changed.
pub(super) fn within<T>(
    database: &dyn Database,
    purpose: Purpose,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    database.batch(database.dialect().begin(purpose))?;
    let done = work().and_then(|value| database.batch("COMMIT").map(|()| value));
    if done.is_err() {
        // The error that is told is the first; a connection that is gone has rolled back already.
        let _ = database.batch("ROLLBACK");
    }
    done
}

/// Rows of one statement: engines take some 32,000 values.
const ROWS_MAX: usize = 500;

/// Puts rows into a table, many at once: a server far away answers once and not a time each.
/// `holders` has one `?` a column; `then` is what follows the values.
///
/// # Errors
/// As [`Database::rows`].
pub(super) fn insert(
    database: &dyn Database,
    into: &str,
    holders: &str,
    then: &str,
    rows: Vec<Vec<Value>>,
) -> Result<(), StoreError> {
    for part in rows.chunks(ROWS_MAX) {
        let all = vec![holders; part.len()].join(", ");
        database.change(&format!("INSERT INTO {into} VALUES {all} {then}"), &part.concat())?;
    }
    Ok(())
}
