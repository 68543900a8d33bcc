//! What stands in the way of a campaign.

use lab::order::OrderError;
use std::{io, path::PathBuf};
use target::BadTarget;

/// Why a campaign cannot be made, opened, worked on or told of.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// What stands in the campaign's file.
    #[error("{origin}: {reason}")]
    File {
        /// The file.
        origin: String,
        /// One sentence, with the key.
        reason: String,
    },
    /// There is something where the campaign's directory would be made.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// No campaign is there.
    #[error("there is no campaign in {}", .0.display())]
    NotThere(PathBuf),
    /// A number that no task has.
    #[error("there is no task {number}: this campaign has {count}, from 0")]
    NoTask {
        /// As it was asked for.
        number: u32,
        /// How many there are.
        count: u32,
    },
    /// A file of the directory that cannot be understood.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A directory of a later drivelab.
    #[error("{} was made by a newer drivelab (version {found} of the format)", path.display())]
    Newer {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file system.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// Such as `read`.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// This process cannot say who it is.
    #[error("cannot tell which process this is: {0}")]
    Process(io::Error),
}

/// Why the words of a task are no order, with the key of the campaign's file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadOrder {
    /// A value under `[run]`.
    #[error("run.{key}: {reason}")]
    Option {
        /// Its key.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A target.
    #[error("targets: {0}")]
    Target(#[from] BadTarget),
    /// The method, or a setting of its cells.
    #[error(transparent)]
    Method(#[from] OrderError),
}

impl CampaignError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { doing, path: path.into(), source }
    }

    pub(crate) fn damaged(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::Damaged { path: path.into(), reason: reason.to_string() }
    }
}
