//! What a server may use, and how its work can end badly.

use super::pool::SPARES;
use crate::protocol::{ErrorCode, REQUEST_BYTES_MAX};
use std::time::Duration;
use thiserror::Error;

/// Most connections of one server.
pub const CONNECTIONS_MAX: usize = 64;

/// What a server may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Connections at a time, 1 to [`CONNECTIONS_MAX`]. Who comes when all have shaken hands is
    /// told so and disconnected: a client that is silent for hours may be a mounted file system, so
    /// none is disconnected for another.
    pub connections_max: usize,
    /// Requests of one connection that are under way at a time.
    pub requests_max: u32,
    /// Buffers that connections share; a single connection gets half of them.
    pub buffers: usize,
    /// Their size in bytes: longer requests are cut. At least a block of the engine is taken.
    pub buffer_bytes: u32,
    /// A client that has not finished its handshake by then is disconnected; the oldest of them
    /// sooner, when another comes and all places are taken.
    pub handshake_limit: Duration,
    /// A client that sends nothing for so long in the middle of a write for which it was lent
    /// memory is disconnected when others need that memory.
    pub stall_limit: Duration,
    /// How long the end waits for clients that send half a request or do not read.
    pub shutdown_limit: Duration,
}

impl Options {
    /// Memory for requests and replies, B: all buffers in use, and a write of the longest that is
    /// lent more.
    pub fn memory_bytes(&self) -> u64 {
        let buffers = self.connections_max + self.buffers + SPARES;
        // It may split a block at both ends.
        buffers as u64 * u64::from(self.buffer_bytes)
            + u64::from(REQUEST_BYTES_MAX)
            + 2 * u64::from(self.buffer_bytes)
    }
}

impl Default for Options {
    /// 128 requests of 128 KiB under way on one connection: 42 MiB of buffers, and 32 MiB while a
    /// client sends a write that is too long for its share of them.
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            requests_max: 128,
            buffers: 256,
            buffer_bytes: 128 << 10,
            handshake_limit: Duration::from_secs(5),
            stall_limit: Duration::from_secs(5),
            shutdown_limit: Duration::from_secs(5),
        }
    }
}

/// How serving went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ServeError {
    /// A flush or a forced write failed.
    #[error(
        "a flush or a forced write failed ({0:?}): writes since the last good flush may be lost, so \
         everything after it was refused; {cure}, then start the server anew", cure = cure(*.0)
    )]
    NotDurable(ErrorCode),
    /// The system gave no more events.
    #[error("poll: {0}")]
    Poll(rustix::io::Errno),
}

/// What is to be done about a change that could not be made durable.
fn cure(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::NoSpace => "make room on the file system below",
        _ => "check the drive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file system below a volume was full, and who served it was told to check the drive.
    #[test]
    fn whoever_has_no_space_below_is_told_to_make_room() {
        for (error, wanted) in [
            (ErrorCode::NoSpace, "(NoSpace): "),
            (
                ErrorCode::NoSpace,
                "; make room on the file system below, then start the server anew",
            ),
            (ErrorCode::Io, "; check the drive, then start the server anew"),
        ] {
            let said = ServeError::NotDurable(error).to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
