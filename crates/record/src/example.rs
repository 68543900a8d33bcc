//! The record of `tests/example.json`, with every field filled somewhere: for tests.

use crate::Record;

/// Two targets, three cells, two verdicts.
pub fn full() -> Record {
    Record::from_json(include_str!("../tests/example.json"), "example.json").expect("a record")
}
