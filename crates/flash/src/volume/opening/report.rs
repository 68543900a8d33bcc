//! What opening says: why it could not be done, and what it found, in words.

use super::CopyState;
use crate::{
    down::{NO_QUOTA, NO_SPACE},
    format::VolumeId,
    layout::Refusal,
};
use block::{IoError, counted, one_or};
use std::fmt;

/// Why a volume could not be opened. Nothing was written to the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// No copy of a superblock is where one can be.
    NoVolume,
    /// It was made by a newer version, or needs what this one does not have.
    Unknown {
        /// Of the format.
        version: u32,
        /// Needed to read it.
        features: u32,
    },
    /// Where superblocks are looked for, there are those of two volumes.
    TwoVolumes {
        /// Of both.
        ids: [VolumeId; 2],
    },
    /// The drive was larger when the volume was created or resized.
    Shrunk {
        /// Then.
        created_bytes: u64,
        /// Now.
        bytes: u64,
    },
    /// The superblock is whole, and describes what cannot be.
    Shape(Refusal),
    /// A block of the newest root is damaged, and the one before cannot be rolled forward without a
    /// gap.
    Root {
        /// Its offset.
        offset: u64,
    },
    /// The drive failed.
    Io(IoError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVolume => formatter.write_str(
                "no superblock of a managed flash volume was found: name the drive or file that the volume \
                 was created on; if this is it, `drivelab flash rescue` copies out what can be read",
            ),
            Self::Unknown { version: crate::format::VERSION, features } => write!(
                formatter,
                "the volume needs features {features:#x}, which this version does not have: \
                 use a newer drivelab"
            ),
            Self::Unknown { version, .. } => write!(
                formatter,
                "the volume has format {version}, and this version reads format {}: \
                 use a newer drivelab",
                crate::format::VERSION
            ),
            Self::TwoVolumes { ids: [first, second] } => write!(
                formatter,
                "there are superblocks of two volumes, {first} and {second}: a creation was cut, or an earlier \
                 volume was not removed. Copy out the one that is meant with `drivelab flash rescue --volume ID`, \
                 or make a new one with `drivelab flash create --destroy`"
            ),
            Self::Shrunk { created_bytes, bytes } => write!(
                formatter,
                "the volume is on a drive of {created_bytes} B, and this one has {bytes} B: give the drive \
                 its size back, or copy out what is left with `drivelab flash rescue`"
            ),
            Self::Shape(refusal) => write!(
                formatter,
                "the superblock describes a volume that cannot be ({refusal}): \
                 `drivelab flash rescue` copies out what can be read"
            ),
            Self::Root { offset } => write!(
                formatter,
                "the newest root of the map is damaged at offset {offset}, and the one before cannot take its \
                 place: `drivelab flash rescue` copies out what can be read"
            ),
            Self::Io(NO_SPACE | NO_QUOTA) => formatter.write_str(
                "no space is left below the volume: free some on the file system that it is on, \
                 or read it without writing by `drivelab serve --read-only`",
            ),
            Self::Io(IoError::Offline) => formatter.write_str(
                "the drive is gone: was it pulled out or switched off, or did its controller or bus \
                 fail? `dmesg` has more",
            ),
            Self::Io(error) => write!(
                formatter,
                "the drive failed ({error:?}): look at its cable and its error log, then try again"
            ),
        }
    }
}

impl std::error::Error for OpenError {}

/// What was appended behind the log's end, and does not count: the torn tail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// Number of the chunk at which the log ends, which is none of it.
    pub first_seq: u64,
    /// Number of the last one that was found.
    pub last_seq: u64,
    /// Chunks that were found from there on.
    pub chunks: u64,
    /// Blocks that the host had written or discarded in these.
    pub blocks: u64,
    /// Why the first one does not count.
    pub cause: TailCause,
}

/// Why the log ends before a chunk that no flush is known to have covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TailCause {
    /// It is not there, and later ones are.
    Missing,
    /// Its data do not fit their checksums.
    Torn,
}

impl fmt::Display for Tail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first_seq, last_seq, chunks, blocks, cause } = *self;
        let cause = match cause {
            TailCause::Missing => "is missing",
            TailCause::Torn => "is incomplete",
        };
        let (s, numbers) = match chunks {
            1 => ("", format!("{last_seq}")),
            _ => ("s", format!("up to {last_seq}")),
        };
        write!(
            formatter,
            "the log ends before chunk {first_seq}, which {cause}: {chunks} chunk{s} written after the last \
             flush ({numbers}), with changes of {blocks} blocks of 4 KiB, dropped"
        )
    }
}

/// What opening found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenReport {
    /// Copies of the superblock that are not as they should be, of four.
    pub superblocks_damaged: u32,
    /// Each of them.
    pub superblocks: [CopyState; 4],
    /// It had been stopped cleanly.
    pub clean: bool,
    /// Pages of the map that were read.
    pub pages_read: u64,
    /// Pages that could not be.
    pub pages_lost: u64,
    /// Headers that were read behind the checkpoint.
    pub headers_read: u64,
    /// Segments that were looked at; at most W and what checkpoints need.
    pub segments_walked: u64,
    /// Chunks that were rolled forward.
    pub chunks_replayed: u64,
    /// Entries of these.
    pub entries_replayed: u64,
    /// Chunks beyond the end of the log: the torn tail.
    pub chunks_cut: u64,
    /// Which these are, and why they do not count.
    pub tail: Option<Tail>,
    /// Chunks, their headers, and records of the ring that cannot be read, where the last of what a
    /// flush covered may lie: it cannot be told from a torn tail.
    pub tail_unreadable: u64,
    /// Entries of chunks before that end, younger than what was lost with the tail.
    pub entries_cut: u64,
    /// Chunks that a flush had covered and that are not there.
    pub chunks_missing: u64,
    /// Records of the ring whose entries no chunk held.
    pub records_replayed: u64,
    /// Records that were not whole and that nobody had been told of: the ring's torn tail.
    pub records_cut: u64,
    /// Records that a flush had covered and that are not there.
    pub records_missing: u64,
    /// Blocks in such records whose data are damaged: they are lost.
    pub record_blocks_lost: u64,
    /// First sequence number of this epoch: where the tail was cut.
    pub first_seq: u64,
    /// Segments that are free by the root and hold live blocks by the map.
    pub segments_contradictory: u64,
    /// The newest root is damaged at this offset: the one before was rolled forward, and nothing is
    /// missing.
    pub root_damaged: Option<u64>,
    /// And it leaves no room for a new one.
    pub is_cramped: bool,
    /// Both copies are damaged that the generation after this one would be in: it may have been
    /// there, with an epoch or a checkpoint that nothing else tells.
    pub generation_lost: bool,
}

impl OpenReport {
    /// Whether the volume was opened for reading only, because something of it does not make sense.
    pub fn is_doubtful(&self) -> bool {
        let missing = self.chunks_missing + self.records_missing + self.tail_unreadable;
        self.pages_lost + missing + self.segments_contradictory > 0
            || self.is_cramped
            || self.generation_lost
    }

    /// What the user should hear of, a sentence each; none if all was well. That recovery rolled
    /// forward after an unclean stop is no news.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.of_metadata();
        warnings.extend(self.of_log());
        if self.is_doubtful() {
            warnings.push(
                "the volume is open for reading only: `drivelab flash check` says more, \
                 `drivelab flash rescue` copies out what can be read"
                    .to_owned(),
            );
        }
        warnings
    }

    /// Of superblocks, pages and roots.
    fn of_metadata(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (copy, state) in self.superblocks.iter().enumerate() {
            let what = match state {
                CopyState::Good | CopyState::Older => continue,
                CopyState::Damaged => "is damaged",
            };
            warnings.push(format!(
                "superblock copy {copy} of 0 to 3 {what}: the others suffice, and checkpoints write it anew"
            ));
        }
        if self.generation_lost {
            warnings.push(
                "both copies are damaged in which a newer superblock may have been: what was \
                 flushed since the one that is left may be missing"
                    .to_owned(),
            );
        }
        if self.pages_lost > 0 {
            let pages = counted(self.pages_lost, "page");
            warnings.push(format!("{pages} of the map cannot be read: the blocks there are lost"));
        }
        if let Some(offset) = self.root_damaged {
            warnings.push(format!(
                "the newest root of the map is damaged at offset {offset}: the one before it was rolled \
                 forward over {}, and nothing is missing{}",
                counted(self.chunks_replayed, "chunk"),
                match self.is_cramped {
                    false => "; the next checkpoint writes a new one",
                    true => ", but there is no room to write a new one safely",
                }
            ));
        }
        warnings
    }

    /// Of the log's end, and of the ring.
    fn of_log(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(self.tail.map(|tail| tail.to_string()));
        if self.records_cut > 0 {
            warnings.push(
                "the newest record of the synchronous ring is incomplete: no flush is known to have \
                 covered it, and it is dropped"
                    .to_owned(),
            );
        }
        if self.tail_unreadable > 0 {
            warnings.push(format!(
                "{} at the end of the log cannot be read, where the last of what was flushed may \
                 be: blocks written there are lost or read as they were before",
                counted(self.tail_unreadable, "place")
            ));
        }
        if self.chunks_missing > 0 {
            warnings.push(format!(
                "{} that a flush had covered {} missing: blocks written there read as they were before",
                counted(self.chunks_missing, "chunk"),
                one_or(&self.chunks_missing, "is", "are")
            ));
        }
        if self.records_missing > 0 {
            warnings.push(format!(
                "{} of the synchronous ring that a flush had covered {} missing: blocks written there \
                 read as they were before",
                counted(self.records_missing, "record"),
                one_or(&self.records_missing, "is", "are")
            ));
        }
        if self.record_blocks_lost > 0 {
            warnings.push(format!(
                "{} in the synchronous ring {} damaged, and lost",
                counted(self.record_blocks_lost, "block"),
                one_or(&self.record_blocks_lost, "is", "are")
            ));
        }
        if self.segments_contradictory > 0 {
            warnings.push(format!(
                "{} {} live blocks and {} free by the root",
                counted(self.segments_contradictory, "segment"),
                one_or(&self.segments_contradictory, "holds", "hold"),
                one_or(&self.segments_contradictory, "is", "are")
            ));
        }
        warnings
    }

    /// Where a torn tail was cut, if there was one: no flush had covered what is behind it.
    pub fn tail_cut_at(&self) -> Option<u64> {
        (self.chunks_cut > 0).then_some(self.first_seq)
    }
}
