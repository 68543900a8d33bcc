//! File systems: what a kernel of the studies' time (2.6, 3.16), or today's, makes of reads and writes before a drive
//! sees them.

mod params;

pub use params::{
    Barrier, Caching, DataMode, Discard, Elevator, FileSystemParams, Kernel, Kind, LazyCount,
    Syncing,
};

/// A page of the page cache and a block of the file system, bytes.
const PAGE_BYTES: u64 = 4096;
