//! The write cache of the drive itself, by the kernel's own means.
//!
//! ```text
//!            switched by                                  read back from the drive by
//!   NVMe     Set Features 06h, the controller's           Get Features 06h
//!   SCSI     /sys/class/scsi_disk/H:C:T:L/cache_type      MODE SENSE, caching page
//!   SATA     the same; libata tells the drive             IDENTIFY DEVICE, word 85
//!   virtio   /sys/block/vdX/cache_type                    the same: the device's own configuration
//! ```
//!
//! What the kernel believes is another thing: it decides whether flushes are sent
//! ([`Attribute::WriteCache`](super::Attribute::WriteCache)).

use super::Attribute;
use crate::{
    ask,
    error::{ErrorKind, HostError},
    guard::claim_on,
    roots::{Roots, names_in, read_text},
    sysfs::BlockDevice,
};
use serde::{Deserialize, Serialize};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// Whether a drive may answer a write before it is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// It may.
    On,
    /// It may not.
    Off,
}

impl From<bool> for WriteCache {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

impl fmt::Display for WriteCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// What switches a drive's write cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// An admin command of the controller's.
    Nvme,
    /// The kernel's SCSI disk driver, for SATA drives too. Older ledgers name the tools of then.
    #[serde(alias = "hdparm", alias = "sdparm")]
    Scsi,
    /// The kernel's virtio driver.
    Virtio,
}

impl Switch {
    /// The switch that fits the device, and where it stands, as the drive says.
    ///
    /// # Errors
    /// [`ErrorKind::WrongKind`] when the drive has none, else that it does not answer.
    pub fn find(device: &Path, roots: &Roots) -> Result<(Self, WriteCache), HostError> {
        let drive = drive_at(device, roots)?;
        let found = Self::of(&drive, roots).and_then(|switch| {
            let cache = switch.ask(device, &drive, roots)?;
            Ok((switch, cache))
        });
        found.map_err(|error| {
            let shown = device.display();
            let sentence = format!("the write cache of {shown} cannot be switched: {error}");
            HostError::new(error.kind(), sentence)
        })
    }

    fn of(drive: &BlockDevice, roots: &Roots) -> Result<Self, HostError> {
        if drive.name.starts_with("nvme") {
            return Ok(Self::Nvme);
        }
        if scsi_file(drive, roots).is_some() {
            return Ok(Self::Scsi);
        }
        let why = match fs::metadata(sysfs_of(drive, roots).join("cache_type")) {
            Err(_) => format!("{} is no NVMe, SATA, SCSI or virtio drive", drive.name),
            Ok(file) if file.permissions().readonly() => {
                format!("whoever provides {} does not let it be switched", drive.name)
            }
            Ok(_) => return Ok(Self::Virtio),
        };
        Err(HostError::new(ErrorKind::WrongKind, why))
    }

    /// Where it stands, as the drive says.
    ///
    /// # Errors
    /// When it does not.
    pub fn read(self, device: &Path, roots: &Roots) -> Result<WriteCache, HostError> {
        self.ask(device, &drive_at(device, roots)?, roots)
    }

    fn ask(
        self,
        device: &Path,
        drive: &BlockDevice,
        roots: &Roots,
    ) -> Result<WriteCache, HostError> {
        let name = &drive.name;
        let on = match self {
            Self::Nvme => ask::nvme::write_cache(&ask::open(device, drive, roots)?, name)?,
            Self::Scsi if is_ata(drive) => {
                ask::ata::write_cache(&ask::open(device, drive, roots)?, name)?
            }
            Self::Scsi => ask::scsi::write_cache(&ask::open(device, drive, roots)?, name)?,
            Self::Virtio => {
                let file = sysfs_of(drive, roots).join("cache_type");
                read_text(&file)
                    .as_deref()
                    .and_then(CacheType::parse)
                    .map(|it| it.writes)
                    .ok_or_else(|| {
                        let sentence = format!("{} says nothing that is known", file.display());
                        HostError::new(ErrorKind::WrongKind, sentence)
                    })?
            }
        };
        Ok(on.into())
    }

    /// Switches, and asks the drive whether it did.
    ///
    /// # Errors
    /// When it refuses, or stays as it was.
    pub fn write(self, device: &Path, wanted: WriteCache, roots: &Roots) -> Result<(), HostError> {
        let drive = drive_at(device, roots)?;
        let on = wanted == WriteCache::On;
        match self {
            Self::Nvme => {
                let node = ask::open(device, &drive, roots)?;
                ask::nvme::set_write_cache(&node, &drive.name, on)?;
            }
            Self::Scsi | Self::Virtio => {
                let (file, text) = self.sysfs(&drive, wanted, roots).ok_or_else(|| {
                    let sentence = format!("{} has no cache_type any more", drive.name);
                    HostError::new(ErrorKind::NotFound, sentence)
                })?;
                fs::write(&file, text).map_err(|error| HostError::io("write", &file, error))?;
            }
        }
        let now = self.ask(device, &drive, roots)?;
        if now == wanted {
            return Ok(());
        }
        let sentence = format!(
            "{} took the command and says that its write cache is {now}: leave out --write-cache",
            device.display()
        );
        Err(HostError::new(ErrorKind::Io, sentence))
    }

    /// What switches it, as it would be typed into a shell.
    pub fn telling(self, device: &Path, wanted: WriteCache, roots: &Roots) -> String {
        let drive = drive_at(device, roots).ok();
        let sysfs = drive.as_ref().and_then(|drive| self.sysfs(drive, wanted, roots));
        match sysfs {
            Some((file, text)) => format!("echo '{text}' > {}", file.display()),
            // The feature is the controller's, and nvme-cli takes a name space's node for the name
            // space.
            None if self == Self::Nvme => format!(
                "nvme set-feature {} --feature-id=6 --value={}",
                drive.as_ref().map_or(device.to_owned(), controller_node).display(),
                u8::from(wanted == WriteCache::On)
            ),
            None => format!(
                "echo '{}' > /sys/block/{}/{}cache_type",
                CacheType { writes: wanted == WriteCache::On, reads: true },
                device.file_name().unwrap_or_default().to_string_lossy(),
                if self == Self::Scsi { "device/scsi_disk/*/" } else { "" }
            ),
        }
    }

    /// The kernel's file, and what is written into it. Whether the drive keeps what it has read
    /// stays as it is; the kernel's word for that is in the same text.
    ///
    /// Never `temporary ...`: that changes what the kernel believes, and not the drive.
    fn sysfs(
        self,
        drive: &BlockDevice,
        wanted: WriteCache,
        roots: &Roots,
    ) -> Option<(PathBuf, String)> {
        let file = match self {
            Self::Nvme => return None,
            Self::Scsi => scsi_file(drive, roots)?,
            Self::Virtio => sysfs_of(drive, roots).join("cache_type"),
        };
        let now = read_text(&file).as_deref().and_then(CacheType::parse);
        let reads = now.is_none_or(|now| now.reads);
        Some((file, CacheType { writes: wanted == WriteCache::On, reads }.to_string()))
    }
}

/// The words of `cache_type` (drivers/scsi/sd.c; virtio knows the first two).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CacheType {
    writes: bool,
    reads: bool,
}

impl CacheType {
    fn parse(text: &str) -> Option<Self> {
        let all = [(false, true), (true, true), (false, false), (true, false)];
        let mut all = all.into_iter().map(|(writes, reads)| Self { writes, reads });
        all.find(|one| one.to_string() == text)
    }
}

impl fmt::Display for CacheType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match (self.writes, self.reads) {
            (false, true) => "write through",
            (true, true) => "write back",
            (false, false) => "none",
            (true, false) => "write back, no read (daft)",
        })
    }
}

fn drive_at(device: &Path, roots: &Roots) -> Result<BlockDevice, HostError> {
    ask::drive_at(device, roots).ok_or_else(|| {
        let sentence = format!("{} is no block device", device.display());
        HostError::new(ErrorKind::NotFound, sentence)
    })
}

/// `/sys/block/sdX/device/scsi_disk/H:C:T:L/cache_type`.
fn scsi_file(drive: &BlockDevice, roots: &Roots) -> Option<PathBuf> {
    let class = sysfs_of(drive, roots).join("device/scsi_disk");
    let name = names_in(&class).into_iter().next()?;
    Some(class.join(name).join("cache_type"))
}

/// `/sys/block/NAME`, the shortest way there.
fn sysfs_of(drive: &BlockDevice, roots: &Roots) -> PathBuf {
    roots.sys.join("block").join(drive.name.replace('/', "!"))
}

/// libata gives its drives this vendor. A bridge of another bus speaks for the drive itself.
pub(crate) fn is_ata(drive: &BlockDevice) -> bool {
    drive.text("device/vendor").as_deref() == Some("ATA")
}

/// Who else would feel the switch: what lies on the same drive, and is in use. The setting is the
/// whole drive's, and of NVMe all name spaces' of its controller.
///
/// # Errors
/// The first that is in use; that there are several controllers, each with a setting of its own.
pub(crate) fn refuse_shared(device: &Path, roots: &Roots) -> Result<(), HostError> {
    let drive = drive_at(device, roots)?;
    let controllers = controllers(&drive);
    if controllers.len() > 1 {
        let sentence = format!(
            "{} is reached by the controllers {}, each with a write cache setting of its own: leave \
             --write-cache out",
            device.display(),
            controllers.join(" and ")
        );
        return Err(HostError::new(ErrorKind::WrongKind, sentence));
    }
    let own = ask::device_at(device, roots).map(|device| device.number);
    let mut others: Vec<BlockDevice> = drive.partitions();
    for sister in sister_namespaces(&drive) {
        others.extend(sister.partitions());
        others.push(sister);
    }
    for other in others.iter().filter(|other| Some(other.number) != own) {
        if let Some(reason) = claim_on(other, roots) {
            let sentence = format!(
                "the write cache is that of the whole drive, {} included, and {}: end that, or leave \
                 --write-cache out",
                other.name,
                reason.found()
            );
            return Err(HostError::new(ErrorKind::Busy, sentence));
        }
    }
    Ok(())
}

/// The other name spaces of an NVMe drive: they lie beside it, below the controller or the
/// subsystem.
fn sister_namespaces(drive: &BlockDevice) -> Vec<BlockDevice> {
    let Some(parent) = drive.directory.parent().filter(|_| drive.name.starts_with("nvme")) else {
        return Vec::new();
    };
    // `nvme0n2`, and not the controller `nvme0`, nor `nvme0c1n2`, one of several paths to it.
    let is_namespace = |name: &String| {
        let (controller, space) = name.strip_prefix("nvme")?.split_once('n')?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(controller) && is_number(space)).then_some(())
    };
    let names = names_in(parent).into_iter().filter(|name| *name != drive.name);
    names
        .filter(|name| is_namespace(name).is_some())
        .filter_map(|name| BlockDevice::at(&parent.join(name)))
        .collect()
}

/// The controller's own node: `/dev/nvme0`.
fn controller_node(drive: &BlockDevice) -> PathBuf {
    let device = fs::canonicalize(drive.directory.join("device")).unwrap_or_default();
    let name = device.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let only = controllers(drive).into_iter().next();
    let name = if is_controller(name) { name.to_owned() } else { only.unwrap_or_default() };
    Path::new("/dev").join(name)
}

/// `nvme0`.
fn is_controller(name: &str) -> bool {
    let number = name.strip_prefix("nvme").filter(|number| !number.is_empty());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The controllers of a subsystem, `nvme0` and `nvme1`, where the drive is one of several paths.
fn controllers(drive: &BlockDevice) -> Vec<String> {
    match drive.name.starts_with("nvme") {
        true => names_in(&drive.directory.join("device"))
            .into_iter()
            .filter(|name| is_controller(name))
            .collect(),
        false => Vec::new(),
    }
}

/// What the drive said, and whether the kernel sends flushes:
/// `/dev/sda says that its write cache is off; the kernel sends no flushes`.
pub(crate) fn said(device: &Path, cache: WriteCache, roots: &Roots) -> String {
    let mut text = format!("{} says that its write cache is {cache}", device.display());
    let Some(drive) = ask::drive_at(device, roots) else { return text };
    let sisters: Vec<String> =
        sister_namespaces(&drive).into_iter().map(|sister| sister.name).collect();
    if !sisters.is_empty() {
        text += &format!(", and with it that of {}", sisters.join(" and "));
    }
    let kernel = Attribute::WriteCache.read(&drive.name, roots).ok();
    text += match (cache, kernel.as_deref()) {
        (WriteCache::On, Some("write back")) => "; the kernel sends flushes",
        (WriteCache::Off, Some("write back")) => {
            "; the kernel goes on sending flushes, for which there is nothing to do"
        }
        (WriteCache::Off, Some(_)) => "; the kernel sends no flushes",
        (WriteCache::On, Some(_)) => {
            "; the kernel sends no flushes, so that a power cut loses what fsync(2) was answered for"
        }
        (_, None) => "",
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_words_of_the_kernel_are_four() {
        for text in ["write through", "write back", "none", "write back, no read (daft)"] {
            assert_eq!(CacheType::parse(text).expect("it is known").to_string(), text);
        }
        // That is what the kernel believes, and it is never shown.
        assert_eq!(CacheType::parse("temporary write back"), None);
    }

    #[test]
    fn ledgers_of_before_name_tools() {
        for (word, switch) in [
            ("hdparm", Switch::Scsi),
            ("sdparm", Switch::Scsi),
            ("scsi", Switch::Scsi),
            ("nvme", Switch::Nvme),
            ("virtio", Switch::Virtio),
        ] {
            let read: Switch = serde_json::from_str(&format!("\"{word}\"")).expect("it is known");
            assert_eq!(read, switch);
        }
    }

    proptest! {
        #[test]
        fn no_text_of_the_kernel_panics(text in "\\PC{0,40}") {
            let _ = CacheType::parse(&text);
        }
    }
}
