//! The guard: whether a block device may be overwritten.
//!
//! ```text
//!   path -> canonical -> number -> claims (mounts, swap, holders, loops, pools)
//!        -> O_EXCL open -> signatures of it and its partitions -> Cleared -> serial typed -> Permit
//! ```
//!
//! It compares device numbers, never names, so a symbolic link gets nobody past it. It only reads; a
//! [`Refusal`] names what was found and the cure. The exclusive open comes before the signatures are read
//! and lasts as long as the [`Permit`], so nothing can be mounted in between.

mod claims;
mod refusal;
mod signature;

pub use refusal::{Reason, Refusal};
pub use signature::{FLASH_MAGIC, signatures};

use crate::{
    identify::{identity_of, tools},
    roots::{DeviceNumber, Roots},
    sysfs::BlockDevice,
};
use std::{
    fs,
    fs::{File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// A device with nothing on it, held open exclusively; only the confirmation is missing.
#[derive(Debug)]
pub struct Cleared {
    file: File,
    path: PathBuf,
    given: PathBuf,
    number: DeviceNumber,
    bytes: u64,
    name: String,
    serial: Option<String>,
}

/// The right to overwrite a device, and the exclusive hold on it. Keep it until the last write is
/// done.
#[derive(Debug)]
pub struct Permit {
    file: File,
    path: PathBuf,
    number: DeviceNumber,
    bytes: u64,
}

impl Permit {
    /// The device's canonical path. Open [`Permit::held_path`] for writing instead, which no renaming can
    /// turn into another device.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in /proc that leads to the very device that is held.
    pub fn held_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// The device's number.
    pub fn number(&self) -> DeviceNumber {
        self.number
    }

    /// The device's size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Cleared {
    /// What the user must type: the drive's serial or, without one, the kernel name.
    pub fn expected(&self) -> &str {
        self.serial.as_deref().unwrap_or(&self.name)
    }

    /// Turns the clearance into a permit if `typed` is the serial in full or, for a drive without one, its
    /// kernel name (`loop0`) or path (`/dev/loop0`).
    ///
    /// # Errors
    /// [`Reason::NotConfirmed`] otherwise; the hold on the device ends.
    pub fn confirm(self, typed: Option<&str>) -> Result<Permit, Refusal> {
        let confirmed = typed.is_some_and(|typed| match &self.serial {
            Some(serial) => typed == serial,
            None => typed == self.name || Path::new(typed) == self.path,
        });
        if confirmed {
            let Self { file, path, number, bytes, .. } = self;
            return Ok(Permit { file, path, number, bytes });
        }
        let expected = self.expected().to_owned();
        let reason = Reason::NotConfirmed { expected, typed: typed.map(str::to_owned) };
        Err(Refusal { path: self.given, reason })
    }
}

/// Judges whether the block device at `path` (symbolic links are followed) may be overwritten, and takes
/// exclusive hold of it. Writes nothing.
///
/// # Errors
/// A [`Refusal`] for anything that is in use, holds data or could not be examined.
pub fn judge_destruction(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    judge(path, Holding::Nothing, roots).map_err(|reason| Refusal { path: path.to_owned(), reason })
}

/// As [`judge_destruction`], for a device that is handed to others who read and write it: what it holds is theirs to
/// keep or change, so nothing is refused for being there.
///
/// # Errors
/// A [`Refusal`] for anything that is in use or could not be examined.
pub fn judge_lending(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    judge(path, Holding::Anything, roots)
        .map_err(|reason| Refusal { path: path.to_owned(), reason })
}

/// Whether a regular file may be handed to others who write it: no loop device and no swap may be on it.
///
/// # Errors
/// A [`Refusal`] that says what is.
pub fn judge_file(path: &Path, roots: &Roots) -> Result<(), Refusal> {
    let refuse = |reason| Refusal { path: path.to_owned(), reason };
    let canonical = fs::canonicalize(path).map_err(|error| refuse(unreadable(error)))?;
    claims::claim_on_file(&canonical, roots).map_or(Ok(()), |reason| Err(refuse(reason)))
}

/// What a device may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holding {
    Nothing,
    Anything,
}

fn judge(path: &Path, holding: Holding, roots: &Roots) -> Result<Cleared, Reason> {
    let canonical = fs::canonicalize(path).map_err(unreadable)?;
    let meta = fs::metadata(&canonical).map_err(unreadable)?;
    if !meta.file_type().is_block_device() {
        return Err(Reason::NotABlockDevice);
    }
    let number = DeviceNumber::from_raw(meta.rdev());
    let device = BlockDevice::numbered(number, roots).ok_or(Reason::Unknown)?;
    check_claims(&device, roots)?;
    let file = open_exclusively(&canonical)?;
    let held = file.metadata().map_err(unreadable)?.rdev();
    if DeviceNumber::from_raw(held) != number {
        return Err(Reason::Unknown);
    }
    // Whoever was quicker than the exclusive open is seen now; nobody can come later.
    check_claims(&device, roots)?;
    if holding == Holding::Nothing {
        check_signatures(&device, &canonical, &file, roots)?;
    }
    let disk = device.parent().unwrap_or_else(|| device.clone());
    let serial = identity_of(&disk, roots).serial.filter(|_| is_one_drive(&disk));
    Ok(Cleared {
        file,
        path: canonical,
        given: path.to_owned(),
        number,
        bytes: device.bytes(),
        name: device.name,
        serial,
    })
}

/// What the kernel's texts alone say against overwriting a device: nothing is opened, so a plain user may
/// ask, for a plan. That it passes is no permit.
///
/// # Errors
/// The reason for a refusal.
pub fn judge_claims(number: DeviceNumber, roots: &Roots) -> Result<(), Reason> {
    check_claims(&BlockDevice::numbered(number, roots).ok_or(Reason::Unknown)?, roots)
}

fn check_claims(device: &BlockDevice, roots: &Roots) -> Result<(), Reason> {
    let disk = device.parent();
    let with_disk = || std::iter::once(device).chain(&disk);
    if device.bytes() == 0 {
        return Err(Reason::NoMedium);
    }
    if with_disk().any(|part| part.text("ro").as_deref() == Some("1")) {
        return Err(Reason::ReadOnly);
    }
    if device.queue_text("zoned").is_some_and(|zoned| zoned != "none") {
        return Err(Reason::Zoned);
    }
    claims::claim_on(device, roots).map_or(Ok(()), Err)
}

/// Arrays and mappings have no serial of their own: their name must be typed.
fn is_one_drive(disk: &BlockDevice) -> bool {
    crate::identify::stack::kind_of(disk) == "disk"
}

fn unreadable(error: io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound => Reason::Missing,
        _ => Reason::Unreadable { error: error.to_string() },
    }
}

/// `O_EXCL` without `O_CREAT` claims a block device (open(2)): it fails while anybody else, the kernel
/// included, has claimed it, its disk or one of its partitions, in whatever mount namespace.
///
/// Programs that look for a free loop device or re-read a partition table claim for a moment, so the claim is
/// tried again for a tenth of a second.
fn open_exclusively(path: &Path) -> Result<File, Reason> {
    const TRIES: u32 = 5;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_EXCL | libc::O_CLOEXEC);
    let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
    let mut opened = options.open(path);
    for _ in 1..TRIES {
        if !opened.as_ref().is_err_and(is_busy) {
            break;
        }
        thread::sleep(Duration::from_millis(25));
        opened = options.open(path);
    }
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => Reason::Busy,
        Some(libc::EROFS) => Reason::ReadOnly,
        _ => unreadable(error),
    })
}

fn check_signatures(
    device: &BlockDevice,
    path: &Path,
    file: &File,
    roots: &Roots,
) -> Result<(), Reason> {
    let mut found = Vec::new();
    let mut note = |device: &BlockDevice, path: &Path, names: Vec<String>| {
        let names = if names.is_empty() { known_to_blkid(path, roots) } else { names };
        found.extend(names.into_iter().map(|name| (device.name.clone(), name)));
    };
    note(device, path, signatures(file, device.bytes()).map_err(unreadable)?);
    for partition in device.partitions() {
        // The node may be missing (a container); then what it holds cannot be ruled out.
        let node = roots.dev.join(&partition.name);
        let file = File::open(&node).map_err(|error| Reason::Unreadable {
            error: format!("{}: {error}", node.display()),
        })?;
        note(&partition, &node, signatures(&file, partition.bytes()).map_err(unreadable)?);
    }
    if found.is_empty() { Ok(()) } else { Err(Reason::Signature { found }) }
}

/// A second opinion from util-linux, which knows some seventy formats; nothing where it is not installed.
fn known_to_blkid(path: &Path, roots: &Roots) -> Vec<String> {
    let node = path.to_string_lossy();
    let text = roots.are_real().then(|| tools::run("blkid", &["-p", "-o", "export", &node]));
    let text = text.flatten().unwrap_or_default();
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        matches!(key, "TYPE" | "PTTYPE").then(|| format!("what blkid calls `{value}`"))
    };
    text.lines().filter_map(value).collect()
}
