//! The memory that a volume needs, before there is one.

use super::{
    opening::{ENTRY_MEMORY_BYTES, READ_AHEAD_BYTES},
    reads::PIECES_BYTES_MAX,
    settings::Settings,
};
use crate::{layout::Layout, map::PAGE_MEMORY_BYTES, segments::SEGMENT_MEMORY_BYTES, shape::Shape};

/// A root that is written: its parts, their bytes one after the other, and those in blocks.
const ROOT_COPIES: u64 = 4;

/// Memory that a volume needs at most, all of it mapped, B. Whoever uses it needs some besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dram {
    /// Where every block is.
    pub map_bytes: u64,
    /// How the segments stand, and a root that is read or written.
    pub segment_bytes: u64,
    /// Chunks that fill, chunks on their way, and what the cleaner has read.
    pub chunk_bytes: u64,
    /// Reads whose blocks lie apart.
    pub read_bytes: u64,
    /// What recovery finds behind the checkpoint, and what it has under way. Given back before the
    /// volume is used: chunks, reads and clients take its place.
    pub recovery_bytes: u64,
}

impl Dram {
    /// All of it, B, where whoever uses the volume takes so many bytes once it is open.
    pub fn total_bytes(&self, user_bytes: u64) -> u64 {
        let used = self.buffer_bytes() + user_bytes;
        self.map_bytes + self.segment_bytes + used.max(self.recovery_bytes)
    }

    /// What is recycled while the volume is used, B.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.chunk_bytes + self.read_bytes
    }
}

/// The memory that a volume of this shape needs with these settings.
pub fn dram(layout: &Layout, settings: &Settings) -> Dram {
    let Shape { chunk_bytes, classes, ring_bytes, .. } = layout.shape;
    // What is read of a victim's chunk comes in pieces, each of which may take twice its length.
    let chunks = u64::from(settings.chunks + classes.streams() + 2 * settings.victim_chunks());
    // All of W and of the pages that checkpoints wrote meanwhile.
    let behind = u64::from(layout.scan_bound()) * u64::from(layout.segment_blocks);
    Dram {
        map_bytes: u64::from(layout.pages) * PAGE_MEMORY_BYTES,
        segment_bytes: u64::from(layout.segments) * SEGMENT_MEMORY_BYTES
            + ROOT_COPIES * layout.root_bytes_max(),
        // Buffers come in powers of two.
        chunk_bytes: chunks * chunk_bytes.next_power_of_two(),
        read_bytes: PIECES_BYTES_MAX,
        // Of what the ring holds there are two copies for a moment.
        recovery_bytes: behind * ENTRY_MEMORY_BYTES + READ_AHEAD_BYTES + 2 * ring_bytes,
    }
}
