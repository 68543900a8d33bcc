//! Where the kernel and the distribution keep their texts, and how a device is named in them.

use std::{
    fmt, fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    str::FromStr,
};

/// The five directories from which every fact about the machine is read. Tests point them into a
/// temporary directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// `/etc`.
    pub etc: PathBuf,
    /// `/run`.
    pub run: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl Roots {
    /// The five directories below `top` instead of below `/`.
    pub fn below(top: &Path) -> Self {
        Self {
            proc: top.join("proc"),
            sys: top.join("sys"),
            dev: top.join("dev"),
            etc: top.join("etc"),
            run: top.join("run"),
        }
    }

    /// Whether these are the machine's own: only then do identity programs see the same drives.
    pub fn are_real(&self) -> bool {
        *self == Self::default()
    }

    /// The device that a text such as `/dev/sdb1`, `/dev/mapper/home` or `/dev/disk/by-id/...`
    /// names, as mountinfo, swaps and loop devices write it. `None` for anything that is no block
    /// device.
    pub(crate) fn device_named(&self, path: impl AsRef<Path>) -> Option<DeviceNumber> {
        let path = path.as_ref();
        let below = path.strip_prefix("/dev").or_else(|_| path.strip_prefix(&self.dev)).ok()?;
        let path = self.dev.join(below);
        let canonical = fs::canonicalize(&path).unwrap_or(path);
        if let Ok(meta) = fs::metadata(&canonical)
            && meta.file_type().is_block_device()
        {
            return Some(DeviceNumber::from_raw(meta.rdev()));
        }
        // No node to ask (a container, a fake tree): sysfs knows kernel names.
        let name = canonical.strip_prefix(&self.dev).ok()?.to_str()?.replace('/', "!");
        read_text(&self.sys.join("class/block").join(name).join("dev"))?.parse().ok()
    }
}

/// A device's major and minor number: what the kernel compares, whatever the path was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// From a `st_dev` or `st_rdev`.
    pub fn from_raw(raw: u64) -> Self {
        Self { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// Major 0: a file system without one block device of its own (btrfs, overlay, NFS, tmpfs...).
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.major, self.minor)
    }
}

/// A text that is no `MAJOR:MINOR`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadDeviceNumber;

impl FromStr for DeviceNumber {
    type Err = BadDeviceNumber;

    fn from_str(text: &str) -> Result<Self, BadDeviceNumber> {
        let (major, minor) = text.trim().split_once(':').ok_or(BadDeviceNumber)?;
        let number = |text: &str| text.parse().map_err(|_| BadDeviceNumber);
        Ok(Self { major: number(major)?, minor: number(minor)? })
    }
}

/// A small text file, trimmed; `None` when it is absent, empty or unreadable. Bytes that are no
/// UTF-8 are replaced: drives put them into model strings.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?)
        .trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .to_owned();
    (!text.is_empty()).then_some(text)
}

/// A number that stands alone in a file.
pub(crate) fn read_number<T: FromStr>(path: &Path) -> Option<T> {
    read_text(path)?.parse().ok()
}

/// Names in a directory, sorted; empty when it cannot be read.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
