//! The block devices under a file system or a device, down to the drives.
//!
//! ```text
//!   /home  ->  dm-0 (dm-crypt)  ->  nvme0n1p2 (partition)  ->  nvme0n1 (disk)
//!   /mnt   ->  loop0 (loop)  ->  file on /  ->  sda1  ->  sda
//! ```

use super::{details, drive::identity_of, tools::zpool_members};
use crate::{
    mountinfo::{Mount, mount_of},
    roots::{DeviceNumber, Roots, names_in},
    sysfs::{BlockDevice, SECTOR_BYTES, chosen},
};
use record::{BlockLayer, Queue};
use std::path::Path;

/// The devices met, nearest first, and the file systems that lie between them (under loop devices
/// and overlays).
#[derive(Clone, Debug, Default)]
pub(crate) struct Stack {
    /// In the order met; each once.
    pub devices: Vec<BlockDevice>,
    /// File systems below the first one.
    pub file_systems: Vec<Mount>,
}

impl Stack {
    /// The stack under a mounted file system.
    pub(crate) fn under_mount(mount: &Mount, mounts: &[Mount], roots: &Roots) -> Self {
        let mut stack = Self::default();
        stack.enter_mount(mount, mounts, roots);
        stack
    }

    /// The stack that begins with the device itself.
    pub(crate) fn under_device(device: BlockDevice, mounts: &[Mount], roots: &Roots) -> Self {
        let mut stack = Self::default();
        stack.enter_devices(vec![device], mounts, roots);
        stack
    }

    /// What the record keeps of it.
    pub(crate) fn layers(&self, roots: &Roots) -> Vec<BlockLayer> {
        self.devices.iter().map(|device| layer(device, roots)).collect()
    }

    fn enter_mount(&mut self, mount: &Mount, mounts: &[Mount], roots: &Roots) {
        if let Some(below) = overlay_below(mount, mounts) {
            self.enter_file_system(&below.clone(), mounts, roots);
        } else {
            self.enter_devices(devices_of(mount, roots), mounts, roots);
        }
    }

    fn enter_file_system(&mut self, mount: &Mount, mounts: &[Mount], roots: &Roots) {
        // Each once: a file system image may (through mount namespaces) seem to lie in itself.
        if !self.file_systems.contains(mount) {
            self.file_systems.push(mount.clone());
            self.enter_mount(mount, mounts, roots);
        }
    }

    fn enter_devices(&mut self, mut level: Vec<BlockDevice>, mounts: &[Mount], roots: &Roots) {
        // Level by level, so that "nearest first" holds for arrays too.
        while !level.is_empty() {
            level.retain(|device| !self.devices.iter().any(|known| known.number == device.number));
            level.dedup_by_key(|device| device.number);
            self.devices.extend(level.iter().cloned());
            for path in level.iter().filter_map(BlockDevice::backing_file) {
                self.enter_backing_file(&path, mounts, roots);
            }
            level = level.iter().flat_map(components).collect();
        }
    }

    fn enter_backing_file(&mut self, path: &Path, mounts: &[Mount], roots: &Roots) {
        if let Some(device) = roots.device_named(path) {
            let device = BlockDevice::numbered(device, roots).into_iter().collect();
            self.enter_devices(device, mounts, roots);
        } else if let Some(mount) = mount_of(path, None, mounts) {
            self.enter_file_system(&mount.clone(), mounts, roots);
        }
    }
}

/// What a device directly stands on: its disk, or its members.
pub(crate) fn components(device: &BlockDevice) -> Vec<BlockDevice> {
    device.parent().map_or_else(|| device.slaves(), |disk| vec![disk])
}

/// The mount that holds an overlay's writable layer (or, read-only, its first lower one).
fn overlay_below<'a>(mount: &Mount, mounts: &'a [Mount]) -> Option<&'a Mount> {
    if mount.kind != "overlay" {
        return None;
    }
    let lower = || mount.option("lowerdir")?.split(':').next();
    let directory = mount.option("upperdir").or_else(lower)?;
    mount_of(Path::new(directory), None, mounts).filter(|below| *below != mount)
}

/// The block devices that hold a file system, by number where it has one, else by its source.
pub(crate) fn devices_of(mount: &Mount, roots: &Roots) -> Vec<BlockDevice> {
    if !mount.number.is_anonymous() {
        return BlockDevice::numbered(mount.number, roots).into_iter().collect();
    }
    let by_path = |path: &str| BlockDevice::numbered(roots.device_named(path)?, roots);
    if mount.kind == "zfs" {
        let pool = mount.source.split('/').next().unwrap_or("");
        return zpool_members(pool, roots).iter().filter_map(|path| by_path(path)).collect();
    }
    let Some(first) = by_path(&mount.source) else { return Vec::new() };
    if mount.kind != "btrfs" {
        return vec![first];
    }
    let mut devices = btrfs_members(first.number, roots);
    devices.retain(|member| member.number != first.number);
    devices.insert(0, first);
    devices
}

/// Every device of the mounted btrfs that has `number` among its devices:
/// /sys/fs/btrfs/UUID/devices.
pub(crate) fn btrfs_members(number: DeviceNumber, roots: &Roots) -> Vec<BlockDevice> {
    let all = roots.sys.join("fs/btrfs");
    let groups = names_in(&all).into_iter().map(|uuid| {
        let names = names_in(&all.join(uuid).join("devices"));
        names.iter().filter_map(|name| BlockDevice::named(name, roots)).collect::<Vec<_>>()
    });
    let mut groups = groups.filter(|group| group.iter().any(|device| device.number == number));
    groups.next().unwrap_or_default()
}

/// What the record keeps of one device.
pub(crate) fn layer(device: &BlockDevice, roots: &Roots) -> BlockLayer {
    let kind = kind_of(device);
    BlockLayer {
        name: device.name.clone(),
        bytes: device.bytes(),
        start_bytes: device.integer("start").map(|sectors| sectors.saturating_mul(SECTOR_BYTES)),
        queue: Some(queue_of(device)),
        drive: (kind == "disk").then(|| identity_of(device, roots)),
        on: components(device).into_iter().map(|below| below.name).collect(),
        details: details::of(device, roots),
        kind,
    }
}

/// In a word: `disk`, `partition`, `loop`, `dm-crypt`, `md-raid5`...
pub(crate) fn kind_of(device: &BlockDevice) -> String {
    if device.parent().is_some() {
        return "partition".to_owned();
    }
    if let Some(uuid) = device.text("dm/uuid") {
        return dm_kind(&uuid);
    }
    if device.directory.join("dm").exists() {
        return "dm".to_owned();
    }
    if let Some(level) = device.text("md/level") {
        return format!("md-{level}");
    }
    let prefixes = ["loop", "zram", "ram", "bcache", "md"];
    let numbered = |prefix: &&&str| {
        let rest = device.name.strip_prefix(**prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    prefixes.iter().find(numbered).map_or("disk", |prefix| prefix).to_owned()
}

/// Device-mapper UUIDs begin with their subsystem: `CRYPT-LUKS2-...`, `LVM-...`, `mpath-...`.
fn dm_kind(uuid: &str) -> String {
    match uuid.split('-').next().unwrap_or("") {
        "LVM" => "dm-linear".to_owned(),
        word if !word.is_empty() => format!("dm-{}", word.to_ascii_lowercase()),
        _ => "dm".to_owned(),
    }
}

fn queue_of(device: &BlockDevice) -> Queue {
    let flag = |file: &str| device.queue_integer(file).map(|number| number != 0);
    Queue {
        scheduler: device.queue_text("scheduler").map(|text| chosen(&text)),
        read_ahead_bytes: device.queue_integer("read_ahead_kb").map(|kib| kib.saturating_mul(1024)),
        write_cache: device.queue_text("write_cache"),
        fua: flag("fua"),
        rotational: flag("rotational"),
        logical_block_bytes: device.queue_integer("logical_block_size"),
        physical_block_bytes: device.queue_integer("physical_block_size"),
        requests: device.queue_integer("nr_requests"),
        discard_bytes_max: device.queue_integer("discard_max_bytes"),
        segments_max: device.queue_integer("max_segments"),
        transfer_bytes_max: device
            .queue_integer("max_sectors_kb")
            .map(|kib| kib.saturating_mul(1024)),
        zoned: device.queue_text("zoned").filter(|kind| kind != "none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_mapper_kinds_come_from_the_uuid() {
        assert_eq!(dm_kind("CRYPT-LUKS2-0a1b-home"), "dm-crypt");
        assert_eq!(dm_kind("LVM-abcdef"), "dm-linear");
        assert_eq!(dm_kind("mpath-3600"), "dm-mpath");
        assert_eq!(dm_kind(""), "dm");
    }
}
