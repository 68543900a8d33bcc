//! Requests that failed: how many, where, and how long they took.

use crate::{Latency, Record};
use serde::{Deserialize, Serialize};

/// Requests of a cell that failed. Their latencies are kept apart from those of the others.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct IoErrors {
    /// How many.
    pub count: u64,
    /// The first of them, in the order in which they came: at most [`FIRST_MAX`](Self::FIRST_MAX).
    pub first: Vec<IoFailure>,
    /// From submission (closed loop) or intended start (open loop) to the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

/// One request that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IoFailure {
    /// `read`, `write`, `flush`; or the operation on a tree.
    pub operation: String,
    /// Byte offset on the target; of an operation on a tree the file's number.
    pub offset: u64,
    /// Length of the request, bytes.
    pub bytes: u64,
    /// What the system said, in a few words.
    pub reason: String,
}

/// A pass of a cell that was not finished.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FailedCell {
    /// Index into the record's `targets`.
    pub target: usize,
    /// The cell's name: its `group`.
    pub name: String,
    /// Which pass, from 0.
    pub pass: u32,
    /// Why, one sentence or two; the last names the cure.
    pub reason: String,
    /// The requests that failed, if it was requests.
    pub errors: IoErrors,
}

impl IoErrors {
    /// So many are named one by one.
    pub const FIRST_MAX: usize = 8;

    /// `3 requests failed, the first: read of 4096 B at offset 2048000 (Input/output error)`.
    pub fn words(&self) -> String {
        let noun = if self.count == 1 { "request" } else { "requests" };
        let mut text = format!("{} {noun} failed", self.count);
        let Some(first) = self.first.first() else { return text };
        let which = if self.count == 1 { "" } else { "the first: " };
        text += &format!(", {which}{first}");
        let others: Vec<String> =
            self.first[1..].iter().map(|failure| failure.offset.to_string()).collect();
        if !others.is_empty() {
            text += &format!(", then at {}", others.join(", "));
            if self.count > self.first.len() as u64 {
                text += ", ...";
            }
        }
        text
    }

    /// Takes in what came later; the latencies are the caller's business.
    pub fn add(&mut self, later: &Self) {
        self.count += later.count;
        let room = Self::FIRST_MAX.saturating_sub(self.first.len());
        self.first.extend(later.first.iter().take(room).cloned());
    }
}

impl std::fmt::Display for IoFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { operation, offset, bytes, reason } = self;
        match operation.as_str() {
            "flush" => write!(formatter, "flush ({reason})"),
            _ => write!(formatter, "{operation} of {bytes} B at offset {offset} ({reason})"),
        }
    }
}

impl Record {
    /// `2 of 7 cells failed, the first: NAME: why`; nothing where none did.
    pub fn failed_sentence(&self) -> Option<String> {
        let first = self.failed.first()?;
        let FailedCell { name, reason, .. } = first;
        Some(match self.failed_cells() {
            1 => format!("{name}: {reason}"),
            failed => format!("{failed} cells failed, the first: {name}: {reason}"),
        })
    }

    /// Cells of which a pass failed.
    pub fn failed_cells(&self) -> usize {
        let mut cells: Vec<(usize, &str)> =
            self.failed.iter().map(|cell| (cell.target, cell.name.as_str())).collect();
        cells.sort_unstable();
        cells.dedup();
        cells.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(count: u64, offsets: &[u64]) -> IoErrors {
        let at = |&offset: &u64| IoFailure {
            operation: "read".to_owned(),
            offset,
            bytes: 4096,
            reason: "Input/output error".to_owned(),
        };
        IoErrors { count, first: offsets.iter().map(at).collect(), latency: None }
    }

    #[test]
    fn the_first_failures_are_told_with_their_offsets() {
        let one = "1 request failed, read of 4096 B at offset 2048000 (Input/output error)";
        assert_eq!(errors(1, &[2_048_000]).words(), one);
        let text = errors(9, &[4096, 8192]).words();
        assert!(text.starts_with("9 requests failed, the first: read of 4096 B at offset 4096"));
        assert!(text.ends_with(", then at 8192, ..."), "{text}");
    }

    #[test]
    fn no_more_than_the_first_are_kept() {
        let mut all = errors(5, &[1, 2, 3, 4, 5]);
        all.add(&errors(7, &[6, 7, 8, 9, 10, 11, 12]));
        assert_eq!(all.count, 12);
        let offsets: Vec<u64> = all.first.iter().map(|failure| failure.offset).collect();
        assert_eq!(offsets, [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
