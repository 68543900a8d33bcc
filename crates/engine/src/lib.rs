//! Real I/O behind [`block::Engine`], and the raw system calls that other rooms need.
//!
//! ```text
//!   Memory   a drive of RAM
//!   Null     completes everything at once: what the engine itself costs
//!   Sync     pread/pwrite, one request at a time
//!   Uring    io_uring, up to 4096 requests outstanding
//!   Stdio    fread/fwrite through the C library's buffer
//!      all read one [`Clock`], so that their instants compare
//! ```
//!
//! Cost of one I/O: one clock read at depth 1 (the end of one is the start of the next), two a
//! batch above; nothing here allocates, locks or formats once an engine is built.
//!
//! [`ublk`] is the other side: block devices of the kernel's whose requests a program answers.
//!
//! The engines know nothing of targets or methods; [`open_file`] opens what they work on,
//! [`reopen`] opens it once more by descriptor, and [`raw`] asks the kernel about it.

mod clock;
mod limits;
mod memory;
mod null;
mod open;
pub mod raw;
mod stdio;
mod sync;
pub mod ublk;
mod uring;

pub use clock::{Clock, ClockSource, counters_differ_by_ns};
pub use memory::Memory;
pub use null::Null;
pub use open::{Access, Caching, Create, OpenError, OpenErrorKind, Syncing, open_file, reopen};
pub use stdio::Stdio;
pub use sync::Sync;
pub use uring::{Feature, Features, Uring, UringOptions, UringUnavailable};
