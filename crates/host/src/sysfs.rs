//! Block devices as sysfs shows them: what contains what, who stands on whom.
//!
//! ```text
//!   sda  <- parent -  sda1  <- slaves -  dm-0   - holders ->  md0
//! ```

use crate::roots::{DeviceNumber, Roots, names_in, read_number, read_text};
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Sectors in sysfs and diskstats are 512 bytes, whatever the drive's block is
/// (Documentation/admin-guide/iostats.rst).
pub(crate) const SECTOR_BYTES: u64 = 512;

/// One block device's directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct BlockDevice {
    /// Canonical sysfs directory.
    pub directory: PathBuf,
    /// Kernel name, with `/` where sysfs writes `!` (`cciss!c0d0`).
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
}

impl BlockDevice {
    /// The device with this number, if the kernel has one.
    pub(crate) fn numbered(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        Self::at(&roots.sys.join("dev/block").join(number.to_string()))
    }

    /// The device with this kernel name.
    pub(crate) fn named(name: &str, roots: &Roots) -> Option<Self> {
        Self::at(&roots.sys.join("class/block").join(name.replace('/', "!")))
    }

    /// The device of this directory.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let directory = fs::canonicalize(path).ok()?;
        let number = read_number(&directory.join("dev"))?;
        let name = directory.file_name()?.to_str()?.replace('!', "/");
        Some(Self { directory, name, number })
    }

    /// A trimmed text below the device's directory.
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        read_text(&self.directory.join(file))
    }

    /// A number below the device's directory.
    pub(crate) fn integer(&self, file: &str) -> Option<u64> {
        read_number(&self.directory.join(file))
    }

    /// A partition's whole disk.
    pub(crate) fn parent(&self) -> Option<Self> {
        self.directory.join("partition").exists().then(|| Self::at(self.directory.parent()?))?
    }

    /// A disk's partitions.
    pub(crate) fn partitions(&self) -> Vec<Self> {
        let children = names_in(&self.directory).into_iter().map(|name| self.directory.join(name));
        children
            .filter(|path| path.join("partition").exists())
            .filter_map(|p| Self::at(&p))
            .collect()
    }

    /// What this device is made of: members of an array, the device below a mapping.
    pub(crate) fn slaves(&self) -> Vec<Self> {
        self.linked("slaves")
    }

    /// What is made of this device.
    pub(crate) fn holders(&self) -> Vec<Self> {
        self.linked("holders")
    }

    fn linked(&self, folder: &str) -> Vec<Self> {
        let folder = self.directory.join(folder);
        names_in(&folder).into_iter().filter_map(|name| Self::at(&folder.join(name))).collect()
    }

    /// The file or device behind an attached loop device.
    pub(crate) fn backing_file(&self) -> Option<PathBuf> {
        let bytes = fs::read(self.directory.join("loop/backing_file")).ok()?;
        let path = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
    }

    /// Queue files stand with the disk, for its partitions too.
    pub(crate) fn queue_text(&self, file: &str) -> Option<String> {
        let own = self.text(&format!("queue/{file}"));
        own.or_else(|| self.parent()?.text(&format!("queue/{file}")))
    }

    /// A number of the queue.
    pub(crate) fn queue_integer(&self, file: &str) -> Option<u64> {
        self.queue_text(file)?.parse().ok()
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.integer("size").unwrap_or(0).saturating_mul(SECTOR_BYTES)
    }
}

/// Every disk (not partition) that the kernel has.
pub(crate) fn disks(roots: &Roots) -> Vec<BlockDevice> {
    let folder = roots.sys.join("block");
    names_in(&folder).into_iter().filter_map(|name| BlockDevice::at(&folder.join(name))).collect()
}

/// Everything reachable from `start` by `next`, without `start`.
pub(crate) fn closure(
    start: &[BlockDevice],
    next: impl Fn(&BlockDevice) -> Vec<BlockDevice>,
) -> Vec<BlockDevice> {
    let mut found: Vec<BlockDevice> = start.to_vec();
    let mut at = 0;
    while at < found.len() {
        for device in next(&found[at]) {
            if !found.iter().any(|known| known.number == device.number) {
                found.push(device);
            }
        }
        at += 1;
    }
    found.split_off(start.len())
}

/// The word in brackets of `none [mq-deadline] kyber`; the whole text without brackets.
pub(crate) fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(word, _)| word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_scheduler_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }
}
