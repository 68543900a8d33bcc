//! What a file or a device is, whatever it is called: hard links, bind mounts and symbolic links
//! all lead to one inode.

use crate::roots::{DeviceNumber, Roots};
use std::{
    fs::{self, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

/// A regular file or a block device, as the kernel compares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inode {
    /// A file: its file system and its number there.
    File {
        /// `st_dev`.
        device: u64,
        /// `st_ino`.
        inode: u64,
    },
    /// A block device, whichever node it was opened by.
    Device(DeviceNumber),
}

impl Inode {
    /// Of what was looked at or opened; `None` for what is neither.
    pub fn of(facts: &Metadata) -> Option<Self> {
        let kind = facts.file_type();
        if kind.is_block_device() {
            return Some(Self::Device(DeviceNumber::from_raw(facts.rdev())));
        }
        let (device, inode) = (facts.dev(), facts.ino());
        kind.is_file().then_some(Self::File { device, inode })
    }

    /// Of whatever `path` leads to now.
    pub fn at(path: &Path) -> Option<Self> {
        Self::of(&fs::metadata(path).ok()?)
    }

    /// Of a path as the kernel writes it into /proc and /sys; device nodes may be missing there.
    pub(crate) fn named(text: &str, roots: &Roots) -> Option<Self> {
        let device = || roots.device_named(text).map(Self::Device);
        device().or_else(|| Self::at(Path::new(text.strip_suffix(" (deleted)").unwrap_or(text))))
    }
}
