//! Replies of the transmission phase. All are heads: the data of a read follow its head on the wire
//! and are none of this room's business.

use super::{
    ErrorCode,
    constants::{SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, state},
};
use block::Allocation;

/// The longest head, in bytes, but for one that says what is allocated: that has 8 for every
/// extent.
pub const HEAD_BYTES_MAX: usize = 34;

/// The number under which `base:allocation` was selected; any would do.
pub(super) const ALLOCATION_CONTEXT: u32 = 1;

/// Whether more of the same reply follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunk {
    /// More follows.
    Inner,
    /// The client may forget the request.
    Last,
}

impl Chunk {
    fn flags(self) -> u16 {
        match self {
            Self::Inner => 0,
            Self::Last => chunk::FLAG_DONE,
        }
    }
}

/// How a client wants to be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyStyle {
    /// One head a request; the data of a read follow as a whole or not at all.
    Simple,
    /// Chunks in any order, and errors that say where.
    Structured,
}

impl ReplyStyle {
    /// The request was carried out, and there is nothing to send. Sixteen bytes in either style,
    /// but for a read that was promised chunks, see [`end`](Self::end).
    pub fn done(self, cookie: u64, out: &mut Vec<u8>) {
        simple(cookie, 0, out);
    }

    /// The request as a whole failed.
    pub fn failed(self, cookie: u64, error: ErrorCode, out: &mut Vec<u8>) {
        match self {
            Self::Simple => simple(cookie, error as u32, out),
            Self::Structured => {
                head(cookie, chunk::ERROR, Chunk::Last, 6, out);
                out.extend((error as u32).to_be_bytes());
                out.extend([0, 0]);
            }
        }
    }

    /// `bytes` of data follow, the export's from `offset` on. In simple style they are the whole
    /// answer.
    pub fn data(self, cookie: u64, offset: u64, bytes: u32, last: Chunk, out: &mut Vec<u8>) {
        match self {
            Self::Simple => simple(cookie, 0, out),
            Self::Structured => {
                head(cookie, chunk::OFFSET_DATA, last, bytes + 8, out);
                out.extend(offset.to_be_bytes());
            }
        }
    }

    /// A read failed at `offset`; what other chunks brought is good. In simple style the read as a
    /// whole failed.
    pub fn failed_at(
        self,
        cookie: u64,
        offset: u64,
        error: ErrorCode,
        last: Chunk,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Simple => simple(cookie, error as u32, out),
            Self::Structured => {
                head(cookie, chunk::ERROR_OFFSET, last, 14, out);
                out.extend((error as u32).to_be_bytes());
                out.extend([0, 0]);
                out.extend(offset.to_be_bytes());
            }
        }
    }

    /// A read's last word, with nothing more to say. In simple style nothing is said.
    pub fn end(self, cookie: u64, out: &mut Vec<u8>) {
        if self == Self::Structured {
            head(cookie, chunk::NONE, Chunk::Last, 0, out);
        }
    }

    /// What the range holds, extent by extent from its beginning on; they need not reach its end.
    ///
    /// # Panics
    /// Without an extent.
    pub fn allocated(self, cookie: u64, extents: &[(Allocation, u32)], out: &mut Vec<u8>) {
        assert!(!extents.is_empty(), "an answer that says nothing");
        head(cookie, chunk::BLOCK_STATUS, Chunk::Last, 4 + 8 * extents.len() as u32, out);
        out.extend(ALLOCATION_CONTEXT.to_be_bytes());
        for (allocation, bytes) in extents {
            let state = match allocation {
                Allocation::Data => 0,
                Allocation::Hole => state::HOLE | state::ZERO,
            };
            out.extend(bytes.to_be_bytes());
            out.extend(state.to_be_bytes());
        }
    }
}

fn simple(cookie: u64, error: u32, out: &mut Vec<u8>) {
    out.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend(error.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

fn head(cookie: u64, kind: u16, last: Chunk, bytes: u32, out: &mut Vec<u8>) {
    out.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out.extend(last.flags().to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(bytes.to_be_bytes());
}
