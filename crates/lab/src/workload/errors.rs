//! What becomes of a worker whose requests fail, and what is kept of them.

use super::Failure;
use block::IoError;
use std::{fmt, str::FromStr};

/// What a request that failed ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnError {
    /// The whole run.
    Stop,
    /// Its cell; the run goes on.
    #[default]
    Cell,
    /// Nothing: failed requests are counted apart.
    Count,
}

impl OnError {
    /// All of them, as the user writes them.
    pub const NAMES: [&str; 3] = ["stop", "cell", "count"];

    /// So many requests of a cell may fail before it ends.
    pub fn errors_max(self) -> u64 {
        match self {
            Self::Stop | Self::Cell => 0,
            Self::Count => u64::MAX,
        }
    }
}

impl fmt::Display for OnError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for OnError {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Stop, Self::Cell, Self::Count];
        let found = Self::NAMES.iter().position(|name| *name == text);
        found
            .map(|at| all[at])
            .ok_or_else(|| format!("`{text}` is none of {}", Self::NAMES.join(", ")))
    }
}

/// A worker's requests that failed. Never touched where none does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErrorLog {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Vec<Failure>,
    /// More of them end the worker.
    pub errors_max: u64,
}

impl ErrorLog {
    /// For a worker that so many failures do not end.
    pub fn new(errors_max: u64) -> Self {
        Self { count: 0, first: Vec::new(), errors_max }
    }

    /// Takes in a failure; whether it ends the worker. What is gone answers nothing any more.
    #[cold]
    pub fn add(&mut self, failure: Failure) -> bool {
        self.count += 1;
        if self.first.len() < record::IoErrors::FIRST_MAX {
            self.first.push(failure);
        }
        self.count > self.errors_max || failure.error == IoError::Offline
    }

    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        let room = record::IoErrors::FIRST_MAX.saturating_sub(self.first.len());
        self.first.extend(other.first.iter().take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_drive_ends_a_worker_that_counts() {
        let failure = |error| Failure { operation: "read", offset: 0, bytes: 512, error };
        let mut log = ErrorLog::new(u64::MAX);
        assert!(!log.add(failure(IoError::Medium)));
        assert!(log.add(failure(IoError::Offline)));
        assert!(ErrorLog::new(0).add(failure(IoError::Medium)));
        let mut few = ErrorLog::new(2);
        assert_eq!([(); 3].map(|()| few.add(failure(IoError::Medium))), [false, false, true]);
    }

    #[test]
    fn every_name_is_read_as_it_is_written() {
        for name in OnError::NAMES {
            assert_eq!(name.parse::<OnError>().map(|found| found.to_string()).as_deref(), Ok(name));
        }
        assert!("all".parse::<OnError>().is_err());
    }
}
