//! The power of modelled drives is cut under a program, round after round, and the promises that
//! the program made are counted afterwards.
//!
//! ```text
//!   PowerCutOrder: STACK, file system, case, rounds, seed         order
//!   for each round, on new drives:                                round
//!     serve, attach, mkfs, mount                                  matrix::rig
//!     the workload: `ack ID` when something is promised           workload, protocol
//!     at a moment that the seed draws: stop it, cut, kill it      moment
//!     attach, mount; the check: `lost ID`, `torn ID`, `broken`
//!     umount, the file system's own check
//!     a log of what was sent, and of the promises               recording
//!   Record of a run                                             keep
//!   -> record::PowerCuts: a round after the other, kept in a run; report::power_cuts shows it
//! ```
//!
//! A log is replayed without a server, and the power is cut at many places of it: replay.
//!
//! A workload is any program, called with `run DIR` and `check DIR`; `cases` has those that are
//! built in. The protocol is in docs/reference/power-cut.md.
#![forbid(unsafe_code)]

mod answers;
pub mod cases;
mod error;
mod keep;
mod moment;
mod order;
mod protocol;
mod recording;
pub mod replay;
mod round;
mod tree;
mod workload;

pub use error::PowerCutError;
pub use keep::{METHOD, record};
pub use order::{Phase, PowerCutOrder, Program};
pub use round::{Audience, check, rounds};
pub use tree::{die_with_parent, end_with_parent};
