//! What moves: one operation on one drive, down as a [`Request`] and back as a [`Completion`].

use crate::Buf;

/// Nanoseconds since the engine started, on that engine's own clock, wall or virtual.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// Later than everything: wait for a completion, however long it takes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Nanoseconds from `earlier` to `self`, 0 if `earlier` is the later one.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `ns` nanoseconds later; [`Instant::NEVER`] stays never.
    pub fn after(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }
}

/// Chosen by the submitter, echoed in the completion, read by nobody in between. Below 2^48: the
/// bits above are for marks of layers that pass a request on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tag(pub u64);

impl Tag {
    /// For who has one request of its own under way beside those of its clients.
    pub const OWN: Self = Self((1 << 48) - 1);
}

/// Who asks: a worker of the workload, a connection of a server. Models charge a thread's own cost
/// by it, servers meter by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Actor(pub u16);

/// Which of the engine's drives. They share one clock and one completion queue, so that RAID needs
/// no second event loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Drive(pub u16);

/// A range of a drive, independent of the memory that carries its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First byte, from the start of the drive.
    pub offset: u64,
    /// Length in bytes, never 0.
    pub bytes: u32,
}

/// What a transfer carries: nothing when only time matters, a stamp for crash oracles, or bytes.
#[derive(Clone, Debug)]
pub enum Payload {
    /// A timing-only transfer.
    None,
    /// One word that stands for the contents.
    Stamp(u64),
    /// Memory of at least the extent's length.
    Bytes(Buf),
}

/// Whether a write may be acknowledged out of a volatile cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Acknowledged when the drive has it, volatile cache included.
    Cached,
    /// Acknowledged when it survives a power cut (force unit access, `O_DSYNC`).
    Fua,
}

/// One operation on one drive. Transfers are all-or-nothing: engines finish short I/O themselves.
#[derive(Clone, Debug)]
pub enum Command {
    /// Fill `into` from the drive.
    Read {
        /// Where.
        at: Extent,
        /// The memory to fill.
        into: Payload,
    },
    /// Store `from` on the drive.
    Write {
        /// Where.
        at: Extent,
        /// The bytes to store.
        from: Payload,
        /// When the write counts as done.
        durability: Durability,
    },
    /// Make durable every write that completed before this was submitted.
    Flush,
    /// The range's contents are no longer needed (TRIM, hole punch).
    Discard {
        /// First byte.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
}

impl Command {
    /// Bytes that it reads or writes; 0 where it moves none.
    #[inline]
    pub fn transfer_bytes(&self) -> u32 {
        match self {
            Self::Read { at, .. } | Self::Write { at, .. } => at.bytes,
            Self::Flush | Self::Discard { .. } => 0,
        }
    }

    /// The memory the command carries, for its way back.
    pub fn into_payload(self) -> Payload {
        match self {
            Self::Read { into: payload, .. } | Self::Write { from: payload, .. } => payload,
            Self::Flush | Self::Discard { .. } => Payload::None,
        }
    }
}

/// A [`Command`] with its sender's name and tag on it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Echoed in the completion.
    pub tag: Tag,
    /// Who asks.
    pub actor: Actor,
    /// Of which drive.
    pub drive: Drive,
    /// For what.
    pub command: Command,
}

/// The answer to one [`Request`].
///
/// Requests outstanding together may complete, and take effect, in any order. Only
/// [`Command::Flush`] orders: it covers every write that *completed* before it was submitted.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The request's tag.
    pub tag: Tag,
    /// When the drive first could have seen the request: one clock read a batch, not an operation.
    pub issued: Instant,
    /// When the answer was seen.
    pub finished: Instant,
    /// All of the transfer, or why not.
    pub result: Result<(), IoError>,
    /// The request's memory, handed back.
    pub payload: Payload,
}

/// Why an operation failed. `Copy`, because it travels on the data path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoError {
    /// The drive holds no readable data here (latent sector error, failed checksum).
    Medium,
    /// Power was cut, or the drive fell off the bus. Nothing completes after this.
    Offline,
    /// The transfer ended early: the end of the file or device was reached.
    Short,
    /// What was read is not what was written there.
    Altered,
    /// The operating system's error number (errno).
    Os(i32),
}
