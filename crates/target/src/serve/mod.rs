//! A target as one engine that keeps bytes, for whoever hands it to others: the NBD server.
//!
//! ```text
//!   flash, memory  as they are: they are there to be written
//!   file, device   read-only, or with --destroy: direct I/O through io_uring, locked against others
//! ```
//!
//! Opening writes nothing. What exists is changed by nobody unless its name was typed.

mod path;

use crate::{MemoryText, TargetText, volume::ManagedVolume};
use block::{Drive, Engine};
use engine::Clock;
use lab::target::TargetError;
use std::{fs::File, path::Path};

/// Requests that may be outstanding at a real drive: what a client of one connection may have under way, and as many
/// again for others.
const QUEUE_DEPTH: u32 = 256;
/// The longest request to a real drive.
const TRANSFER_BYTES_MAX: u32 = 1 << 20;

/// What whoever serves wants of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wishes {
    /// Whether it may be changed.
    pub sharing: Sharing,
    /// What was typed after `--destroy`: names of files, serials or names of devices that may be changed.
    pub destroy: Vec<String>,
}

/// Whether a target may be changed by those who are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// They read.
    ReadOnly,
    /// They read and write.
    ReadWrite,
}

/// What a read of a discarded range gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discarded {
    /// Zeroes.
    ReadsZero,
    /// Anything.
    Unknown,
}

/// A target that can be served, and the hold on it: nobody else may use it until this is dropped.
pub struct Served {
    /// Drive 0 is the target.
    pub engine: Box<dyn Engine>,
    /// Its size in bytes, no multiple of anything; the engine's blocks may not reach all of it.
    pub bytes: u64,
    /// What its discarded ranges read as.
    pub discarded: Discarded,
    /// What it is, in a few words.
    pub description: String,
    /// What keeps others away.
    pub hold: Hold,
}

/// Keeps others from a target as long as it lives.
#[derive(Debug)]
pub enum Hold {
    /// A lock on a file.
    File(File),
    /// Exclusive use of a device, and a lock on it.
    Device(host::Permit, File),
    /// The engine holds what it needs itself.
    Within,
}

/// Opens what `text` names, to be served.
///
/// # Errors
/// A sentence with the cure: not there, in use, nothing that keeps bytes, not agreed to.
pub fn serve(text: &TargetText, wishes: &Wishes, clock: Clock) -> Result<Served, TargetError> {
    match text {
        TargetText::Null => Err(TargetError::refused(
            "`null:` keeps no bytes, so there is nothing to serve: name a file or a block device",
        )),
        TargetText::Model(stack) => Err(TargetError::refused(format!(
            "`model:{stack}` cannot be served yet: name a file or a block device"
        ))),
        TargetText::Flash(path) => managed(path, clock),
        TargetText::Memory(text) => memory(text, clock),
        TargetText::Path(path) => path::serve(path, wishes, clock),
    }
}

/// A managed volume: what clients write to it is what it is for, so nobody has to agree. Opening recovers it.
fn managed(path: &Path, clock: Clock) -> Result<Served, TargetError> {
    let volume = ManagedVolume::open(path, clock)?;
    Ok(kept(Box::new(volume), format!("the managed volume in {}", path.display())))
}

fn memory(text: &MemoryText, clock: Clock) -> Result<Served, TargetError> {
    let memory_bytes = host::environment::memory_total(&host::Roots::default());
    text.check(memory_bytes.unwrap_or(u64::MAX))?;
    let engine: Box<dyn Engine> = match &text.flash {
        None => Box::new(text.engine(clock)),
        Some(_) => Box::new(ManagedVolume::in_memory(text, clock, 0)?),
    };
    Ok(kept(engine, format!("memory:{text}, gone when this process ends")))
}

/// What holds itself, and reads zeroes where nothing is.
fn kept(engine: Box<dyn Engine>, description: String) -> Served {
    let bytes = engine.geometry(Drive(0)).capacity_bytes;
    Served { engine, bytes, discarded: Discarded::ReadsZero, description, hold: Hold::Within }
}
