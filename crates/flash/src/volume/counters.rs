//! What a volume has done since it was opened: each part of it fills in what it counts itself.

/// What a volume has done since it was opened, and how it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Blocks that the host wrote, zeroes not counted.
    pub host_blocks: u64,
    /// Blocks that the cleaner copied.
    pub copied_blocks: u64,
    /// Pages of the map written.
    pub page_blocks: u64,
    /// Headers of chunks, in blocks.
    pub header_blocks: u64,
    /// Padding, in blocks.
    pub padding_blocks: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Segments that the cleaner emptied.
    pub cleaned: u64,
    /// Chunks written elsewhere after a failure.
    pub relocated: u64,
    /// Blocks whose data did not fit their checksum, each time they were met.
    pub checksum_errors: u64,
    /// Writes found nothing left to wait for: too many segments are bad.
    pub stuck: u64,
    /// Records written to the ring.
    pub records: u64,
    /// Their blocks.
    pub record_blocks: u64,
    /// Records whose entries are in durable chunks.
    pub absorbed: u64,
    /// Flushes of the drive for those who waited for them; checkpoints have their own.
    pub flushes: u64,
    /// Superblocks that were written to say what the last flush covered; checkpoints have their
    /// own.
    pub attests: u64,
    /// Blocks of zeroes that were not written.
    pub zero_blocks: u64,
    /// Blocks mapped now.
    pub mapped_blocks: u64,
    /// Segments free now.
    pub free_segments: u64,
    /// Segments that the next checkpoint may set free.
    pub prefree_segments: u64,
    /// Bytes that the host may still write before cleaning has to begin.
    pub clean_pool_bytes: u64,
    /// What the cleaner copies, B/s, over the last second or longer.
    pub copy_bytes_per_s: u64,
    /// Reads of victims' live blocks.
    pub victim_reads: u64,
    /// Blocks that these read, with the holes between.
    pub victim_read_blocks: u64,
    /// Requests that read the drive, for clients and for the cleaner.
    pub drive_reads: u64,
    /// What these read.
    pub drive_read_bytes: u64,
    /// Longest that a write waited for room, ns.
    pub write_wait_ns_max: u64,
    /// All that writes waited for room, ns.
    pub write_wait_ns: u64,
    /// Of it, for the endurance budget.
    pub budget_wait_ns: u64,
    /// What the endurance budget allows to be written at once.
    pub budget_bytes: u64,
    /// Segments that the drive was told are free.
    pub discarded_segments: u64,
    /// Segments with pages of the map.
    pub meta_segments: u64,
    /// Chunks appended: the last sequence number.
    pub last_seq: u64,
    /// Every chunk up to this one is durable.
    pub durable_seq: u64,
}
