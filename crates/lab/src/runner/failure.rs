//! What failed: why a pass has no result, whether anything can follow, and how it is told.

use super::{RunError, Runner, cause::cause, fold, pass::Failed};
use crate::{
    target::{TargetError, Time},
    workload::{ErrorLog, Failure, tree::TreeOp},
};
use block::{IoError, display_bytes};
use record::IoErrors;
use std::{thread::sleep, time::Duration};

/// After an error so many looks, so long after one another, are taken at whether the target is
/// there.
const LOOKS: u32 = 6;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why a pass has no result.
pub(super) enum Halt {
    /// The run ends.
    Run(RunError),
    /// Operations failed.
    Cell(Box<Unfinished>),
}

/// A pass that failed.
pub(super) struct Unfinished {
    pub reason: String,
    pub errors: IoErrors,
    /// Nothing that follows can succeed: the target is gone by its own word, or the disk is full.
    pub is_last: bool,
}

impl From<RunError> for Halt {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<TargetError> for Halt {
    fn from(error: TargetError) -> Self {
        Self::Run(error.into())
    }
}

impl From<Halt> for RunError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Run(error) => error,
            Halt::Cell(unfinished) => Self::Failed(unfinished.reason),
        }
    }
}

impl Runner<'_> {
    /// What went wrong, unless it is all because the target is gone.
    pub(super) fn or_gone(&mut self, target: usize, error: RunError) -> RunError {
        match error {
            RunError::Interrupted => error,
            error => self.gone_soon(target).map_or(error, RunError::Failed),
        }
    }

    /// Whether the target is gone. Its requests fail a moment before the kernel forgets it.
    pub(super) fn gone_soon(&mut self, target: usize) -> Option<String> {
        let looks = if self.target(target).offer().time == Time::Wall { LOOKS } else { 1 };
        (0..looks).find_map(|look| {
            if look > 0 {
                sleep(LOOK_EVERY);
            }
            self.target(target).vanished()
        })
    }

    pub(super) fn is_gone(&mut self, target: usize) -> bool {
        self.target(target).vanished().is_some()
    }
}

/// What ended a pass, for the record.
pub(super) fn unfinished(failed: &Failed, target: &str) -> Unfinished {
    Unfinished {
        reason: describe(failed.failure, target),
        errors: fold::errors(&failed.errors, &failed.latencies),
        is_last: failed.failure.error == IoError::Offline || is_no_space(failed.failure.error),
    }
}

/// A failed operation in a sentence: what, where, why, and the cure where there is one.
fn describe(failure: Failure, target: &str) -> String {
    let Failure { operation, offset, bytes, error } = failure;
    let cause = cause(error);
    let what = match operation {
        "flush" => "flush".to_owned(),
        _ if TreeOp::parse(operation).is_some() => {
            format!("{operation} number {offset} ({}) in a tree", display_bytes(u64::from(bytes)))
        }
        _ => format!("{operation} of {} at offset {offset}", display_bytes(u64::from(bytes))),
    };
    let cure = match error {
        IoError::Os(ENOSPC) if TreeOp::parse(operation).is_some() => {
            "; free some space, or make fewer or smaller files: --set files=, --set file_size="
        }
        IoError::Os(ENOSPC | EDQUOT) => "; free some space, or pass a smaller --size",
        IoError::Os(EFBIG) => {
            "; its file system or `ulimit -f` allows no file so large: raise that, or test less"
        }
        IoError::Os(EINVAL) => "; the target may need another alignment: try --io buffered",
        IoError::Short => {
            "; so far it was never written: put `fill = 1` into the method, or a write cell first"
        }
        _ => "; `dmesg` has the drive's side",
    };
    format!("{what} of {target} failed: {cause}{cure}")
}

/// The first of these failures that is one of those asked for, in a sentence.
pub(super) fn describe_first(
    errors: &ErrorLog,
    target: &str,
    is_asked: impl Fn(IoError) -> bool,
) -> Option<String> {
    let found = errors.first.iter().find(|failure| is_asked(failure.error))?;
    Some(describe(*found, target))
}

pub(super) fn is_no_space(error: IoError) -> bool {
    matches!(error, IoError::Os(ENOSPC | EDQUOT | EFBIG))
}

/// No space left on device; the same number on every Linux.
const ENOSPC: i32 = 28;
const EFBIG: i32 = 27;
/// The user's share is used up; the same number on every Linux.
const EDQUOT: i32 = 122;
/// Invalid argument; the same number on every Linux.
const EINVAL: i32 = 22;
