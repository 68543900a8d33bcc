//! What lies below the open volume: its requests to the drive and why each was sent, the memory
//! that they take, what was written so far, and the time.

use crate::{
    buffers::Buffers,
    down::{Down, Reach},
    format::{Entry, count_chunk},
    lifetime::Lifetime,
    shape::BLOCK_BYTES,
};
use block::{Command, Completion, Data, Durability, Effects, Extent, Geometry, Instant, Payload};

/// Why a request was sent to the drive.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// A read that needs no more than its own buffer.
    Whole {
        op: u32,
        location: u32,
    },
    /// A part of a read.
    Piece {
        op: u32,
        piece: u32,
    },
    /// What a block held that a write splits.
    Old {
        op: u32,
        at: u32,
        location: u32,
    },
    /// The chunk of this sequence number.
    Chunk(u64),
    /// A record of the ring.
    Record(u64),
    /// A flush that covers every chunk and record up to these.
    Flush(Mark),
    /// A part of the root.
    Root,
    RootFlush,
    /// A copy of the superblock.
    Super,
    /// A copy of one that only attests.
    Attest,
    /// The header of a chunk of the victim.
    VictimHeader {
        segment: u32,
    },
    /// Live blocks of the victim.
    VictimRun {
        piece: u32,
        run: u32,
    },
    /// A segment that is free.
    Discard {
        segment: u32,
    },
    /// The header of a chunk, to be scrubbed.
    ScrubHeader {
        location: u32,
    },
    /// Blocks to be scrubbed, from this one on.
    ScrubPiece {
        location: u32,
    },
}

/// Every chunk and every record up to these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mark {
    pub seq: u64,
    pub record: u64,
}

impl Mark {
    /// What only the end of the volume covers.
    pub const STOPPED: Self = Self { seq: u64::MAX, record: u64::MAX };

    pub fn covers(self, other: Self) -> bool {
        other.seq <= self.seq && other.record <= self.record
    }

    pub fn max_of(self, other: Self) -> Self {
        Self { seq: self.seq.max(other.seq), record: self.record.max(other.record) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Io {
    now: Instant,
    data: Data,
    down: Down<Why>,
    buffers: Buffers,
    /// Of every chunk that has its number, and all else that was written.
    lifetime: Lifetime,
    /// Damaged blocks that were met before the volume was opened.
    errors_before: u64,
    /// Grows with what others may wait for.
    steps: u64,
}

impl Io {
    pub fn new(
        below: Geometry,
        reach: Reach,
        buffers: Buffers,
        lifetime: Lifetime,
        now: Instant,
    ) -> Self {
        Self {
            now,
            data: below.data,
            down: Down::new(below.queue_depth, reach),
            buffers,
            lifetime,
            errors_before: lifetime.checksum_errors,
            steps: 0,
        }
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// The time is told from above, and never goes back.
    pub fn set_now(&mut self, now: Instant) {
        assert!(now >= self.now, "the time goes back from {:?} to {now:?}", self.now);
        self.now = now;
    }

    /// Whether data can be read back.
    pub fn data(&self) -> Data {
        self.data
    }

    /// Memory for `bytes`, contents undefined; none in a run that only times.
    pub fn take(&mut self, bytes: u64) -> Payload {
        self.buffers.take(bytes)
    }

    pub fn give(&mut self, payload: Payload) {
        self.buffers.give(payload);
    }

    pub fn send(&mut self, why: Why, command: Command) {
        self.down.send(why, command);
    }

    /// Reads into memory of its own, to be given back.
    pub fn read(&mut self, why: Why, at: Extent) {
        let into = self.buffers.take(u64::from(at.bytes));
        self.down.send(why, Command::Read { at, into });
    }

    /// Writes a structure that `encode` puts into memory of a block or more, to be given back.
    pub fn write(
        &mut self,
        why: Why,
        at: Extent,
        durability: Durability,
        encode: impl FnOnce(&mut [u8]),
    ) {
        let mut from = self.buffers.take(u64::from(at.bytes));
        if let Some(bytes) = crate::buffers::bytes_mut(&mut from) {
            encode(bytes);
        }
        self.down.send(why, Command::Write { at, from, durability });
    }

    /// Why the answered request had been sent.
    pub fn take_why(&mut self, completion: &Completion) -> Why {
        self.down.take(completion)
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.down.is_idle()
    }

    pub fn drain_into(&mut self, effects: &mut Effects) {
        self.down.drain_into(effects);
    }

    /// Reads that were sent to the drive, and their bytes.
    pub fn reads(&self) -> (u64, u64) {
        (self.down.reads, self.down.read_bytes)
    }

    /// Something moved that others may wait for.
    pub fn step(&mut self) {
        self.steps += 1;
    }

    /// Differs whenever something has moved.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// A chunk of so many blocks gets its number.
    pub fn count_chunk(&mut self, entries: &[Entry], header_blocks: u32, blocks: u32) {
        count_chunk(&mut self.lifetime, entries, header_blocks, blocks);
    }

    /// So many blocks more go to the drive.
    pub fn count_blocks(&mut self, blocks: u64) {
        self.lifetime.drive_blocks += blocks;
    }

    /// A block's data did not fit their checksum.
    pub fn count_checksum_error(&mut self) {
        self.lifetime.checksum_errors += 1;
    }

    /// Those since the volume was opened.
    pub fn checksum_errors(&self) -> u64 {
        self.lifetime.checksum_errors - self.errors_before
    }

    /// Over the volume's whole life.
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }
}

/// Blocks at a location.
pub(super) fn extent(location: u32, blocks: u32) -> Extent {
    let bytes = blocks * BLOCK_BYTES as u32;
    Extent { offset: crate::layout::Layout::offset(location), bytes }
}
