//! One stream: the same kind of operation, over and over, by any number of workers.

use super::{BlockMix, Contents, Moves, Pattern, Rate, StreamPlace, Think, tree::TreeOp};
use block::display_bytes;
pub use block::{Caching, Pages, Syncing};
use std::fmt;

/// What one operation does. A latency covers all of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op {
    /// Read a block.
    Read,
    /// Write a block.
    Write,
    /// Read with this probability in percent, else write.
    Mixed {
        /// Share of reads, in percent.
        read_percent: f64,
    },
    /// Read a block, change it, write it back: one operation, counted once.
    ReadModifyWrite,
    /// Tell the target that a block's contents are no longer needed: TRIM of a device, a hole in a
    /// file.
    Trim,
    /// Zero a block by a command that carries no bytes.
    WriteZeroes,
    /// Write a block, then flush: what a database's commit waits for.
    Commit,
    /// Read a block; with this probability in percent change it and write it back, as Bonnie++'s
    /// seekers do.
    ReadDirty {
        /// Share of blocks that are written back, in percent.
        dirty_percent: f64,
    },
    /// Something done to a whole file or a directory.
    Tree(TreeOp),
}

impl Op {
    /// The word in method files, records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mixed { .. } => "mixed",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Commit => "commit",
            Self::Trim => "trim",
            Self::WriteZeroes => "write_zeroes",
            Self::ReadDirty { .. } => "read_dirty",
            Self::Tree(op) => op.name(),
        }
    }

    /// Every name that [`Op::parse`] knows.
    pub const NAMES: &[&str] = &[
        "read",
        "write",
        "mixed:70",
        "read_modify_write",
        "commit",
        "trim",
        "write_zeroes",
        "read_dirty:10",
        "create",
        "write_file",
        "read_file",
        "stat",
        "readdir",
        "rename",
        "link",
        "unlink",
        "mkdir",
        "rmdir",
    ];

    /// Reads `read`, `write`, `mixed:70` (percent of reads), `read_modify_write`, `commit`,
    /// `trim`, `write_zeroes`, `read_dirty:10` (percent written back), or an operation on a tree.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "read" => Self::Read,
            "write" => Self::Write,
            "read_modify_write" => Self::ReadModifyWrite,
            "commit" => Self::Commit,
            "trim" => Self::Trim,
            "write_zeroes" | "write-zeroes" => Self::WriteZeroes,
            _ if TreeOp::parse(text).is_some() => Self::Tree(TreeOp::parse(text)?),
            _ => {
                let (word, percent) = text.split_once(':')?;
                let percent =
                    percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
                match word {
                    "mixed" => Self::Mixed { read_percent: percent },
                    "read_dirty" => Self::ReadDirty { dirty_percent: percent },
                    _ => return None,
                }
            }
        })
    }

    /// Whether the target's bytes change.
    pub fn writes(self) -> bool {
        match self {
            Self::Tree(op) => op.writes(),
            _ => self != Self::Read && self != Self::Mixed { read_percent: 100.0 },
        }
    }

    /// Whether it is a command about blocks that carries no bytes.
    pub fn carries_nothing(self) -> bool {
        matches!(self, Self::Trim | Self::WriteZeroes)
    }

    /// Whether the target has to keep what is written: all that changes bytes, but a trim.
    pub fn stores(self) -> bool {
        self.writes() && self != Self::Trim
    }

    /// The share of the operations' bytes that is written, 0 to 1.
    pub fn written_share(self) -> f64 {
        match self {
            Self::Read | Self::Trim => 0.0,
            Self::Write | Self::WriteZeroes | Self::Commit | Self::ReadModifyWrite => 1.0,
            Self::Mixed { read_percent } => 1.0 - read_percent / 100.0,
            Self::ReadDirty { dirty_percent } => dirty_percent / 100.0,
            Self::Tree(op) => f64::from(u8::from(op.writes())),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed { read_percent } => write!(formatter, "mixed:{read_percent}"),
            Self::ReadDirty { dirty_percent } => write!(formatter, "read_dirty:{dirty_percent}"),
            other => formatter.write_str(other.name()),
        }
    }
}

/// How a file is opened, and what memory the data lie in: `direct`, `buffered`, `direct,sync`,
/// `direct,dsync`, `buffered,sync`, `direct,hugepages`, `direct,dsync,hugepages`...
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Io {
    /// Whether the page cache takes part.
    pub caching: Caching,
    /// When a write returns.
    pub syncing: Syncing,
    /// What pages the memory comes in that the drive reads and writes: of direct I/O alone.
    pub pages: Pages,
}

/// The last word of [`Io`]'s text for memory in huge pages.
const HUGE_PAGES: &str = ",hugepages";

impl Io {
    /// Every text that [`Io::parse`] knows.
    pub const NAMES: &[&str] = &[
        "direct",
        "buffered",
        "direct,dsync",
        "direct,sync",
        "buffered,dsync",
        "buffered,sync",
        "direct,hugepages",
        "direct,dsync,hugepages",
        "direct,sync,hugepages",
    ];

    /// Reads the names above.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, pages) = match text.strip_suffix(HUGE_PAGES) {
            Some(before) if before.starts_with("direct") => (before, Pages::Huge),
            Some(_) => return None,
            None => (text, Pages::Usual),
        };
        let (caching, syncing) = text.split_once(',').unwrap_or((text, ""));
        let caching = match caching {
            "direct" => Caching::Direct,
            "buffered" => Caching::Buffered,
            _ => return None,
        };
        let syncing = match syncing {
            "" => Syncing::None,
            "dsync" => Syncing::Dsync,
            "sync" => Syncing::Sync,
            _ => return None,
        };
        Some(Self { caching, syncing, pages })
    }
}

impl fmt::Display for Io {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.caching {
            Caching::Direct => "direct",
            Caching::Buffered => "buffered",
        })?;
        formatter.write_str(match self.syncing {
            Syncing::None => "",
            Syncing::Dsync => ",dsync",
            Syncing::Sync => ",sync",
        })?;
        formatter.write_str(match self.pages {
            Pages::Usual => "",
            Pages::Huge => HUGE_PAGES,
        })
    }
}

/// Which engine carries the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EngineChoice {
    /// `sync` at depth 1, `uring` above.
    #[default]
    Auto,
    /// pread and pwrite, depth 1.
    Sync,
    /// io_uring.
    Uring,
    /// fread and fwrite, depth 1.
    Stdio,
    /// The same with a buffer of one block: each operation is a system call of its own.
    StdioBlock,
}

impl EngineChoice {
    /// Every text that [`EngineChoice::parse`] knows.
    pub const NAMES: &[&str] = &["auto", "sync", "uring", "stdio", "stdio:block"];

    /// Reads the names above.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "auto" => Self::Auto,
            "sync" => Self::Sync,
            "uring" => Self::Uring,
            "stdio" => Self::Stdio,
            "stdio:block" => Self::StdioBlock,
            _ => return None,
        })
    }

    /// Whether it goes through the C library's buffer.
    pub fn is_stdio(self) -> bool {
        matches!(self, Self::Stdio | Self::StdioBlock)
    }
}

/// One kind of operation, over and over, by `threads` workers that keep `queue_depth` in flight
/// each.
#[derive(Clone, PartialEq, Debug)]
pub struct Stream {
    /// Tells streams of one cell apart; empty for a single stream.
    pub name: String,
    /// What one operation does.
    pub op: Op,
    /// Where it goes.
    pub pattern: Pattern,
    /// Bytes of one operation; of a mix the largest.
    pub block_bytes: u32,
    /// Where operations differ in size.
    pub mix: Option<BlockMix>,
    /// Workers.
    pub threads: u16,
    /// Operations that each worker keeps in flight.
    pub queue_depth: u32,
    /// Which engine.
    pub engine: EngineChoice,
    /// How the file is opened.
    pub io: Io,
    /// A flush after this many writes of a worker; 0 for none.
    pub flush_every: u32,
    /// Operations per second of the whole stream, on schedule whatever the target does (open loop);
    /// `None` for as fast as it goes (closed loop).
    pub rate: Option<Rate>,
    /// Each worker's pauses.
    pub think: Option<Think>,
    /// It starts so many seconds after the pass.
    pub start_after_s: f64,
    /// So many percent of its operations follow the one before, in a random pattern.
    pub sequential_percent: f64,
    /// Each worker has an area of its own, so many bytes after the one before; 0 where all share
    /// one.
    pub offset_increment_bytes: u64,
    /// How often the hot spot of a skewed pattern moves.
    pub moves: Option<Moves>,
    /// The part of the span it works on: start and end, 0 to 1.
    pub part: (f64, f64),
    /// The same to the byte, in place of `part`.
    pub place: Option<StreamPlace>,
    /// All offsets are moved up by so many bytes.
    pub shift_bytes: u64,
    /// What is written.
    pub contents: Contents,
}

impl Stream {
    /// One worker that keeps one operation in flight, past the page cache, as fast as it goes.
    pub fn new(op: Op, pattern: Pattern, block_bytes: u32) -> Self {
        Self {
            name: String::new(),
            op,
            pattern,
            block_bytes,
            mix: None,
            threads: 1,
            queue_depth: 1,
            engine: EngineChoice::Auto,
            io: Io::default(),
            flush_every: 0,
            rate: None,
            think: None,
            start_after_s: 0.0,
            sequential_percent: 0.0,
            offset_increment_bytes: 0,
            moves: None,
            part: (0.0, 1.0),
            place: None,
            shift_bytes: 0,
            contents: Contents::default(),
        }
    }

    /// Bytes of an operation in the mean.
    pub fn block_bytes_mean(&self) -> f64 {
        self.mix.as_ref().map_or(f64::from(self.block_bytes), BlockMix::mean)
    }

    /// What all offsets are multiples of, from the start of the area on: fio's `blockalign`, which
    /// is the smallest block unless a job says otherwise.
    pub fn align_bytes(&self) -> u32 {
        self.mix.as_ref().map_or(self.block_bytes, BlockMix::smallest)
    }

    /// Its block as a person reads it: `4 KiB`, `4K:60,64K:40`.
    pub fn block_words(&self) -> String {
        match &self.mix {
            Some(mix) => mix.to_string(),
            None => display_bytes(u64::from(self.block_bytes)),
        }
    }

    /// Whether something beside the target decides when it asks.
    pub fn is_paced(&self) -> bool {
        self.rate.is_some() || self.think.is_some()
    }
}
