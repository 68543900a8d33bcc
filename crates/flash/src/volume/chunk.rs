//! A chunk while it is in memory: it fills, gets its number, and is on its way.

use super::stream::Stream;
use crate::{
    buffers::{bytes, bytes_mut},
    format::{Entry, Kind, block_crc},
    layout::Layout,
    shape::BLOCK_BYTES,
};
use block::{Durability, Payload};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flight {
    /// Still filling.
    Open,
    /// On its way; its memory is not here.
    Away,
    Done,
    Failed,
}

#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub stream: Stream,
    pub segment: u32,
    /// First location.
    pub place: u32,
    /// Blocks that it may have.
    pub capacity: u32,
    /// Blocks that it has, once closed.
    pub blocks: u32,
    pub entries: Vec<Entry>,
    /// Blocks of data.
    pub data: u32,
    /// What of it the ring's records hold.
    pub recorded: Recorded,
    /// Entries that are older than the first in the open chunk of the host's other class.
    pub sure: usize,
    pub attempt: u8,
    pub flight: Flight,
    pub durability: Durability,
    pub buffer: Payload,
}

/// The first entries of a chunk, and their data in blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recorded {
    pub entries: usize,
    pub data: u32,
}

impl Chunk {
    /// Whether there is no room for one more entry.
    pub fn is_full(&self, kind: Kind, layout: &Layout) -> bool {
        self.entries.len() as u32 == layout.entries_max
            || kind.has_data() && layout.header_blocks + self.data == self.capacity
    }

    /// Takes in an entry with its data, which `fill` writes, and says where these will be and their
    /// checksum.
    pub fn push(
        &mut self,
        header_blocks: u32,
        mut entry: Entry,
        fill: impl FnOnce(&mut [u8]),
    ) -> (u32, u32) {
        let at = header_blocks + self.data;
        if entry.kind.has_data() {
            assert!(at < self.capacity, "block {at} of a chunk of {}", self.capacity);
            self.data += 1;
            if let Some(bytes) = bytes_mut(&mut self.buffer) {
                let start = at as usize * BLOCK_BYTES as usize;
                let block = &mut bytes[start..start + BLOCK_BYTES as usize];
                fill(block);
                if entry.kind != Kind::Copy {
                    entry.crc = block_crc(entry.block, block);
                }
            }
        }
        self.entries.push(entry);
        (self.place + at, entry.crc)
    }

    /// The data of one of its blocks, counted from its start.
    pub fn block(&self, at: u32) -> Option<&[u8]> {
        let start = at as usize * BLOCK_BYTES as usize;
        Some(&bytes(&self.buffer)?[start..start + BLOCK_BYTES as usize])
    }

    /// Its length is known: it ends at an append unit, and what is not used is zero.
    pub fn close(&mut self, used: u32, unit: u32) {
        self.blocks = used.next_multiple_of(unit);
        assert!(self.blocks <= self.capacity, "{} blocks, {} at most", self.blocks, self.capacity);
        if let Some(bytes) = bytes_mut(&mut self.buffer) {
            let block = BLOCK_BYTES as usize;
            bytes[used as usize * block..self.blocks as usize * block].fill(0);
        }
    }
}
