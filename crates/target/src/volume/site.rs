//! Where a new volume may go: what is there, whether it may be overwritten, and what the host says
//! of it.

use super::hold::{HeldDrive, io_error};
use crate::did_you_mean;
use engine::{Clock, raw};
use flash::{BLOCK_BYTES, Parity};
use host::{Cleared, Consent, Permit, Reason, Refusal, Roots};
use lab::target::{TargetError, TargetErrorKind};
use record::{TargetInfo, TargetKind};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Where partitions begin, by the habit of all partitioning programs: on any drive's erase blocks
/// or close to them.
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// So many alignments a drive has at least.
const ALIGNMENTS_MIN: u64 = 1024;

/// What the user says about the place.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The file or device.
    pub path: PathBuf,
    /// The size of a file that is made.
    pub drive_bytes: Option<u64>,
    /// To lose what is there.
    pub consent: Consent,
    /// Whether the holes of a file that exists are filled.
    pub space: Space,
}

/// Whether a file's space is taken before it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Space {
    /// A file that exists keeps its holes, and takes more of its file system as the volume fills.
    #[default]
    AsItIs,
    /// All of it at once.
    Taken,
}

/// A file with holes, and what it lies on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sparse {
    /// What the file may still take.
    pub missing_bytes: u64,
    /// What its file system has free.
    pub free_bytes: u64,
}

/// A place that may be written over. Nothing was written yet.
pub struct Site {
    /// Its size in whole blocks.
    pub device_bytes: u64,
    /// The full stripe of an md array, if it is one.
    pub stripe_bytes: u64,
    /// Whether it has parity.
    pub parity: Parity,
    /// What a segment's place should be a multiple of, where nobody says what the drive erases.
    pub erase_unit_bytes: u64,
    /// What it is, in a few words.
    pub what: String,
    /// Where a file has holes.
    pub sparse: Option<Sparse>,
    place: Place,
    space: Space,
}

enum Place {
    New(PathBuf),
    There(Permit),
}

impl Site {
    /// Looks at the place that was named.
    ///
    /// # Errors
    /// A sentence with the cure: in use, holds data that nobody agreed to lose, no size given.
    pub fn survey(order: &Order) -> Result<Self, TargetError> {
        let roots = Roots::default();
        let path = &order.path;
        let text = path.to_string_lossy();
        let info = host::target_info(path, &text, &roots)
            .map_err(|error| TargetError::refused(error.to_string()))?;
        let shown = path.display();
        match info.kind {
            TargetKind::NewFile => new_file(order, &info),
            TargetKind::File => existing_file(order, &info, &roots),
            TargetKind::BlockDevice => device(order, &info, &roots),
            _ => Err(TargetError::refused(format!(
                "{shown} is a directory, and a managed volume is in a file or on a block device: name a new file in \
                 it, such as {}",
                path.join("volume.img").display()
            ))),
        }
    }

    /// Makes the file if there is to be a new one, and takes hold of it.
    ///
    /// # Errors
    /// No room for a new file, or somebody was quicker.
    pub fn take(self, clock: Clock) -> Result<HeldDrive, TargetError> {
        match self.place {
            Place::New(path) => {
                let permit = make_file(&path, self.device_bytes)?;
                HeldDrive::permitted(permit, clock).inspect_err(|_| drop(fs::remove_file(&path)))
            }
            Place::There(permit) => {
                if self.space == Space::Taken {
                    raw::allocate(permit.file(), self.device_bytes)
                        .map_err(|error| io_error("take all space of", permit.path(), &error))?;
                }
                HeldDrive::permitted(permit, clock)
            }
        }
    }

    /// The file that [`take`](Self::take) makes, if it makes one.
    pub fn new_file(&self) -> Option<&Path> {
        match &self.place {
            Place::New(path) => Some(path),
            _ => None,
        }
    }

    fn plain(bytes: u64, what: String, place: Place) -> Self {
        let device_bytes = bytes / BLOCK_BYTES * BLOCK_BYTES;
        let suits = (device_bytes / ALIGNMENTS_MIN).max(BLOCK_BYTES);
        Self {
            device_bytes,
            stripe_bytes: BLOCK_BYTES,
            parity: Parity::None,
            erase_unit_bytes: ALIGNMENT_BYTES.min(1 << suits.ilog2()),
            what,
            sparse: None,
            place,
            space: Space::AsItIs,
        }
    }
}

fn new_file(order: &Order, info: &TargetInfo) -> Result<Site, TargetError> {
    let path = order.path.clone();
    let Some(bytes) = order.drive_bytes else {
        return Err(TargetError::refused(format!(
            "{0} does not exist.{1} To make a file there, give its size: `--drive-size 10G`",
            path.display(),
            did_you_mean(&path)
        )));
    };
    if info.free_bytes.is_some_and(|free| free < bytes) {
        return Err(TargetError {
            kind: TargetErrorKind::NoSpace,
            message: format!(
                "a file of {} does not fit: {} are free on its file system; lower --drive-size",
                block::display_bytes(bytes),
                block::display_bytes(info.free_bytes.unwrap_or(0))
            ),
        });
    }
    let what = format!("a new file of {}", block::display_bytes(bytes));
    Ok(Site::plain(bytes, what, Place::New(path)))
}

fn existing_file(order: &Order, info: &TargetInfo, roots: &Roots) -> Result<Site, TargetError> {
    let path = &order.path;
    let shown = path.display();
    if let Some(bytes) = order.drive_bytes {
        return Err(TargetError::refused(format!(
            "--drive-size {} is for a file that is made, and {shown} exists: leave it out, or name another file",
            block::display_bytes(bytes)
        )));
    }
    let cleared = host::judge_file(path, roots).map_err(refused)?;
    let bytes = cleared.bytes();
    if bytes < BLOCK_BYTES {
        return Err(TargetError::refused(format!(
            "{shown} is empty: give it a size with `truncate -s 10G {shown}`, or name a new file with --drive-size"
        )));
    }
    let permit = match cleared.if_empty() {
        Ok(permit) => permit,
        Err(cleared) => agreed(cleared, &order.consent, path)?,
    };
    let what = format!("the file {shown}, {}", block::display_bytes(bytes));
    // st_blocks counts in 512 B (stat(2)).
    let facts = permit.file().metadata().map_err(|error| io_error("look at", path, &error))?;
    let missing_bytes = (bytes / BLOCK_BYTES * BLOCK_BYTES).saturating_sub(facts.blocks() * 512);
    let sparse = Sparse { missing_bytes, free_bytes: info.free_bytes.unwrap_or(u64::MAX) };
    let is_sparse = missing_bytes > 0 && order.space == Space::AsItIs;
    let site = Site::plain(bytes, what, Place::There(permit));
    Ok(Site { sparse: is_sparse.then_some(sparse), space: order.space, ..site })
}

fn agreed(cleared: Cleared, consent: &Consent, path: &Path) -> Result<Permit, TargetError> {
    let is_volume = host::guard::holds_volume(cleared.file(), cleared.bytes());
    let holds = if is_volume.unwrap_or(false) { "a managed volume" } else { "data" };
    let shown = path.display();
    cleared.confirm(consent).map_err(|refusal| match refusal.reason {
        Reason::NotConfirmed { expected, .. } => TargetError::refused(format!(
            "{shown} exists and holds {holds}, all of which would be lost: to confirm, type \
             `--destroy {expected}`"
        )),
        _ => refused(refusal),
    })
}

fn refused(refusal: Refusal) -> TargetError {
    TargetError::refused(refusal.to_string())
}

fn device(order: &Order, info: &TargetInfo, roots: &Roots) -> Result<Site, TargetError> {
    let path = &order.path;
    let shown = path.display();
    if order.drive_bytes.is_some() {
        return Err(TargetError::refused(format!(
            "--drive-size is for a file that is made, and {shown} is a block device: leave it out"
        )));
    }
    // What one agrees to lose may be an older volume of our own; anything else must be wiped first.
    let cleared = host::judge_new_volume(path, roots).map_err(refused)?;
    let permit = cleared.confirm(&order.consent).map_err(refused)?;
    let kind = info.stack.first().map_or("", |layer| layer.kind.as_str());
    let what = format!("the block device {shown}, {}", block::display_bytes(permit.bytes()));
    let stripe = md_stripe_bytes(kind, permit.file());
    let site = Site::plain(permit.bytes(), what, Place::There(permit));
    Ok(match stripe {
        None => site,
        Some(stripe_bytes) => Site {
            stripe_bytes,
            parity: match kind {
                "md-raid4" | "md-raid5" | "md-raid6" => Parity::Protected,
                _ => Parity::None,
            },
            // Whole stripes; each member gets whole alignments once a segment is large.
            erase_unit_bytes: BLOCK_BYTES,
            what: format!(
                "{} ({kind}, full stripe {})",
                site.what,
                block::display_bytes(stripe_bytes)
            ),
            ..site
        },
    })
}

/// md tells its full stripe as the optimal size of a request
/// (Documentation/ABI/stable/sysfs-block).
fn md_stripe_bytes(kind: &str, file: &File) -> Option<u64> {
    let bytes = u64::from(raw::optimal_io_bytes(file).ok()?);
    let is_stripe = kind.starts_with("md-raid") && bytes > BLOCK_BYTES;
    (is_stripe && bytes.is_multiple_of(BLOCK_BYTES)).then_some(bytes)
}

/// All its space is taken at once: a full file system is no news for later.
fn make_file(path: &Path, bytes: u64) -> Result<Permit, TargetError> {
    let permit = Permit::new_file(path, bytes).map_err(|error| io_error("make", path, &error))?;
    // Else what is written to it, flushed and all, could be in a file that no directory names.
    raw::sync_directory_of(path)
        .map_err(|error| io_error("flush the directory of", path, &error))?;
    let file = permit.file();
    let sized = raw::allocate(file, bytes).or_else(|error| match error.kind() {
        // A file system that cannot promise space: the file has holes then.
        io::ErrorKind::Unsupported => file.set_len(bytes),
        _ => Err(error),
    });
    sized.map_err(|error| {
        let _ = fs::remove_file(path);
        io_error("make room for", path, &error)
    })?;
    Ok(permit)
}
