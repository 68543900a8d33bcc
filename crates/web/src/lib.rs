//! The history as pages for a browser on this machine: `drivelab web`.
//!
//! ```text
//!   http::request   bytes of a head -> Request, or why not     pure
//!   http::host      which names may be used for this server    pure
//!   server          sockets, time limits, threads: one request a connection
//!   site            Request -> Answer: list, report, comparison, a run in progress
//! ```
//!
//! The server only tells: GET and HEAD, nothing that a request says changes anything, and it asks
//! nobody anything. Whoever can open a connection can read the whole history; that is why it
//! listens on a loopback address, and why a page of another site that makes a browser connect here
//! (DNS rebinding) is refused by the name it used.
#![forbid(unsafe_code)]

pub mod http;
pub mod server;
pub mod site;
