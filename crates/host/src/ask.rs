//! What a drive says by its own commands, without any tool: NVMe admin commands, SCSI commands, and
//! ATA commands in SCSI's.
//!
//! ```text
//!   node -> command -> bytes -> decoder (pure) -> a setting, a counter, an identity
//! ```
//!
//! Only questions are asked here, but for one: the volatile write cache of an NVMe controller,
//! which no file of the kernel's switches.

pub(crate) mod ata;
pub(crate) mod nvme;
pub(crate) mod scsi;

use crate::{
    error::{ErrorKind, HostError},
    roots::{DeviceNumber, Roots},
    sysfs::BlockDevice,
};
use std::{
    fs::{File, OpenOptions},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

/// The device that a path such as `/dev/sdb1` leads to, on the machine of `roots`.
pub(crate) fn device_at(path: &Path, roots: &Roots) -> Option<BlockDevice> {
    BlockDevice::numbered(roots.device_named(path)?, roots)
}

/// The whole drive that it is, or is a part of.
pub(crate) fn drive_at(path: &Path, roots: &Roots) -> Option<BlockDevice> {
    let device = device_at(path, roots)?;
    Some(device.parent().unwrap_or(device))
}

/// Opens a drive to be asked.
///
/// # Errors
/// The system's; that the path leads to another drive by now.
pub(crate) fn open(device: &Path, drive: &BlockDevice, roots: &Roots) -> Result<File, HostError> {
    let failed = |error| HostError::io("ask the drive at", device, error);
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(device).map_err(failed)?;
    let number = DeviceNumber::from_raw(file.metadata().map_err(failed)?.rdev());
    let found = BlockDevice::numbered(number, roots);
    let found = found.map(|device| device.parent().unwrap_or(device));
    if found.as_ref().map(|found| found.number) == Some(drive.number) {
        return Ok(file);
    }
    let sentence =
        format!("{} is not {} any more: name the drive again", device.display(), drive.name);
    Err(HostError::new(ErrorKind::NotFound, sentence))
}

/// Little-endian numbers at an offset; nothing beyond the end.
fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
