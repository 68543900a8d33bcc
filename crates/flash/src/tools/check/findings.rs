//! What a check can find, and how bad it is.

use crate::{
    shape::BLOCK_BYTES,
    volume::{CopyState, OpenError, Tail},
};
use block::{IoError, counted, one_or};
use std::{fmt, ops::Range};

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Nothing is lost and nothing needs to be done.
    Harmless,
    /// The next opening, or the checkpoints after it, put it right.
    Repaired,
    /// It cannot be told whether data were lost.
    Doubtful,
    /// Data were lost.
    Lost,
}

/// One thing that is not as it should be. Blocks are of 4,096 B and counted from the volume's
/// start, offsets are the drive's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// The volume cannot be opened at all.
    Unopenable(OpenError),
    /// A copy of the superblock.
    Superblock {
        /// Which, 0 to 3.
        copy: u32,
        /// How it was found.
        state: CopyState,
    },
    /// The newest root: the one before it was rolled forward, and nothing is missing.
    Root {
        /// Where it is damaged.
        offset: u64,
    },
    /// A page of the map cannot be read, or is not the one that the root means.
    Page {
        /// Where.
        offset: u64,
        /// What it maps.
        blocks: Range<u32>,
    },
    /// What no flush had covered when the volume stopped, and is not whole.
    TailCut(Tail),
    /// Blocks that were changed in a tail that was cut: they are as they were before.
    TailBlocks {
        /// Which.
        blocks: Range<u32>,
    },
    /// Chunks or records are missing, and nothing younger speaks of these blocks: they may have
    /// been in them.
    MayBeOlder {
        /// Which.
        blocks: Range<u32>,
    },
    /// Where the last of what was flushed may lie, it cannot be read.
    TailUnreadable {
        /// How many chunks, headers and records.
        places: u64,
    },
    /// Chunks that a flush had covered are not there.
    ChunksMissing {
        /// How many.
        chunks: u64,
    },
    /// The newest record of the ring, which no flush had covered, is not whole.
    RecordCut,
    /// Records of the ring that a flush had covered are not there.
    RecordsMissing {
        /// How many.
        records: u64,
    },
    /// Blocks in the ring whose data do not fit their checksum.
    RecordBlocks {
        /// How many.
        blocks: u64,
    },
    /// Free by the root, with live blocks by the map.
    FreeSegment {
        /// Where it begins.
        offset: u64,
        /// How many of them.
        live_blocks: u32,
    },
    /// Two blocks, or a block and a page, are mapped to the same place.
    SharedLocation {
        /// That place.
        offset: u64,
        /// One of the blocks.
        block: u32,
    },
    /// A block is mapped to a place in its segment that was not written yet.
    Unwritten {
        /// That place.
        offset: u64,
        /// The block.
        block: u32,
    },
    /// No chunk is where one should be, in a segment with live blocks.
    Header {
        /// Where.
        offset: u64,
    },
    /// Data that do not fit their checksum.
    Checksum {
        /// Whose.
        blocks: Range<u32>,
        /// Where they begin.
        offset: u64,
    },
    /// Data that the drive does not give.
    Unreadable {
        /// Whose.
        blocks: Range<u32>,
        /// Where they begin.
        offset: u64,
        /// What it says.
        error: IoError,
    },
    /// Data that can be read, and whose checksums were in a header that is damaged.
    Unverified {
        /// Whose.
        blocks: Range<u32>,
        /// Where they begin.
        offset: u64,
    },
    /// Blocks that the cleaner, or an earlier recovery, found lost. Reading them is an error.
    KnownLost {
        /// Which.
        blocks: Range<u32>,
    },
}

impl Finding {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Superblock { .. } | Self::Root { .. } => Severity::Repaired,
            Self::TailCut(_) | Self::TailBlocks { .. } | Self::RecordCut | Self::Header { .. } => {
                Severity::Harmless
            }
            Self::FreeSegment { .. }
            | Self::MayBeOlder { .. }
            | Self::Unwritten { .. }
            | Self::Unverified { .. } => Severity::Doubtful,
            Self::Unopenable(_)
            | Self::Page { .. }
            | Self::ChunksMissing { .. }
            | Self::RecordsMissing { .. }
            | Self::TailUnreadable { .. }
            | Self::RecordBlocks { .. }
            | Self::SharedLocation { .. }
            | Self::Checksum { .. }
            | Self::Unreadable { .. }
            | Self::KnownLost { .. } => Severity::Lost,
        }
    }

    /// The blocks of the volume that it is about.
    pub fn blocks(&self) -> Option<Range<u32>> {
        match self {
            Self::Page { blocks, .. }
            | Self::Checksum { blocks, .. }
            | Self::Unreadable { blocks, .. }
            | Self::Unverified { blocks, .. }
            | Self::KnownLost { blocks } => Some(blocks.clone()),
            Self::SharedLocation { block, .. } | Self::Unwritten { block, .. } => {
                Some(*block..*block + 1)
            }
            _ => None,
        }
    }

    /// The place on the drive that it is about, in bytes.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Page { offset, .. }
            | Self::FreeSegment { offset, .. }
            | Self::SharedLocation { offset, .. }
            | Self::Unwritten { offset, .. }
            | Self::Header { offset }
            | Self::Checksum { offset, .. }
            | Self::Unreadable { offset, .. }
            | Self::Unverified { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Takes the next finding in where it only goes on with this one.
    pub(super) fn absorb(&mut self, next: &Self) -> bool {
        let goes_on = |from: u64, blocks: &Range<u32>, next: u64, more: &Range<u32>| {
            let bytes = u64::from(blocks.end - blocks.start) * BLOCK_BYTES;
            blocks.end == more.start && from + bytes == next
        };
        match (self, next) {
            (Self::Checksum { blocks, offset }, Self::Checksum { blocks: more, offset: next })
            | (
                Self::Unverified { blocks, offset },
                Self::Unverified { blocks: more, offset: next },
            ) if goes_on(*offset, blocks, *next, more) => blocks.end = more.end,
            (
                Self::Unreadable { blocks, offset, error },
                Self::Unreadable { blocks: more, offset: next, error: other },
            ) if error == other && goes_on(*offset, blocks, *next, more) => blocks.end = more.end,
            (Self::KnownLost { blocks }, Self::KnownLost { blocks: more })
            | (Self::TailBlocks { blocks }, Self::TailBlocks { blocks: more })
                if blocks.end == more.start =>
            {
                blocks.end = more.end;
            }
            _ => return false,
        }
        true
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Harmless => "harmless",
            Self::Repaired => "repaired at the next opening",
            Self::Doubtful => "doubtful",
            Self::Lost => "data lost",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unopenable(error) => error.fmt(formatter),
            Self::Superblock { copy, state } => {
                let what = match state {
                    CopyState::Good => "is good",
                    CopyState::Older => "is older than it should be",
                    CopyState::Damaged => "is damaged",
                };
                write!(formatter, "superblock copy {copy} of 0 to 3 {what}")
            }
            Self::Root { offset } => write!(
                formatter,
                "the newest root of the map is damaged at offset {offset}: the one before it, rolled \
                 forward, leads to the same"
            ),
            Self::Page { offset, blocks } => write!(
                formatter,
                "the page of the map at offset {offset} is damaged: {} are lost",
                Blocks(blocks)
            ),
            Self::TailCut(tail) => tail.fmt(formatter),
            Self::TailBlocks { blocks } => write!(
                formatter,
                "{} were changed after the last flush in chunks that do not count: they are as before",
                Blocks(blocks)
            ),
            Self::MayBeOlder { blocks } => write!(
                formatter,
                "{} may have been written in what is missing, and be older than they should be",
                Blocks(blocks)
            ),
            Self::TailUnreadable { places } => write!(
                formatter,
                "{} at the end of the log cannot be read: what was flushed last may be there",
                counted(*places, "place")
            ),
            Self::ChunksMissing { chunks } => write!(
                formatter,
                "{} that a flush had covered {} missing: what was written there reads as it was before",
                counted(*chunks, "chunk"),
                one_or(chunks, "is", "are")
            ),
            Self::RecordCut => formatter
                .write_str("the ring's newest record is not whole; no flush had covered it"),
            Self::RecordsMissing { records } => write!(
                formatter,
                "{} of the ring that a flush had covered {} missing: what was written there reads as it \
                 was before",
                counted(*records, "record"),
                one_or(records, "is", "are")
            ),
            Self::RecordBlocks { blocks } => {
                let (verb, their) = (
                    one_or(blocks, "does", "do"),
                    one_or(blocks, "its checksum", "their checksums"),
                );
                write!(
                    formatter,
                    "{} in the ring {verb} not fit {their}",
                    counted(*blocks, "block")
                )
            }
            Self::FreeSegment { offset, live_blocks } => write!(
                formatter,
                "the segment at offset {offset} is free by the root and holds {} by the map",
                counted(*live_blocks, "live block")
            ),
            Self::SharedLocation { offset, block } => {
                write!(formatter, "block {block} is mapped to offset {offset}, and so is another")
            }
            Self::Unwritten { offset, block } => write!(
                formatter,
                "block {block} is mapped to offset {offset}, which was not written yet"
            ),
            Self::Header { offset } => write!(
                formatter,
                "no chunk at offset {offset}, where one should be: its blocks are found by the map"
            ),
            Self::Checksum { blocks, offset } => write!(
                formatter,
                "{} at offset {offset} do not fit their checksums",
                Blocks(blocks)
            ),
            Self::Unreadable { blocks, offset, error } => {
                write!(formatter, "{} at offset {offset} cannot be read: {error:?}", Blocks(blocks))
            }
            Self::Unverified { blocks, offset } => write!(
                formatter,
                "{} at offset {offset} cannot be verified: the header with their checksums is damaged",
                Blocks(blocks)
            ),
            Self::KnownLost { blocks } => {
                write!(formatter, "{} were found lost before", Blocks(blocks))
            }
        }
    }
}

/// A range of blocks, as a reader counts.
struct Blocks<'a>(&'a Range<u32>);

impl fmt::Display for Blocks<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "blocks {} to {}", self.0.start, self.0.end - 1)
    }
}
