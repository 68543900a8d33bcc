//! What is under way: requests of clients, and their pieces at the engine.

use super::cut::Piece;
use crate::protocol::{Command, ErrorCode, Request};
use block::{Buf, Instant, IoError};
use rustix::io::Errno;
use std::ops::Range;

/// A request that is being carried out.
#[derive(Debug)]
pub struct Operation {
    /// Number of the connection it came by.
    pub connection: u16,
    pub request: Request,
    /// When it was begun, by the engine's clock.
    pub begun: Instant,
    /// First byte that no piece covers yet.
    pub next: u64,
    /// Pieces at the engine.
    pub pieces: u32,
    /// The first thing that went wrong.
    pub failure: Option<ErrorCode>,
    /// The reply waits for a flush, because an engine cannot force what was done.
    pub flush_before_reply: bool,
    /// Its pieces leave in order, see [`Stream`](super::stream::Stream).
    pub is_streamed: bool,
}

impl Operation {
    /// First byte behind the request.
    pub fn end(&self) -> u64 {
        self.request.offset + u64::from(self.request.bytes)
    }

    /// Whether nothing is left to ask of the engine and nothing is awaited from it.
    pub fn is_over(&self) -> bool {
        self.pieces == 0 && self.next == self.end()
    }

    /// Whether it changes what is stored, or promises that a change lasts.
    pub fn promises(&self) -> bool {
        !matches!(self.request.command, Command::Read(_))
    }

    /// Keeps the first failure.
    pub fn fail(&mut self, error: ErrorCode) {
        self.failure.get_or_insert(error);
    }
}

/// A piece of an operation, at the engine.
#[derive(Debug)]
pub struct Part {
    /// Number of the operation.
    pub operation: u32,
    pub work: Work,
    /// What it changes, in whole blocks; empty for a read.
    pub changes: Range<u64>,
}

/// What the engine does with a piece.
#[derive(Debug)]
pub enum Work {
    /// Fills memory for the client; `order` numbers the pieces of a stream.
    Read { piece: Piece, order: u32 },
    /// Stores whole blocks.
    Write,
    /// Forgets whole blocks.
    Discard,
    /// Reads the block that a client changes in part: by `from`, or by zeroes.
    MergeRead { piece: Piece, from: Option<Buf> },
    /// Stores that block again.
    MergeWrite,
}

impl Work {
    /// Whether the block must not change under it.
    pub fn merges(&self) -> bool {
        matches!(self, Self::MergeRead { .. } | Self::MergeWrite)
    }
}

/// What a client is told of an engine's failure.
pub fn error_code(error: IoError) -> ErrorCode {
    let IoError::Os(number) = error else { return ErrorCode::Io };
    match Errno::from_raw_os_error(number) {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => ErrorCode::NoSpace,
        Errno::NOMEM => ErrorCode::NoMemory,
        Errno::PERM | Errno::ACCESS | Errno::ROFS => ErrorCode::NotPermitted,
        Errno::OPNOTSUPP => ErrorCode::NotSupported,
        _ => ErrorCode::Io,
    }
}
