//! The page cache: a file put out of it, and what was read although it was there.

use crate::{
    error::{ErrorKind, HostError},
    roots::{Roots, read_text},
};
use engine::raw::{Advice, advise};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Puts a file, or a block device, out of the page cache: what is dirty is written and flushed,
/// then every page is given up (posix_fadvise(2), `POSIX_FADV_DONTNEED`). Pages that others have
/// mapped or locked stay; who wants to know asks for the residency afterwards.
///
/// # Errors
/// Those of fsync(2) and of posix_fadvise(2).
pub fn drop_file(file: &File) -> io::Result<()> {
    file.sync_all()?;
    advise(file, 0..u64::MAX, Advice::DontNeed)
}

/// Whether this user may [`drop_machine`].
///
/// # Errors
/// A sentence with the cure when not.
pub fn machine_droppable(roots: &Roots) -> Result<(), HostError> {
    let path = drop_caches(roots);
    rustix::fs::access(&path, rustix::fs::Access::WRITE_OK)
        .map_err(|error| cannot_drop(&path, error.into()))
}

/// Empties the whole machine's page cache, names and inodes included: sync(2), then 3 into
/// `/proc/sys/vm/drop_caches` (Documentation/admin-guide/sysctl/vm.rst). Every other program reads
/// from its drives again afterwards.
///
/// # Errors
/// When this user may not.
pub fn drop_machine(roots: &Roots) -> Result<(), HostError> {
    rustix::fs::sync();
    let path = drop_caches(roots);
    fs::write(&path, "3\n").map_err(|error| cannot_drop(&path, error))
}

fn drop_caches(roots: &Roots) -> PathBuf {
    roots.proc.join("sys/vm/drop_caches")
}

fn cannot_drop(path: &Path, error: io::Error) -> HostError {
    let sentence = format!(
        "the machine's page cache cannot be emptied through {} ({error}): run as root, or use --set drop_cache=file",
        path.display()
    );
    HostError::new(ErrorKind::Permission, sentence)
}

/// Bytes that this program has had read from storage since it began: `read_bytes` of
/// `/proc/self/io` (proc_pid_io(5)). Read-ahead is in it, what the page cache answered is not.
pub fn fetched_bytes(roots: &Roots) -> Option<u64> {
    let text = read_text(&roots.proc.join("self/io"))?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fetched_is_not_what_was_read() {
        let top = std::env::temp_dir().join(format!("drivelab-io-{}", std::process::id()));
        fs::create_dir_all(top.join("proc/self")).expect("a directory for a test");
        let roots = Roots::below(&top);
        assert_eq!(fetched_bytes(&roots), None);
        // As proc_pid_io(5) prints it.
        let text = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\n\
                    write_bytes: 323932160\ncancelled_write_bytes: 0\n";
        fs::write(top.join("proc/self/io"), text).expect("a file of ours");
        assert_eq!(fetched_bytes(&roots), Some(4096));
        fs::remove_dir_all(&top).expect("a directory of ours");
    }
}
