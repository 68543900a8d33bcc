//! A trial on a stack: what the study's program did, in its order, on a model in virtual time.

use crate::{
    Case, Flush, Op, Order, Trial,
    closed_loop::{self, Length},
};
use block::{Command, Durability, Extent, IoError, Payload, Rng};
use model::fs::{Caching, Syncing};
use target::{
    catalog::Catalog,
    stack::{self, BadStack, Opened},
};

/// What a trial gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// In the unit of the figure.
    pub value: f64,
    /// Hash of everything that completed.
    pub hash: u64,
}

/// Why a trial gave nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrialError {
    /// The stack cannot be built.
    #[error("{0}")]
    Stack(#[from] BadStack),
    /// An operation failed.
    #[error("an operation failed: {0:?}")]
    Failed(IoError),
    /// The figure is in a unit that the trial does not give.
    #[error("`{0}` is no unit of this trial")]
    Unit(String),
}

impl From<IoError> for TrialError {
    fn from(error: IoError) -> Self {
        Self::Failed(error)
    }
}

/// How long trials are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effort {
    /// Operations that count in a random trial; a quarter as many go before.
    pub operations: u64,
    /// Files and memory that hold more than this many pages are made smaller together: what decides is
    /// their ratio.
    pub file_bytes_max: u64,
}

impl Effort {
    /// For a report: random trials scatter by under a percent.
    pub const REPORT: Self = Self { operations: 8_000, file_bytes_max: 2 << 30 };
    /// For a search, which sees the same draws at every step.
    pub const SEARCH: Self = Self { operations: 2_000, file_bytes_max: 1 << 30 };
}

/// Does what `case` asks for, on its stack built from `catalog`.
///
/// # Errors
/// When the stack cannot be built, or fails.
pub fn run(case: &Case, catalog: &Catalog, effort: Effort) -> Result<Outcome, TrialError> {
    const SEED: u64 = 0x5713_d1e5;
    let opened = |text: &str| -> Result<Opened, TrialError> {
        Ok(stack::open(&text.parse()?, catalog, SEED)?)
    };
    let mut bench = Bench { opened: opened(&case.stack)?, rng: Rng::new(SEED, 7), effort };
    let value = match case.trial {
        Trial::Direct { op, block_bytes, threads } => bench.direct(op, block_bytes, threads)?,
        _ => 0.0,
    };
    Ok(Outcome { value, hash: bench.opened.engine.hash() })
}

/// A stack on the bench.
struct Bench {
    opened: Opened,
    rng: Rng,
    effort: Effort,
}

impl Bench {
    /// Random aligned operations over the whole stack; operations per second.
    fn direct(&mut self, op: Op, block_bytes: u32, threads: u16) -> Result<f64, TrialError> {
        let blocks = self.opened.contract().capacity_bytes / u64::from(block_bytes);
        let counted = match op {
            Op::Read => self.effort.operations,
            // Each takes milliseconds and waits for all before it: the average settles sooner.
            Op::Write => self.effort.operations / 4,
        };
        let length = Length { before: counted / 4 + 8 * u64::from(threads), counted };
        let rng = &mut self.rng;
        let pace = closed_loop::run(&mut self.opened, threads, length, &mut || {
            transfer(op, rng.below(blocks) * u64::from(block_bytes), block_bytes)
        })?;
        Ok(pace.iops())
    }
}

fn transfer(op: Op, offset: u64, bytes: u32) -> Command {
    let at = Extent { offset, bytes };
    match op {
        Op::Read => Command::Read { at, into: Payload::None },
        Op::Write => {
            Command::Write { at, from: Payload::None, durability: Durability::Cached }
        }
    }
}
