//! What stands in the way of a run.

use block::display_bytes;
use host::HostError;
use lab::{order::OrderError, plan::PlanError, target::TargetError};
use record::StoreError;
use target::BadTarget;

/// Why a run cannot begin, or cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum CannotRun {
    /// It is not to be had as it was ordered; nothing was touched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file of a method cannot be read.
    #[error("{0}")]
    MethodFile(String),
    /// The method or an option.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A TARGET's text.
    #[error(transparent)]
    Text(#[from] BadTarget),
    /// A target.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The method has no plan for the targets.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The machine.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The history.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What cannot be had as it was ordered. Who reads words adds the option and the cure.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The run that is to go on is complete.
    #[error("run {0} is complete")]
    Complete(String),
    /// The run that is to go on has not ended.
    #[error("run {0} is still running: wait for its end, or stop it first")]
    Running(String),
    /// The run that is to go on is part of a matrix.
    #[error(
        "run {0} is part of a matrix, whose file systems are made and removed as it goes: run the \
         matrix again"
    )]
    OfMatrix(String),
    /// The run that is to go on replays a trace.
    #[error("run {0} replays a trace, which has no middle to go on from: replay it again")]
    OfReplay(String),
    /// The run that is to go on is of power cuts.
    #[error("run {0} is of power cuts: `drivelab power-cut` goes on with it")]
    OfPowerCuts(String),
    /// Something is another than when the run was begun.
    #[error("run {id} cannot go on: {difference}")]
    Changed {
        /// The run.
        id: String,
        /// What, with the cure.
        difference: String,
    },
    /// This target is no device that may be written.
    #[error("{0} is no whole block device that write cells may overwrite")]
    NoPurge(String),
    /// It writes so much that the user must agree first.
    #[error(
        "this plan writes up to {}, {times:.0} times the tested area of {}",
        display_bytes(*written_bytes),
        display_bytes(*span_bytes)
    )]
    MustAgree {
        /// At most, bytes.
        written_bytes: u64,
        /// Of the tested area.
        span_bytes: u64,
        /// The one by the other.
        times: f64,
    },
}
