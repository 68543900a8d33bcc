//! A request of the transmission phase, and everything that is wrong with one before it reaches a
//! drive.

use super::{
    Access, Discarded, Export, REQUEST_BYTES_MAX,
    constants::{REQUEST_MAGIC, command, command_flag},
    words::{u16_at, u32_at, u64_at},
};
use block::Durability;

/// Length of a request without its payload, in bytes.
pub(crate) const HEADER_BYTES: usize = 28;

/// The errors that the protocol knows; the numbers are those of the wire (proto.md, "Error
/// values").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ErrorCode {
    /// EPERM: a change of a read-only export.
    NotPermitted = 1,
    /// EIO: the drive could not, or a flush has failed before.
    Io = 5,
    /// ENOMEM.
    NoMemory = 12,
    /// EINVAL: the request makes no sense.
    Invalid = 22,
    /// ENOSPC: beyond the end, or a thin volume is full.
    NoSpace = 28,
    /// EOVERFLOW: too long to be answered in one piece.
    Overflow = 75,
    /// ENOTSUP: not as fast as was asked for.
    NotSupported = 95,
    /// ESHUTDOWN: the server is ending.
    Shutdown = 108,
}

/// Whether a reply may come in several pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pieces {
    /// In as many as suit the server.
    Many,
    /// In one (`NBD_CMD_FLAG_DF`).
    One,
}

/// What zeroed ranges may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holes {
    /// Unallocated, if they read as zeroes.
    Allowed,
    /// Only written zeroes will do (`NBD_CMD_FLAG_NO_HOLE`).
    Forbidden,
}

/// How much is to be said of what is allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extents {
    /// As many extents as suit the server.
    Many,
    /// The first one (`NBD_CMD_FLAG_REQ_ONE`).
    One,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Send the range.
    Read(Pieces),
    /// Store the payload that follows.
    Write,
    /// Make durable all that was acknowledged.
    Flush,
    /// The range is no longer needed.
    Trim,
    /// The range will be needed soon.
    Cache,
    /// Make the range read as zeroes.
    WriteZeroes(Holes),
    /// Say what is allocated.
    BlockStatus(Extents),
}

/// A request that is in order: within the export, permitted, with flags that fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The client's number for it, echoed in every reply.
    pub cookie: u64,
    /// What is asked for.
    pub command: Command,
    /// First byte, from the start of the export.
    pub offset: u64,
    /// Length in bytes; may be 0.
    pub bytes: u32,
    /// Whether the reply must wait until the change is durable.
    pub durability: Durability,
}

/// A request as it stands on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub flags: u16,
    pub kind: u16,
    pub cookie: u64,
    pub offset: u64,
    pub bytes: u32,
}

impl Header {
    /// Nothing if the magic number is missing: then the stream is out of step for good.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        (u32_at(bytes, 0) == REQUEST_MAGIC).then(|| Self {
            flags: u16_at(bytes, 4),
            kind: u16_at(bytes, 6),
            cookie: u64_at(bytes, 8),
            offset: u64_at(bytes, 16),
            bytes: u32_at(bytes, 24),
        })
    }

    /// The request, or what to refuse it with.
    pub fn check(&self, export: &Export, agreed: &Agreed) -> Result<Request, ErrorCode> {
        let command = self.command(export, agreed)?;
        let changes = matches!(command, Command::Write | Command::Trim | Command::WriteZeroes(_));
        if changes && export.access == Access::ReadOnly {
            return Err(ErrorCode::NotPermitted);
        }
        let end = self.offset.checked_add(u64::from(self.bytes));
        if end.is_none_or(|end| end > export.size_bytes) {
            let grows = matches!(command, Command::Write | Command::WriteZeroes(_));
            return Err(if grows { ErrorCode::NoSpace } else { ErrorCode::Invalid });
        }
        let carries = matches!(command, Command::Read(_) | Command::Write);
        if carries && self.bytes > REQUEST_BYTES_MAX {
            return Err(ErrorCode::Invalid);
        }
        let forced = self.flags & command_flag::FUA != 0;
        Ok(Request {
            cookie: self.cookie,
            command,
            offset: self.offset,
            bytes: self.bytes,
            durability: if forced { Durability::Fua } else { Durability::Cached },
        })
    }

    /// The command, if its flags fit it. FUA fits all (proto.md, "Command flags").
    fn command(&self, export: &Export, agreed: &Agreed) -> Result<Command, ErrorCode> {
        let has = |flag| self.flags & flag != 0;
        let (command, allowed) = match self.kind {
            command::READ => {
                let pieces = if has(command_flag::DF) { Pieces::One } else { Pieces::Many };
                (Command::Read(pieces), if agreed.structured { command_flag::DF } else { 0 })
            }
            command::WRITE => (Command::Write, 0),
            command::FLUSH if self.offset == 0 && self.bytes == 0 => (Command::Flush, 0),
            command::TRIM => (Command::Trim, 0),
            command::CACHE => (Command::Cache, 0),
            command::WRITE_ZEROES => {
                let holes =
                    if has(command_flag::NO_HOLE) { Holes::Forbidden } else { Holes::Allowed };
                let slow = holes == Holes::Forbidden || export.discarded == Discarded::Unknown;
                if has(command_flag::FAST_ZERO) && slow {
                    return Err(ErrorCode::NotSupported);
                }
                (Command::WriteZeroes(holes), command_flag::NO_HOLE | command_flag::FAST_ZERO)
            }
            command::BLOCK_STATUS if agreed.allocation && self.bytes > 0 => {
                let extents = if has(command_flag::REQ_ONE) { Extents::One } else { Extents::Many };
                (Command::BlockStatus(extents), command_flag::REQ_ONE)
            }
            _ => return Err(ErrorCode::Invalid),
        };
        let unfit = self.flags & !(allowed | command_flag::FUA);
        if unfit == 0 { Ok(command) } else { Err(ErrorCode::Invalid) }
    }
}

/// What client and server agreed on during the handshake.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Agreed {
    /// Structured replies.
    pub structured: bool,
    /// The metadata context `base:allocation`.
    pub allocation: bool,
    /// No padding behind the answer to `NBD_OPT_EXPORT_NAME`.
    pub no_zeroes: bool,
}
