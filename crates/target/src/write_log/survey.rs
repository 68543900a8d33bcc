//! A log once through: whether it is sound, and what is in it.

use super::{Entry, Head, Operation, Reader, WriteLogError};
use std::{collections::BTreeSet, io::Read};

/// What is in a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// Its head.
    pub head: Head,
    /// Writes, discards and flushes; the first is operation 1.
    pub operations: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Bytes of its writes.
    pub written_bytes: u64,
    /// In the order in which they were heard, each once.
    pub promises: Vec<Promise>,
    /// The command line that had it recorded.
    pub command: Vec<String>,
}

/// Something that was promised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// It holds behind this operation: all that stood in the log when it was heard.
    pub after: u64,
    /// What.
    pub id: String,
}

impl Survey {
    /// How many promises a power cut behind so many operations must leave.
    pub fn due(&self, operations: u64) -> usize {
        self.promises.partition_point(|promise| promise.after <= operations)
    }

    /// The operation behind which the first promise holds.
    pub fn first_promise(&self) -> Option<u64> {
        self.promises.first().map(|promise| promise.after)
    }
}

/// Reads a log to its end.
///
/// # Errors
/// It is damaged, or has no end.
pub fn survey(from: impl Read) -> Result<Survey, WriteLogError> {
    let mut reader = Reader::new(from)?;
    let head = reader.head();
    let (mut flushes, mut written_bytes) = (0, 0_u64);
    // Where each operation ends in the log.
    let mut ends = Vec::new();
    let (mut promises, mut command): (Vec<Promise>, _) = (Vec::new(), Vec::new());
    let mut heard = BTreeSet::new();
    loop {
        match reader.entry()? {
            None => break,
            Some(Entry::Operation(operation)) => {
                ends.push(reader.bytes());
                match operation {
                    Operation::Flush => flushes += 1,
                    Operation::Write { bytes, .. } => written_bytes += bytes,
                    Operation::Discard { .. } => {}
                }
            }
            Some(Entry::Promise { log_bytes, id }) => {
                if !heard.insert(id.clone()) {
                    continue;
                }
                // One that was half in the file counts: it may be what the promise stands on.
                let whole = ends.partition_point(|end| *end < log_bytes) as u64 + 1;
                let after = whole.min(ends.len() as u64);
                let before = promises.last().map_or(0, |promise: &Promise| promise.after);
                promises.push(Promise { after: after.max(before), id });
            }
            Some(Entry::Command(words)) => command = words,
        }
    }
    let operations = ends.len() as u64;
    Ok(Survey { head, operations, flushes, written_bytes, promises, command })
}
