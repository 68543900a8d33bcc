//! Which processes have a device open, by what their descriptors lead to: /proc/PID/fd (proc(5)).
//!
//! An exclusive open keeps out mounts and whoever claims; a virtual machine or a database on a raw
//! disk claims nothing. Compared by device number: a node may have any name. Only root sees the
//! descriptors of everybody.

use crate::{
    roots::{DeviceNumber, Roots, names_in, read_text},
    sysfs::BlockDevice,
};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A process that has a device open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Opener {
    /// What it has open.
    pub number: DeviceNumber,
    /// Its number.
    pub process: u32,
    /// Its name, as /proc has it.
    pub name: String,
    /// Whether it may write through that descriptor.
    pub writes: bool,
}

impl Opener {
    /// `process 123 (qemu)`.
    pub(crate) fn who(&self) -> String {
        format!("process {} ({})", self.process, self.name)
    }

    /// `process 123 (qemu) has sda1 open for writing`.
    pub(crate) fn clause(&self, what: &BlockDevice) -> String {
        let how = if self.writes { "writing" } else { "reading" };
        format!("{} has {} open for {how}", self.who(), what.name)
    }
}

/// Who has devices open, each process once a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Openers {
    /// Writers first, then by process.
    pub found: Vec<Opener>,
    /// Processes whose descriptors this user may not see.
    pub unseen: usize,
}

/// Programs that hold members open for what they manage on them, as part of the array that is
/// judged: those that mdadm starts for metadata of firmware.
const MANAGERS: [&str; 1] = ["mdmon"];

/// Who else than this process has a block device open.
pub(crate) fn openers(roots: &Roots) -> Openers {
    let own = std::process::id();
    let mut openers = Openers::default();
    let processes = names_in(&roots.proc).into_iter().filter_map(|name| name.parse::<u32>().ok());
    for process in processes.filter(|process| *process != own) {
        let place = roots.proc.join(process.to_string());
        match descriptors(&place) {
            Ok(descriptors) => {
                let name = read_text(&place.join("comm")).unwrap_or_else(|| "?".to_owned());
                if MANAGERS.contains(&&*name) {
                    continue;
                }
                for descriptor in descriptors {
                    let path = place.join("fd").join(&descriptor);
                    let Some(number) = device_behind(&path, roots) else { continue };
                    let Some(writes) = may_write(&place.join("fdinfo").join(&descriptor)) else {
                        continue;
                    };
                    let name = name.clone();
                    openers.found.push(Opener { number, process, name, writes });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => openers.unseen += 1,
            // It ended.
            Err(_) => {}
        }
    }
    openers.found.sort_by_key(|opener| (!opener.writes, opener.process, opener.number));
    openers.found.dedup_by_key(|opener| (opener.process, opener.number));
    openers
}

fn descriptors(process: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(process.join("fd"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// The block device that a descriptor leads to. Most lead to sockets and pipes, whose names are no
/// paths; no file system across a network is asked.
fn device_behind(path: &Path, roots: &Roots) -> Option<DeviceNumber> {
    let text: PathBuf = fs::read_link(path).ok()?;
    if !text.is_absolute() {
        return None;
    }
    let facts = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok();
    let is_device = |facts: &rustix::fs::Statx| {
        FileType::from_raw_mode(facts.stx_mode.into()) == FileType::BlockDevice
    };
    match facts.filter(is_device) {
        Some(facts) => {
            Some(DeviceNumber { major: facts.stx_rdev_major, minor: facts.stx_rdev_minor })
        }
        // In a tree of files there are no devices, only names.
        None if !roots.are_real() => roots.device_named(text),
        None => None,
    }
}

/// Whether a descriptor may write: its flags, octal, as open(2) was given them. `None` for one by
/// which nothing can be read or written, or that is closed by now.
fn may_write(info: &Path) -> Option<bool> {
    const ACCESS: i32 = libc::O_ACCMODE;
    let text = read_text(info)?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    (flags & libc::O_PATH == 0).then_some(flags & ACCESS != libc::O_RDONLY)
}
