//! TARGET text, and opening what it names.
//!
//! ```text
//!   "."            directory    a scratch file in it, removed afterwards
//!   "new.bin"      absent file  made and removed; a name without an ending is a mistyped one
//!   "data.img"     file         read cells only
//!   "/dev/sdb"     device       read cells; write cells with --destroy SERIAL
//!   "null:"        the engine's own cost
//!   "model:STACK"  modelled drives and layers, in virtual time
//!   "flash:PATH"   a managed volume in a file or on a device
//!   "memory:SIZE"  a drive of RAM, or a managed volume on it
//! ```
//!
//! It gives `lab` its [`Target`]: engines for workers, the guard's permit, the machine's counters.
#![forbid(unsafe_code)]

mod absent;
mod backend;
pub mod catalog;
mod memory;
mod model;
mod model_tree;
mod null;
mod pace;
mod path;
#[cfg(test)]
mod progress;
mod propose;
pub mod replayed;
pub mod search;
pub mod serve;
mod shared;
pub mod stack;
mod text;
mod tree;
pub mod volume;
pub mod write_log;

pub use absent::did_you_mean;
pub use lab::target::TargetError;
pub use memory::MemoryText;
pub use model::ModelTarget;
pub use null::calibrate;
pub use pace::Pace;
pub use path::Remount;
pub use propose::{NoProposal, Proposal, propose};
pub use text::{BadTarget, TargetText};

use host::Consent;
use lab::target::Target;
use std::{num::NonZeroU32, path::Path};

/// What the user says about targets besides their text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permission {
    /// To lose what is on a device or in a managed volume.
    pub consent: Consent,
    /// Write cells will not run, so no permission to write is sought.
    pub reads_only: bool,
}

/// Why what is no path is not measured in another time.
const NOT_SLOWED: &str = "only the time of a directory, a file or a device is divided, whose \
    drives are served slowed: this target has its own time";

/// Opens a directory on a file system that the caller mounted, and can mount anew.
///
/// # Errors
/// As [`open`].
pub fn open_remountable(
    path: &Path,
    permission: &Permission,
    pace: Pace,
    seed: u64,
    remount: Remount,
) -> Result<Box<dyn Target>, TargetError> {
    let target = path::PathTarget::new(path, permission, pace, seed)?;
    Ok(Box::new(target.remountable(remount)))
}

/// Opens what `text` names. All targets of a run share one clock, and its pace.
///
/// # Errors
/// A sentence with the cure: nothing there, in use, not to be written, sparse...
pub fn open(
    text: &TargetText,
    permission: &Permission,
    pace: Pace,
    seed: u64,
) -> Result<Box<dyn Target>, TargetError> {
    let clock = pace.clock();
    if pace.times() > NonZeroU32::MIN && !matches!(text, TargetText::Path(_)) {
        return Err(TargetError::refused(NOT_SLOWED));
    }
    match text {
        TargetText::Null => Ok(Box::new(null::NullTarget::new(clock))),
        TargetText::Model(stack) => Ok(Box::new(model::ModelTarget::new(stack, seed)?)),
        TargetText::Flash(path) => {
            Ok(Box::new(backend::KeptTarget::volume(path, permission, clock)?))
        }
        TargetText::Memory(text) => Ok(Box::new(backend::KeptTarget::memory(text, clock, seed)?)),
        TargetText::Path(path) => {
            Ok(Box::new(path::PathTarget::new(path, permission, pace, seed)?))
        }
    }
}
