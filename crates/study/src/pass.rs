//! One pass over a cell of a method, on a stack that is open: what every trial is made of.

use crate::Op;
use block::IoError;
use lab::{
    method::{CellSpec, Method},
    workload::{Failure, Length, Pace, Pattern},
};
use target::stack::{BadStack, Opened};

/// Where all random choices come from: every trial draws the same, so that a search compares
/// parameters and not luck.
pub const SEED: u64 = 0x5713_d1e5;

/// Why a trial gave nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrialError {
    /// The stack cannot be built.
    #[error("{0}")]
    Stack(#[from] BadStack),
    /// An operation failed.
    #[error("an operation failed: {0:?}")]
    Failed(IoError),
    /// A method could not be run.
    #[error("{0}")]
    Run(String),
    /// The figure is in a unit that the trial does not give.
    #[error("`{0}` is no unit of this trial")]
    Unit(String),
    /// The figure is of a step that the drive does not take.
    #[error("the rate does not fall there")]
    NoStep,
}

impl From<Failure> for TrialError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.error)
    }
}

impl From<IoError> for TrialError {
    fn from(error: IoError) -> Self {
        Self::Failed(error)
    }
}

/// One pass over a cell of a method, so long.
pub(crate) fn pass(
    opened: &mut Opened,
    cell: &CellSpec,
    length: Length,
) -> Result<Pace, TrialError> {
    opened.make_ready(cell)?;
    let span_bytes = opened.contract().capacity_bytes;
    Ok(lab::trial::pass(opened.as_engine(), cell, span_bytes, SEED, length)?)
}

/// The first cell of a built-in method that fits, under these settings.
pub(crate) fn cell_of(
    method: &str,
    settings: &[(String, String)],
    fits: impl Fn(&CellSpec) -> bool,
) -> CellSpec {
    let method = Method::built_in(method, settings).expect("trials name methods that there are");
    method.cells.into_iter().find(fits).expect("the method has such a cell")
}

/// A cell of bm-flash, over all of the stack.
pub(crate) fn bm_flash(op: Op, pattern: Pattern, block_bytes: u32, threads: u16) -> CellSpec {
    let settings = [("block", block_bytes.to_string()), ("threads", threads.to_string())];
    let settings = settings.map(|(key, value)| (key.to_owned(), value));
    cell_of("bm-flash", &settings, |cell| {
        let stream = &cell.streams[0];
        stream.op == op.into() && stream.pattern == pattern
    })
}
