//! What the user agreed to lose, and what must be typed to agree.
//!
//! ```text
//!   a drive with a serial                        its serial, in full, as it stands in the refusal
//!   one of several devices with one serial       its WWN (namespaces of one NVMe drive, units of one array)
//!   a partition                                  its drive's
//!   a device without: loop, array, mapping       its kernel name, or a path that leads to it
//!   a file                                       its name, or a path that leads to it
//! ```
//!
//! Nothing else agrees: no path for a drive with a serial (`/dev/sdb` is another drive after the
//! next boot), no other case, no part of a word.

use super::{Reason, identity::Identity, inode::Inode};
use crate::{
    identify::{identity_of, stack::kind_of},
    roots::Roots,
    sysfs::{BlockDevice, disks},
};
use block::display_bytes;
use record::DriveIdentity;
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Consent to lose what is on a file or device. Only with one does a [`Cleared`](super::Cleared)
/// become a [`Permit`](super::Permit), and only through a permit is anything opened for writing
/// that was there before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consent(Given);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Given {
    /// By these words after `--destroy`; without one, to nothing.
    Typed(Vec<OsString>),
    /// Before, to this very device.
    To(Identity),
    /// By naming it as a managed volume.
    AsVolume,
}

impl Default for Consent {
    fn default() -> Self {
        Self::typed([] as [String; 0])
    }
}

impl Consent {
    /// What was typed after `--destroy`, a word for each target. Space around a word was copied
    /// with it and does not count.
    pub fn typed<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Self {
        let trimmed = |word: &OsStr| word.to_str().map_or(word, |text| text.trim().as_ref()).into();
        let words = words.into_iter().map(|word| trimmed(word.as_ref()));
        Self(Given::Typed(words.collect()))
    }

    /// To a device that was agreed to before, or that is drivelab's own, and to no other that has
    /// its name by now.
    pub fn to(device: Identity) -> Self {
        Self(Given::To(device))
    }

    /// To what a managed volume does to its own file or device, named by `flash:PATH`: it is there
    /// to be written, and it writes nothing where it finds no volume.
    pub fn as_managed_volume() -> Self {
        Self(Given::AsVolume)
    }

    /// Whether it covers what goes by `naming` and is `identity`, if it is a device.
    pub(super) fn check(&self, naming: &Naming, identity: Option<&Identity>) -> Result<(), Reason> {
        match &self.0 {
            Given::AsVolume => Ok(()),
            Given::To(known) => match identity.map(|now| known.difference(now)) {
                Some(None) => Ok(()),
                Some(Some(difference)) => Err(Reason::Exchanged { difference }),
                None => Err(Reason::NotABlockDevice),
            },
            Given::Typed(words) if words.iter().any(|word| naming.is(word)) => Ok(()),
            Given::Typed(words) => Err(Reason::NotConfirmed {
                expected: naming.expected(),
                called: naming.called(),
                what: naming.what.clone(),
                typed: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            }),
        }
    }
}

/// What must be typed for one file or device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Naming {
    by: By,
    /// What would be lost, for people to compare: `a Samsung SSD 860 EVO of 466 GiB`.
    what: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum By {
    Serial(String),
    Wwn(String),
    Name(String, Inode),
    Path(PathBuf, Inode),
}

impl Naming {
    /// Of a device.
    ///
    /// # Errors
    /// [`Reason::Twin`] where another device of the machine cannot be told from it.
    pub(super) fn of_device(device: &BlockDevice, roots: &Roots) -> Result<Self, Reason> {
        let disk = device.parent().unwrap_or_else(|| device.clone());
        let drive = identity_of(&disk, roots);
        let size = display_bytes(device.bytes());
        let what = match drive.model.as_ref().filter(|_| is_one_drive(&disk)) {
            Some(model) => format!("{model} of {size}"),
            None => size,
        };
        let by_name = By::Name(device.name.clone(), Inode::Device(device.number));
        if !is_one_drive(&disk) {
            return Ok(Self { by: by_name, what });
        }
        let twins = twins(&disk, &drive, roots);
        if let Some((twin, _)) = twins.iter().find(|(_, its)| !differ(&drive.wwn, &its.wwn)) {
            let same = if drive.serial.is_some() { "serial" } else { "WWN" };
            return Err(Reason::Twin { device: twin.name.clone(), same });
        }
        let by = match (drive.serial, drive.wwn) {
            (Some(serial), _) if twins.is_empty() => By::Serial(serial),
            (Some(_), Some(wwn)) => By::Wwn(wwn),
            _ => by_name,
        };
        Ok(Self { by, what })
    }

    /// Of a file that was opened by this path.
    pub(super) fn of_file(path: &Path, inode: Inode, bytes: u64) -> Self {
        let what = display_bytes(bytes);
        Self { by: By::Path(path.to_owned(), inode), what }
    }

    fn is(&self, typed: &OsStr) -> bool {
        let leads_to = |inode: &Inode| Inode::at(Path::new(typed)) == Some(*inode);
        match &self.by {
            By::Serial(word) | By::Wwn(word) => typed == word.as_str(),
            By::Name(name, inode) => typed == name.as_str() || leads_to(inode),
            By::Path(path, inode) => path.file_name() == Some(typed) || leads_to(inode),
        }
    }

    /// What must be typed, as a shell takes it.
    pub(super) fn expected(&self) -> String {
        let word = match &self.by {
            By::Serial(word) | By::Wwn(word) | By::Name(word, _) => word.clone(),
            By::Path(path, _) => match path.to_str() {
                Some(text) => text.to_owned(),
                None => return record::quoted(path),
            },
        };
        quoted(&word)
    }

    fn called(&self) -> &'static str {
        match &self.by {
            By::Serial(_) => "serial",
            By::Wwn(_) => "WWN",
            By::Name(..) | By::Path(..) => "name",
        }
    }
}

/// Arrays and mappings have no serial of their own: their name must be typed.
fn is_one_drive(disk: &BlockDevice) -> bool {
    kind_of(disk) == "disk"
}

/// Drives with the same serial or, where one has none, the same WWN: paths to one drive, its
/// namespaces, or drives whose maker gave all of them one. A reader without a medium is no path to
/// anything.
fn twins(
    disk: &BlockDevice,
    drive: &DriveIdentity,
    roots: &Roots,
) -> Vec<(BlockDevice, DriveIdentity)> {
    let same = |this: &Option<String>, other: &Option<String>| this.is_some() && this == other;
    let others = disks(roots)
        .into_iter()
        .filter(|other| other.number != disk.number && other.bytes() > 0 && is_one_drive(other));
    let is_twin = |its: &DriveIdentity| match (&drive.serial, &its.serial) {
        (Some(_), Some(_)) => same(&drive.serial, &its.serial),
        _ => same(&drive.wwn, &its.wwn),
    };
    others
        .map(|other| {
            let its = identity_of(&other, roots);
            (other, its)
        })
        .filter(|(_, its)| is_twin(its))
        .collect()
}

fn differ(this: &Option<String>, other: &Option<String>) -> bool {
    this.is_some() && other.is_some() && this != other
}

/// Drives may have spaces in their serials.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:+,=@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
