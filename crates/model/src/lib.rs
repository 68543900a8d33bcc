//! Virtual drives: plain parameters in, virtual time out. Nothing here parses, reads a clock, does
//! I/O or draws an unseeded number, so that the same stack with the same seed replays for ever.
//!
//! ```text
//!   FileSystem      page cache, read-ahead, elevator, journal          fs/
//!      | Stack
//!   SsdCache        flash in front of disks                            ssd_cache/, beside.rs
//!   Pin, Tier       flash beside disks, each byte on one of them       placement/
//!      | Stack
//!   Elevator        noop, deadline, cfq, anticipatory: order, merges   elevator/
//!      | Stack
//!   BatteryCache    a RAID controller's memory, which a battery keeps  battery_cache/
//!      | Stack
//!   Array           RAID-0, 1, 5, 6, 10: splits, merges, parity        array/
//!      | Stack
//!   Port            what the host and its controller cost              port/
//!      | Stack
//!   Sim, Paced      the virtual clock, the wall clock                  sim.rs, paced.rs
//!      |
//!   Rig             the drives' media and faults, where wanted         media/, fault/
//!      |
//!   Bank            several drives under one clock                     bank.rs
//!      |
//!   VolatileCache   in front of a real drive, so that a kill is a power cut
//!   flash, disk     page-mapped and block-mapped flash, disks          flash/, disk/
//!   Quota           a cloud volume: what it meters                     quota/
//! ```
//!
//! Every layer is a [`block::Machine`]; `Sim` and [`block::Stack`] make engines of them, so a
//! workload cannot tell a model from a drive. Models decide *when*; media decide *what bytes*
//! survive.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod array;
mod bank;
mod battery_cache;
mod beside;
mod cost;
mod disk;
pub mod elevator;
mod fast_cache;
mod fault;
pub mod flash;
pub mod fs;
mod kind;
mod map_sum;
mod media;
mod outbox;
mod paced;
mod paced_lateness;
mod placement;
mod port;
mod quota;
mod sim;
mod slab;
mod ssd_cache;
mod streams;
mod volatile;
mod witness;

pub use array::{Array, ArrayParams, Level, Rebuild};
pub use bank::Bank;
pub use battery_cache::{
    BatteryCache, BatteryCacheCounters, BatteryCacheParams, BatteryMemory, GatheredRow, Origin,
};
pub use beside::{Beside, Own};
pub use cache::Policy;
pub use cost::{Cost, nanoseconds_for};
pub use disk::{Disk, DiskParams, Shingling, WriteCaching};
pub use elevator::{Elevator, ElevatorParams};
pub use fast_cache::{Cached, FastCache, FastCacheKind};
pub use fault::{Fault, FaultPlan, FaultRule, Faults, Operation, When};
pub use flash::block_mapped::{BlockMapped, BlockMappedParams};
pub use flash::page_mapped::{PageMapped, PageMappedParams};
pub use fs::{FileSystem, FileSystemParams};
pub use media::{
    Choices, Contents, FlushMark, Flushes, Grain, Loss, MIXED_STAMPS, Media, Rig, WriteCache,
    WriteId,
};
pub use outbox::Outbox;
pub use paced::{Paced, WallClock};
pub use paced_lateness::{Lateness, STALL_NS};
pub use placement::{
    BadMap, EXTENTS_MAX, PLACES_MIN, Pin, PinParams, Tier, TierCounters, TierParams,
};
pub use port::{Attached, Fua, Gather, Port, PortParams};
pub use quota::{Merging, Pools, Quota, QuotaLimit, QuotaParams};
pub use sim::Sim;
pub use ssd_cache::{
    BLOCKS_MAX, BLOCKS_MIN, MapPlace, SsdCache, SsdCacheCounters, SsdCacheParams, SsdCacheTally,
    Takes, WriteMode,
};
pub use volatile::{CELL_BYTES, VolatileCache};
pub use witness::Witness;
