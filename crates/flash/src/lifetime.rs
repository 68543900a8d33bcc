//! What a volume has done since it was created, kept in the root of every checkpoint.

use crate::shape::BLOCK_BYTES;

/// Counts over the volume's whole life, across openings. A block is 4,096 B.
///
/// Chunks are counted when they get their number, so the root's counts are those of exactly the
/// chunks that its map holds; what recovery rolls forward it counts anew. Only `checksum_errors`
/// and records of the ring since the last checkpoint are forgotten by a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lifetime {
    /// Blocks that the host wrote, zeroes not counted.
    pub host_blocks: u64,
    /// Blocks that the cleaner copied.
    pub copied_blocks: u64,
    /// Pages of the map written.
    pub page_blocks: u64,
    /// Headers of chunks.
    pub header_blocks: u64,
    /// Padding.
    pub padding_blocks: u64,
    /// Everything written to the drive: chunks, roots, superblocks.
    pub drive_blocks: u64,
    /// Blocks whose data did not fit their checksum, each time they were met.
    pub checksum_errors: u64,
    /// Openings that found the volume not stopped cleanly.
    pub unclean_openings: u64,
}

/// Words kept for it in the root; those behind the last are 0.
pub(crate) const LIFETIME_WORDS: usize = 16;

impl Lifetime {
    /// Blocks written to the drive for each block of the host's; none before the host wrote.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_blocks > 0).then(|| self.drive_blocks as f64 / self.host_blocks as f64)
    }

    /// How often the whole drive was written, counted in its own bytes: what its endurance is rated
    /// in.
    pub fn drive_writes(&self, device_bytes: u64) -> f64 {
        self.drive_blocks as f64 * BLOCK_BYTES as f64 / device_bytes as f64
    }

    pub(crate) fn words(&self) -> [u64; LIFETIME_WORDS] {
        let mut words = [0; LIFETIME_WORDS];
        let known = [
            self.host_blocks,
            self.copied_blocks,
            self.page_blocks,
            self.header_blocks,
            self.padding_blocks,
            self.drive_blocks,
            self.checksum_errors,
            self.unclean_openings,
        ];
        words[..known.len()].copy_from_slice(&known);
        words
    }

    pub(crate) fn from_words(words: &[u64; LIFETIME_WORDS]) -> Self {
        Self {
            host_blocks: words[0],
            copied_blocks: words[1],
            page_blocks: words[2],
            header_blocks: words[3],
            padding_blocks: words[4],
            drive_blocks: words[5],
            checksum_errors: words[6],
            unclean_openings: words[7],
        }
    }
}
