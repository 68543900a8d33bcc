//! A file or block device as an engine, held: nobody else who asks may use it meanwhile.

use crate::did_you_mean;
use block::{Data, Engine, Geometry};
use engine::{
    Access, Caching, Clock, Create, OpenError, OpenErrorKind, Sync, Syncing, Uring, UringOptions,
    open_file, raw, reopen,
};
use flash::BLOCK_BYTES;
use host::{
    Consent, ErrorKind, HostError, Permit, Reason, Refusal, Roots, guard::Inode, lock::Sharing,
};
use lab::target::{TargetError, TargetErrorKind};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

/// Requests outstanding at the drive: chunks, reads, and what a cleaner has in flight.
const QUEUE_DEPTH: u32 = 256;
/// Longest request: more than any chunk that is proposed.
const TRANSFER_BYTES_MAX: u32 = 16 << 20;

/// What will be done with the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It is looked at.
    Read,
    /// It is changed, by the managed volume on it: the guard judges it first, and holds a block
    /// device against mounting.
    Write,
}

/// A drive, and the hold on it.
pub struct HeldDrive {
    /// Drive 0 is the file or device.
    pub engine: Box<dyn Engine>,
    /// Where it is.
    pub path: PathBuf,
    /// What it was opened for. The descriptor of a drive that is read cannot be written.
    pub r#use: Use,
    /// What carries requests to it, in words.
    pub carrier: &'static str,
    /// Whether it is a block device.
    pub is_device: bool,
    /// Closing it lets others in.
    pub lock: HeldLock,
}

/// What keeps others away as long as it lives.
#[derive(Debug)]
pub struct HeldLock {
    file: File,
    _permit: Option<Permit>,
    /// Behind loop devices, where no permit has them.
    _below: Vec<File>,
}

impl HeldLock {
    /// The file or device that is held.
    pub fn inode(&self) -> Option<Inode> {
        Inode::of(&self.file.metadata().ok()?)
    }
}

impl HeldDrive {
    /// Opens `path` past the page cache where its file system allows that, on io_uring where there
    /// is one.
    ///
    /// # Errors
    /// A sentence with the cure: not there, in use, a directory, smaller than a block.
    pub fn open(path: &Path, r#use: Use, clock: Clock) -> Result<Self, TargetError> {
        Self::open_with(path, r#use, UringOptions::default(), clock)
    }

    /// As [`open`](Self::open), for whoever sleeps on the engine's descriptor: a server.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn polled(path: &Path, r#use: Use, clock: Clock) -> Result<Self, TargetError> {
        Self::open_with(path, r#use, UringOptions::pollable(), clock)
    }

    /// The file or device that a permit holds.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn permitted(permit: Permit, clock: Clock) -> Result<Self, TargetError> {
        Self::permitted_with(permit, UringOptions::default(), clock)
    }

    fn open_with(
        path: &Path,
        r#use: Use,
        options: UringOptions,
        clock: Clock,
    ) -> Result<Self, TargetError> {
        refuse_directory(path)?;
        match r#use {
            Use::Read => {
                let file = or_buffered(|caching| {
                    open_file(path, Access::Read, caching, Syncing::None, Create::Existing)
                })?;
                Self::opened(path, file, Use::Read, None, options, clock)
            }
            Use::Write => {
                let consent = Consent::as_managed_volume();
                let judged = host::judge_volume(path, &Roots::default());
                let permit = judged.and_then(|cleared| cleared.confirm(&consent));
                let permit = permit.map_err(refused)?;
                Self::permitted_with(permit, options, clock)
            }
        }
    }

    fn permitted_with(
        permit: Permit,
        options: UringOptions,
        clock: Clock,
    ) -> Result<Self, TargetError> {
        let path = permit.path().to_owned();
        let held = permit.file();
        let file =
            or_buffered(|caching| reopen(held, &path, Access::ReadWrite, caching, Syncing::None))?;
        Self::opened(&path, file, Use::Write, Some(permit), options, clock)
    }

    fn opened(
        path: &Path,
        (file, is_direct): (File, bool),
        r#use: Use,
        permit: Option<Permit>,
        options: UringOptions,
        clock: Clock,
    ) -> Result<Self, TargetError> {
        lock(&file, path)?;
        let below = match permit {
            Some(_) => Vec::new(),
            None => host::guard::lock_below(&file, &Roots::default()).map_err(not_locked)?,
        };
        let facts = file.metadata().map_err(|error| io_error("look at", path, &error))?;
        let is_device = facts.file_type().is_block_device();
        let bytes = if is_device { raw::device_bytes(&file) } else { Ok(facts.len()) };
        let bytes = bytes.map_err(|error| io_error("measure", path, &error))?;
        let whole = bytes / BLOCK_BYTES * BLOCK_BYTES;
        if whole == 0 {
            return Err(TargetError::refused(format!(
                "{} is empty: name the file or device that a volume is on",
                path.display()
            )));
        }
        let block_bytes = block_bytes(&file, is_device, is_direct);
        let again = file.try_clone().map_err(|error| io_error("open", path, &error))?;
        let (engine, carrier) = engine(file, whole, block_bytes, options, clock)
            .map_err(|error| io_error("open", path, &error))?;
        let lock = HeldLock { file: again, _permit: permit, _below: below };
        Ok(Self { engine, path: path.to_owned(), r#use, carrier, is_device, lock })
    }
}

fn refused(refusal: Refusal) -> TargetError {
    let way_out = match refusal.reason {
        Reason::ReadOnly | Reason::Denied { .. } | Reason::Unreadable { .. } => {
            "; `drivelab serve --read-only` needs to read it only"
        }
        _ => "",
    };
    TargetError::refused(format!("{refusal}{way_out}"))
}

fn refuse_directory(path: &Path) -> Result<(), TargetError> {
    let facts = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => TargetError::refused(format!(
            "there is no {}: name the file or device that a managed volume is on.{} \
             `drivelab flash create` makes one",
            path.display(),
            did_you_mean(path)
        )),
        _ => io_error("open", path, &error),
    })?;
    if facts.is_dir() {
        return Err(TargetError::refused(format!(
            "{} is a directory, and a managed volume is in a file or on a block device: name one",
            path.display()
        )));
    }
    Ok(())
}

/// Past the page cache where the file system allows that, and whether it does.
fn or_buffered(
    open: impl Fn(Caching) -> Result<File, OpenError>,
) -> Result<(File, bool), TargetError> {
    match open(Caching::Direct) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind == OpenErrorKind::DirectRefused => {
            Ok((open(Caching::Buffered).map_err(open_error)?, false))
        }
        Err(error) => Err(open_error(error)),
    }
}

fn block_bytes(file: &File, is_device: bool, is_direct: bool) -> u32 {
    /// Logical blocks of any drive are multiples of this.
    const SECTOR_BYTES: u32 = 512;
    if !is_direct {
        return 1;
    }
    if is_device {
        return raw::logical_block_bytes(file).unwrap_or(SECTOR_BYTES);
    }
    let alignment = raw::direct_alignment(file).ok().flatten();
    alignment.map_or(SECTOR_BYTES, |alignment| alignment.offset_bytes)
}

/// io_uring; blocking calls, one at a time, where there is none.
fn engine(
    file: File,
    capacity_bytes: u64,
    block_bytes: u32,
    options: UringOptions,
    clock: Clock,
) -> io::Result<(Box<dyn Engine>, &'static str)> {
    let geometry = |queue_depth| Geometry {
        capacity_bytes,
        block_bytes,
        transfer_bytes_max: TRANSFER_BYTES_MAX,
        queue_depth,
        data: Data::Stored,
    };
    let again = file.try_clone()?;
    Ok(match Uring::new(clock, file, geometry(QUEUE_DEPTH), options) {
        Ok(engine) => (Box::new(engine), "flash on uring"),
        Err(_) => (Box::new(Sync::new(clock, again, geometry(1))), "flash on sync"),
    })
}

/// One process at a time; whoever comes second is told who was first.
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), TargetError> {
    host::lock::lock(file, path, Sharing::Alone).map_err(not_locked)
}

fn not_locked(error: HostError) -> TargetError {
    match error.kind() {
        ErrorKind::Busy => TargetError::refused(error.to_string()),
        _ => TargetError { kind: TargetErrorKind::Io, message: error.to_string() },
    }
}

pub(super) fn io_error(what: &str, path: &Path, error: &io::Error) -> TargetError {
    TargetError {
        kind: TargetErrorKind::Io,
        message: format!("cannot {what} {}: {error}", path.display()),
    }
}

fn open_error(error: OpenError) -> TargetError {
    TargetError::refused(error.to_string())
}
