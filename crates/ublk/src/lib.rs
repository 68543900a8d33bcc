//! Disks of the kernel's: any [`Engine`](block::Engine) as `/dev/ublkbN`, without a network.
//!
//! ```text
//!   Shape     what the kernel is told of the disk; pure
//!   attach    a new device, or the one that a killed server of the same target left
//!   Server    one thread: the kernel's requests on one side, an engine on the other
//! ```
//!
//! What is promised of flushes, of forced writes and after a failed flush is what [`nbd`] promises;
//! requests and their counts are its, too. A disk's requests need no cutting: the kernel keeps to
//! the block size and the longest transfer that it is told.
#![forbid(unsafe_code)]

mod attach;
mod error;
mod kernel;
mod release;
mod server;
mod service;
mod shape;

pub use attach::{
    Attached, Beginning, Leftover, Wish, attach, available, mark_of_file, mark_of_process, remove,
};
pub use engine::ublk::Orphan;
pub use error::{Error, Refusal};
pub use kernel::may_stop_when_killed;
pub use release::{Release, Use};
pub use server::{Ended, Server};
pub use shape::{QUEUE_DEPTH_MAX, Shape, TRANSFER_BYTES_MAX};
