//! Why there is no answer.

use advice::AdviceError;
use block::display_bytes;
use run::{CannotReplay, CannotRun, CannotTrace};
use study::TrialError;
use target::stack::BadStack;

/// Why there is no answer: one sentence with the cure.
#[derive(Debug, thiserror::Error)]
pub enum HybridError {
    /// The trace.
    #[error(transparent)]
    Trace(#[from] CannotTrace),
    /// It moves no bytes.
    #[error("{0} has no reads and no writes: name a trace that has")]
    NoTransfers(String),
    /// It is no file system whose parts can lie on two drives.
    #[error("the file system `{text}`: {about}")]
    FileSystem {
        /// As it was written.
        text: String,
        /// Why, and what to write.
        about: String,
    },
    /// The workload is a method that says its size by what a machine has.
    #[error(
        "the method {0} is as large as a machine's memory says, and there is none: name a method \
         with a span in bytes, such as oltp"
    )]
    NoSpan(String),
    /// What it is like is no workload.
    #[error(transparent)]
    Advice(#[from] AdviceError),
    /// A stack.
    #[error(transparent)]
    Stack(#[from] BadStack),
    /// The disks are not disks alone.
    #[error(
        "{text} has the layer `{layer}`: name disks and their array, flash goes in front of it"
    )]
    NoDisks {
        /// As it was written.
        text: String,
        /// The layer.
        layer: String,
    },
    /// A name that is none of a drive.
    #[error("`{name}` is no drive of the catalog.{near} `drivelab drives` lists them")]
    NoDrive {
        /// As it was written.
        name: String,
        /// ` Did you mean ...?`, or nothing.
        near: String,
    },
    /// It has no flash.
    #[error("`{name}` is no flash drive: name one, such as nvme-tlc")]
    NoFlash {
        /// As it was written.
        name: String,
    },
    /// There is nothing to cache.
    #[error(
        "{name} holds {}, and {disks} {}: flash in front of disks holds less than they; name a \
         smaller drive or more disks", display_bytes(*ssd_bytes), display_bytes(*disk_bytes)
    )]
    LargerThanDisks {
        /// The flash drive.
        name: String,
        /// What it holds.
        ssd_bytes: u64,
        /// The disks.
        disks: String,
        /// What they hold together.
        disk_bytes: u64,
    },
    /// A stack could not be measured.
    #[error("{stack}: {error}")]
    Trial {
        /// Which.
        stack: String,
        /// Why.
        error: TrialError,
    },
    /// The replay.
    #[error(transparent)]
    Replay(#[from] CannotReplay),
    /// The run of a replay.
    #[error(transparent)]
    Run(#[from] CannotRun),
    /// A replay or a method failed.
    #[error("{stack}: the run failed: {reason}")]
    Check {
        /// On what.
        stack: String,
        /// Why.
        reason: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Stopped,
}
