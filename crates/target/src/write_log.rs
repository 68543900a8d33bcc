//! A log of writes: what a target's clients changed on it, in an order in which its drives may have
//! done so, with every flush, and the promises that a program made of it.
//!
//! ```text
//!   Recorded<E>: an engine's requests and answers -> Writer -> FILE         record, writer
//!   finish: promises, the command line, the end   -> FILE                   writer
//!   FILE -> Reader: an entry after the other, checked -> survey             reader, survey
//! ```
//!
//! A write stands where it was answered, a flush where it was sent: every write that stands before
//! a flush was answered before the flush was sent, and so the flush covers it. (Linux's
//! dm-log-writes keeps the same order.) docs/reference/write-log-format.md has the bytes.

mod reader;
mod record;
mod survey;
mod writer;

pub use reader::Reader;
pub use record::{Recorded, RecordingEnd};
pub use survey::{Promise, Survey, survey};
pub use writer::{Writer, finish};

use std::io;

/// What a log begins with.
const MAGIC: [u8; 8] = *b"dlwrites";
/// The version that is written and read.
const VERSION: u32 = 1;
/// Bytes of the head, and of what each entry begins with.
const HEAD_BYTES: usize = 32;
/// The longest write, bytes: no drive of the catalog takes a longer one.
const WRITE_BYTES_MAX: u64 = 64 << 20;
/// The longest name of a promise, and the longest command line, bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// What an entry is, as its byte says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
enum Kind {
    Write = 1,
    Zeroes = 2,
    Discard = 3,
    Flush = 4,
    Promise = 5,
    Command = 6,
    End = 7,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Write,
        Self::Zeroes,
        Self::Discard,
        Self::Flush,
        Self::Promise,
        Self::Command,
        Self::End,
    ];

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Whether it is a change of the target or a flush.
    fn is_operation(self) -> bool {
        self <= Self::Flush
    }

    /// Whether bytes follow its head.
    fn has_payload(self) -> bool {
        matches!(self, Self::Write | Self::Promise | Self::Command)
    }
}

/// The head of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Size of the target, bytes.
    pub device_bytes: u64,
    /// Offsets and lengths are multiples of this.
    pub block_bytes: u32,
}

/// An entry of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A change of the target, or a flush.
    Operation(Operation),
    /// A program has promised something.
    Promise {
        /// The log had so many bytes when it was heard.
        log_bytes: u64,
        /// What.
        id: String,
    },
    /// The command line that had it recorded.
    Command(Vec<String>),
}

/// What clients asked for. The bytes of a write are the reader's [`payload`](Reader::payload).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A write.
    Write {
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
        /// Whether it was to be durable when it is answered.
        is_fua: bool,
    },
    /// A discard: it reads as zeroes then.
    Discard {
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// A flush.
    Flush,
}

/// Why a log is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum WriteLogError {
    /// The system's.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("it is no log of writes")]
    NoLog,
    /// Of a drivelab that writes otherwise.
    #[error("its format is of version {0}, and this drivelab reads version {VERSION}: record anew")]
    Version(u32),
    /// A checksum is wrong, or a number cannot be.
    #[error("it is damaged at byte {at} ({what}): record anew")]
    Damaged {
        /// Where.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It stops before its end.
    #[error("it has no end, since its recording did not come to one: record anew")]
    NoEnd,
}

#[cfg(test)]
mod tests;
