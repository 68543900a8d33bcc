//! The machine under test: what a target is, whether it may be written to, what disturbs it.
//!
//! ```text
//!   identify   path        -> record::TargetInfo   file system, block devices, drives, flags
//!   environment            -> record::Environment  host, kernel, memory, processor
//!   guard      path -> Cleared -> Consent -> Permit   or a Refusal with the cure
//!   devices    -> every block device: what is on it, who uses it, whether it may be written
//!   contents   file        -> holes, unwritten extents, all-zero blocks
//!   directory  path        -> a directory held open: names in it go by descriptor
//!   missing    path        -> what may have been meant, where nothing is
//!   scratch    directory   -> a locked file, or tree, that vanishes
//!   presence   is the drive still there; condition: what arrays and thin volumes do meanwhile
//!   watch      counters around a cell: processor time, sectors, temperature
//!   health     what drives count themselves, before and after
//!   destination   a file that the user names: written whole or not at all
//!   setting    the drive's write cache, the kernel's queue
//!   ledger     every change written down before it is made, and put back
//! ```
//!
//! Everything that the kernel tells through files is read below [`Roots`], so tests build small
//! fake trees. Nothing in this crate writes data to a device: the guard only reads, and hands out a
//! [`Permit`] that others need in order to write. What it changes on the machine goes through the
//! [`Ledger`].

#![forbid(unsafe_code)]

mod ask;
mod cgroup;
mod error;
mod findings;
mod mountinfo;
mod roots;
mod scratch_name;
mod sysfs;
mod time;

mod condition;
pub mod contents;
mod destination;
pub mod devices;
pub mod directory;
pub mod environment;
pub mod guard;
pub mod health;
pub mod identify;
pub mod ledger;
pub mod lock;
pub mod mapper;
pub mod missing;
pub mod outputs;
pub mod page_cache;
pub mod presence;
pub mod program;
pub mod scratch;
pub mod scratch_tree;
pub mod setting;
pub mod watch;

pub use condition::conditions;
pub use contents::{FileContents, ZeroSample, file_contents, sample_zeros};
pub use destination::Destination;
pub use directory::Directory;
pub use environment::{environment, environment_of};
pub use error::{ErrorKind, HostError};
pub use guard::{
    Cleared, Consent, Permit, Reason, Refusal, Reserved, judge_claims, judge_destruction,
    judge_file, judge_lending, judge_new_volume, judge_volume,
};
pub use health::{Moment, ask_health};
pub use identify::{ask_tools, target_info};
pub use ledger::Ledger;
pub use mountinfo::{Mount, parse_mountinfo, unescape_octal};
pub use presence::Presence;
pub use program::Program;
pub use roots::{DeviceNumber, Roots};
pub use scratch::{Scratch, remove_orphans};
pub use scratch_tree::ScratchTree;
pub use time::{chosen_seed, entropy, now};
pub use watch::{Sample, Watch};
