//! Where things are on the drive, and how much of it must stay free: the arithmetic that `create`
//! refuses by.

use crate::broken::{Rule, broken};
use crate::format::{ENTRY_BYTES, HEADER_BYTES, PAYLOAD_BYTES, Root};
use crate::shape::{BLOCK_BYTES, Checksums, Classes, Parity, STREAMS, Shape};
use block::display_bytes;
use std::fmt;

/// A chunk's entries are counted in 16 bits.
const CHUNK_BYTES_MAX: u64 = 128 << 20;
/// However large the spare, recovery reads no more than this.
const WINDOW_BYTES_MAX: u64 = 64 << 30;

/// Why a volume cannot be so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A size is not what it must be a multiple of.
    Unaligned {
        /// Which.
        what: &'static str,
        /// As it was given.
        bytes: u64,
        /// What must divide it.
        unit_bytes: u64,
    },
    /// A chunk has no room for a header and a block, is longer than its segment, or than a transfer
    /// below.
    Chunk {
        /// As it was given.
        bytes: u64,
        /// The most it can be.
        bytes_max: u64,
    },
    /// Without parity there is no stripe to pad, and a ring of one slot has none to write to.
    Ring {
        /// As it was given.
        bytes: u64,
        /// The least that is of use; 0 where none is.
        bytes_min: u64,
    },
    /// More classes than can be told apart, or none.
    Classes(Classes),
    /// Block numbers are 32 bits wide.
    TooLarge {
        /// The drive or volume.
        bytes: u64,
    },
    /// Too little is left for the reserve: the cleaner could come to a stand.
    NoRoom {
        /// Segments on the drive.
        segments: u64,
        /// Of which these must never hold the host's data.
        reserve: u64,
    },
    /// The root areas, whose size is fixed when a volume is created, are too small for the root.
    RootArea {
        /// Of each.
        bytes: u64,
        /// What the root takes.
        needed_bytes: u64,
    },
    /// What is exported could not be filled.
    Spare {
        /// As it was given, in thousandths of the drive.
        per_mille: u32,
        /// The least that would do, if any does.
        per_mille_min: Option<u32>,
    },
}

impl Refusal {
    /// Not one segment has room on the drive.
    pub(crate) fn no_segment() -> Self {
        Self::NoRoom { segments: 0, reserve: STREAMS as u64 + 7 }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unaligned { what, bytes, unit_bytes } => {
                let next = bytes.max(1).checked_next_multiple_of(unit_bytes).unwrap_or(unit_bytes);
                write!(
                    formatter,
                    "{what} of {bytes} B is no multiple of {unit_bytes} B: take {next} B"
                )
            }
            Self::Chunk { bytes, bytes_max } => write!(
                formatter,
                "a chunk of {bytes} B does not fit: between 8192 B and {bytes_max} B are possible"
            ),
            Self::Ring { bytes, bytes_min: 0 } => {
                write!(formatter, "a ring of {bytes} B is of no use without parity: take 0 B")
            }
            Self::Ring { bytes, bytes_min } => write!(
                formatter,
                "a ring of {bytes} B has too few slots: take 0 B for none, or {bytes_min} B or more"
            ),
            Self::Classes(Classes { host, cleaner }) => write!(
                formatter,
                "{host} classes of writes and {cleaner} of copies are not possible: take 1 or 2, and 1 to 4"
            ),
            Self::TooLarge { bytes } => {
                write!(formatter, "{} are more than 16 TiB", display_bytes(bytes))
            }
            Self::NoRoom { segments, reserve } => write!(
                formatter,
                "{reserve} of the drive's {segments} segments must stay free for cleaning and \
                 checkpoints: choose smaller segments or a larger drive"
            ),
            Self::RootArea { bytes, needed_bytes } => write!(
                formatter,
                "a root of {needed_bytes} B does not fit the volume's root areas of {bytes} B, whose size \
                 was fixed when it was created: create a new volume of that size and copy this one into it"
            ),
            Self::Spare { per_mille, per_mille_min } => {
                let percent = |per_mille: u32| f64::from(per_mille) / 10.0;
                write!(formatter, "a spare of {} % is too little: ", percent(per_mille))?;
                match per_mille_min {
                    Some(least) => write!(formatter, "take {} % or more", percent(least)),
                    None => write!(formatter, "choose smaller segments or a larger drive"),
                }
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// A [`Shape`] worked out. Numbers of blocks and segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What it follows from.
    pub shape: Shape,
    /// Least common multiple of stripe and erase unit.
    pub unit_bytes: u64,
    /// How many segments there are.
    pub segments: u32,
    /// Blocks of a segment.
    pub segment_blocks: u32,
    /// Slots of the ring, each a stripe; 0 for none.
    pub ring_slots: u32,
    /// First block of the first segment.
    pub first_block: u32,
    /// Blocks of the longest chunk.
    pub chunk_blocks: u32,
    /// Blocks of a chunk's header.
    pub header_blocks: u32,
    /// Entries that a chunk's header has room for.
    pub entries_max: u32,
    /// Places and lengths of chunks are multiples of so many blocks.
    pub append_blocks: u32,
    /// Blocks of the volume.
    pub exported_blocks: u32,
    /// Blocks that a page of the map maps.
    pub page_entries: u32,
    /// Pages of the map.
    pub pages: u32,
    /// Segments that hold a whole map.
    pub map_segments: u32,
    /// W: segments that host and cleaner may open between two checkpoints.
    pub window: u32,
    /// Segments that never hold the host's data.
    pub reserve: u32,
    /// So many blocks can be mapped; a new mapping beyond gets ENOSPC.
    pub mapped_max: u32,
    /// Bytes of each of the two root areas.
    pub root_bytes: u64,
}

/// How many segments are kept empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Levels {
    /// Free segments below which the host opens none.
    pub floor: usize,
    /// Segments that wait for a checkpoint when it is due.
    pub interval: usize,
    /// Beyond those: the host's writes are paced by the cleaner's, and none waits long.
    pub margin: usize,
}

impl Layout {
    /// Works out `shape` for a drive that takes transfers of up to `transfer_bytes_max`.
    ///
    /// # Errors
    /// [`Refusal`] with what to change.
    pub fn new(shape: Shape, transfer_bytes_max: u64) -> Result<Self, Refusal> {
        shape.check(transfer_bytes_max)?;
        Self::with_root_areas(shape, shape.root_bytes_to_grow(), transfer_bytes_max)
    }

    /// The same for a volume whose root areas have their size already: what it may have become
    /// since it was created.
    ///
    /// # Errors
    /// [`Refusal`], also if the root would not fit its area.
    pub fn with_root_areas(
        shape: Shape,
        root_bytes: u64,
        transfer_bytes_max: u64,
    ) -> Result<Self, Refusal> {
        shape.check(transfer_bytes_max)?;
        let unit_bytes = shape.unit_bytes();
        let segment_blocks = (shape.segment_bytes / BLOCK_BYTES) as u32;
        let chunk_blocks = (shape.chunk_bytes / BLOCK_BYTES) as u32;
        let header_blocks = header_blocks(chunk_blocks);
        let per_segment = data_blocks(segment_blocks, chunk_blocks, header_blocks);
        let exported_blocks = shape.exported_bytes.div_ceil(BLOCK_BYTES);
        let page_entries = shape.page_entries();
        let pages = exported_blocks.div_ceil(page_entries);
        let map_segments = pages.div_ceil(u64::from(per_segment));
        let whole = shape.device_bytes / unit_bytes * unit_bytes;
        if root_bytes > shape.device_bytes || !root_bytes.is_multiple_of(unit_bytes) {
            return Err(Refusal::RootArea { bytes: root_bytes, needed_bytes: unit_bytes });
        }
        let first = 2 * unit_bytes + 2 * root_bytes + shape.ring_bytes;
        let segments = whole.saturating_sub(first + 2 * unit_bytes) / shape.segment_bytes;
        let needed_bytes = root_blocks(pages, segments) * BLOCK_BYTES;
        if needed_bytes > root_bytes {
            return Err(Refusal::RootArea { bytes: root_bytes, needed_bytes });
        }
        let needed = exported_blocks.div_ceil(u64::from(per_segment));
        let spare = segments.saturating_sub(needed);
        let window = (spare / 4).min(WINDOW_BYTES_MAX / shape.segment_bytes).max(2);
        // Streams with a segment each; the map twice; what lets the cleaner begin; and what waits
        // for a checkpoint.
        let streams = u64::from(shape.classes.streams());
        let reserve = streams + 2 * map_segments + u64::from(shape.classes.cleaner) + 2 + window;
        // Of what may be full of live blocks, so much more must be garbage that the emptiest
        // segment always has some.
        let slack = segments.div_ceil(u64::from(per_segment)) + 1;
        let usable = segments.saturating_sub(reserve + slack);
        if usable == 0 {
            return Err(Refusal::NoRoom { segments, reserve: reserve + slack });
        }
        Ok(Self {
            shape,
            unit_bytes,
            segments: segments as u32,
            segment_blocks,
            ring_slots: (shape.ring_bytes / shape.stripe_bytes) as u32,
            first_block: (first / BLOCK_BYTES) as u32,
            chunk_blocks,
            header_blocks,
            entries_max: entries_max(header_blocks),
            append_blocks: match shape.parity {
                Parity::Protected => (shape.stripe_bytes / BLOCK_BYTES) as u32,
                Parity::None => 1,
            },
            exported_blocks: exported_blocks as u32,
            page_entries: page_entries as u32,
            pages: pages as u32,
            map_segments: map_segments as u32,
            window: window as u32,
            reserve: reserve as u32,
            mapped_max: (usable * u64::from(per_segment)).min(exported_blocks) as u32,
            root_bytes,
        })
    }

    /// Blocks of the shortest chunk with data in it.
    pub(crate) fn least_blocks(&self) -> u32 {
        (self.header_blocks + 1).next_multiple_of(self.append_blocks)
    }

    /// Segments that may be taken from the free queue between two checkpoints, by all streams: what
    /// recovery looks at. The pages of a checkpoint may have to be written anew when a write fails.
    pub fn scan_bound(&self) -> u32 {
        self.window + 2 * self.map_segments + 8
    }

    /// Free segments below which the host opens none: a checkpoint's pages, and for the cleaner one
    /// for each class that a victim's blocks may overflow, and one more; and one that a checkpoint
    /// may begin for its pages while a victim is only half empty.
    pub(crate) fn host_floor(&self) -> usize {
        self.cleaner_floor() + usize::from(self.shape.classes.cleaner) + 2
    }

    /// Segments that are not needed for so many mapped blocks.
    pub fn spare_segments(&self, mapped_blocks: u32) -> u32 {
        let needed = mapped_blocks.div_ceil(self.data_blocks()) + self.map_segments;
        self.segments.saturating_sub(needed)
    }

    /// How many segments to keep empty where so many blocks are mapped.
    ///
    /// A checkpoint writes the pages of the map, M segments where writes are random; the i segments
    /// that are emptied between two of them are no spare. With WA about 1/2s the loss is i/s + M/i,
    /// least at i = sqrt(M s).
    pub(crate) fn levels(&self, mapped_blocks: u32) -> Levels {
        let window = self.window as usize;
        let pages = f64::from(self.map_segments);
        let best = (pages * f64::from(self.spare_segments(mapped_blocks))).sqrt();
        let interval = (best as usize).clamp(1, (window / 2).max(1));
        // While a checkpoint writes its pages the host may write as much; and each data stream
        // opens a segment.
        let streams = self.shape.classes.streams() as usize - 1;
        let margin = (self.map_segments as usize + streams + 2).min(window - interval).max(1);
        Levels { floor: self.host_floor(), interval, margin }
    }

    /// Free segments below which the cleaner opens none: a checkpoint's pages.
    pub(crate) fn cleaner_floor(&self) -> usize {
        self.map_segments as usize + 1
    }

    /// Offset of a location.
    pub fn offset(location: u32) -> u64 {
        u64::from(location) * BLOCK_BYTES
    }

    /// First location of a segment.
    pub fn location(&self, segment: u32) -> u32 {
        self.first_block + segment * self.segment_blocks
    }

    /// The segment that a location is in.
    pub fn segment_of(&self, location: u32) -> u32 {
        let segment = (location - self.first_block) / self.segment_blocks;
        assert!(segment < self.segments, "location {location} is in no segment");
        segment
    }

    /// Whether a location lies in a segment at all: what is read from a drive may not.
    pub(crate) fn contains(&self, location: u32) -> bool {
        location >= self.first_block
            && (location - self.first_block) / self.segment_blocks < self.segments
    }

    /// Offset of root area 0 or 1.
    pub fn root_offset(&self, generation: u64) -> u64 {
        let area = if broken(Rule::RootTurns) { 0 } else { generation % 2 };
        2 * self.unit_bytes + area * self.root_bytes
    }

    /// No root of such a volume is longer, B: all segments free.
    pub(crate) fn root_bytes_max(&self) -> u64 {
        let (pages, segments) = (self.pages as usize, self.segments as usize);
        Root::bytes(pages, segments, STREAMS, segments) as u64
    }

    /// Offset of the ring's slot that a record of that number goes to.
    pub fn slot_offset(&self, number: u64) -> u64 {
        let slot = number % u64::from(self.ring_slots);
        2 * (self.unit_bytes + self.root_bytes) + slot * self.shape.stripe_bytes
    }

    /// Offsets of the two copies that a generation of the superblock is written to.
    pub fn copies_of(&self, generation: u64) -> [u64; 2] {
        let turn = (generation % 2) as usize;
        [turn, 2 + turn].map(|copy| self.copies()[copy])
    }

    /// Offsets of the four copies of the superblock.
    pub fn copies(&self) -> [u64; 4] {
        copies(self.shape.device_bytes, self.unit_bytes)
    }
}

/// Offsets of the superblock's copies; the first and last do not depend on the unit.
pub fn copies(device_bytes: u64, unit_bytes: u64) -> [u64; 4] {
    let whole = device_bytes / unit_bytes * unit_bytes;
    let last = (device_bytes / BLOCK_BYTES).saturating_sub(1) * BLOCK_BYTES;
    [0, unit_bytes, whole.saturating_sub(unit_bytes.saturating_mul(2)), last]
}

impl Shape {
    /// A ring of 64 slots where there is parity: a stripe of 192 KiB takes 43 records of single
    /// blocks before it is cheaper to fill it up, and the records of a stripe that is still on its
    /// way need their slots too. Of a small drive no more than a hundredth part.
    pub fn usual_ring_bytes(&self) -> u64 {
        let unit = self.unit_bytes();
        if self.parity == Parity::None || self.slot_blocks() < 2 {
            return 0;
        }
        let bytes = (64 * self.stripe_bytes).min(self.device_bytes / 100);
        let bytes = bytes.next_multiple_of(unit).max(self.least_ring_bytes());
        if bytes > self.device_bytes / 10 { 0 } else { bytes }
    }

    /// The slot that is written next never holds what is still needed; so a ring of few slots is
    /// always full.
    fn least_ring_bytes(&self) -> u64 {
        (4 * self.stripe_bytes).next_multiple_of(self.unit_bytes())
    }

    fn slot_blocks(&self) -> u64 {
        self.stripe_bytes / BLOCK_BYTES
    }

    /// Least common multiple of stripe and erase unit.
    pub fn unit_bytes(&self) -> u64 {
        lcm(self.stripe_bytes, self.erase_unit_bytes)
    }

    fn page_entries(&self) -> u64 {
        match self.checksums {
            Checksums::OnRead => 512,
            Checksums::OnCleaning => 1024,
        }
    }

    /// Root areas with room for a drive and a volume twice as large as the larger of both: what a
    /// volume can grow by, for some 16 millionths of the drive.
    fn root_bytes_to_grow(&self) -> u64 {
        let largest = (u64::from(u32::MAX) - 1) * BLOCK_BYTES;
        let bytes = (2 * self.device_bytes.max(self.exported_bytes)).min(largest);
        let pages = bytes.div_ceil(BLOCK_BYTES).div_ceil(self.page_entries());
        let blocks = root_blocks(pages, bytes / self.segment_bytes);
        (blocks * BLOCK_BYTES).next_multiple_of(self.unit_bytes())
    }

    fn check(&self, transfer_bytes_max: u64) -> Result<(), Refusal> {
        let aligned = |what, bytes: u64, unit_bytes: u64| {
            let good = bytes > 0 && bytes.is_multiple_of(unit_bytes);
            if good { Ok(()) } else { Err(Refusal::Unaligned { what, bytes, unit_bytes }) }
        };
        if !self.classes.are_possible() {
            return Err(Refusal::Classes(self.classes));
        }
        aligned("a stripe", self.stripe_bytes, BLOCK_BYTES)?;
        aligned("an erase unit", self.erase_unit_bytes, BLOCK_BYTES)?;
        aligned("a volume", self.exported_bytes, 512)?;
        for bytes in [self.device_bytes, self.exported_bytes] {
            addressable(bytes)?;
        }
        // Whatever is no longer than the drive is far from overflowing.
        if self.segment_bytes.max(self.ring_bytes) > self.device_bytes {
            return Err(Refusal::no_segment());
        }
        aligned("a segment", self.segment_bytes, self.unit_bytes())?;
        self.check_ring()?;
        let append_bytes = match self.parity {
            Parity::Protected => self.stripe_bytes,
            Parity::None => BLOCK_BYTES,
        };
        aligned("a chunk", self.chunk_bytes, append_bytes)?;
        let bytes_max = self.segment_bytes.min(transfer_bytes_max).min(CHUNK_BYTES_MAX);
        let blocks = self.chunk_bytes / BLOCK_BYTES;
        if self.chunk_bytes > bytes_max || blocks <= u64::from(header_blocks(blocks as u32)) {
            return Err(Refusal::Chunk { bytes: self.chunk_bytes, bytes_max });
        }
        Ok(())
    }

    fn check_ring(&self) -> Result<(), Refusal> {
        let (bytes, unit_bytes) = (self.ring_bytes, self.unit_bytes());
        if bytes == 0 {
            return Ok(());
        }
        if !bytes.is_multiple_of(unit_bytes) {
            return Err(Refusal::Unaligned { what: "a ring", bytes, unit_bytes });
        }
        let of_use = self.parity == Parity::Protected && self.slot_blocks() >= 2;
        let bytes_min = if of_use { self.least_ring_bytes() } else { 0 };
        if !of_use || bytes < bytes_min {
            return Err(Refusal::Ring { bytes, bytes_min });
        }
        Ok(())
    }
}

/// Whether 32 bits number the blocks of a drive or volume of so many bytes.
pub(crate) fn addressable(bytes: u64) -> Result<(), Refusal> {
    if bytes > (u64::from(u32::MAX) - 1) * BLOCK_BYTES {
        return Err(Refusal::TooLarge { bytes });
    }
    Ok(())
}

/// Blocks of a root with so many pages of the map and segments.
fn root_blocks(pages: u64, segments: u64) -> u64 {
    let (pages, segments) = (pages as usize, segments as usize);
    Root::bytes(pages, segments, STREAMS, segments).div_ceil(PAYLOAD_BYTES) as u64
}

/// Blocks of the header of a chunk of that length: one block lists 252 entries, so one in 256 is
/// enough.
fn header_blocks(chunk_blocks: u32) -> u32 {
    chunk_blocks.div_ceil(256)
}

/// How many entries a header has room for.
fn entries_max(header_blocks: u32) -> u32 {
    (header_blocks * BLOCK_BYTES as u32 - HEADER_BYTES as u32) / ENTRY_BYTES as u32
}

/// Blocks of data in a segment full of the longest chunks.
pub(crate) fn data_blocks(segment_blocks: u32, chunk_blocks: u32, header_blocks: u32) -> u32 {
    let (chunks, rest) = (segment_blocks / chunk_blocks, segment_blocks % chunk_blocks);
    let data = |blocks: u32| blocks.saturating_sub(header_blocks).min(entries_max(header_blocks));
    chunks * data(chunk_blocks) + data(rest)
}

pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
