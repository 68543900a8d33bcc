//! What stands in the way of a power cut, or of what is looked at after it.

use host::HostError;
use matrix::MatrixError;
use target::write_log::WriteLogError;

/// Why rounds cannot be had, or ended.
#[derive(Debug, thiserror::Error)]
pub enum PowerCutError {
    /// Serving, attaching, formatting or mounting.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The machine.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A built-in program has files.
    #[error("{0} needs a file system: name one, such as ext4, or a program of yours")]
    Raw(String),
    /// Only modelled drives lose their power.
    #[error("only the power of modelled drives can be cut: name model:STACK")]
    NotModelled,
    /// The workload did not do its part; a sentence with the cure.
    #[error("round {round}: {text}")]
    Workload {
        /// In which round.
        round: u32,
        /// What it did, and what to do.
        text: String,
    },
    /// An array that cannot do without a member, or no array.
    #[error("{0}")]
    NoMember(String),
    /// A log of writes that cannot be made or read.
    #[error("{path}: {source}")]
    Log {
        /// Where.
        path: String,
        /// Why.
        source: WriteLogError,
    },
    /// A log without what a cut is judged by.
    #[error("{0} has no promise of a program")]
    NoPromise(String),
    /// A log of writes that cannot be replayed so: a sentence with the cure.
    #[error("{0}")]
    NoReplay(String),
    /// What a process said that replays a share of the log: a sentence with the cure.
    #[error("{0}")]
    Worker(String),
    /// A round cannot be kept in the history.
    #[error(transparent)]
    Unkept(#[from] record::StoreError),
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
}
