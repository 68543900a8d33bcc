//! Advisory locks (flock(2)) by which drivelab's processes keep off each other's files and devices,
//! and who holds one.

use crate::{
    error::{ErrorKind, HostError},
    roots::DeviceNumber,
};
use engine::raw::{FileLock, try_lock, try_lock_shared};
use std::{
    fmt::Write as _,
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::Duration,
};

/// Who else may have the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Nobody: for the one that uses the file by its own name.
    Alone,
    /// Others who lock it so: for devices that stand on one file, such as two partitions of one
    /// loop device.
    WithOthers,
}

/// One process at a time; whoever comes second is told who was first. The lock lasts as long as the
/// open file.
///
/// # Errors
/// [`ErrorKind::Busy`] with the process that has it, else the system's.
pub fn lock(file: &File, path: &Path, sharing: Sharing) -> Result<(), HostError> {
    // A ring lets go of its files a moment after it is closed: then the lock is that of a process
    // that is gone, or our own, from when we looked at the file.
    const TRIES: u32 = 200;
    let take = match sharing {
        Sharing::Alone => try_lock,
        Sharing::WithOthers => try_lock_shared,
    };
    let mut taken = true;
    for _ in 0..TRIES {
        let lock = take(file).map_err(|error| HostError::io("lock", path, error))?;
        taken = lock == FileLock::HeldByAnother;
        if !taken || holder(file).is_some_and(|process| process != std::process::id()) {
            break;
        }
        thread::sleep(Duration::from_millis(25));
    }
    if !taken {
        return Ok(());
    }
    let who = holder(file).map_or_else(|| "another process".to_owned(), named);
    let sentence = format!(
        "{} is in use by {who}, and it is used by one process at a time: wait for its end, or stop \
         it",
        path.display()
    );
    Err(HostError::new(ErrorKind::Busy, sentence))
}

/// Who holds a lock of another kind on the file, of a range of its bytes (fcntl(2)): qemu on its
/// disks, databases on theirs.
pub(crate) fn range_holder(file: &File) -> Option<String> {
    let place = place_of(file)?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let is_range = |line: &&str| {
        let mut words = line.split_whitespace();
        words.any(|word| matches!(word, "OFDLCK" | "POSIX")) && words.any(|word| word == place)
    };
    let line = locks.lines().find(is_range)?;
    // Locks of an open file are nobody's in particular: the kernel gives -1.
    let process = line.split_whitespace().nth(4)?.parse::<u32>();
    Some(process.map_or_else(|_| "another program".to_owned(), named))
}

/// As /proc/locks writes device and inode.
fn place_of(file: &File) -> Option<String> {
    let facts = file.metadata().ok()?;
    let DeviceNumber { major, minor } = DeviceNumber::from_raw(facts.dev());
    Some(format!("{major:02x}:{minor:02x}:{}", facts.ino()))
}

/// A living process that holds a lock on the file, another than this one if there is one: the
/// kernel lists them by device and inode (proc(5), /proc/locks).
fn holder(file: &File) -> Option<u32> {
    let place = place_of(file)?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let of_file =
        |line: &&str| line.contains(" FLOCK ") && line.split_whitespace().any(|word| word == place);
    let process = |line: &str| line.split_whitespace().nth(4)?.parse::<u32>().ok();
    let is_alive = |process: &u32| Path::new(&format!("/proc/{process}")).exists();
    let living = || locks.lines().filter(of_file).filter_map(process).filter(is_alive);
    living().find(|process| *process != std::process::id()).or_else(|| living().next())
}

fn named(process: u32) -> String {
    let mut who = format!("process {process}");
    if let Ok(name) = fs::read_to_string(format!("/proc/{process}/comm")) {
        let _ = write!(who, " ({})", name.trim());
    }
    who
}
