//! RUN as a user writes it: an id, a unique prefix, `last`, `last~1`, a label, or a record file.

use super::{Store, StoreError, sql::Value};
use crate::Record;
use std::{ffi::OsStr, path::Path};

/// How many names a refusal lists.
const NAMES_MAX: usize = 5;

impl Store {
    /// The record that `text` names. In this order: `last` and `last~N`; a path (with a slash, or
    /// ending in `.json`); an id; a label's value or `key=value`, the newest run with it; the
    /// beginning of one id; the name of a file.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::NotThatMany`], [`StoreError::Ambiguous`],
    /// [`StoreError::File`], or a failure of the store.
    pub fn resolve(&self, text: impl AsRef<OsStr>) -> Result<Record, StoreError> {
        let path = Path::new(text.as_ref());
        let Some(text) = path.to_str() else { return Ok(Record::read(path)?) };
        if let Some(back) = steps_back(text) {
            return self.load(&self.id_of_last(text, back)?);
        }
        if text.contains('/') || text.ends_with(".json") {
            return Ok(Record::read(path)?);
        }
        if self.contains(text)? {
            return self.load(text);
        }
        if let Some(id) = self.id_of_label(text)? {
            return self.load(&id);
        }
        match self.ids_beginning_with(text)?.as_slice() {
            [] if path.is_file() => Ok(Record::read(path)?),
            [] => Err(StoreError::NotFound {
                text: text.to_owned(),
                nearest: self.nearest(text)?,
                newest: self.list(1)?.into_iter().map(|newest| newest.id).next(),
            }),
            [only] => self.load(only),
            candidates => Err(StoreError::Ambiguous {
                text: text.to_owned(),
                candidates: candidates.to_vec(),
            }),
        }
    }

    fn id_of_last(&self, text: &str, back: i64) -> Result<String, StoreError> {
        let statement = "SELECT id FROM run ORDER BY sequence DESC LIMIT 1 OFFSET ?";
        if let Some(id) = self.texts(statement, &[Value::from(back)])?.pop() {
            return Ok(id);
        }
        let stored = self.database.rows("SELECT count(*) FROM run", &[])?[0].integer(0);
        Err(StoreError::NotThatMany { text: text.to_owned(), stored: stored.unsigned_abs() })
    }

    fn id_of_label(&self, text: &str) -> Result<Option<String>, StoreError> {
        let found = self.texts(
            "SELECT run.id FROM label JOIN run ON run.sequence = label.run
             WHERE label.value = ? OR label.key || '=' || label.value = ?
             ORDER BY run.sequence DESC LIMIT 1",
            &[Value::from(text), Value::from(text)],
        )?;
        Ok(found.into_iter().next())
    }

    /// At most [`NAMES_MAX`], newest first.
    fn ids_beginning_with(&self, text: &str) -> Result<Vec<String>, StoreError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let text = text.to_ascii_lowercase();
        self.texts(
            "SELECT id FROM run WHERE substr(id, 1, length(?)) = ?
             ORDER BY sequence DESC LIMIT ?",
            &[Value::from(text.as_str()), Value::from(text), Value::from(NAMES_MAX as i64)],
        )
    }

    /// Ids and labels within two typing errors, nearest first.
    fn nearest(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let names = self.texts(
            "SELECT name FROM (
                 SELECT id AS name, sequence FROM run
                 UNION ALL SELECT value, run FROM label
                 UNION ALL SELECT 'last', 9223372036854775807 FROM run) AS named
             GROUP BY name ORDER BY max(sequence) DESC LIMIT 10000",
            &[],
        )?;
        let mut near: Vec<(usize, &String)> =
            names.iter().map(|name| (edits(text, name), name)).filter(|near| near.0 <= 2).collect();
        near.sort_by_key(|near| near.0); // Stable: newest first among equals.
        Ok(near.into_iter().take(NAMES_MAX).map(|(_, name)| name.clone()).collect())
    }
}

/// 0 for `last`, n for `last~n`.
fn steps_back(text: &str) -> Option<i64> {
    match text.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse::<u32>().ok().map(i64::from),
    }
}

/// Insertions, deletions and replacements from one text to the other (Levenshtein 1966), by one row
/// of the table.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (count, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], count + 1);
        for at in 0..to.len() {
            let replaced = diagonal + usize::from(to[at] != letter);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in [
            ("", "", 0),
            ("last", "lsat", 2),
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("ab", "a", 1),
        ] {
            assert_eq!((edits(from, to), edits(to, from)), (count, count), "{from} {to}");
        }
    }

    #[test]
    fn only_last_and_last_with_a_number_count_back() {
        assert_eq!(steps_back("last"), Some(0));
        assert_eq!(steps_back("last~12"), Some(12));
        for text in ["last~", "last~x", "last~-1", "lastly", "", "~1"] {
            assert_eq!(steps_back(text), None, "{text}");
        }
    }
}
