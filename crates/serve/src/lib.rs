//! A target that is served: to NBD clients or as a disk, until it is told to stop; and what is told
//! whoever started it, whoever connects and whoever watches it.
//!
//! ```text
//!   serving    from an open target to its summary
//!     session    what every way of serving has in common
//!     network    NBD clients, and power cuts of models
//!     disk       a disk of this machine's kernel
//!     below      the drive under the target: is it still there?
//!     status     what the server does now, on a line
//!   words      how to connect; what it did, in a summary
//!   ready      systemd's protocol and a line on a descriptor
//!   pid_file   the process's number in a file, as long as it lives
//!   metrics    requests, latencies and the volume's state, as OpenMetrics text over HTTP
//!   control    power cuts and what they could take, asked for line by line
//!   floor      what the way to a client adds to a request
//! ```
//!
//! It opens no target: that is `target::serve`. It names no option of a command line and writes to
//! no terminal: that is its `Audience`.
#![forbid(unsafe_code)]

mod below;
pub mod control;
#[cfg(feature = "ublk")]
mod disk;
mod error;
pub mod floor;
pub mod metrics;
mod network;
pub mod pid_file;
pub mod ready;
pub mod serving;
pub mod session;
mod status;
pub mod words;

pub use error::{Obstacle, ServingError, StartError};
