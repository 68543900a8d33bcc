//! Block devices whose requests a program answers: the kernel's ublk driver (Linux 6.0; what is
//! spoken here 6.4), Documentation/block/ublk.rst and linux/ublk_cmd.h. Raw calls in safe clothes:
//! nothing here decides what is answered.
//!
//! ```text
//!   Control   /dev/ublk-control: make, start, stop, remove; what there is
//!   Queue     /dev/ublkcN: requests of the disk /dev/ublkbN, and their answers
//! ```

mod control;
mod queue;
mod uapi;

pub use control::{Control, Device, Order, Orphan, Parameters, State};
pub use queue::{Asked, Operation, Queue};
pub use uapi::CONTROL_PATH;

#[cfg(test)]
mod tests;
