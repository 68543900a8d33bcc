//! What is wrong with a job file, and where.

/// A line of a job file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

impl Place {
    /// A complaint about what stands here.
    pub(crate) fn wrong(&self, reason: impl Into<String>) -> JobError {
        JobError { place: self.clone(), reason: reason.into() }
    }
}

/// A job file that cannot be run: one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}, line {}: {reason}", place.file, place.line)]
pub struct JobError {
    /// Where.
    pub place: Place,
    /// What is wrong, and the cure.
    pub reason: String,
}
