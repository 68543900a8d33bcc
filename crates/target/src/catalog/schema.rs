//! Which parameters a drive of each kind has: name, dimension, range, meaning. The one list that
//! files are read by, that `drivelab drives` explains and that `docs/reference/catalog-format.md`
//! is held to.

mod host;

use super::unit::Dimension;
pub use host::{DRIVER_KEYS, PORT_KEYS};
use std::ops::RangeInclusive;

/// The model that a drive's parameters are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DriveKind {
    /// Flash that maps whole erase blocks and merges on every write out of order.
    BlockMapped,
    /// Flash that maps pages into a log, with cleaning.
    PageMapped,
    /// Rotating magnetic disk.
    Disk,
    /// A cloud volume, of which nothing is known but its quota.
    Quota,
}

impl DriveKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::BlockMapped, Self::PageMapped, Self::Disk, Self::Quota];

    /// The word in files and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::BlockMapped => "block-mapped",
            Self::PageMapped => "page-mapped",
            Self::Disk => "disk",
            Self::Quota => "quota",
        }
    }

    /// The parameters of its files.
    pub fn keys(self) -> &'static [Key] {
        match self {
            Self::BlockMapped => BLOCK_MAPPED_KEYS,
            Self::PageMapped => PAGE_MAPPED_KEYS,
            Self::Disk => DISK_KEYS,
            Self::Quota => QUOTA_KEYS,
        }
    }
}

/// One parameter that a file may have.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// Its name under `[parameters]`.
    pub name: &'static str,
    /// What it measures, in words when it is one of a few words.
    pub holds: Holds,
    /// Whether it must be there.
    pub need: Need,
    /// What it means.
    pub about: &'static str,
}

/// What a parameter can be.
#[derive(Clone, PartialEq, Debug)]
pub enum Holds {
    /// A number of this dimension, from and to in the model's unit.
    Number(Dimension, RangeInclusive<u64>),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Whether a parameter must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Always.
    Required,
    /// It may be left out; `about` says what holds then.
    Optional,
}

const fn word(name: &'static str, words: &'static [&'static str], about: &'static str) -> Key {
    Key { name, holds: Holds::Word(words), need: Need::Optional, about }
}

const fn number(
    name: &'static str,
    dimension: Dimension,
    range: RangeInclusive<u64>,
    need: Need,
    about: &'static str,
) -> Key {
    Key { name, holds: Holds::Number(dimension, range), need, about }
}

use Dimension::{Count, OperationRate, Rate, Share, Size, Spin, Time, TimePerSize};
use Need::{Optional, Required};

/// Up to an hour.
const NS: RangeInclusive<u64> = 0..=3_600_000_000_000;
const SOME_NS: RangeInclusive<u64> = 1..=3_600_000_000_000;
/// Up to 4 s: what one arm movement may take.
const SEEK_NS: RangeInclusive<u64> = 1..=4_000_000_000;
const RATE: RangeInclusive<u64> = 1_000..=1_000_000_000_000;
const BYTES: RangeInclusive<u64> = 0..=1 << 50;
const SOME_BYTES: RangeInclusive<u64> = 512..=1 << 50;

/// Flash that maps whole erase blocks.
pub(crate) const BLOCK_MAPPED_KEYS: &[Key] = &[
    number("command", Time, SOME_NS, Required, "what every command costs before its first byte"),
    number("read_rate", Rate, RATE, Required, "a transfer after that, in either direction"),
    number(
        "granule",
        Size,
        SOME_BYTES,
        Optional,
        "least that a read fetches; 512 B where it is left out",
    ),
    number(
        "stream_read_rate",
        Rate,
        RATE,
        Optional,
        "reads that go on where the last ended; left out: as any other",
    ),
    number("unit", Size, SOME_BYTES, Required, "what one merge rewrites"),
    number("merge", Time, SOME_NS, Required, "a write that does not continue the last one"),
    number(
        "merge_free",
        Size,
        SOME_BYTES,
        Required,
        "first bytes of a run that the merge takes in for nothing",
    ),
    number("write_rate", Rate, RATE, Required, "a run's further bytes: the sequential write rate"),
    number(
        "saved_from",
        Size,
        SOME_BYTES,
        Required,
        "from this length on a run's bytes are no longer copied first",
    ),
    number("copy", TimePerSize, 0..=1_000_000, Required, "the copy that every KiB beyond saves"),
    number(
        "buffer_lines",
        Count,
        1..=4096,
        Required,
        "writes that the buffer holds, each of merge_free",
    ),
    word(
        "write_cache",
        &["on", "off"],
        "whether writes are acknowledged out of the buffer; on where it is left out",
    ),
];

/// Flash that maps pages.
pub(crate) const PAGE_MAPPED_KEYS: &[Key] = &[
    number(
        "over_provisioning",
        Share,
        0..=10_000_000,
        Required,
        "flash beyond the capacity, of the capacity",
    ),
    number("channels", Count, 1..=1024, Required, "buses between controller and flash"),
    number("dies_per_channel", Count, 1..=1024, Required, "dies on each"),
    number("planes_per_die", Count, 1..=64, Required, "planes that work by themselves"),
    number(
        "nand_page",
        Size,
        4096..=1 << 20,
        Required,
        "what one array read or program moves: 4 KiB times a power of two",
    ),
    number("pages_per_block", Count, 1..=65_536, Required, "pages that are erased together"),
    number("read", Time, SOME_NS, Required, "from the array to a plane's register (tR)"),
    number(
        "read_spread",
        Share,
        0..=1_000_000,
        Optional,
        "quickest and slowest page, from that; left out: all are alike",
    ),
    number(
        "retry_share",
        Share,
        0..=1_000_000,
        Optional,
        "reads that are tried again; needed with retry",
    ),
    number("retry", Time, SOME_NS, Optional, "each further try; needed with retry_share"),
    number(
        "retry_spread",
        Share,
        0..=1_000_000,
        Optional,
        "shortest and longest try, from that; left out: all are alike",
    ),
    number(
        "suspend",
        Time,
        NS,
        Optional,
        "setting a program aside for a read; left out: reads wait for it",
    ),
    number(
        "suspend_share",
        Share,
        0..=1_000_000,
        Optional,
        "programs that are set aside; with suspend all where left out",
    ),
    number(
        "suspend_spread",
        Share,
        0..=1_000_000,
        Optional,
        "shortest and longest time, from that; left out: all are alike",
    ),
    number(
        "pause",
        Time,
        SOME_NS,
        Optional,
        "for so long nothing is programmed, reads go on; with pause_every",
    ),
    number("pause_every", Time, SOME_NS, Optional, "from one such pause to the next"),
    number(
        "throttle",
        Share,
        1_000..=1_000_000,
        Optional,
        "writes let in in phases, of the rate they came at; with throttle_every",
    ),
    number("throttle_every", Time, SOME_NS, Optional, "from one such phase to the next"),
    number("throttle_below", Rate, RATE, Optional, "above it little is held back, if it is said"),
    number("program", Time, SOME_NS, Required, "from the register to the array (tPROG)"),
    number("erase", Time, NS, Required, "erasing a block (tBERS)"),
    number(
        "erase_group",
        Count,
        1..=65_536,
        Optional,
        "blocks that a plane erases at one go; 1 where it is left out",
    ),
    number("channel_rate", Rate, RATE, Required, "one channel"),
    number("read_command", Time, NS, Required, "what the controller spends on a read command"),
    number("write_command", Time, NS, Required, "what the controller spends on a write command"),
    number("link_rate", Rate, RATE, Required, "between host and buffer, a command at a time"),
    word(
        "transfer",
        &["serial", "overlapped"],
        "bytes after their command, or beside the next; left out: serial",
    ),
    number(
        "read_latency",
        Time,
        NS,
        Optional,
        "a read's delay in the controller, which bounds no rate",
    ),
    number("write_latency", Time, NS, Optional, "the same of a write"),
    number(
        "latency_tail",
        Time,
        NS,
        Optional,
        "what a command takes longer by chance, on average; left out: 0",
    ),
    number(
        "stream_read_rate",
        Rate,
        RATE,
        Optional,
        "most that a sequential reader gets; left out: as any other",
    ),
    number(
        "stream_write_rate",
        Rate,
        RATE,
        Optional,
        "most that a sequential writer gets; left out: no limit",
    ),
    number(
        "random_write_rate",
        Rate,
        RATE,
        Optional,
        "most that any other writer gets; left out: no limit",
    ),
    number(
        "write_queues",
        Count,
        1..=64,
        Optional,
        "queues by address that random writes wait in; left out: 1",
    ),
    number("command_queue", Count, 1..=65_536, Required, "commands at a time; 1 is no queue"),
    number(
        "map_memory",
        Size,
        4096..=64 << 30,
        Optional,
        "memory for the map, at 4 B for each 4 KiB; left out: for all of it",
    ),
    number(
        "write_buffer",
        Size,
        512..=64 << 30,
        Required,
        "memory that takes writes and drains into flash",
    ),
    word(
        "write_cache",
        &["on", "off"],
        "whether writes are acknowledged out of the buffer; on where it is left out",
    ),
    word(
        "power_loss",
        &["volatile", "protected"],
        "what a power cut does to the buffer; volatile where it is left out",
    ),
    number("flush", Time, NS, Required, "a flush, on top of emptying the buffer"),
    number(
        "write_through",
        Time,
        NS,
        Required,
        "a write that bypasses the cache, by the controller's own way; 0: it waits for its program",
    ),
    word(
        "cleaning",
        &["fifo", "greedy", "cost-benefit"],
        "what is cleaned next; greedy where it is left out",
    ),
    number(
        "reserve",
        Count,
        2..=1024,
        Optional,
        "superblocks kept free for the cleaner; 2 where it is left out",
    ),
    number("slc_cache", Size, BYTES, Optional, "flash run at one bit a cell; left out: none"),
    number(
        "slc_dynamic",
        Size,
        BYTES,
        Optional,
        "as much more on an empty drive, else its free share",
    ),
    number(
        "bits_per_cell",
        Count,
        1..=8,
        Optional,
        "of the rest: what a cached page takes; 3 where it is left out",
    ),
    number("slc_program", Time, SOME_NS, Optional, "the cache's program time; needed with it"),
    number(
        "slc_fold",
        Time,
        SOME_NS,
        Optional,
        "moving a cached page into the rest; left out: read + program",
    ),
    number("endurance", Count, 1..=10_000_000, Required, "erases that a block is rated for"),
    number(
        "wear_threshold",
        Count,
        1..=10_000_000,
        Optional,
        "spread of erases before old data is moved; 100 where it is left out",
    ),
    word("state", &["fresh", "steady"], "how the drive is found; fresh where it is left out"),
    number(
        "used",
        Share,
        0..=1_000_000,
        Optional,
        "share of a steady drive that is written; 100 percent where it is left out",
    ),
];

/// A rotating disk.
pub(crate) const DISK_KEYS: &[Key] = &[
    number("rpm", Spin, 1_000..=30_000, Required, "revolutions"),
    number(
        "surfaces",
        Count,
        1..=64,
        Required,
        "recording surfaces: how many cylinders the capacity takes",
    ),
    number("outer_rate", Rate, RATE, Required, "sustained rate of the outermost zone"),
    number("inner_rate", Rate, RATE, Required, "sustained rate of the innermost zone"),
    number("zones", Count, 1..=256, Optional, "recording zones; 16 where it is left out"),
    number(
        "sector",
        Size,
        512..=4096,
        Optional,
        "logical sector, 512 B or 4096 B; 512 B where it is left out",
    ),
    number("track_to_track", Time, SEEK_NS, Required, "read seek to the next cylinder"),
    number(
        "average_seek",
        Time,
        SEEK_NS,
        Required,
        "average read seek: over a third of the stroke",
    ),
    number("full_stroke", Time, SEEK_NS, Required, "read seek from the first to the last cylinder"),
    number(
        "settle",
        Time,
        NS,
        Optional,
        "constant part of every seek; without it the curve starts from track_to_track",
    ),
    number(
        "write_settle",
        Time,
        0..=4_000_000_000,
        Optional,
        "what a head needs on top before it may write; 0 where it is left out",
    ),
    number("command", Time, SOME_NS, Required, "the controller's time a command"),
    number("link_rate", Rate, RATE, Required, "the interface"),
    number(
        "command_queue",
        Count,
        1..=256,
        Required,
        "commands that the drive reorders; 1 is none",
    ),
    number(
        "age_limit",
        Time,
        SOME_NS,
        Optional,
        "what has waited longer has every other turn; 1 s where it is left out",
    ),
    number(
        "forecast_error",
        Time,
        0..=4_000_000_000,
        Optional,
        "most that a disk misjudges a way; 0 where it is left out",
    ),
    number(
        "age_weight",
        Share,
        0..=1_000_000,
        Optional,
        "part of its wait that a command is ahead; 0 where it is left out",
    ),
    number(
        "read_segments",
        Count,
        0..=1024,
        Required,
        "sequential streams that the read cache follows; 0 is no read-ahead",
    ),
    number(
        "read_segment",
        Size,
        SOME_BYTES,
        Optional,
        "how far the drive reads ahead of a stream; 256 KiB where it is left out",
    ),
    number(
        "prefetch_min",
        Size,
        BYTES,
        Optional,
        "read on so far before any other command; 0 where it is left out",
    ),
    number("write_cache", Size, BYTES, Required, "memory for cached writes; 0 is no write cache"),
    number(
        "write_cache_commands",
        Count,
        1..=4096,
        Optional,
        "cached writes at most, which are sorted; 32 where it is left out",
    ),
    number(
        "shingled_zone",
        Size,
        1 << 20..=1 << 40,
        Optional,
        "zone of a shingled disk; left out: conventional recording",
    ),
    number(
        "media_cache",
        Size,
        BYTES,
        Optional,
        "a shingled disk's area for writes out of order; needed with shingled_zone",
    ),
    number(
        "media_cache_pieces",
        Count,
        2..=1 << 40,
        Optional,
        "pieces that its map holds; left out: as many as fit",
    ),
    number(
        "media_cache_writes",
        Count,
        1..=4096,
        Optional,
        "cached writes put into it together; 1 where it is left out",
    ),
    number(
        "media_cache_entry",
        Time,
        NS,
        Optional,
        "between two such entries; 0 where it is left out",
    ),
    number(
        "idle_clean",
        Time,
        SOME_NS,
        Optional,
        "idle time before a shingled disk cleans its media cache; 1 s where it is left out",
    ),
];

/// Up to a billion a second, in thousandths.
const OPERATIONS: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// A cloud volume.
pub(crate) const QUOTA_KEYS: &[Key] = &[
    number(
        "iops",
        OperationRate,
        OPERATIONS,
        Optional,
        "operations that go on for ever; left out: no limit",
    ),
    number(
        "iops_burst",
        OperationRate,
        OPERATIONS,
        Optional,
        "most while there is credit; left out: no limit",
    ),
    number(
        "iops_credit",
        Count,
        1..=1_000_000_000_000,
        Optional,
        "operations beyond iops that a full bucket holds; left out: none",
    ),
    number(
        "iops_refill",
        OperationRate,
        OPERATIONS,
        Optional,
        "credit that an idle second gives back; left out: iops",
    ),
    number("bandwidth", Rate, RATE, Optional, "bytes that go on for ever; needed without iops"),
    number("bandwidth_burst", Rate, RATE, Optional, "as iops_burst, of bytes"),
    number("bandwidth_credit", Size, SOME_BYTES, Optional, "as iops_credit, of bytes"),
    number("bandwidth_refill", Rate, RATE, Optional, "as iops_refill, of bytes"),
    number(
        "operation",
        Size,
        512..=1 << 30,
        Optional,
        "longest request that counts as one operation; left out: every one does",
    ),
    number(
        "write_cost",
        Share,
        10_000..=100_000_000,
        Optional,
        "what a write counts, of a read; left out: as much",
    ),
    word(
        "pools",
        &["shared", "separate"],
        "whether reads and writes each have all of it; left out: shared",
    ),
    word("merging", &["on", "off"], "whether sequential requests count as one; left out: off"),
    number("read_latency", Time, SOME_NS, Required, "a read that nothing holds up"),
    number("write_latency", Time, SOME_NS, Required, "the same of a write, and of a flush"),
    number(
        "latency_spread",
        Share,
        0..=1_000_000,
        Optional,
        "quickest and slowest request, from that; left out: all are alike",
    ),
];
