//! What stands in the way of an answer.

use study::TrialError;
use target::{catalog::BadCatalog, stack::BadStack};

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AdviceError {
    /// A stack cannot be modelled.
    #[error("model:{stack}: {error}")]
    Trial {
        /// Which.
        stack: String,
        /// Why.
        error: TrialError,
    },
    /// A measurement on a model failed.
    #[error(transparent)]
    Wear(#[from] TrialError),
    /// A stack that cannot be opened.
    #[error(transparent)]
    Stack(#[from] BadStack),
    /// The drive catalog.
    #[error(transparent)]
    Catalog(#[from] BadCatalog),
    /// A stack whose rates are none of what can be bought, with the cure.
    #[error("{0}")]
    NoCandidate(&'static str),
    /// A managed volume that cannot be.
    #[error("{0}")]
    NoVolume(String),
    /// A trace that says nothing of a workload.
    #[error("{trace} has no reads and no writes: name a trace that has")]
    NoTransfers {
        /// Which.
        trace: String,
    },
    /// A run that lacks a cell: which run, and which cell.
    #[error("run {run} has no direct {cell}")]
    NoCell {
        /// Its id.
        run: String,
        /// In words: `random write of 4 KiB`.
        cell: String,
    },
}
