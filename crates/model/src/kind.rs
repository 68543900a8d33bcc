//! What a request asks for, apart from where and with what memory: layers that cut requests or hold
//! them keep it.

use block::{Command, Durability, Payload};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Write(Durability),
    Flush,
    Discard,
}

impl Kind {
    /// Of a command, with its offset, its length in bytes and its memory.
    pub fn split(command: Command) -> (Self, u64, u64, Payload) {
        match command {
            Command::Read { at, into } => (Self::Read, at.offset, u64::from(at.bytes), into),
            Command::Write { at, from, durability } => {
                (Self::Write(durability), at.offset, u64::from(at.bytes), from)
            }
            Command::Flush => (Self::Flush, 0, 0, Payload::None),
            Command::Discard { offset, len } => (Self::Discard, offset, len, Payload::None),
        }
    }
}
