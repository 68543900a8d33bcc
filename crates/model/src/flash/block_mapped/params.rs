//! What a block-mapped flash drive is made of.

use crate::WriteCaching;

/// A flash drive that maps whole units (groups of erase blocks, about 1 MiB) and has no command
/// queue: Mtron PRO and MOBI, Memoright.
///
/// A fit drives [`command_ns`](Self::command_ns) and [`read_bytes_per_s`](Self::read_bytes_per_s)
/// on the read column, [`merge_ns`](Self::merge_ns) and [`copy_ns_per_kib`](Self::copy_ns_per_kib)
/// on the write column; [`write_bytes_per_s`](Self::write_bytes_per_s) is the sequential write
/// rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockMappedParams {
    /// What the host can address, bytes; a multiple of 512.
    pub capacity_bytes: u64,
    /// What every command costs before its first byte, ns.
    pub command_ns: u64,
    /// Rate of a transfer after that, bytes per second, in either direction.
    pub read_bytes_per_s: u64,
    /// Least that a read fetches, bytes: a shorter one takes as long. 512 or less has no effect.
    pub granule_bytes: u32,
    /// Rate of reads that go on where the last one ended, if the drive reads ahead: they cost bytes
    /// and no command, bytes per second.
    pub stream_read_bytes_per_s: Option<u64>,
    /// Mapped unit, bytes: what one merge rewrites and one erase count counts.
    pub unit_bytes: u64,
    /// What a write that does not continue the last one costs: gather the unit's valid pages,
    /// program them with the new ones into an erased unit, erase the old one, ns.
    pub merge_ns: u64,
    /// How many of a run's first bytes the merge takes in for nothing. Also the size of a line of
    /// the write buffer, bytes.
    pub merge_free_bytes: u64,
    /// Rate at which a run's further bytes are programmed: the sequential write rate, bytes per
    /// second.
    pub write_bytes_per_s: u64,
    /// From this length on a run is seen to be one, and its bytes are no longer copied first,
    /// bytes.
    pub saved_from_bytes: u64,
    /// The copy that every byte beyond saves, up to the end of a unit, ns per KiB.
    pub copy_ns_per_kib: u64,
    /// Lines of the write buffer. A write is acknowledged when received; with all lines in use it
    /// waits. A drive by itself shows nothing of it; an array's members run dry with few (EasyCo's
    /// array of four would write 8 % less with 8 lines than it did, 1 % less with 64).
    pub buffer_lines: u32,
    /// Whether writes are acknowledged out of that buffer.
    pub write_caching: WriteCaching,
}

impl BlockMappedParams {
    /// # Panics
    /// Where a number cannot be built or contradicts another.
    pub(super) fn check(&self) {
        assert!(self.capacity_bytes.is_multiple_of(512), "capacity splits a sector");
        assert!(self.command_ns > 0, "a command that costs nothing");
        assert!(self.read_bytes_per_s > 0 && self.write_bytes_per_s > 0, "a rate of 0 B/s");
        assert!(self.stream_read_bytes_per_s != Some(0), "a rate of 0 B/s");
        assert!(
            self.unit_bytes.is_multiple_of(512) && self.unit_bytes > 0,
            "a unit splits a sector"
        );
        assert!(self.capacity_bytes >= self.unit_bytes, "a drive smaller than a unit");
        assert!(
            self.merge_free_bytes > 0 && self.merge_free_bytes.is_multiple_of(512),
            "a buffer line splits a sector"
        );
        assert!(
            self.merge_free_bytes <= self.saved_from_bytes
                && self.saved_from_bytes <= self.unit_bytes,
            "a run is merged, then programmed, then seen to be one, within a unit"
        );
        assert!(
            self.copy_ns_per_kib <= self.program_ns_per_kib(),
            "a copy of {} ns/KiB that takes longer than the write that saves it",
            self.copy_ns_per_kib
        );
        let saved = self.copy_ns_per_kib * (self.unit_bytes - self.saved_from_bytes) / 1024;
        assert!(saved <= self.merge_ns, "a run saves more copying than a merge holds");
        assert!(self.buffer_lines > 0, "a write needs a buffer line on its way");
    }

    fn program_ns_per_kib(&self) -> u64 {
        crate::nanoseconds_for(1024, self.write_bytes_per_s)
    }
}
