//! Managed flash volumes in files, on block devices and in memory, as engines that hold what they
//! stand on.
//!
//! ```text
//!   Site            where a new one may go: the guard's word, what the host says      site.rs
//!   HeldDrive       a file or device, locked: O_DIRECT, io_uring                     hold.rs
//!     `- Stack      flash::Volume on it
//!   ManagedVolume   open; dropping it stops it cleanly
//!   make, rescue    a new one; what is readable of a damaged one          new.rs, rescue.rs
//!   page            what is printed of them                               page/
//! ```

mod hold;
mod new;
pub mod page;
mod rescue;
mod site;

pub(crate) use hold::lock;
pub use hold::{HeldDrive, HeldLock, Use};
pub use new::make;
pub use rescue::{RescueError, Rescued, parse_volume_id, rescue};
pub use site::{Order, Site, Space, Sparse};

use crate::{
    memory::MemoryText,
    stack::{Managed, on_memory},
};
use block::{
    Actor, Buf, Command, Completion, Drive, Engine, Instant, IoError, Pages, Request, Stack, Tag,
    Wrapper,
};
use engine::{Clock, raw};
use flash::{
    Answered, Cleaning, Discards, IdleCleaning, Scrubbing, Settings, Shape, Volume, VolumeId,
};
use lab::target::{TargetError, TargetErrorKind};
use std::path::Path;

/// Requests that a volume takes at a time: more than any method or client asks.
pub const QUEUE_DEPTH: u32 = 4096;

const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// What a volume on a real drive is opened with.
pub fn settings(is_device: bool) -> Settings {
    Settings {
        queue_depth: QUEUE_DEPTH,
        pages: Pages::Huge,
        cleaning: Cleaning::Auto,
        idle: Some(IdleCleaning::default()),
        // A hole in a file is no hint but a loss of the space that the file was given.
        discards: if is_device { Discards::Sent } else { Discards::Kept },
        ..Settings::default()
    }
}

/// A managed volume that is open, on a drive that nobody else may use meanwhile. Dropping it stops
/// it cleanly.
pub struct ManagedVolume {
    stack: Managed,
    carrier: &'static str,
    is_stopped: bool,
    /// Dropped after the volume has stopped.
    _lock: Option<HeldLock>,
}

impl ManagedVolume {
    /// Opens the volume in the file or on the device at `path`: recovers it first where it was not
    /// stopped cleanly.
    ///
    /// # Errors
    /// A sentence with the cure: no volume, in use, damaged beyond opening.
    pub fn open(path: &Path, clock: Clock) -> Result<Self, TargetError> {
        Self::open_on(HeldDrive::open(path, Use::Write, clock)?)
    }

    /// Opens the volume for reading: not one byte is written below, and recovery stays in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_read_only(path: &Path, clock: Clock) -> Result<Self, TargetError> {
        Self::open_on(HeldDrive::open(path, Use::Read, clock)?)
    }

    /// Opens the volume on a drive that is held, for what the drive was opened for.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(drive: HeldDrive) -> Result<Self, TargetError> {
        let (below, settings) = (drive.engine.geometry(Drive(0)), settings(drive.is_device));
        let volume = match drive.r#use {
            Use::Read => Volume::open_read_only(below, settings),
            Use::Write => Volume::open(below, settings),
        };
        Self::started(volume, drive)
    }

    /// Makes a new volume on a drive that is held; what was there is lost.
    ///
    /// # Errors
    /// What cannot be, in a sentence; the drive's errors.
    pub fn create(drive: HeldDrive, shape: Shape, id: VolumeId) -> Result<Self, TargetError> {
        let below = drive.engine.geometry(Drive(0));
        let volume = Volume::create(below, shape, id, settings(drive.is_device))
            .map_err(|refusal| TargetError::refused(refusal.to_string()))?;
        Self::started(volume, drive)
    }

    /// A new volume on a drive of memory; it is gone with the process.
    ///
    /// # Errors
    /// What cannot be, in a sentence.
    pub fn in_memory(text: &MemoryText, clock: Clock, seed: u64) -> Result<Self, TargetError> {
        let layer = text.flash.as_ref().expect("a layer was named");
        let stack = on_memory(Box::new(text.engine(clock)), layer, seed)?;
        Ok(Self { stack, carrier: "flash on memory", is_stopped: false, _lock: None })
    }

    fn started(volume: Volume, drive: HeldDrive) -> Result<Self, TargetError> {
        let HeldDrive { engine, path, carrier, lock, .. } = drive;
        let stack = Stack::new(volume, engine);
        let mut managed = Self { stack, carrier, is_stopped: false, _lock: Some(lock) };
        let opened = managed.flush();
        if let Some(error) = managed.volume().open_error() {
            return Err(TargetError::refused(format!("{}: {error}", path.display())));
        }
        if let Err(error) = opened {
            let bytes = managed.volume().checkpoint_bytes().unwrap_or(0);
            // Nothing was acknowledged, and there is no room to stop it in order.
            managed.is_stopped = true;
            return Err(failed(&path, error, bytes));
        }
        // Recovery took much, in small pieces.
        raw::trim_memory();
        Ok(managed)
    }

    /// What it is and how it stands.
    pub fn volume(&self) -> &Volume {
        &self.stack.machine
    }

    /// When writes are answered from now on.
    pub fn set_answered(&mut self, answered: Answered) {
        self.stack.machine.set_answered(answered);
    }

    /// From now on everything that is alive is read and verified, or not any more.
    ///
    /// # Panics
    /// At a rate of nothing.
    pub fn set_scrubbing(&mut self, plan: Option<Scrubbing>) {
        self.stack.machine.set_scrubbing(plan);
    }

    /// What carries its requests, in words.
    pub fn carrier(&self) -> &'static str {
        self.carrier
    }

    /// Stops it cleanly: whatever was acknowledged is durable, and the next opening has nothing to
    /// recover.
    ///
    /// # Errors
    /// The drive's; then nothing is lost that a flush covered.
    pub fn stop(mut self) -> Result<(), IoError> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<(), IoError> {
        self.is_stopped = true;
        self.stack.machine.shut_down();
        self.flush()
    }

    /// One flush; what else was in flight is waited for and forgotten.
    fn flush(&mut self) -> Result<(), IoError> {
        let (actor, drive) = (Actor(0), Drive(0));
        self.stack.submit(Request { tag: Tag::OWN, actor, drive, command: Command::Flush });
        let mut done = Vec::new();
        loop {
            self.stack.wait(Instant::NEVER, &mut done);
            if let Some(flush) = done.drain(..).find(|completion| completion.tag == Tag::OWN) {
                return flush.result;
            }
        }
    }
}

/// Why a volume that was found could not be opened: what its drive said, and the cure.
fn failed(path: &Path, error: IoError, bytes: u64) -> TargetError {
    /// A file system keeps some of what is freed for itself.
    const MARGIN_BYTES: u64 = 1 << 20;
    let shown = path.display();
    match error {
        IoError::Os(ENOSPC | EDQUOT) => TargetError {
            kind: TargetErrorKind::NoSpace,
            message: format!(
                "{shown}: no space is left below it, and opening it for writing takes up to {}: \
                 free as much on the file system that it is on, or read it with `drivelab serve \
                 --read-only`, which writes nothing",
                block::display_bytes((bytes + MARGIN_BYTES).next_multiple_of(MARGIN_BYTES))
            ),
        },
        IoError::Offline => TargetError {
            kind: TargetErrorKind::Io,
            message: format!("{shown}: the drive is gone: `dmesg` has its side"),
        },
        _ => TargetError {
            kind: TargetErrorKind::Io,
            message: format!("{shown}: the drive failed ({error:?})"),
        },
    }
}

impl Drop for ManagedVolume {
    fn drop(&mut self) {
        if !self.is_stopped && self.volume().open_error().is_none() {
            // Whoever needs to know calls `stop`.
            let _ = self.shut_down();
        }
    }
}

impl Wrapper for ManagedVolume {
    type Inner = Managed;

    fn inner(&self) -> &Managed {
        &self.stack
    }

    fn inner_mut(&mut self) -> &mut Managed {
        &mut self.stack
    }

    /// The volume says when its answer was due; it is seen now.
    fn on_done(&mut self, done: &mut [Completion]) {
        let now = self.stack.now();
        for completion in done {
            completion.finished = completion.finished.max(now);
        }
    }

    /// Plain memory: the volume copies what is written. Of what a server may need at most, little
    /// is in use at most times, and memory that the kernel knows would be there from the start.
    fn memory(&mut self, count: usize, bytes: usize, pages: Pages) -> Vec<Buf> {
        Buf::pool_on_demand(count, bytes, pages).1
    }
}
