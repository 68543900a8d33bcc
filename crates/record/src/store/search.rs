//! The history page by page, by its summaries alone: what was measured stays on the drive.

use super::{Store, StoreError, killed};
use crate::{RunSummary, State};
use rusqlite::types::Value;

/// What to look for. Empty fields do not count; of the others all must fit. Upper and lower case
/// are the same for the letters A to Z.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// Words, each of which stands somewhere in id, method, target, labels (`key=value`), flags or
    /// start time.
    pub words: String,
    /// The method's whole name.
    pub method: String,
    /// A piece of a target as it was typed.
    pub target: String,
    /// A piece of a label, `key=value` or a part of it.
    pub label: String,
    /// How far the run got.
    pub state: Option<State>,
    /// `2026-11-01`: started on this day or later, by the clock of the machine that ran it.
    pub from: String,
    /// `2026-11-30`: started on this day or earlier.
    pub to: String,
}

/// A part of what was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    /// How many fit, on all pages.
    pub count: u64,
}

impl Store {
    /// The runs that fit, newest first, without the first `skip` and at most `limit`. A run whose
    /// process is gone counts as interrupted.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or a failure of the store.
    pub fn search(&self, search: &Search, skip: u64, limit: u64) -> Result<Found, StoreError> {
        // One snapshot, so that the number and the runs are of one moment.
        let snapshot = self.sql(self.connection.unchecked_transaction())?;
        let killed = self.sql(killed(&snapshot, &self.owner))?;
        let condition = Condition::of(search, &killed);
        let (text, mut values) = (condition.text(), condition.values);
        let count: i64 = self.sql(snapshot.query_row(
            &format!("SELECT count(*) FROM run WHERE {text}"),
            rusqlite::params_from_iter(&values),
            |row| row.get(0),
        ))?;
        let limits = [limit, skip].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        values.extend(limits.map(Value::from));
        let summaries = self.texts(
            &format!(
                "SELECT summary FROM run WHERE {text} ORDER BY sequence DESC LIMIT ? OFFSET ?"
            ),
            rusqlite::params_from_iter(&values),
        )?;
        let runs = summaries.iter().map(|text| summary(text, &killed));
        let runs = runs.collect::<Result<_, StoreError>>()?;
        Ok(Found { runs, count: count.unsigned_abs() })
    }

    /// The run `id` in a line; interrupted when its process is gone. `None` where there is no such
    /// run.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or a failure of the store.
    pub fn summary(&self, id: &str) -> Result<Option<RunSummary>, StoreError> {
        let found = self.texts("SELECT summary FROM run WHERE id = ?1", [id])?;
        let killed = self.sql(killed(&self.connection, &self.owner))?;
        found.first().map(|text| summary(text, &killed)).transpose()
    }

    /// Names of the methods of all runs, in their order.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn methods(&self) -> Result<Vec<String>, StoreError> {
        self.texts("SELECT DISTINCT method FROM run ORDER BY method", [])
    }

    /// Those of the runs `ids` that are stored, oldest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn oldest_first(&self, ids: &[&str]) -> Result<Vec<String>, StoreError> {
        let ids = serde_json::to_string(ids).expect("a list of texts");
        self.texts(
            "SELECT id FROM run WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY sequence",
            [ids],
        )
    }
}

/// A stored summary as it is seen now.
fn summary(text: &str, killed: &[String]) -> Result<RunSummary, StoreError> {
    let mut run: RunSummary = serde_json::from_str(text)
        .map_err(|source| StoreError::Damaged { id: "in a summary".to_owned(), source })?;
    if killed.contains(&run.id) {
        run.state = State::Interrupted;
    }
    Ok(run)
}

/// A condition of SQL with its values, in the order of their question marks.
#[derive(Default)]
struct Condition {
    parts: Vec<&'static str>,
    values: Vec<Value>,
}

impl Condition {
    fn of(search: &Search, killed: &[String]) -> Self {
        let mut condition = Self::default();
        for word in search.words.split_whitespace() {
            condition.add(
                "(id || ' ' || method || ' ' || target || ' ' || started LIKE ? ESCAPE '\\'
                  OR EXISTS (SELECT 1 FROM label WHERE label.run = run.sequence
                             AND key || '=' || value LIKE ? ESCAPE '\\')
                  OR EXISTS (SELECT 1 FROM json_each(summary, '$.flags') WHERE value LIKE ? ESCAPE '\\'))",
                &[&anywhere(word), &anywhere(word), &anywhere(word)],
            );
        }
        if !search.method.is_empty() {
            condition.add("method = ?", &[&search.method]);
        }
        if !search.target.is_empty() {
            condition.add("target LIKE ? ESCAPE '\\'", &[&anywhere(&search.target)]);
        }
        if !search.label.is_empty() {
            condition.add(
                "EXISTS (SELECT 1 FROM label WHERE label.run = run.sequence
                         AND key || '=' || value LIKE ? ESCAPE '\\')",
                &[&anywhere(&search.label)],
            );
        }
        if !search.from.is_empty() {
            condition.add("substr(started, 1, 10) >= ?", &[&search.from]);
        }
        if !search.to.is_empty() {
            condition.add("substr(started, 1, 10) <= ?", &[&search.to]);
        }
        if let Some(state) = search.state {
            condition.add(
                "CASE WHEN id IN (SELECT value FROM json_each(?)) THEN 'interrupted' ELSE state END = ?",
                &[&serde_json::to_string(killed).expect("a list of texts"), state.name()],
            );
        }
        condition
    }

    fn add(&mut self, part: &'static str, values: &[&str]) {
        self.parts.push(part);
        self.values.extend(values.iter().map(|value| Value::from((*value).to_owned())));
    }

    fn text(&self) -> String {
        if self.parts.is_empty() { "true".to_owned() } else { self.parts.join(" AND ") }
    }
}

/// The pattern of `LIKE` that finds `text` as it is written, anywhere.
fn anywhere(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}
