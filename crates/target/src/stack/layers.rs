//! The layers of a STACK: their names, what stands for a setting that is not written, and what a
//! record says of one.

use super::elevator::{Choice, ELEVATORS};
use model::{Level, Policy, Takes, WriteMode};

/// Requests that a stack takes at a time, at least.
pub const QUEUE_DEPTH: u32 = 1024;
/// Memory of a file-system layer that names none.
pub const RAM_BYTES: u64 = 2 << 30;
/// The chunk of an array that names none: md's default when the arrays of the studies were built.
pub const CHUNK_BYTES: u64 = 64 << 10;

/// A layer's name, and what kind of layer it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Array(Level),
    Elevator(Choice),
    Cache(Preset),
    Pin,
    Tier,
    Files,
    Flash,
}

pub(super) const LAYERS: &[(&str, Family)] = &[
    ("raid0", Family::Array(Level::Raid0)),
    ("raid1", Family::Array(Level::Raid1)),
    ("raid5", Family::Array(Level::Raid5)),
    ("raid6", Family::Array(Level::Raid6)),
    ("raid10", Family::Array(Level::Raid10)),
    ("ext2", Family::Files),
    ("ext3", Family::Files),
    ("ext4", Family::Files),
    ("xfs", Family::Files),
    ("flash", Family::Flash),
    (ELEVATORS[0].0, Family::Elevator(ELEVATORS[0].1)),
    (ELEVATORS[1].0, Family::Elevator(ELEVATORS[1].1)),
    (ELEVATORS[2].0, Family::Elevator(ELEVATORS[2].1)),
    (ELEVATORS[3].0, Family::Elevator(ELEVATORS[3].1)),
    (CACHES[0].0, Family::Cache(CACHES[0].1)),
    (CACHES[1].0, Family::Cache(CACHES[1].1)),
    (CACHES[2].0, Family::Cache(CACHES[2].1)),
    (CACHES[3].0, Family::Cache(CACHES[3].1)),
    ("pin", Family::Pin),
    ("tier", Family::Tier),
];

/// Names of the layer; what they are set to unless something else is written.
pub(super) const CACHES: [(&str, Preset); 4] = [
    ("cache", PLAIN),
    // drivers/md/bcache of Linux 6.1: writethrough, LRU, sequential_cutoff 4 MiB, and once it is
    // set to write back, writeback_percent 10.
    ("bcache", PLAIN),
    // drivers/md/dm-cache: it knows no streams, and copies whole blocks. lvmcache's mode is
    // writethrough.
    (
        "dm-cache",
        Preset { policy: Policy::Smq, bypass_bytes: 0, takes: Takes::WholeBlocks, ..PLAIN },
    ),
    // drivers/md/dm-writecache.c of Linux 6.1: blocks of 4 KiB as lvmcache makes them, no streams,
    // high_watermark 50 and low_watermark 45 percent, pause_writeback 3,000 ms.
    (
        "dm-writecache",
        Preset {
            mode: WriteMode::Back,
            bypass_bytes: 0,
            dirty_per_mille: 500,
            clean_of_dirty_per_mille: 900,
            pause_ns: 3_000_000_000,
            takes: Takes::WritesAlone,
            block_bytes: 4096,
            ..PLAIN
        },
    ),
];

const PLAIN: Preset = Preset {
    mode: WriteMode::Through,
    policy: Policy::Lru,
    bypass_bytes: 4 << 20,
    dirty_per_mille: 100,
    clean_of_dirty_per_mille: 1000,
    pause_ns: 0,
    takes: Takes::ReadsAndWrites,
    block_bytes: BLOCK_BYTES,
};

/// Blocks of a cache that names none, at least.
const BLOCK_BYTES: u32 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Preset {
    pub mode: WriteMode,
    pub policy: Policy,
    pub bypass_bytes: u64,
    pub dirty_per_mille: u32,
    /// Down to this share of what may be dirty blocks are written back.
    pub clean_of_dirty_per_mille: u32,
    /// After a write that found no room.
    pub pause_ns: u64,
    pub takes: Takes,
    /// Blocks where none are named, at least.
    pub block_bytes: u32,
}

/// What a layer is, for records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayerInfo {
    /// As a STACK names it, with its settings.
    pub text: String,
    /// `drive`, `port`, `array`, `elevator`, `ssd_cache`, `pin`, `tier`, `journal`, `metadata`,
    /// `small_files`, `managed_flash`, `file_system`.
    pub kind: &'static str,
    /// Its size, of each drive where there are several, bytes; 0 where it has none of its own.
    pub bytes: u64,
    /// In words, for a drive.
    pub title: Option<String>,
    /// Whether it rotates, for a drive.
    pub rotational: Option<bool>,
}
