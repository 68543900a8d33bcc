//! Network block devices: any [`Engine`](block::Engine) behind a socket.
//!
//! ```text
//!   protocol   what clients say and are told; pure
//!   Address    unix:PATH, tcp:HOST:PORT      Listener   its listening socket
//!   Server     one thread: sockets on one side, an engine on the other
//!   reader     a client that times reads
//! ```
//!
//! [`Server::new`] takes an engine, an [`Export`](protocol::Export), a [`Listener`] and [`Options`];
//! [`Server::run`] serves until a flag is set, and counts the [`Traffic`].
#![forbid(unsafe_code)]

mod address;
mod listener;
pub mod protocol;
mod reader;
mod server;

pub use address::{Address, BadAddress};
pub use listener::{ListenError, Listener};
pub use reader::time_reads;
pub use server::{
    CONNECTIONS_MAX, Kind, LATENCY_BOUNDS_NS, Options, Outcome, ServeError, Server, Tally, Traffic,
};
