//! Why a server cannot start, and how serving ends badly.

use block::IoError;
use host::HostError;
use nbd::{BadAddress, ListenError, ServeError};
use std::{error::Error, fmt, io, net::SocketAddr, path::PathBuf};
use target::TargetError;

/// Why a server cannot tell what it should.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Where the process's number should stand is something else.
    #[error("{}", InTheWay { path, what })]
    PidFile {
        /// The file.
        path: PathBuf,
        /// What is there.
        what: Obstacle,
    },
    /// NOTIFY_SOCKET says something that sd_notify(3) does not know.
    #[error("NOTIFY_SOCKET: `{0}` is neither a path nor `@` and a name: unset it")]
    Manager(String),
    /// Nothing can be said of the way to a client.
    #[error("too few requests were answered")]
    TooFewAnswers,
    /// Other machines reach this address, and nobody agreed to that.
    #[error(
        "other machines reach {address}, and whoever does may read the metrics: take \
         tcp:127.0.0.1:{}", address.port()
    )]
    Reachable {
        /// As it was named.
        address: SocketAddr,
    },
    /// Whoever reaches a control may cut the power: no network leads to it.
    #[error("a control is a Unix socket: name unix:PATH")]
    NotLocal,
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

/// What keeps a file with the process's number from being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// The path ends in no name.
    NoName,
    /// A directory, a socket, a link...
    NoFile,
    /// That of a process that is alive, by what the file says.
    Living(String),
    /// A file that holds something else.
    NoNumber,
    /// Its directory is not there.
    NoDirectory,
    /// Its directory is locked by another program.
    Locked,
}

/// An obstacle and where it is, with the cure.
struct InTheWay<'e> {
    path: &'e PathBuf,
    what: &'e Obstacle,
}

impl fmt::Display for InTheWay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.what {
            Obstacle::NoName => write!(f, "`{path}` names no file"),
            Obstacle::NoFile => {
                write!(f, "{path} is no regular file: remove it or name another path")
            }
            Obstacle::Living(number) => write!(
                f,
                "{path} is of process {number}, which is alive: stop it or name another path"
            ),
            Obstacle::NoNumber => {
                write!(f, "{path} holds no process's number: remove it or name another path")
            }
            Obstacle::NoDirectory => {
                write!(f, "there is no directory {path}: make it or name another path")
            }
            Obstacle::Locked => {
                write!(f, "another program keeps {path} locked: name a path in another directory")
            }
        }
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

/// How serving ends badly.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// It did not begin.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The target does not do what was wished for.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The address cannot be listened at.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The server failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// There is no disk.
    #[cfg(feature = "ublk")]
    #[error(transparent)]
    NoDisk(#[from] ublk::Refusal),
    /// The disk's server failed.
    #[cfg(feature = "ublk")]
    #[error(transparent)]
    Disk(#[from] ublk::Error),
    /// The disk was stopped by another program.
    #[cfg(feature = "ublk")]
    #[error("{} was stopped by somebody else; everything is flushed", .0.display())]
    DiskStopped(PathBuf),
    /// What happened could not be said.
    #[error(transparent)]
    Unsaid(Box<dyn Error + Send + Sync + 'static>),
    /// The drive below a target that was read is gone: the sentence of [`host::Presence`].
    #[error("{0}")]
    Gone(String),
    /// The same of one that was written.
    #[error("{0}; what no flush covered is lost")]
    GoneWithWrites(String),
    /// The last flush failed.
    #[error(
        "the volume could not be stopped in order ({0:?}): it is recovered when it is opened again"
    )]
    Unstopped(IoError),
}
