//! What a cache on flash is set to.

use super::map;
use block::Geometry;
use cache::Policy;

/// What becomes of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteMode {
    /// It goes to flash, and to the disks later.
    Back,
    /// It goes to both before it is acknowledged.
    Through,
    /// It goes to the disks, and what flash has of it is forgotten.
    Around,
}

/// What a cache takes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// What is written, and what was read from the disks.
    ReadsAndWrites,
    /// All of a block once a part of it has a place: the rest comes from the disks.
    WholeBlocks,
    /// What is written, until it is on the disks.
    WritesAlone,
}

/// Where the map of what flash holds is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapPlace {
    /// On flash: which blocks are dirty is known after a power cut.
    Persistent,
    /// In memory: a power cut takes it, and with it every write that is not on the disks.
    Memory,
}

/// A cache on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SsdCacheParams {
    /// Bytes of the flash drive that it takes.
    pub size_bytes: u64,
    /// Bytes of a block: what the policy counts. A power of two from 4 KiB to 1 MiB.
    pub block_bytes: u32,
    /// What becomes of a write.
    pub mode: WriteMode,
    /// Which block goes when one must.
    pub policy: Policy,
    /// Where the map is kept; matters where writes go back.
    pub map: MapPlace,
    /// From this length on a sequential stream passes the cache by; 0: none does.
    pub bypass_bytes: u64,
    /// Share of the blocks that may be dirty before they are written back, thousandths. At twice as
    /// many, writes go through.
    pub dirty_per_mille: u32,
    /// Once there are so many, blocks are written back until no more than these are dirty,
    /// thousandths.
    pub clean_per_mille: u32,
    /// For so long after a write that found no room nothing is written back, ns: the disks are
    /// asked for enough.
    pub pause_ns: u64,
    /// What it takes in.
    pub takes: Takes,
}

/// Most blocks of a cache: a map and a policy take some 100 B of memory for each.
pub const BLOCKS_MAX: u64 = 1 << 22;
/// Fewest: what is on its way needs room, too.
pub const BLOCKS_MIN: u64 = 64;

/// Where on flash what lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// Places for blocks.
    pub slots: u32,
    /// Blocks that the policy holds: some fewer, for those that leave.
    pub blocks: usize,
    /// Pages of the map, of which there are two copies.
    pub pages: u32,
    /// Where the first slot begins, bytes.
    pub data_at: u64,
}

impl SsdCacheParams {
    /// How many blocks it holds.
    ///
    /// # Panics
    /// On a block that is none.
    pub fn blocks(&self) -> u64 {
        let block = u64::from(self.block_bytes);
        assert!(
            block.is_power_of_two() && (4096..=1 << 20).contains(&block),
            "blocks of {block} B"
        );
        // With room for the map of more blocks than can be: a little is left over.
        let map_bytes = 2 * (self.size_bytes / block).div_ceil(map::ENTRIES) * map::PAGE_BYTES;
        self.size_bytes.saturating_sub(map_bytes.next_multiple_of(block)) / block
    }

    pub(super) fn shape(&self, flash: &Geometry) -> Shape {
        assert!(self.clean_per_mille <= self.dirty_per_mille, "cleaned down to more than dirty");
        assert!(self.size_bytes <= flash.capacity_bytes, "a cache larger than its drive");
        let slots = self.blocks();
        assert!((BLOCKS_MIN..=BLOCKS_MAX).contains(&slots), "a cache of {slots} blocks");
        let pages = slots.div_ceil(map::ENTRIES);
        let block = u64::from(self.block_bytes);
        let data_at = (2 * pages * map::PAGE_BYTES).next_multiple_of(block);
        assert!(data_at + slots * block <= self.size_bytes, "map and blocks fit");
        // One of writes alone gives up nothing that is dirty.
        let spare = match self.takes {
            Takes::WritesAlone => 0,
            Takes::ReadsAndWrites | Takes::WholeBlocks => (slots / 8).clamp(8, 256),
        };
        Shape {
            slots: slots as u32,
            blocks: (slots - spare) as usize,
            pages: pages as u32,
            data_at,
        }
    }
}
