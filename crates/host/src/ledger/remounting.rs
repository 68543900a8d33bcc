//! A file system that is mounted and unmounted many times, for what stands on the device changes.
//!
//! Its line in the ledger is written once and stands for all of these mounts: whoever puts it back
//! asks what is mounted there. No process is started for a mount, and nothing made durable.

use super::{
    Change, Ledger, Mounting,
    put_back::{PATIENCE, PAUSE},
};
use crate::error::{ErrorKind, HostError};
use engine::raw;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

/// Options that mount(8) turns into flags, and that file systems do not know.
const FLAGS: &[&str] = &[
    "async",
    "atime",
    "auto",
    "defaults",
    "dev",
    "diratime",
    "dirsync",
    "exec",
    "group",
    "iversion",
    "lazytime",
    "loop",
    "mand",
    "noatime",
    "noauto",
    "nodev",
    "nodiratime",
    "noexec",
    "nofail",
    "noiversion",
    "nolazytime",
    "nomand",
    "norelatime",
    "nosuid",
    "nostrictatime",
    "nouser",
    "owner",
    "relatime",
    "remount",
    "ro",
    "rw",
    "silent",
    "strictatime",
    "suid",
    "sync",
    "user",
    "users",
];

/// The device and where it is mounted. It holds the device open: it is dropped before the device is
/// put back.
#[derive(Debug)]
pub struct Remounting {
    device: File,
    source: PathBuf,
    at: PathBuf,
    how: Mounting,
}

impl Ledger {
    /// Writes down that `source`, a block device of ours, is mounted at the directory `at` from now
    /// on, again and again.
    ///
    /// # Errors
    /// The ledger's; the system's, where the device cannot be opened.
    pub fn remounting(
        &mut self,
        source: &Path,
        at: &Path,
        how: Mounting,
    ) -> Result<Remounting, HostError> {
        let change = Change::Mount {
            source: source.display().to_string(),
            at: at.to_owned(),
            fs: how.fs.clone(),
            options: how.options.clone(),
        };
        self.make(change, || {
            let opened = File::open(source);
            let device = opened.map_err(|error| HostError::io("open", source, error))?;
            Ok(Remounting { device, source: source.to_owned(), at: at.to_owned(), how })
        })
    }
}

impl Remounting {
    /// Where it is mounted.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// As it would be typed.
    pub fn shown(&self) -> String {
        self.how.program(&self.source, &self.at).to_string()
    }

    /// Mounts it. Btrfs refuses what it knows in a newer state from another device, a copy that
    /// somebody else has unmounted: until that is forgotten it is tried again, so often.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn mount(&self, attempts: u32) -> Result<(), HostError> {
        let Mounting { fs, options } = &self.how;
        if has_flag(options) {
            return self.how.program(&self.source, &self.at).run().map(drop);
        }
        let mount = || raw::mount(&self.source, &self.at, fs, options);
        let mut mounted = mount();
        for _ in 1..attempts {
            let known = io::ErrorKind::AlreadyExists;
            if fs != "btrfs" || mounted.as_ref().err().is_none_or(|error| error.kind() != known) {
                break;
            }
            thread::sleep(PAUSE / 4);
            mounted = mount();
        }
        mounted.map_err(|error| HostError::io("mount", &self.source, error))
    }

    /// Unmounts it, and waits for those who let go of it a moment ago.
    ///
    /// # Errors
    /// Somebody uses it.
    pub fn unmount(&self) -> Result<(), HostError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match raw::unmount(&self.at) {
                Ok(()) if self.how.fs == "btrfs" => {
                    // Others may bear its identifier; one that is mounted elsewhere stays known.
                    let _ = raw::forget_btrfs(&self.source);
                    return Ok(());
                }
                Ok(()) => return Ok(()),
                Err(error) if !is_busy(&error) => {
                    return Err(HostError::io("unmount", &self.at, error));
                }
                Err(error) if Instant::now() >= deadline => {
                    let sentence = format!(
                        "{} cannot be unmounted: {error}; end what uses it",
                        self.at.display()
                    );
                    return Err(HostError::new(ErrorKind::Io, sentence));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Drops what the kernel keeps in memory of the device: behind its back the file below is about
    /// to change.
    ///
    /// # Errors
    /// Something of it stays: the next mount would see what is not there any more.
    pub fn forget(&self) -> Result<(), HostError> {
        let failed = |error| HostError::io("drop what is cached of", &self.source, error);
        let bytes = raw::device_bytes(&self.device).map_err(failed)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            raw::drop_device_cache(&self.device).map_err(failed)?;
            let kept = raw::residency(&self.device, 0..bytes).map_err(failed)?;
            if kept.resident_bytes == 0 {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let kept = format!("{} B of it stay cached", kept.resident_bytes);
                return Err(failed(io::Error::other(kept)));
            }
            thread::sleep(PAUSE);
        }
    }
}

fn has_flag(options: &str) -> bool {
    let named = options.split(',').map(|option| option.split('=').next().unwrap_or_default());
    named.map(str::trim).any(|name| FLAGS.contains(&name) || name.starts_with("x-"))
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

#[cfg(test)]
mod tests {
    use super::has_flag;

    #[test]
    fn what_mount_8_turns_into_flags_is_left_to_it() {
        for options in ["ro", "discard,noatime", "x-mount.mkdir", "data=journal, sync"] {
            assert!(has_flag(options), "{options}");
        }
        for options in ["", "noinit_itable", "data=writeback,barrier=0", "nouuid"] {
            assert!(!has_flag(options), "{options}");
        }
    }
}
