//! The guard: whether a block device or file may be overwritten.
//!
//! ```text
//!   path -> opened once: a device with O_EXCL -> its inode, or its number
//!        -> claims (mounts, swap, holders, loops, pools)           claims, loops
//!        -> the same drive by another path; who else has it open   paths, openers
//!        -> what it holds, and its partitions                      signature, opinion
//!        -> Cleared -> Consent -> Permit                           consent, naming, identity
//!        -> Reserved, while mkfs and mount work on it              reserve
//! ```
//!
//! It compares device numbers and inodes, never names, so a link, a hard link or a bind mount gets
//! nobody past it. It only reads; a [`Refusal`] names what was found and the cure. The exclusive
//! open comes before the signatures are read and lasts as long as the [`Permit`], so nothing can be
//! mounted in between.

mod claims;
mod consent;
mod identity;
mod inode;
mod look;
mod loops;
mod naming;
mod openers;
mod opinion;
mod paths;
mod refusal;
mod reserve;
mod signature;

pub(crate) use claims::claim_on;
pub use consent::Consent;
pub use identity::Identity;
pub use inode::Inode;
pub(crate) use look::{Look, look, no_look};
pub(crate) use openers::openers as all_openers;
pub use refusal::{Reason, Refusal};
pub use reserve::{Reserved, check, identity_at};
pub use signature::{FLASH_MAGIC, holds_volume, signatures};

use crate::{
    contents::has_data,
    error::HostError,
    lock::range_holder,
    roots::{DeviceNumber, Roots},
    sysfs::{BlockDevice, closure},
};
use naming::Naming;
use openers::Opener;
use std::{
    fs,
    fs::{File, Metadata, OpenOptions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// What was opened and judged, a device exclusively; only the consent is missing.
#[derive(Debug)]
pub struct Cleared {
    held: Held,
    given: PathBuf,
    naming: Naming,
}

/// The right to write to a file or device, and the hold on it. Keep it until the last write is
/// done.
#[derive(Debug)]
pub struct Permit {
    held: Held,
}

/// The descriptor that was judged.
#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// Of a device.
    identity: Option<Identity>,
    /// Locked files behind loop devices.
    below: Vec<File>,
}

impl Permit {
    /// The canonical path, for people. What needs flags of its own opens [`Permit::file`] again, by
    /// [`engine::reopen`]: no renaming turns that into something else.
    pub fn path(&self) -> &Path {
        &self.held.path
    }

    /// The size.
    pub fn bytes(&self) -> u64 {
        self.held.bytes
    }

    /// The descriptor that is held, for reading and writing.
    pub fn file(&self) -> &File {
        &self.held.file
    }

    /// An empty file that is made now and was not there before, readable and writable by its owner
    /// alone: there is nothing to lose. `bytes` is the size that it will be given.
    ///
    /// # Errors
    /// The system's; `AlreadyExists` for anything at `path`, a link to nothing too.
    pub fn new_file(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let held = Held { file, path: path.to_owned(), bytes, identity: None, below: Vec::new() };
        Ok(Self { held })
    }
}

impl Cleared {
    /// What the user must type, as a shell takes it: the drive's serial or, without one, a name.
    pub fn expected(&self) -> String {
        self.naming.expected()
    }

    /// The size.
    pub fn bytes(&self) -> u64 {
        self.held.bytes
    }

    /// What is held, to be looked at.
    pub fn file(&self) -> &File {
        &self.held.file
    }

    /// Turns the clearance into a permit.
    ///
    /// # Errors
    /// [`Reason::NotConfirmed`] or [`Reason::Exchanged`]; the hold ends.
    pub fn confirm(self, consent: &Consent) -> Result<Permit, Refusal> {
        match consent.check(&self.naming, self.held.identity.as_ref()) {
            Ok(()) => Ok(Permit { held: self.held }),
            Err(reason) => Err(Refusal { path: self.given, reason }),
        }
    }

    /// Turns the clearance of a file that is nothing but a hole into a permit: nobody has to agree
    /// to lose nothing.
    ///
    /// # Errors
    /// Gives it back where there is something, or where nobody can say.
    #[expect(clippy::result_large_err, reason = "it is what was asked about, given back")]
    pub fn if_empty(self) -> Result<Permit, Self> {
        match self.held.identity.is_none() && matches!(has_data(&self.held.file), Ok(false)) {
            true => Ok(Permit { held: self.held }),
            false => Err(self),
        }
    }
}

/// What a device may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holding {
    Nothing,
    /// An older managed volume, alone on it.
    Volume,
    Anything,
}

/// Judges whether the block device at `path` (symbolic links are followed) may be overwritten, and
/// takes exclusive hold of it. Writes nothing.
///
/// # Errors
/// A [`Refusal`] for anything that is in use, holds data or could not be examined.
pub fn judge_destruction(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    judge_device(path, Holding::Nothing, roots)
}

/// As [`judge_destruction`]; a managed volume may be on it, which its owner can agree to lose by
/// `--destroy`.
///
/// # Errors
/// A [`Refusal`] for anything that is in use, holds other data or could not be examined.
pub fn judge_new_volume(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    judge_device(path, Holding::Volume, roots)
}

/// As [`judge_destruction`], for a device that is handed to others who read and write it: what it
/// holds is theirs to keep or change, so nothing is refused for being there.
///
/// # Errors
/// A [`Refusal`] for anything that is in use or could not be examined.
pub fn judge_lending(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    judge_device(path, Holding::Anything, roots)
}

/// Judges whether a regular file may be written: no loop device and no swap may be on it, under
/// whatever name.
///
/// # Errors
/// A [`Refusal`] that says what is.
pub fn judge_file(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    let judged = || {
        let canonical = fs::canonicalize(path).map_err(unreadable)?;
        // A pipe that is there by now must not be waited for.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&canonical);
        let file = opened.map_err(not_opened)?;
        let facts = file.metadata().map_err(unreadable)?;
        let inode = Inode::of(&facts).filter(|_| facts.is_file()).ok_or(Reason::NotAFile)?;
        claims::claim_on_file(&canonical, inode, roots).map_or(Ok(()), Err)?;
        if let Some(holder) = range_holder(&file) {
            return Err(Reason::Locked { holder });
        }
        let bytes = facts.len();
        let naming = Naming::of_file(path, inode, bytes);
        let held = Held { file, path: canonical, bytes, identity: None, below: Vec::new() };
        Ok(Cleared { held, given: path.to_owned(), naming })
    };
    judged().map_err(|reason| Refusal { path: path.to_owned(), reason })
}

/// Judges what holds a managed volume, a file or a device, for being written by the volume.
///
/// # Errors
/// As [`judge_file`] and [`judge_lending`].
pub fn judge_volume(path: &Path, roots: &Roots) -> Result<Cleared, Refusal> {
    let is_device = fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device());
    if is_device { judge_lending(path, roots) } else { judge_file(path, roots) }
}

/// Locks the files behind the loop devices that an open device stands on, for whoever only reads
/// it: what others write by the file's own name shows nobody a state that ever was. Nothing below a
/// file.
///
/// # Errors
/// Who uses one of them.
pub fn lock_below(file: &File, roots: &Roots) -> Result<Vec<File>, HostError> {
    let number = file.metadata().ok().and_then(|facts| number_of(&facts));
    let device = number.and_then(|number| BlockDevice::numbered(number, roots));
    device.map_or_else(|| Ok(Vec::new()), |device| loops::lock_below(&device, roots))
}

fn judge_device(path: &Path, holding: Holding, roots: &Roots) -> Result<Cleared, Refusal> {
    judge(path, holding, roots).map_err(|reason| Refusal { path: path.to_owned(), reason })
}

fn judge(path: &Path, holding: Holding, roots: &Roots) -> Result<Cleared, Reason> {
    let canonical = fs::canonicalize(path).map_err(unreadable)?;
    let facts = fs::metadata(&canonical).map_err(unreadable)?;
    let number = number_of(&facts).ok_or(Reason::NotABlockDevice)?;
    let device = BlockDevice::numbered(number, roots).ok_or(Reason::Unknown)?;
    check_claims(&device, roots)?;
    let file =
        open_exclusively(&canonical).map_err(|reason| name_holder(reason, &device, roots))?;
    if number_of(&file.metadata().map_err(unreadable)?) != Some(number) {
        return Err(Reason::Unknown);
    }
    let below = loops::lock_below(&device, roots)
        .map_err(|error| Reason::UsedBelow { error: error.to_string() })?;
    // Whoever was quicker than the exclusive open is seen now; nobody can come later.
    check_claims(&device, roots)?;
    check_openers(&device, roots)?;
    // Before the signatures: to wipe what is seen through one of two paths is no advice.
    let naming = Naming::of_device(&device, roots)?;
    if holding != Holding::Anything {
        check_signatures(&device, &canonical, &file, holding, roots)?;
    }
    let (bytes, identity) = (device.bytes(), Some(Identity::of(&device, roots)));
    let held = Held { file, path: canonical, bytes, identity, below };
    Ok(Cleared { held, given: path.to_owned(), naming })
}

/// The number of the block device that a path leads to.
pub(crate) fn number_at(path: &Path) -> Option<DeviceNumber> {
    number_of(&fs::metadata(path).ok()?)
}

fn number_of(facts: &Metadata) -> Option<DeviceNumber> {
    let is_device = facts.file_type().is_block_device();
    is_device.then(|| DeviceNumber::from_raw(facts.rdev()))
}

/// What the kernel's texts alone say against overwriting a device: nothing is opened, so a plain
/// user may ask, for a plan. That it passes is no permit. Who has it open is seen as far as the
/// user may see.
///
/// # Errors
/// The reason for a refusal.
pub fn judge_claims(number: DeviceNumber, roots: &Roots) -> Result<(), Reason> {
    let device = BlockDevice::numbered(number, roots).ok_or(Reason::Unknown)?;
    check_claims(&device, roots)?;
    check_openers(&device, roots)
}

fn check_claims(device: &BlockDevice, roots: &Roots) -> Result<(), Reason> {
    let disk = device.parent();
    let with_disk = || std::iter::once(device).chain(&disk);
    if device.bytes() == 0 {
        return Err(Reason::NoMedium);
    }
    if device.text("dm/suspended").as_deref() == Some("1") {
        return Err(Reason::Suspended);
    }
    if with_disk().any(|part| part.text("ro").as_deref() == Some("1")) {
        return Err(Reason::ReadOnly);
    }
    if device.queue_text("zoned").is_some_and(|zoned| zoned != "none") {
        return Err(Reason::Zoned);
    }
    let claim = claims::claim_on(device, roots);
    claim.or_else(|| paths::claim_elsewhere(device, roots)).map_or(Ok(()), Err)
}

/// Refuses what another process may write meanwhile: a virtual machine on the raw device, a
/// database. Programs that look at a device open it so for a moment, so a writer is looked for
/// again for a second.
fn check_openers(device: &BlockDevice, roots: &Roots) -> Result<(), Reason> {
    const TRIES: u32 = 10;
    for left in (0..TRIES).rev() {
        let Some((device, opener)) = open_elsewhere(device, roots).into_iter().next() else {
            break;
        };
        if !opener.writes {
            break;
        }
        if left == 0 {
            return Err(Reason::OpenElsewhere { device: device.name, holder: opener.who() });
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Other processes that have open what shares bytes with a device, by whichever path: its
/// partitions, its disk, what it stands on. Writers come first.
fn open_elsewhere(device: &BlockDevice, roots: &Roots) -> Vec<(BlockDevice, Opener)> {
    of_device(device, &openers::openers(roots).found, roots)
}

fn of_device(
    device: &BlockDevice,
    openers: &[Opener],
    roots: &Roots,
) -> Vec<(BlockDevice, Opener)> {
    if openers.is_empty() {
        return Vec::new();
    }
    let mut shared = vec![device.clone()];
    shared.extend(closure(&shared, |device| loops::below(device, roots)));
    shared.extend(device.partitions());
    for other in paths::other_paths(device, roots) {
        shared.extend(other.partitions());
        shared.extend(other.parent());
        shared.push(other);
    }
    let found = openers.iter().filter_map(|opener| {
        let device = shared.iter().find(|device| device.number == opener.number)?;
        Some((device.clone(), opener.clone()))
    });
    found.collect()
}

/// Other processes with a device open, for whoever reads it.
pub(crate) struct Elsewhere {
    /// A clause each.
    pub clauses: Vec<String>,
    /// Processes that this user may not look at.
    pub unseen: usize,
}

/// Who else has a device open, or what shares bytes with it.
pub(crate) fn open_elsewhere_of(number: DeviceNumber, roots: &Roots) -> Elsewhere {
    let openers = openers::openers(roots);
    let device = BlockDevice::numbered(number, roots);
    let found = device.map(|device| {
        let found = of_device(&device, &openers.found, roots);
        found.iter().map(|(what, opener)| opener.clause(what)).collect()
    });
    Elsewhere { clauses: found.unwrap_or_default(), unseen: openers.unseen }
}

/// The process that has it open for exclusive use, if one can be seen: the kernel holds no
/// descriptor.
fn name_holder(reason: Reason, device: &BlockDevice, roots: &Roots) -> Reason {
    match reason {
        Reason::Busy { holder: None } => {
            let opener = open_elsewhere(device, roots).into_iter().next();
            Reason::Busy { holder: opener.map(|(_, opener)| opener.who()) }
        }
        other => other,
    }
}

fn unreadable(error: io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound => Reason::Missing,
        io::ErrorKind::PermissionDenied => Reason::Denied { error: error.to_string() },
        _ => Reason::Unreadable { error: error.to_string() },
    }
}

fn not_opened(error: io::Error) -> Reason {
    match error.raw_os_error() {
        Some(libc::EBUSY) => Reason::Busy { holder: None },
        Some(libc::EROFS) => Reason::ReadOnly,
        _ => unreadable(error),
    }
}

/// `O_EXCL` without `O_CREAT` claims a block device (open(2)): it fails while anybody else, the
/// kernel included, has claimed it, its disk or one of its partitions, in whatever mount namespace.
///
/// Programs that look for a free loop device or re-read a partition table claim for a moment, so
/// the claim is tried again for a tenth of a second.
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
    opened.map_err(not_opened)
}

fn check_signatures(
    device: &BlockDevice,
    path: &Path,
    file: &File,
    holding: Holding,
    roots: &Roots,
) -> Result<(), Reason> {
    let mut found = signatures_on(device, path, file, roots)?;
    for partition in device.partitions() {
        let node = roots.dev.join(&partition.name);
        let file = File::open(&node).map_err(|failed| {
            let error = format!("{}: {failed}", node.display());
            match unreadable(failed) {
                // The node may be missing (a container); then what it holds cannot be ruled out.
                Reason::Missing | Reason::Denied { .. } => Reason::Denied { error },
                _ => Reason::Unreadable { error },
            }
        })?;
        found.extend(signatures_on(&partition, &node, &file, roots)?);
    }
    let is_volume = |(of, name): &(String, String)| {
        *of == device.name && name == signature::FLASH_NAME && holding == Holding::Volume
    };
    if found.iter().all(is_volume) { Ok(()) } else { Err(Reason::Signature { found }) }
}

/// Kernel name and format of what a device holds, but for its partitions.
fn signatures_on(
    device: &BlockDevice,
    path: &Path,
    file: &File,
    roots: &Roots,
) -> Result<Vec<(String, String)>, Reason> {
    let mut names = signatures(file, device.bytes()).map_err(unreadable)?;
    if names.is_empty() {
        names = opinion::known_to_blkid(path, roots)?;
    }
    Ok(names.into_iter().map(|name| (device.name.clone(), name)).collect())
}
