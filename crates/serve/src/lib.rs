//! What a server tells whoever started it, whoever connects and whoever watches it.
//!
//! ```text
//!   words      how to connect; what it did, in a summary
//!   ready      systemd's protocol and a line on a descriptor
//!   pid_file   the process's number in a file, as long as it lives
//!   metrics    requests, latencies and the volume's state, as OpenMetrics text over HTTP
//!   floor      what the way to a client adds to a request
//! ```
//!
//! It opens no target and serves none: that is `target::serve`, `nbd` and `ublk`. It names no
//! option of a command line.
#![forbid(unsafe_code)]

mod error;
pub mod floor;
pub mod metrics;
pub mod pid_file;
pub mod ready;
pub mod words;

pub use error::StartError;
