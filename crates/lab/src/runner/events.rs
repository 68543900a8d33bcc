//! What a run tells while it goes on, and why it stopped early.

use super::Live;
use crate::{
    method::CellSpec,
    plan::Step,
    target::{Observation, TargetError},
};
use record::{Cell, FailedCell, Record};

/// Whoever watches a run: the terminal, a test.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: Event<'_>);
    /// Whether the user wants to stop. Asked ten times a second.
    fn interrupted(&self) -> bool;
    /// The record has grown: keep it.
    fn save(&mut self, record: &Record);
}

/// Nobody watches, and nothing is kept.
impl Observer for () {
    fn event(&mut self, _: Event<'_>) {}

    fn interrupted(&self) -> bool {
        false
    }

    fn save(&mut self, _: &Record) {}
}

/// What happens in a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The tested area is being written.
    Fill {
        /// Which target.
        target: usize,
        /// Bytes written so far.
        done_bytes: u64,
        /// Of how many.
        total_bytes: u64,
    },
    /// Samples of the tested area are read, to see what it holds.
    Inspect {
        /// Which target.
        target: usize,
    },
    /// A pass over a cell begins.
    Begin {
        /// Position in the plan's steps.
        step: usize,
        /// Number of steps.
        steps: usize,
        /// The pass.
        of: Step,
        /// The cell.
        cell: &'a CellSpec,
    },
    /// A pass goes on.
    Live(Live),
    /// A pass ended.
    End {
        /// The cells it added to, one a stream.
        cells: &'a [&'a Cell],
        /// The target before it, and after it.
        watched: &'a [Observation; 2],
    },
    /// A pass failed; whether the run goes on is up to the user's wish.
    Failed(&'a FailedCell),
}

/// Why a run stopped early. The record is kept in either case.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The target cannot do what was asked.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// An operation failed.
    #[error("{0}")]
    Failed(String),
}
