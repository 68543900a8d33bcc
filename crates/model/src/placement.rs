//! Flash beside disks, each byte in one place: a pinned range, or extents that move.
//!
//! ```text
//!   request -> parts, each on one drive               carrier.rs
//!     Pin    a range lies on flash, all else on the disks          pin.rs
//!     Tier   a map says where an extent lies          tier.rs
//!              which are asked for most               heat.rs
//!              one after the other moves              moves.rs, mover.rs
//!              the map on flash                       map.rs
//!   below: drive 0 are the disks, drive 1 is flash
//! ```
//!
//! Nothing is held twice, so neither layer has anything to write back, and a flush is one of both
//! drives.

mod carrier;
mod heat;
mod map;
mod mover;
mod moves;
mod params;
mod pin;
mod shape;
mod tier;

pub use map::BadMap;
pub use params::{EXTENTS_MAX, PLACES_MIN, TierParams};
pub use pin::{Pin, PinParams};
pub use tier::{Tier, TierCounters};

use block::Drive;

/// The disks below.
const DISKS: Drive = Drive(0);
/// The flash drive below.
const FLASH: Drive = Drive(1);
/// Longest request, bytes: bm-flash asks for 4 MiB.
const TRANSFER_BYTES_MAX: u32 = 4 << 20;
