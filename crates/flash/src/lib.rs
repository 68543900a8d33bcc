//! Managed flash: a volume that turns random writes into sequential ones, as a [`block::Machine`]
//! over one drive. It does no I/O, reads no clock and draws no number; its recovery is made of
//! machine steps too, so that both can be crashed anywhere in simulation.
//!
//! ```text
//!   volume/     the machine: opening, reads, writes, log, flushes, checkpoints, cleaning
//!   tools/      what is done to a volume that nobody uses: status, check, rescue, resize
//!   segments    which are free, and when they may be taken again
//!   victims     which segments could be emptied, by fullness and age
//!   predict     what a volume will be able to do, from closed forms
//!   map         where every block is
//!   shape       what is chosen when a volume is created
//!   layout      where things are on the drive, and how much must stay free
//!   proposal    a layout for a drive of which little is known
//!   format/     docs/reference/flash-format.md in code
//!   testing     what the crate `crash`, where most tests of all this stand, sees of it
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod broken;
mod buffers;
mod down;
mod format;
mod layout;
mod lifetime;
mod map;
pub mod predict;
mod proposal;
mod segments;
mod shape;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tools;
mod victims;
mod volume;

pub use format::VolumeId;
pub use layout::{Layout, Refusal};
pub use lifetime::Lifetime;
pub use proposal::{Size, Topology, Wishes};
pub use shape::{BLOCK_BYTES, Checksums, Classes, Parity, Shape};
pub use volume::{
    Answered, Attesting, Cleaning, CopyState, Counters, Discards, Dram, IdleCleaning, OpenError,
    OpenReport, ScrubReport, Scrubbing, Settings, Step, Tail, TailCause, Volume, dram,
};
