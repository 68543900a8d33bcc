//! What clients asked for, counted when it is answered.

use crate::protocol::{Command, Request};

/// What a server has answered since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Clients that found a place.
    pub clients: u64,
    /// Reads answered, those that failed included.
    pub reads: u64,
    /// Bytes they asked for.
    pub read_bytes: u64,
    /// Writes and zeroings answered.
    pub writes: u64,
    /// Bytes they changed.
    pub written_bytes: u64,
    /// Flushes answered.
    pub flushes: u64,
    /// Trims answered.
    pub trims: u64,
    /// Requests among all these that failed.
    pub failures: u64,
}

impl Traffic {
    /// Counts an answer.
    pub(super) fn count(&mut self, request: &Request, failed: bool) {
        let bytes = u64::from(request.bytes);
        match request.command {
            Command::Read(_) => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            Command::Write | Command::WriteZeroes(_) => {
                self.writes += 1;
                self.written_bytes += bytes;
            }
            Command::Flush => self.flushes += 1,
            Command::Trim => self.trims += 1,
            Command::Cache | Command::BlockStatus(_) => {}
        }
        self.failures += u64::from(failed);
    }
}
