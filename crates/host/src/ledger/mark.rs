//! Which drive a change was made on: names such as `sdb` are given anew at every boot and every
//! plugging in.

use crate::{
    ask::drive_at,
    identify::identity_of,
    roots::Roots,
    sysfs::{BlockDevice, disks},
};
use serde::{Deserialize, Serialize};
use std::{fmt, path::Path};

/// What tells a drive from others of its name. Older ledgers have none of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DriveMark {
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its world-wide name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// Its model: a serial alone may be another's, too. Since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The kernel's number for this attachment of it, never given twice in one boot
    /// (Documentation/ABI/stable/sysfs-block, since Linux 5.15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diskseq: Option<u64>,
}

/// Whether the kernel that a change was made under still runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Boot {
    Same,
    Later,
}

/// What bears the name now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// The drive that was changed.
    Same,
    /// Nothing, and that drive is not here under another name either.
    Gone,
    /// That drive has another name now: this one, and there is no doubt.
    Moved(String),
    /// Something else, or what cannot be told: why, and what the drive is called now, if it is
    /// here.
    Other { why: String, now: Option<String> },
}

impl DriveMark {
    /// The mark of a device, such as `/dev/sdb`, or of the drive that it is a part of.
    pub fn of(device: &Path, roots: &Roots) -> Self {
        let drive = drive_at(device, roots);
        drive.map_or_else(Self::default, |drive| Self::of_device(&drive, roots))
    }

    /// The same by the kernel's name, such as `sdb`.
    pub fn of_name(name: &str, roots: &Roots) -> Self {
        let device = BlockDevice::named(name, roots);
        device.map_or_else(Self::default, |device| Self::of_device(&device, roots))
    }

    fn of_device(device: &BlockDevice, roots: &Roots) -> Self {
        let disk = device.parent().unwrap_or_else(|| device.clone());
        let identity = identity_of(&disk, roots);
        Self {
            serial: identity.serial,
            wwn: identity.wwn,
            model: identity.model,
            diskseq: disk.integer("diskseq"),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `now`, which bears the name, is the drive that this mark was taken of.
    ///
    /// `is_there`: whether anything bears the name.
    pub(super) fn fit(&self, now: &Self, is_there: bool, boot: Boot, roots: &Roots) -> Fit {
        if is_there && self.difference(now, boot).is_none() {
            return Fit::Same;
        }
        let elsewhere = match self.elsewhere(roots) {
            Some((name, mark)) if self.is_surely(&mark) => return Fit::Moved(name),
            found => found.map(|(name, _)| name),
        };
        match self.difference(now, boot) {
            Some(why) if is_there => Fit::Other { why, now: elsewhere },
            _ => match elsewhere {
                Some(name) => {
                    Fit::Other { why: format!("that drive is called {name} now"), now: Some(name) }
                }
                None => Fit::Gone,
            },
        }
    }

    /// Why another drive may be meant; `None` where it is this one.
    fn difference(&self, now: &Self, boot: Boot) -> Option<String> {
        let names = [("serial", &self.serial, &now.serial), ("WWN", &self.wwn, &now.wwn)];
        for (what, was, is) in names {
            if let (Some(was), Some(is)) = (was, is)
                && was != is
            {
                return Some(format!(
                    "its {what} is {is}, that of the drive that was changed {was}"
                ));
            }
        }
        if names.iter().any(|(_, was, is)| was.is_some() && was == is) {
            return None;
        }
        match (boot, self.diskseq, now.diskseq) {
            (Boot::Same, Some(was), Some(is)) if was != is => {
                Some("another device was given that name since (its diskseq is another)".to_owned())
            }
            // Within one boot a name without a serial is all that there is to go by.
            (Boot::Same, ..) => None,
            (Boot::Later, ..) => Some(match self.serial.is_some() || self.wwn.is_some() {
                true => format!("that drive is {self}, and this one tells neither"),
                false => "the machine was started since, and no serial was written down".to_owned(),
            }),
        }
    }

    /// Whether another mark is of this drive, under whatever name: by its WWN, or by serial and
    /// model.
    fn is_surely(&self, other: &Self) -> bool {
        let same = |one: &Option<String>, two: &Option<String>| one.is_some() && one == two;
        same(&self.wwn, &other.wwn)
            || same(&self.serial, &other.serial) && same(&self.model, &other.model)
    }

    /// What the drive is called, if exactly one that is here has this serial or WWN.
    fn elsewhere(&self, roots: &Roots) -> Option<(String, Self)> {
        if self.serial.is_none() && self.wwn.is_none() {
            return None;
        }
        let marks = disks(roots).into_iter().map(|disk| {
            let mark = Self::of_device(&disk, roots);
            (disk.name, mark)
        });
        let mut found = marks.filter(|(_, mark)| self.difference(mark, Boot::Later).is_none());
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

impl fmt::Display for DriveMark {
    /// `serial S1, WWN naa.5`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let serial = self.serial.iter().map(|serial| format!("serial {serial}"));
        let words: Vec<String> =
            serial.chain(self.wwn.iter().map(|wwn| format!("WWN {wwn}"))).collect();
        formatter.write_str(&words.join(", "))
    }
}
