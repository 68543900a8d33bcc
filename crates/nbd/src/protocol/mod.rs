//! The NBD protocol as it is defined in NetworkBlockDevice/nbd, doc/proto.md: fixed newstyle
//! handshake, simple and structured replies. Pure: bytes in; bytes, requests and payload out. It
//! knows no socket, no drive and no clock.
//!
//! ```text
//!            ClientFlags -> options ... -> requests ... -> over
//!   bytes -> [        Session: receive                        ] -> Event::Asked(Request), Event::Payload
//!                 |  answers that need no drive
//!                 v
//!   bytes <- one growing buffer <- ReplyStyle: heads of replies <- whoever serves the requests
//! ```
//!
//! What it refuses to know: TLS, old-style negotiation, extended headers, metadata other than
//! `base:allocation`. A client that asks for these is told so and keeps its step.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub(crate) mod constants;
mod export;
mod negotiation;
mod reply;
mod request;
mod session;
mod words;

pub use export::{Access, Discarded, Export, Flushing, NAME_BYTES_MAX, REQUEST_BYTES_MAX};
pub use reply::{Chunk, HEAD_BYTES_MAX, ReplyStyle};
pub(crate) use request::HEADER_BYTES;
pub use request::{Command, ErrorCode, Extents, Holes, Pieces, Request};
pub use session::{Event, Session};
