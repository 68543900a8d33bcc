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
mod signature;

pub use signature::{FLASH_MAGIC, signatures};

use crate::{
    identify::{identity_of, tools},
    roots::{DeviceNumber, Roots},
    sysfs::BlockDevice,
};
use std::{
    fmt, fs,
    fs::{File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// Why a device may not be overwritten.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// There is nothing at the path.
    Missing,
    /// A file or directory: never overwritten.
    NotABlockDevice,
    /// The kernel's texts about the device are missing, so nothing can be ruled out.
    Unknown,
    /// The user may not open it, or reading failed; the system's words.
    Unreadable {
        /// The system's words.
        error: String,
    },
    /// The device or its disk is write-protected.
    ReadOnly,
    /// A zoned drive takes only sequential writes.
    Zoned,
    /// The device, a part of it, or something it is a part of is mounted.
    Mounted {
        /// Kernel name of the mounted device.
        device: String,
        /// Where.
        mount_point: String,
    },
    /// In use as swap.
    Swap {
        /// Kernel name of the swap device.
        device: String,
    },
    /// An array, mapping or cache is built on it.
    Held {
        /// Kernel name of the device below.
        device: String,
        /// Kernel name of the one above.
        holder: String,
    },
    /// A loop device is attached to it.
    BacksLoop {
        /// Kernel name of the device below.
        device: String,
        /// Kernel name of the loop device.
        loop_device: String,
    },
    /// Another loop device has the same file behind it.
    SharedFile {
        /// The file.
        file: String,
        /// Kernel name of the other loop device.
        loop_device: String,
    },
    /// A member of an imported ZFS pool.
    PoolMember {
        /// Kernel name of the member.
        device: String,
    },
    /// Somebody has it open exclusively.
    Busy,
    /// It holds data: device and what was recognised on it.
    Signature {
        /// Kernel name and name of the format, in the order found.
        found: Vec<(String, String)>,
    },
    /// What was typed is not the drive's serial or name.
    NotConfirmed {
        /// What must be typed.
        expected: String,
        /// What was typed, if anything.
        typed: Option<String>,
    },
}

/// A device that may not be overwritten, and why. Its `Display` is one sentence with the cure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The device, as it was given.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "refusing to write to {}: ", self.path.display())?;
        match &self.reason {
            Reason::Missing => write!(formatter, "there is no such device; check the spelling"),
            Reason::NotABlockDevice => write!(
                formatter,
                "it is no block device, and what exists is only ever read; name a directory or a \
                 new file to write to"
            ),
            Reason::Unknown => write!(
                formatter,
                "/sys says nothing about it, so nothing can be ruled out; run where /sys is mounted"
            ),
            Reason::Unreadable { error } => {
                write!(formatter, "it cannot be opened and examined ({error}); run as root")
            }
            Reason::ReadOnly => {
                write!(formatter, "it is read-only; name a writable device, or leave out --destroy")
            }
            Reason::Zoned => write!(
                formatter,
                "it is a zoned drive, which takes no random writes; leave out --destroy to read it"
            ),
            Reason::Mounted { device, mount_point } => write!(
                formatter,
                "{device} is mounted at {mount_point}; make sure that it is the right drive, then \
                 `umount {mount_point}`"
            ),
            Reason::Swap { device } => write!(
                formatter,
                "{device} is in use as swap; make sure that it is the right drive, then \
                 `swapoff /dev/{device}`"
            ),
            Reason::Held { device, holder } => write!(
                formatter,
                "{device} is part of {holder}; stop {holder} first (mdadm --stop, vgchange -an, \
                 cryptsetup close, ...)"
            ),
            Reason::BacksLoop { device, loop_device } => write!(
                formatter,
                "{loop_device} is attached to {device}; `losetup -d /dev/{loop_device}` first"
            ),
            Reason::SharedFile { file, loop_device } => write!(
                formatter,
                "{loop_device} is attached to the same file, {file}; `losetup -d \
                 /dev/{loop_device}` first"
            ),
            Reason::PoolMember { device } => write!(
                formatter,
                "{device} belongs to an imported ZFS pool; `zpool export` the pool first"
            ),
            Reason::Busy => write!(
                formatter,
                "somebody has it open for exclusive use; find out who with `lsof {0}` or `fuser \
                 -v {0}`",
                self.path.display()
            ),
            Reason::Signature { found } => {
                let list: Vec<String> =
                    found.iter().map(|(device, name)| format!("{name} on {device}")).collect();
                // Partitions before the disk, whose wiping makes them vanish.
                let mut devices: Vec<String> =
                    found.iter().rev().map(|(device, _)| format!("/dev/{device}")).collect();
                devices.dedup();
                let devices = devices.join(" ");
                write!(
                    formatter,
                    "it holds data ({}); make sure that it is the right drive, then `wipefs -a \
                     {devices}`",
                    list.join(", ")
                )
            }
            Reason::NotConfirmed { expected, typed } => {
                match typed {
                    Some(typed) => write!(formatter, "`{typed}` is not its name; ")?,
                    None => write!(formatter, "all its data would be lost; ")?,
                }
                write!(formatter, "to confirm, type `--destroy {expected}`")
            }
        }
    }
}

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
    judge(path, roots).map_err(|reason| Refusal { path: path.to_owned(), reason })
}

fn judge(path: &Path, roots: &Roots) -> Result<Cleared, Reason> {
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
    check_signatures(&device, &canonical, &file, roots)?;
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
fn open_exclusively(path: &Path) -> Result<File, Reason> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_EXCL | libc::O_CLOEXEC);
    options.open(path).map_err(|error| match error.raw_os_error() {
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
        matches!(key, "TYPE" | "PTTYPE").then(|| value.to_owned())
    };
    text.lines().filter_map(value).collect()
}
