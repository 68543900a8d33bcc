//! Who uses a device, by what the kernel says: mounts, swap, holders, loop devices, pools.

use super::{
    Reason,
    inode::Inode,
    loops::{Backing, below},
};
use crate::{
    identify::{stack::devices_of, tools::zpool_members_all},
    mountinfo::{Mount, mounts, unescape_octal},
    roots::{DeviceNumber, Roots, read_text},
    sysfs::{BlockDevice, closure, disks},
};
use std::path::Path;

/// The first claim found on the device, on what it contains, or on what contains it.
pub(crate) fn claim_on(device: &BlockDevice, roots: &Roots) -> Option<Reason> {
    claims_on(device, roots).into_iter().next()
}

/// Every claim, the weightiest first.
pub(super) fn claims_on(device: &BlockDevice, roots: &Roots) -> Vec<Reason> {
    let relatives = Relatives::of(device, roots);
    let mut claims = mounted(&relatives, roots);
    claims.extend(swapped(&relatives, roots));
    claims.extend(held(&relatives));
    claims.extend(looped(&relatives, roots));
    claims.extend(shared_file(device, roots));
    claims.extend(pooled(&relatives, roots));
    claims
}

/// The first claim found on a regular file, by whatever name it is in use.
pub(crate) fn claim_on_file(path: &Path, inode: Inode, roots: &Roots) -> Option<Reason> {
    // In another mount namespace a name leads elsewhere, or nowhere.
    let is_it = |text: &str| Path::new(text) == path || Inode::named(text, roots) == Some(inode);
    let swaps = read_text(&roots.proc.join("swaps")).unwrap_or_default();
    if let Some(device) = swap_paths(&swaps).into_iter().find(|swap| is_it(swap)) {
        return Some(Reason::Swap { device });
    }
    // File systems in user space name the file that they are in.
    let mounted = mounts(roots).into_iter();
    let is_source = |mount: &Mount| {
        mount.source.starts_with('/') && Inode::named(&mount.source, roots) == Some(inode)
    };
    if let Some(mount) = { mounted }.find(is_source) {
        let device = path.display().to_string();
        return Some(Reason::Mounted { device, mount_point: mount.mount_point });
    }
    let disk = disks(roots).into_iter().find(|disk| {
        let backing = Backing::of(disk, roots);
        backing.is_some_and(|backing| backing.is(inode, path))
    })?;
    Some(Reason::SharedFile { file: path.display().to_string(), loop_device: disk.name })
}

/// Devices whose contents change when one device is overwritten, and those whose owner would mind.
/// The sisters of a partition are not among them.
struct Relatives {
    /// The device, its partitions, and the disk it is a partition of.
    own: Vec<BlockDevice>,
    /// Whatever is stacked above those or lies below the device.
    others: Vec<BlockDevice>,
}

impl Relatives {
    fn of(device: &BlockDevice, roots: &Roots) -> Self {
        let mut own = vec![device.clone()];
        own.extend(device.partitions());
        own.extend(device.parent());
        let above = closure(std::slice::from_ref(device), |device| {
            let mut next = device.holders();
            next.extend(device.partitions());
            next
        });
        let below = closure(std::slice::from_ref(device), |device| below(device, roots));
        let others = above.into_iter().chain(below).collect();
        Self { own, others }
    }

    fn all(&self) -> impl Iterator<Item = &BlockDevice> {
        self.own.iter().chain(&self.others)
    }

    fn with_number(&self, number: DeviceNumber) -> Option<&BlockDevice> {
        self.all().find(|device| device.number == number)
    }
}

fn mounted(relatives: &Relatives, roots: &Roots) -> Vec<Reason> {
    let claim = |mount: &Mount| {
        let mut devices = devices_of(mount, roots).into_iter();
        let device = devices.find(|device| relatives.with_number(device.number).is_some())?;
        Some(Reason::Mounted { device: device.name, mount_point: mount.mount_point.clone() })
    };
    mounts(roots).iter().filter_map(claim).collect()
}

fn swapped(relatives: &Relatives, roots: &Roots) -> Vec<Reason> {
    let text = read_text(&roots.proc.join("swaps")).unwrap_or_default();
    let claim = |path: &String| {
        let device = relatives.with_number(roots.device_named(path)?)?;
        Some(Reason::Swap { device: device.name.clone() })
    };
    swap_paths(&text).iter().filter_map(claim).collect()
}

/// First column of /proc/swaps, below its heading, unescaped.
fn swap_paths(text: &str) -> Vec<String> {
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    paths.map(unescape_octal).collect()
}

fn held(relatives: &Relatives) -> Vec<Reason> {
    let claim = |device: &BlockDevice| {
        let mut holders: Vec<String> = device.holders().iter().map(called).collect();
        // bcache registers its backing and cache devices here before the holder link exists.
        if holders.is_empty() && device.directory.join("bcache").exists() {
            holders.push("bcache".to_owned());
        }
        let held = |holder| Reason::Held { device: device.name.clone(), holder };
        holders.into_iter().map(held).collect::<Vec<_>>()
    };
    relatives.own.iter().flat_map(claim).collect()
}

/// `md0`; of a mapping with the name that its owner gave: `dm-0 (vg-data)`.
pub(super) fn called(device: &BlockDevice) -> String {
    match device.text("dm/name") {
        Some(name) => format!("{} ({name})", device.name),
        None => device.name.clone(),
    }
}

fn looped(relatives: &Relatives, roots: &Roots) -> Option<Reason> {
    disks(roots).into_iter().find_map(|disk| {
        let below = Backing::of(&disk, roots)?.device(roots)?;
        let device = relatives.own.iter().find(|device| device.number == below.number)?;
        Some(Reason::BacksLoop { device: device.name.clone(), loop_device: disk.name })
    })
}

/// Two loop devices over one file are one device under two names, and so is a file that is swap.
fn shared_file(device: &BlockDevice, roots: &Roots) -> Option<Reason> {
    let loop_device = device.parent().unwrap_or_else(|| device.clone());
    let backing = Backing::of(&loop_device, roots)?;
    let is_twin = |other: &BlockDevice| {
        other.number != loop_device.number
            && Backing::of(other, roots).is_some_and(|other| other.is_same(&backing))
    };
    if let Some(twin) = disks(roots).into_iter().find(is_twin) {
        return Some(Reason::SharedFile {
            file: backing.path.display().to_string(),
            loop_device: twin.name,
        });
    }
    let swaps = read_text(&roots.proc.join("swaps")).unwrap_or_default();
    let inode = backing.inode?;
    let swap = swap_paths(&swaps).into_iter().find(|swap| Inode::named(swap, roots) == Some(inode));
    swap.map(|device| Reason::Swap { device })
}

fn pooled(relatives: &Relatives, roots: &Roots) -> Option<Reason> {
    zpool_members_all(roots).iter().find_map(|path| {
        let device = relatives.with_number(roots.device_named(path)?)?;
        Some(Reason::PoolMember { device: device.name.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_are_read_below_the_heading_and_unescaped() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/sda2                               partition\t1048572\t\t0\t\t-2\n\
                    /swap\\040file file 1 0 -3\n";
        assert_eq!(swap_paths(text), ["/dev/sda2", "/swap file"]);
        assert!(swap_paths("").is_empty());
    }
}
