//! Why a device may not be overwritten, in words: what was found, and the cure.

use crate::{
    error::{ErrorKind, HostError},
    missing,
    roots::Roots,
};
use std::{fmt, path::PathBuf};

/// Why a device may not be overwritten.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// There is nothing at the path.
    Missing,
    /// A file or directory: never overwritten.
    NotABlockDevice,
    /// A directory, a pipe or anything else that is no file.
    NotAFile,
    /// The kernel's texts about the device are missing, so nothing can be ruled out.
    Unknown,
    /// The user may not open it; the system's words.
    Denied {
        /// The system's words.
        error: String,
    },
    /// It could not be examined for another reason: reading it fails.
    Unreadable {
        /// The system's words.
        error: String,
    },
    /// It has no bytes: a loop device without a file, a reader without a card.
    NoMedium,
    /// A mapping whose owner has stopped it for a while.
    Suspended,
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
    Busy {
        /// Who, as far as it can be seen: `process 123 (qemu)`.
        holder: Option<String>,
    },
    /// Another process has it open and may write.
    OpenElsewhere {
        /// Kernel name of what it has open.
        device: String,
        /// Which: `process 123 (qemu)`.
        holder: String,
    },
    /// Another path leads to the same drive, and that one is in use.
    SameDrive {
        /// Kernel name of the other path.
        other: String,
        /// What uses it.
        reason: Box<Reason>,
    },
    /// The file behind the loop device, or what is below it, is in use by its own name.
    UsedBelow {
        /// By whom, with the cure.
        error: String,
    },
    /// A program has locked a part of the file: a virtual machine its disk, a database its tables.
    Locked {
        /// Which.
        holder: String,
    },
    /// Nothing tells it from another drive of the machine: perhaps they are two paths to one.
    Twin {
        /// Kernel name of the other.
        device: String,
        /// What both have: `WWN`, or `serial, model and size`.
        same: &'static str,
    },
    /// It is no longer the device that was agreed to.
    Exchanged {
        /// What is different, a clause.
        difference: String,
    },
    /// It holds data: device and what was recognised on it.
    Signature {
        /// Kernel name and name of the format, in the order found.
        found: Vec<(String, String)>,
    },
    /// What was typed is not the drive's serial or name.
    NotConfirmed {
        /// What must be typed, as a shell takes it.
        expected: String,
        /// What that is: `serial`, `WWN`, `name`, `UUID`...
        called: &'static str,
        /// What would be lost: `a Samsung SSD 860 EVO of 466 GiB`.
        what: Box<str>,
        /// What was typed, if anything.
        typed: Vec<String>,
        /// Of a device that has a better name: its kernel name, which may be another's tomorrow.
        kernel_name: Option<Box<str>>,
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
        let (found, cure) = (self.reason.found(), self.cure());
        write!(formatter, "refusing to write to {}: {found}; {cure}", self.path.display())
    }
}

impl From<Refusal> for HostError {
    fn from(refusal: Refusal) -> Self {
        Self::new(ErrorKind::Permission, refusal.to_string())
    }
}

impl Reason {
    /// What was found, a clause.
    pub fn found(&self) -> String {
        match self {
            Self::Missing => "there is no such device".into(),
            Self::NotABlockDevice => {
                "it is no block device, and what exists is only ever read".into()
            }
            Self::NotAFile => "it is no file".into(),
            Self::Unknown => "/sys says nothing about it, so nothing can be ruled out".into(),
            Self::Denied { error } | Self::Unreadable { error } => {
                format!("it cannot be opened and examined ({error})")
            }
            Self::NoMedium => "it has no medium".into(),
            Self::Suspended => "it is suspended, and answers nothing".into(),
            Self::ReadOnly => "it is read-only".into(),
            Self::Zoned => "it is a zoned drive, which takes no random writes".into(),
            Self::Mounted { device, mount_point } if mount_point == "/" => {
                format!("{device} holds the running system, mounted at /")
            }
            Self::Mounted { device, mount_point } => {
                format!("{device} is mounted at {mount_point}")
            }
            Self::Swap { device } => format!("{device} is in use as swap"),
            Self::Held { device, holder } => format!("{device} is part of {holder}"),
            Self::BacksLoop { device, loop_device } => {
                format!("{loop_device} is attached to {device}")
            }
            Self::SharedFile { file, loop_device } => {
                format!("{loop_device} is attached to the same file, {file}")
            }
            Self::PoolMember { device } => format!("{device} belongs to an imported ZFS pool"),
            Self::Busy { holder } => {
                let holder = holder.as_deref().unwrap_or("somebody");
                format!("{holder} has it open for exclusive use")
            }
            Self::OpenElsewhere { device, holder } => {
                format!("{holder} has {device} open for writing")
            }
            Self::SameDrive { other, reason } => {
                let used = reason.found();
                format!("it is the same drive as {other}, which is in use: {used}")
            }
            Self::Signature { found } => {
                let list: Vec<String> =
                    found.iter().map(|(device, name)| format!("{name} on {device}")).collect();
                format!("it holds data ({})", list.join(", "))
            }
            Self::Locked { holder } => format!("{holder} has locked a part of it"),
            Self::UsedBelow { error } => error.clone(),
            Self::Twin { device, same } => {
                format!("{device} has the same {same}, so they may be two paths to one drive")
            }
            Self::Exchanged { difference } => {
                format!("it is not the device that was agreed to: {difference}")
            }
            Self::NotConfirmed { what, typed, .. } if typed.is_empty() => {
                format!("all its data would be lost ({what})")
            }
            Self::NotConfirmed { called, what, typed, .. } => match &typed[..] {
                [typed] => format!("`{typed}` is not its {called} (it is {what})"),
                typed => format!("none of `{}` is its {called} (it is {what})", typed.join("`, `")),
            },
        }
    }
}

/// What takes writes in sequence alone is not measured with writes.
const ZONED_CURE: &str = "leave out --destroy to read it, or name a directory on a file system \
                          that knows zones, such as btrfs or f2fs";

/// Why what was typed does not confirm that the device of this name is meant.
fn why_not(typed: &[String], name: &str) -> String {
    let is_it = |word: &String| word.strip_prefix("/dev/").unwrap_or(word) == name;
    match typed.iter().find(|word| is_it(word)) {
        Some(typed) => format!("`{typed}` may be another device after the next boot"),
        None => "`drivelab devices` tells what each device is".to_owned(),
    }
}

impl Refusal {
    /// What the user can do about it, a clause.
    pub fn cure(&self) -> String {
        self.cure_of(&self.reason)
    }

    fn cure_of(&self, reason: &Reason) -> String {
        let surely =
            |command: &str| format!("make sure that it is the right drive, then `{command}`");
        match reason {
            Reason::Missing => {
                let near = missing::did_you_mean(&self.path, &[], &Roots::default());
                format!("check the spelling.{near}").trim_end_matches('.').to_owned()
            }
            Reason::NotABlockDevice => "name a directory or a new file to write to".into(),
            Reason::NotAFile => "name a file or a block device".into(),
            Reason::Unknown => "run where /sys is mounted".into(),
            Reason::Denied { .. } if rustix::process::geteuid().is_root() => {
                "a container may forbid it to root: run outside of it".into()
            }
            Reason::Denied { .. } => "run as root".into(),
            Reason::Unreadable { .. } => {
                "look at `dmesg`: the drive may fail, or the file or device that it stands on"
                    .into()
            }
            Reason::NoMedium => "insert one, or attach a file with `losetup`".into(),
            Reason::Suspended => "`dmsetup resume` it first".into(),
            Reason::ReadOnly => "name a writable device or file, or only read it".into(),
            Reason::Zoned => ZONED_CURE.into(),
            Reason::Mounted { mount_point, .. } if mount_point == "/" => {
                "name another drive".into()
            }
            Reason::Mounted { mount_point, .. } => surely(&format!("umount {mount_point}")),
            Reason::Swap { device } => surely(&format!("swapoff /dev/{device}")),
            Reason::Held { holder, .. } => {
                format!("stop {holder} first (mdadm --stop, vgchange -an, cryptsetup close, ...)")
            }
            Reason::BacksLoop { loop_device, .. } | Reason::SharedFile { loop_device, .. } => {
                format!("`losetup -d /dev/{loop_device}` first")
            }
            Reason::PoolMember { .. } => "`zpool export` the pool first".into(),
            Reason::Locked { .. } => {
                format!("find out who with `fuser -v {}`, and stop it", self.path.display())
            }
            Reason::UsedBelow { .. } => "or name another".into(),
            Reason::Twin { device, .. } => format!(
                "name the multipath device above them, or unplug {device} \
                 (`echo 1 > /sys/block/{device}/device/delete`)"
            ),
            Reason::Exchanged { .. } => {
                "it is left as it is: look which drive it is, and begin anew".into()
            }
            Reason::Busy { holder: Some(_) } => "stop it first".into(),
            Reason::Busy { holder: None } => {
                format!("find out who with `fuser -v {}`", self.path.display())
            }
            Reason::OpenElsewhere { .. } => {
                "stop it first: two that write know nothing of each other".into()
            }
            Reason::SameDrive { reason, .. } => self.cure_of(reason),
            Reason::Signature { found } => {
                // Partitions before the disk, whose wiping makes them vanish.
                let mut devices: Vec<String> =
                    found.iter().rev().map(|(device, _)| format!("/dev/{device}")).collect();
                devices.dedup();
                surely(&format!("wipefs -a {}", devices.join(" ")))
            }
            Reason::NotConfirmed { expected, typed, kernel_name: Some(name), .. } => {
                format!("to confirm, type `--destroy {expected}` ({})", why_not(typed, name))
            }
            Reason::NotConfirmed { expected, .. } => {
                format!("to confirm, type `--destroy {expected}`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unreadable;
    use super::*;
    use std::io;

    /// A loop device whose file answered with I/O errors was refused with "run as root", to root
    /// with what a container may forbid.
    #[test]
    fn a_device_that_cannot_be_read_is_no_matter_of_rights() {
        let said = |errno| {
            let reason = unreadable(io::Error::from_raw_os_error(errno));
            Refusal { path: "/dev/loop3".into(), reason }.to_string()
        };
        let (failed, denied) = (said(libc::EIO), said(libc::EACCES));
        assert!(failed.contains("Input/output error") && failed.contains("dmesg"), "{failed}");
        assert!(!failed.contains("root") && !failed.contains("container"), "{failed}");
        assert!(denied.contains("root") && !denied.contains("dmesg"), "{denied}");
    }
}
