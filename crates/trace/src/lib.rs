//! Block traces: what somebody's programs asked of a drive, and when.
//!
//! ```text
//!   bytes -> Format (by content) -> Decoder: a line or an event a time    format/
//!     -> the volume that was chosen -> spread within a second, where no more is known
//!     -> put in order within a second of time                             trace, order
//!     -> Access {at_ns, op, volume, offset, bytes}
//!          -> Analysis, one pass, bounded memory -> Characterisation      characterise/
//!               -> terminal, JSON, a document                             page/
//! ```
//!
//! Nothing here grows with the trace: lines have a longest length, volumes a largest number, and
//! what is kept of blocks is a sample of fixed size once there are many. It opens no file and knows
//! no option: it is given a reader, and its errors name the line or byte, the field and the cure.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod access;
pub mod characterise;
mod error;
mod format;
mod lines;
mod order;
pub mod page;
mod source;
mod trace;
mod volumes;

pub use access::{Access, Op, TRANSFER_BYTES_MAX};
pub use characterise::{Analysis, Characterisation};
pub use error::{Kind, Place, TraceError};
pub use format::Format;
pub use trace::{Remarks, Trace, open, open_together};
pub use volumes::{VOLUMES_MAX, Volumes};
