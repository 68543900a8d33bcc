//! Managed flash volumes in files, on block devices and in memory, as engines that hold what they stand on.
//!
//! ```text
//!   Site            where a new one may go: the guard's word, what the host says      site.rs
//!   HeldDrive       a file or device, locked: O_DIRECT, io_uring                     hold.rs
//!     `- Stack      flash::Volume on it
//!   ManagedVolume   open; dropping it stops it cleanly
//! ```

mod hold;
mod site;

pub(crate) use hold::lock;
pub use hold::{HeldDrive, HeldLock, Use};
pub use site::{Order, Site};

use crate::{
    memory::MemoryText,
    stack::{Managed, on_memory},
};
use block::{
    Actor, Allocation, Buf, Command, Completion, Drive, Engine, Geometry, Instant, IoError,
    Request, Stack, Tag,
};
use engine::Clock;
use flash::{Cleaning, Discards, IdleCleaning, Settings, Shape, Volume, VolumeId};
use lab::target::{TargetError, TargetErrorKind};
use std::{os::fd::BorrowedFd, path::Path};

/// Requests that a volume takes at a time: more than any method or client asks.
pub const QUEUE_DEPTH: u32 = 4096;

/// What a volume on a real drive is opened with.
pub fn settings(is_device: bool) -> Settings {
    Settings {
        queue_depth: QUEUE_DEPTH,
        cleaning: Cleaning::Auto,
        idle: Some(IdleCleaning::default()),
        // A hole in a file is no hint but a loss of the space that the file was given.
        discards: if is_device { Discards::Sent } else { Discards::Kept },
        ..Settings::default()
    }
}

/// A managed volume that is open, on a drive that nobody else may use meanwhile. Dropping it stops it cleanly.
pub struct ManagedVolume {
    stack: Managed,
    carrier: &'static str,
    is_stopped: bool,
    /// Dropped after the volume has stopped.
    _lock: Option<HeldLock>,
}

impl ManagedVolume {
    /// Opens the volume in the file or on the device at `path`: recovers it first where it was not stopped cleanly.
    ///
    /// # Errors
    /// A sentence with the cure: no volume, in use, damaged beyond opening.
    pub fn open(path: &Path, clock: Clock) -> Result<Self, TargetError> {
        Self::open_on(HeldDrive::open(path, Use::Write, clock)?)
    }

    /// Opens the volume on a drive that is held.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(drive: HeldDrive) -> Result<Self, TargetError> {
        let volume = Volume::open(drive.engine.geometry(Drive(0)), settings(drive.is_device));
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
        opened.map_err(|error| TargetError {
            kind: TargetErrorKind::Io,
            message: format!("{}: the drive failed ({error:?})", path.display()),
        })?;
        Ok(managed)
    }

    /// What it is and how it stands.
    pub fn volume(&self) -> &Volume {
        &self.stack.machine
    }

    /// What carries its requests, in words.
    pub fn carrier(&self) -> &'static str {
        self.carrier
    }

    /// Stops it cleanly: whatever was acknowledged is durable, and the next opening has nothing to recover.
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
        const FLUSH: Tag = Tag(u64::MAX);
        let (actor, drive) = (Actor(0), Drive(0));
        self.stack.submit(Request { tag: FLUSH, actor, drive, command: Command::Flush });
        let mut done = Vec::new();
        loop {
            self.stack.wait(Instant::NEVER, &mut done);
            if let Some(flush) = done.drain(..).find(|completion| completion.tag == FLUSH) {
                return flush.result;
            }
        }
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

impl Engine for ManagedVolume {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.stack.geometry(drive)
    }

    fn now(&self) -> Instant {
        self.stack.now()
    }

    fn submit(&mut self, request: Request) {
        self.stack.submit(request);
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        let before = done.len();
        self.stack.wait(until, done);
        // The volume says when its answer was due; it is seen now.
        let now = self.stack.now();
        for completion in &mut done[before..] {
            completion.finished = completion.finished.max(now);
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.stack.next_wakeup()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.stack.poll_fd()
    }

    fn allocation(&self, drive: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        self.stack.allocation(drive, offset, len)
    }

    /// Plain memory: the volume copies what is written, and workers come and go.
    fn pool(&mut self, count: usize, bytes: usize) -> Vec<Buf> {
        Buf::pool(count, bytes).1
    }
}
