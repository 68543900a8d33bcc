//! Network block devices: any [`Engine`](block::Engine) behind a socket.
//!
//! ```text
//!   protocol   what clients say and are told; pure
//! ```
#![forbid(unsafe_code)]

pub mod protocol;
