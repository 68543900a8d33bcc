//! What is served, as a client sees it.

use super::constants::transmission;
pub use block::Discarded;
use block::Geometry;

/// The largest read or write, in bytes: 32 MiB, which a client may take for granted when it is told
/// nothing else (proto.md, "Block size constraints").
pub const REQUEST_BYTES_MAX: u32 = 32 << 20;

/// Longest export name in bytes (proto.md, "Conventions").
pub const NAME_BYTES_MAX: usize = 4096;

/// Whether clients may change what is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Every change is answered with EPERM.
    ReadOnly,
    /// All requests are served.
    ReadWrite,
}

/// Whether a write is durable once it is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flushing {
    /// Only when a flush, or FUA, was answered.
    Needed,
    /// At once. Clients are told of no flush then, as a disk without a write cache tells of none:
    /// Linux sends such a disk none, and is faster for it.
    Unneeded,
}

/// One thing to serve: a range of bytes with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// What clients call it. The empty name always means it too.
    pub name: String,
    /// A line for people.
    pub description: String,
    /// Size in bytes, no multiple of anything.
    pub size_bytes: u64,
    /// The request size that is served best, in bytes: a power of two from 512 to 32 MiB.
    pub block_bytes_preferred: u32,
    /// Whether it may be changed.
    pub access: Access,
    /// What its discarded ranges read as.
    pub discarded: Discarded,
    /// Whether clients have to flush.
    pub flushing: Flushing,
}

impl Export {
    /// All of an engine that an engine's own blocks reach, nameless and writable. What lies behind
    /// the last whole block cannot be asked for and is not exported.
    ///
    /// # Panics
    /// If the engine's block size is not a power of two up to 32 MiB.
    pub fn of(geometry: &Geometry) -> Self {
        let block_bytes = geometry.block_bytes;
        assert!(block_bytes.is_power_of_two(), "a block of {block_bytes} bytes");
        assert!(block_bytes <= REQUEST_BYTES_MAX, "a block of {block_bytes} bytes");
        Self {
            name: String::new(),
            description: String::new(),
            size_bytes: geometry.capacity_bytes - geometry.capacity_bytes % u64::from(block_bytes),
            block_bytes_preferred: block_bytes.max(4096),
            access: Access::ReadWrite,
            discarded: Discarded::Unknown,
            flushing: Flushing::Needed,
        }
    }

    /// Whether a client that asks for `name` means this.
    pub(super) fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// The transmission flags. DF stands for structured replies, which not every client wants.
    pub(super) fn flags(&self, structured: bool) -> u16 {
        let mut flags =
            transmission::HAS_FLAGS | transmission::SEND_CACHE | transmission::CAN_MULTI_CONN;
        if self.flushing == Flushing::Needed {
            flags |= transmission::SEND_FLUSH | transmission::SEND_FUA;
        }
        flags |= match self.access {
            Access::ReadOnly => transmission::READ_ONLY,
            Access::ReadWrite => {
                transmission::SEND_TRIM
                    | transmission::SEND_WRITE_ZEROES
                    | transmission::SEND_FAST_ZERO
            }
        };
        if structured { flags | transmission::SEND_DF } else { flags }
    }
}
