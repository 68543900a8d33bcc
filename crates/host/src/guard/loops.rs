//! What is behind a loop device, by inode: the kernel is asked, and its text is the second choice.

use super::inode::Inode;
use crate::{
    error::HostError,
    identify::stack::components,
    lock::{Sharing, lock},
    roots::{DeviceNumber, Roots},
    sysfs::{BlockDevice, closure},
};
use engine::raw;
use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The file or device behind an attached loop device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Backing {
    /// As /sys writes it: its name when it was attached, seen from where it was attached.
    pub path: PathBuf,
    /// What it is; `None` where neither the device nor the text tells.
    pub inode: Option<Inode>,
}

impl Backing {
    /// Of a loop device, or of the one that a partition is on.
    pub(super) fn of(device: &BlockDevice, roots: &Roots) -> Option<Self> {
        let disk = device.parent().unwrap_or_else(|| device.clone());
        let path = disk.backing_file()?;
        let inode = asked(&disk, roots).or_else(|| Inode::named(path.to_str()?, roots));
        Some(Self { path, inode })
    }

    /// Whether it is this file, at this canonical path.
    pub(super) fn is(&self, inode: Inode, path: &Path) -> bool {
        self.inode.map_or_else(|| self.path == path, |backing| backing == inode)
    }

    /// Whether two loop devices have the same behind them.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self.inode, other.inode) {
            (Some(this), Some(other)) => this == other,
            _ => self.path == other.path,
        }
    }

    /// The block device behind it, if it is one.
    pub(super) fn device(&self, roots: &Roots) -> Option<BlockDevice> {
        match self.inode? {
            Inode::Device(number) => BlockDevice::numbered(number, roots),
            Inode::File { .. } => None,
        }
    }
}

/// What LOOP_GET_STATUS64 says: right where the file was renamed, or its name means another in this
/// mount namespace.
fn asked(disk: &BlockDevice, roots: &Roots) -> Option<Inode> {
    if !roots.are_real() {
        return None;
    }
    let device = open(&roots.dev.join(&disk.name)).ok()?;
    let backing = raw::loop_backing(&device).ok()??;
    Some(match backing.block_device {
        Some(number) => Inode::Device(DeviceNumber::from_raw(number)),
        None => Inode::File { device: backing.device, inode: backing.inode },
    })
}

/// What a device directly stands on: its disk or members, and the device behind a loop device.
pub(super) fn below(device: &BlockDevice, roots: &Roots) -> Vec<BlockDevice> {
    let mut next = components(device);
    next.extend(Backing::of(device, roots).and_then(|backing| backing.device(roots)));
    next
}

/// Locks the files, and the nodes of devices, behind every loop device that `device` stands on:
/// what uses one of them by its own name is kept out, and who came first keeps us out. Devices that
/// stand on one file share its lock.
///
/// # Errors
/// Who uses it.
pub(super) fn lock_below(device: &BlockDevice, roots: &Roots) -> Result<Vec<File>, HostError> {
    let mut all = vec![device.clone()];
    all.extend(closure(&all, |device| below(device, roots)));
    let mut locks = Vec::new();
    for backing in all.iter().filter_map(|device| Backing::of(device, roots)) {
        let path = &backing.path;
        // A file without a name, or with one of another mount namespace, is nobody's by its name
        // here.
        let Ok(file) = open(path) else { continue };
        let found = file.metadata().ok().and_then(|facts| Inode::of(&facts));
        if found.is_none() || found != backing.inode {
            continue;
        }
        lock(&file, path, Sharing::WithOthers)?;
        locks.push(file);
    }
    Ok(locks)
}

/// To ask and to lock: neither waits for a medium, nor claims, nor writes.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}
