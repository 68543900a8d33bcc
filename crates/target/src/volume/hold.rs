//! A file or block device as an engine, held: nobody else who asks may use it meanwhile.

use block::{Data, Engine, Geometry};
use engine::{
    Access, Caching, Clock, Create, OpenError, OpenErrorKind, Sync, Syncing, Uring, UringOptions,
    open_file, raw,
};
use flash::BLOCK_BYTES;
use host::Permit;
use lab::target::{TargetError, TargetErrorKind};
use std::{
    fmt::Write as _,
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
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
    /// It is changed. A block device is then held against mounting, too.
    Write,
}

/// A drive, and the hold on it.
pub struct HeldDrive {
    /// Drive 0 is the file or device.
    pub engine: Box<dyn Engine>,
    /// Where it is.
    pub path: PathBuf,
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
    _file: File,
    _permit: Option<Permit>,
}

impl HeldDrive {
    /// Opens `path` past the page cache where its file system allows that, on io_uring where there is one.
    ///
    /// # Errors
    /// A sentence with the cure: not there, in use, a directory, smaller than a block.
    pub fn open(path: &Path, r#use: Use, clock: Clock) -> Result<Self, TargetError> {
        refuse_directory(path)?;
        let file = open(path, access(r#use), Create::Existing)?;
        Self::opened(path, file, None, UringOptions::default(), clock)
    }

    /// As [`open`](Self::open), for whoever sleeps on the engine's descriptor: a server.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn polled(path: &Path, r#use: Use, clock: Clock) -> Result<Self, TargetError> {
        refuse_directory(path)?;
        let file = open(path, access(r#use), Create::Existing)?;
        Self::opened(path, file, None, UringOptions::pollable(), clock)
    }

    /// The device that a permit holds.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn permitted(permit: Permit, clock: Clock) -> Result<Self, TargetError> {
        let file = open(&permit.held_path(), Access::ReadWrite, Create::Held)?;
        let path = permit.path().to_owned();
        Self::opened(&path, file, Some(permit), UringOptions::default(), clock)
    }

    fn opened(
        path: &Path,
        (file, is_direct): (File, bool),
        permit: Option<Permit>,
        options: UringOptions,
        clock: Clock,
    ) -> Result<Self, TargetError> {
        lock(&file, path)?;
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
        let lock = HeldLock { _file: again, _permit: permit };
        Ok(Self { engine, path: path.to_owned(), carrier, is_device, lock })
    }
}

fn refuse_directory(path: &Path) -> Result<(), TargetError> {
    let facts = fs::metadata(path).map_err(|error| io_error("open", path, &error))?;
    if facts.is_dir() {
        return Err(TargetError::refused(format!(
            "{} is a directory, and a managed volume is in a file or on a block device: name one",
            path.display()
        )));
    }
    Ok(())
}

fn access(r#use: Use) -> Access {
    match r#use {
        Use::Read => Access::Read,
        Use::Write => Access::ReadWrite,
    }
}

fn open(path: &Path, access: Access, create: Create) -> Result<(File, bool), TargetError> {
    let open = |caching| open_file(path, access, caching, Syncing::None, create);
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
    // A ring lets go of its files a moment after it is closed: then the lock is that of a process that is gone, or our
    // own, from when we looked at the file.
    const TRIES: u32 = 200;
    let mut taken = true;
    for _ in 0..TRIES {
        taken = raw::try_lock(file).map_err(|error| io_error("lock", path, &error))?
            == raw::FileLock::HeldByAnother;
        if !taken || holder(file).is_some_and(|process| process != std::process::id()) {
            break;
        }
        thread::sleep(Duration::from_millis(25));
    }
    if !taken {
        return Ok(());
    }
    let shown = path.display();
    let who = holder(file).map_or_else(|| "another process".to_owned(), named);
    Err(TargetError::refused(format!(
        "{shown} is in use by {who}, and it is used by one process at a time: wait for its end, or stop it"
    )))
}

/// The living process that holds a lock on the file: the kernel lists them by device and inode (proc(5), /proc/locks).
fn holder(file: &File) -> Option<u32> {
    let facts = file.metadata().ok()?;
    let (major, minor) = (major_of(facts.dev()), minor_of(facts.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", facts.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let line = locks.lines().find(|line| {
        line.contains(" FLOCK ") && line.split_whitespace().any(|word| word == place)
    })?;
    let process = line.split_whitespace().nth(4)?.parse::<u32>().ok()?;
    Path::new(&format!("/proc/{process}")).exists().then_some(process)
}

fn named(process: u32) -> String {
    let mut who = format!("process {process}");
    if let Ok(name) = fs::read_to_string(format!("/proc/{process}/comm")) {
        let _ = write!(who, " ({})", name.trim());
    }
    who
}

/// As glibc's makedev(3) puts them together.
fn major_of(device: u64) -> u64 {
    (device >> 32 & 0xffff_f000) | (device >> 8 & 0xfff)
}

fn minor_of(device: u64) -> u64 {
    (device >> 12 & 0xffff_ff00) | (device & 0xff)
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
