//! As much of HTTP/1.1 (RFC 9112) as a browser needs to read pages: no body, one request a
//! connection.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod answer;
pub mod host;
mod request;

pub use answer::{Answer, Kind};
pub use request::{HEAD_BYTES_MAX, Method, Refusal, Request, encoded, head_length};
