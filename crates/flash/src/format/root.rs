//! The root of a checkpoint: where the pages of the map are, and how the segments stand.

use super::{Fields, NUMBER_MAX, VERSION, VolumeId, structure_crc, u32_at, u64_at};
use crate::lifetime::{LIFETIME_WORDS, Lifetime};

const MAGIC: u32 = u32::from_le_bytes(*b"DLrt");
const BLOCK_BYTES: usize = 4096;
const HEADER_BYTES: usize = 32;
pub(super) const CRC_AT: usize = 28;
/// What a block of the root carries.
pub const PAYLOAD_BYTES: usize = BLOCK_BYTES - HEADER_BYTES;
const LIFETIME_AT: usize = 32;
const FIXED_BYTES: usize = LIFETIME_AT + LIFETIME_WORDS * 8;

/// A segment in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentRecord {
    /// Free, open, closed, prefree or retired, as the format numbers them.
    pub state: u8,
    /// The stream that last opened it.
    pub stream: u8,
    /// Written, with headers and padding.
    pub blocks: u32,
    /// The last chunk in it.
    pub last_seq: u64,
}

/// What the root says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Root {
    /// C: the pages hold every chunk up to it.
    pub seq: u64,
    /// Of the chunks up to C.
    pub lifetime: Lifetime,
    /// Location and CRC of every page of the map.
    pub directory: Vec<(u32, u32)>,
    /// Every segment, in order.
    pub segments: Vec<SegmentRecord>,
    /// Each stream's segment and the block of it that comes next.
    pub open: Vec<(u32, u32)>,
    /// Free segments in the order in which they will be opened.
    pub free: Vec<u32>,
}

impl Root {
    /// Length of the stream with so many of each, B.
    pub fn bytes(pages: usize, segments: usize, streams: usize, free: usize) -> usize {
        FIXED_BYTES + pages * 8 + segments * 16 + streams * 8 + free * 4
    }

    /// Blocks that it takes.
    pub fn blocks(&self) -> u64 {
        let counts = [self.directory.len(), self.segments.len(), self.open.len(), self.free.len()];
        let length = Self::bytes(counts[0], counts[1], counts[2], counts[3]);
        length.div_ceil(PAYLOAD_BYTES) as u64
    }

    fn payload(&self) -> Vec<u8> {
        let counts = [self.directory.len(), self.segments.len(), self.open.len(), self.free.len()];
        let length = Self::bytes(counts[0], counts[1], counts[2], counts[3]);
        let mut payload = Vec::with_capacity(length);
        payload.extend(self.seq.to_le_bytes());
        payload.extend((length as u64).to_le_bytes());
        counts.iter().for_each(|&count| payload.extend((count as u32).to_le_bytes()));
        self.lifetime.words().iter().for_each(|word| payload.extend(word.to_le_bytes()));
        let mut pairs = |pairs: &[(u32, u32)]| {
            for (first, second) in pairs {
                payload.extend(first.to_le_bytes());
                payload.extend(second.to_le_bytes());
            }
        };
        pairs(&self.directory);
        let states: Vec<(u32, u32)> = self.segments.iter().flat_map(SegmentRecord::words).collect();
        pairs(&states);
        pairs(&self.open);
        self.free.iter().for_each(|segment| payload.extend(segment.to_le_bytes()));
        payload
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let count = |at: usize| u32_at(payload, at) as usize;
        let (pages, segments, streams, free) = (count(16), count(20), count(24), count(28));
        if Self::bytes(pages, segments, streams, free) > payload.len() {
            return None;
        }
        let words = std::array::from_fn(|word| u64_at(payload, LIFETIME_AT + word * 8));
        if u64_at(payload, 0).max(words.into_iter().max()?) >= NUMBER_MAX {
            return None;
        }
        let mut at = FIXED_BYTES;
        let mut pairs = |count: usize| -> Vec<(u32, u32)> {
            let pairs = (0..count).map(|index| {
                let place = at + index * 8;
                (u32_at(payload, place), u32_at(payload, place + 4))
            });
            let pairs = pairs.collect();
            at += count * 8;
            pairs
        };
        let (directory, table, open) = (pairs(pages), pairs(segments * 2), pairs(streams));
        Some(Self {
            seq: u64_at(payload, 0),
            lifetime: Lifetime::from_words(&words),
            directory,
            segments: table.chunks(2).map(SegmentRecord::from_words).collect(),
            open,
            free: (0..free).map(|index| u32_at(payload, at + index * 4)).collect(),
        })
    }
}

impl SegmentRecord {
    fn words(&self) -> [(u32, u32); 2] {
        let kind = u32::from(self.state) | u32::from(self.stream) << 8;
        [(kind, self.blocks), (self.last_seq as u32, (self.last_seq >> 32) as u32)]
    }

    fn from_words(words: &[(u32, u32)]) -> Self {
        let (kind, blocks) = words[0];
        Self {
            state: kind as u8,
            stream: (kind >> 8) as u8,
            blocks,
            last_seq: u64::from(words[1].0) | u64::from(words[1].1) << 32,
        }
    }
}

/// The blocks of the root for the area at `offset`, one after the other.
pub fn encode_root(id: VolumeId, offset: u64, generation: u64, root: &Root) -> Vec<u8> {
    let payload = root.payload();
    let mut bytes = vec![0; payload.len().div_ceil(PAYLOAD_BYTES) * BLOCK_BYTES];
    let blocks = bytes.chunks_mut(BLOCK_BYTES).zip(payload.chunks(PAYLOAD_BYTES));
    for ((block, part), index) in blocks.zip(0u32..) {
        let place = offset + u64::from(index) * BLOCK_BYTES as u64;
        block[HEADER_BYTES..HEADER_BYTES + part.len()].copy_from_slice(part);
        let mut fields = Fields(block);
        fields.u32(0, MAGIC);
        fields.u32(4, VERSION);
        fields.u64(8, generation);
        fields.u64(16, place);
        fields.u32(24, index);
        let crc = structure_crc(id, place, block, CRC_AT);
        Fields(block).u32(CRC_AT, crc);
    }
    bytes
}

/// The generation of the root whose first block this looks like; its checksum, which takes the
/// volume's id, is not looked at.
pub fn root_block_generation(offset: u64, block: &[u8]) -> Option<u64> {
    let first = u32_at(block, 0) == MAGIC && u64_at(block, 16) == offset && u32_at(block, 24) == 0;
    first.then(|| u64_at(block, 8))
}

/// A root that is being read from its area, part after part. It takes no more memory than good
/// blocks came.
#[derive(Debug, Default)]
pub struct RootStream {
    id: VolumeId,
    /// Of the area.
    offset: u64,
    generation: u64,
    /// None is longer, B.
    bytes_max: u64,
    /// Good blocks so far.
    blocks: u64,
    payload: Vec<u8>,
    /// The first block that is none, or is not there.
    bad: Option<u64>,
}

impl RootStream {
    pub fn new(id: VolumeId, offset: u64, generation: u64, bytes_max: u64) -> Self {
        Self { id, offset, generation, bytes_max, ..Self::default() }
    }

    /// Takes in the next blocks of the area; none where they cannot be read.
    pub fn take(&mut self, bytes: &[u8]) {
        for block in bytes.chunks_exact(BLOCK_BYTES) {
            if !self.goes_on() {
                return;
            }
            let place = self.next_place();
            let good = u32_at(block, 0) == MAGIC
                && u64_at(block, 8) == self.generation
                && u64_at(block, 16) == place
                && structure_crc(self.id, place, block, CRC_AT) == u32_at(block, CRC_AT);
            self.payload.extend_from_slice(&block[HEADER_BYTES..]);
            if !good || u64_at(&self.payload, 8) > self.bytes_max {
                self.bad = Some(place);
                return;
            }
            self.blocks += 1;
        }
        if bytes.is_empty() {
            self.bad = Some(self.next_place());
        }
    }

    fn next_place(&self) -> u64 {
        self.offset + self.blocks * BLOCK_BYTES as u64
    }

    /// Whether a next block is needed, and may be good.
    pub fn goes_on(&self) -> bool {
        let is_whole =
            !self.payload.is_empty() && self.payload.len() as u64 >= u64_at(&self.payload, 8);
        self.bad.is_none() && !is_whole
    }

    /// What it says; the first bad block if it is damaged.
    pub fn end(self) -> Result<Root, u64> {
        match self.bad {
            Some(place) => Err(place),
            None if self.goes_on() => Err(self.next_place()),
            None => Root::from_payload(&self.payload).ok_or(self.offset),
        }
    }
}

/// The root of that generation out of its area; the first bad block if it is damaged.
pub fn decode_root(id: VolumeId, offset: u64, generation: u64, bytes: &[u8]) -> Result<Root, u64> {
    let mut stream = RootStream::new(id, offset, generation, u64::MAX);
    stream.take(bytes);
    stream.end()
}
