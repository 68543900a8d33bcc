//! Why a server cannot start.

use host::HostError;
use nbd::{BadAddress, ListenError, ServeError};
use std::{io, net::SocketAddr};

/// Why a server cannot tell what it should.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Something is in the way; a sentence with the cure.
    #[error("{0}")]
    InTheWay(String),
    /// Other machines reach this address, and nobody agreed to that.
    #[error(
        "other machines reach {address}, and whoever does may read the metrics: take \
         tcp:127.0.0.1:{}", address.port()
    )]
    Reachable {
        /// As it was named.
        address: SocketAddr,
    },
    /// A system call failed.
    #[error("{what}")]
    Io {
        /// What could not be done.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A text that is no address.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// An address that cannot be listened at.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Serving failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A place that is none for files.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A connection failed.
    #[error(transparent)]
    Connection(#[from] io::Error),
}

impl StartError {
    pub(crate) fn in_the_way(text: impl Into<String>) -> Self {
        Self::InTheWay(text.into())
    }
}

/// What could not be done, said with a failed system call.
pub(crate) trait InWords<T> {
    fn in_words(self, what: impl FnOnce() -> String) -> Result<T, StartError>;
}

impl<T> InWords<T> for io::Result<T> {
    fn in_words(self, what: impl FnOnce() -> String) -> Result<T, StartError> {
        self.map_err(|source| StartError::Io { what: what(), source })
    }
}
