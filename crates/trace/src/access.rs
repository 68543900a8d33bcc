//! One access: what every format comes down to.

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Op {
    /// Bytes were read.
    Read,
    /// Bytes were written.
    Write,
    /// All that was written was to be made durable; it has no place and no length.
    Flush,
    /// A range was discarded.
    Trim,
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Trim];

    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Trim => "trim",
        }
    }

    /// Whether it moves bytes.
    pub fn is_transfer(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// Longest read or write that is believed: 1 GiB. No block layer sends longer ones.
pub const TRANSFER_BYTES_MAX: u64 = 1 << 30;

/// One access of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Access {
    /// When it was asked for, ns from the format's own zero: the start of the trace, or 1970.
    pub at_ns: u64,
    /// What.
    pub op: Op,
    /// Of which volume: a number of [`crate::Volumes`].
    pub volume: u32,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Length in bytes; 0 for a flush alone.
    pub bytes: u64,
}

impl Access {
    /// The byte behind its last one. A trace has no access whose end needs more than 64 bits.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}
