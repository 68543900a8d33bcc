//! What a controller's cache is set to.

use crate::array::{ArrayParams, Level};

/// What of an array without parity is gathered, bytes: any part of it is written without reading.
const PLAIN_ROW_BYTES: u64 = 1 << 20;

/// A write-back cache with a battery. All numbers are assumed: there is nothing to fit them on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatteryCacheParams {
    /// The memory, bytes.
    pub size_bytes: u64,
    /// What the array below writes without reading.
    pub row: GatheredRow,
    /// What a request that the memory answers takes of the controller, ns: one after the other.
    pub command_ns: u64,
    /// The same for its bytes, bytes per second.
    pub bytes_per_s: u64,
    /// Share of the memory that may be dirty before it is destaged as fast as it goes,
    /// thousandths.
    pub eager_per_mille: u32,
    /// For so long a row waits for more of itself below that share, ns.
    pub age_ns: u64,
    /// Runs of rows that are destaged at a time above that share; below it is one.
    pub rows_max: u32,
}

/// A row of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatheredRow {
    /// Bytes in a row on one member.
    pub chunk_bytes: u64,
    /// Chunks of data in a row.
    pub data: u64,
    /// Chunks of parity in a row; without parity nothing is read before a write.
    pub parities: u64,
}

impl GatheredRow {
    /// Of an array with so many members.
    pub fn of(array: &ArrayParams, members: u64) -> Self {
        let parities = match array.level {
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            Level::Raid0 | Level::Raid1 | Level::Raid10 => {
                return Self { chunk_bytes: PLAIN_ROW_BYTES, data: 1, parities: 0 };
            }
        };
        Self { chunk_bytes: array.chunk_bytes.into(), data: members - parities, parities }
    }

    /// Bytes of data in a row.
    pub fn bytes(&self) -> u64 {
        self.chunk_bytes * self.data
    }

    /// Commands that the array makes of writing bytes `from..to` of a row and of what it reads
    /// before that.
    pub(super) fn commands(&self, from: u64, to: u64) -> u64 {
        let covered = (to - 1) / self.chunk_bytes - from / self.chunk_bytes + 1;
        if self.parities == 0 {
            return covered;
        }
        let reads = (covered + self.parities).min(self.data - covered);
        reads + covered + self.parities
    }
}
