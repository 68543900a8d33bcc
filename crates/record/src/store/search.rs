//! The history page by page, by its summaries alone: what was measured stays on the drive.

use super::{
    SUMMARIES, Store, StoreError,
    sql::{Dialect, Purpose, Value, within},
};
use crate::{RunSummary, State};

/// What to look for. Empty fields do not count; of the others all must fit. Upper and lower case
/// are the same for the letters A to Z.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// Words, each of which stands somewhere in id, method, target, start time, machine, drives,
    /// campaign, labels (`key=value`) or flags.
    pub words: String,
    /// The method's whole name.
    pub method: String,
    /// A piece of a target as it was typed.
    pub target: String,
    /// A piece of a label, `key=value` or a part of it.
    pub label: String,
    /// The machine's whole name.
    pub host: String,
    /// A piece of the model, the serial number or the firmware of a drive below a target.
    pub drive: String,
    /// The campaign's whole name.
    pub campaign: String,
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
        within(self.database.as_ref(), Purpose::Read, || self.found(search, skip, limit))
    }

    fn found(&self, search: &Search, skip: u64, limit: u64) -> Result<Found, StoreError> {
        let killed = self.killed()?;
        let condition = Condition::of(search, &killed, self.database.dialect());
        let (text, mut values) = (condition.text(), condition.values);
        let limits = [limit, skip].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        values.extend(limits.map(Value::from));
        // Each run is looked at once: the answer is both the number and the page.
        let page = format!(
            "WITH hit AS MATERIALIZED (SELECT sequence FROM run WHERE {text}),
                 page AS (SELECT sequence FROM hit ORDER BY sequence DESC LIMIT ? OFFSET ?)
             SELECT CAST(0 AS bigint) AS sequence, (SELECT count(*) FROM hit), NULL
             UNION ALL
             SELECT run.sequence, CAST(0 AS bigint), CAST(summary AS text)
             FROM page JOIN run ON run.sequence = page.sequence
             ORDER BY 1 DESC"
        );
        let mut rows = self.database.rows(&page, &values)?;
        let count = rows.pop().expect("the row of the number").integer(1).unsigned_abs();
        let runs = rows.iter().map(|row| summary(&row.text(2), &killed));
        let runs = runs.collect::<Result<_, StoreError>>()?;
        Ok(Found { runs, count })
    }

    /// The run `id` in a line; interrupted when its process is gone. `None` where there is no such
    /// run.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or a failure of the store.
    pub fn summary(&self, id: &str) -> Result<Option<RunSummary>, StoreError> {
        let found = self.texts(&format!("{SUMMARIES} WHERE id = ?"), &[Value::from(id)])?;
        let killed = self.killed()?;
        found.first().map(|text| summary(text, &killed)).transpose()
    }

    /// Names of the methods of all runs, in their order.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn methods(&self) -> Result<Vec<String>, StoreError> {
        self.texts("SELECT DISTINCT method FROM run ORDER BY method", &[])
    }

    /// Those of the runs `ids` that are stored, oldest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn oldest_first(&self, ids: &[&str]) -> Result<Vec<String>, StoreError> {
        let ids = serde_json::to_string(ids).expect("a list of texts");
        let list = self.database.dialect().list();
        let statement = format!("SELECT id FROM run WHERE id IN {list} ORDER BY sequence");
        self.texts(&statement, &[Value::from(ids)])
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
pub(super) struct Condition {
    parts: Vec<String>,
    pub values: Vec<Value>,
}

impl Condition {
    pub fn of(search: &Search, killed: &[String], dialect: Dialect) -> Self {
        let mut condition = Self::default();
        for word in search.words.split_whitespace() {
            condition.add(&contains("words"), &[&anywhere(word)]);
        }
        for (column, whole) in
            [("method", &search.method), ("host", &search.host), ("campaign", &search.campaign)]
        {
            if !whole.is_empty() {
                condition.add(&format!("{column} = ?"), &[whole]);
            }
        }
        if !search.target.is_empty() {
            condition.add(&contains("lower(target)"), &[&anywhere(&search.target)]);
        }
        if !search.label.is_empty() {
            let label = contains("lower(key || '=' || value)");
            condition.add(
                &format!("EXISTS (SELECT 1 FROM label WHERE label.run = run.sequence AND {label})"),
                &[&anywhere(&search.label)],
            );
        }
        if !search.drive.is_empty() {
            let piece = anywhere(&search.drive);
            let told = ["model", "serial", "firmware"]
                .map(|column| contains(&format!("lower({column})")))
                .join(" OR ");
            condition.add(
                &format!(
                    "EXISTS (SELECT 1 FROM drive WHERE drive.run = run.sequence AND ({told}))"
                ),
                &[piece.as_str(); 3],
            );
        }
        if !search.from.is_empty() {
            condition.add("substr(started, 1, 10) >= ?", &[&search.from]);
        }
        if !search.to.is_empty() {
            condition.add("substr(started, 1, 10) <= ?", &[&search.to]);
        }
        if let Some(state) = search.state {
            let killed = serde_json::to_string(killed).expect("a list of texts");
            let list = dialect.list();
            condition.add(
                &format!("CASE WHEN id IN {list} THEN 'interrupted' ELSE state END = ?"),
                &[&killed, state.name()],
            );
        }
        condition
    }

    fn add(&mut self, part: &str, values: &[&str]) {
        self.parts.push(part.to_owned());
        self.values.extend(values.iter().map(|value| Value::from(*value)));
    }

    /// And the cell is of a run that fits. `+` keeps SQLite from looking for each run's cells,
    /// which lie among what was measured; the index of a fleet has them all.
    pub fn of_runs(&mut self, runs: Self) {
        self.parts.push(format!("+run IN (SELECT sequence FROM run WHERE {})", runs.text()));
        self.values.extend(runs.values);
    }

    pub fn text(&self) -> String {
        if self.parts.is_empty() { "true".to_owned() } else { self.parts.join(" AND ") }
    }
}

/// Whether a text in lower case has a piece.
fn contains(text: &str) -> String {
    format!("{text} LIKE ? ESCAPE '\\'")
}

/// The pattern of `LIKE` that finds `text` as it is written, anywhere in a text in lower case.
fn anywhere(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.to_ascii_lowercase().chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}
