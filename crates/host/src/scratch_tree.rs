//! Scratch directories: made fresh, locked while they live, gone with all that is in them when dropped.
//!
//! As with scratch files the lock is the owner's sign of life. Only what lies under a name of our own, in a
//! directory that we made, is ever removed; symbolic links in it are not followed.

use crate::error::HostError;
use engine::raw::{FileLock, try_lock};
use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Scratch directories begin so; eight hexadecimal digits follow.
const PREFIX: &str = ".drivelab-tree-";
/// Names tried before giving up: a clash means that a random 32-bit number came twice.
const NAMES_TRIED: u32 = 16;

/// A directory of our own, removed on drop with all that is in it.
#[derive(Debug)]
pub struct ScratchTree {
    directory: File,
    path: PathBuf,
}

impl ScratchTree {
    /// A new directory in `parent`, with a random hidden name, mode 0700, locked.
    ///
    /// # Errors
    /// The system's.
    pub fn create(parent: &Path) -> Result<Self, HostError> {
        let failed = |error| HostError::io("create a scratch directory in", parent, error);
        let parent = fs::canonicalize(parent).map_err(failed)?;
        let mut last = io::Error::other("others keep removing it");
        for _ in 0..NAMES_TRIED {
            let path = parent.join(format!("{PREFIX}{:08x}", crate::scratch::random() as u32));
            match Self::make(&path) {
                Ok(Some(tree)) => return Ok(tree),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(last))
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything in it, and leaves it there.
    ///
    /// # Errors
    /// The system's.
    pub fn clear(&self) -> Result<(), HostError> {
        let failed = |error| HostError::io("clear", &self.path, error);
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            match entry.file_type().map_err(failed)?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            }
            .map_err(failed)?;
        }
        Ok(())
    }

    /// `None` when another run's [`remove_orphan`] was quicker than our lock.
    fn make(path: &Path) -> io::Result<Option<Self>> {
        DirBuilder::new().mode(0o700).create(path)?;
        let directory = match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // File systems without locks have no orphans that could be told from living directories.
        let lock = try_lock(&directory);
        if matches!(lock, Ok(FileLock::HeldByAnother)) || !crate::scratch::is_at(&directory, path) {
            return Ok(None);
        }
        Ok(Some(Self { directory, path: path.to_owned() }))
    }
}

impl Drop for ScratchTree {
    fn drop(&mut self) {
        // Somebody may have put another directory there; that one is not ours to remove.
        if crate::scratch::is_at(&self.directory, &self.path) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Whether a directory entry may be a scratch directory.
pub(crate) fn is_tree_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Removes a scratch directory that no living run holds; gives its path and the bytes of its files.
pub(crate) fn remove_orphan(path: &Path) -> Option<(PathBuf, u64)> {
    let directory = open(path).ok()?;
    try_lock(&directory).ok().filter(|lock| *lock == FileLock::Acquired)?;
    let bytes = bytes_of(path);
    let removed = crate::scratch::is_at(&directory, path) && fs::remove_dir_all(path).is_ok();
    removed.then(|| (path.to_owned(), bytes))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY).open(path)
}

/// Lengths of all files below, links not followed.
fn bytes_of(directory: &Path) -> u64 {
    let mut bytes = 0;
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => open.push(entry.path()),
                Ok(meta) => bytes += meta.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// How many files a file system has room for: its free inodes, or `u64::MAX` where it makes them as they are
/// needed (Btrfs says 0 of 0).
///
/// # Errors
/// When the file system cannot be asked.
pub fn files_available(directory: &Path) -> Result<u64, HostError> {
    let usage = rustix::fs::statvfs(directory)
        .map_err(|error| HostError::io("look at", directory, error))?;
    Ok(if usage.f_files == 0 { u64::MAX } else { usage.f_favail })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remove_orphans;

    #[test]
    fn a_scratch_directory_is_private_and_vanishes_with_what_is_in_it() {
        use std::os::unix::fs::MetadataExt;
        let parent = tempfile::tempdir().expect("a directory");
        let tree = ScratchTree::create(parent.path()).expect("a scratch directory");
        let path = tree.path().to_owned();
        assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("a/b")).expect("directories");
        fs::write(path.join("a/b/c"), "x").expect("a file");
        tree.clear().expect("cleared");
        assert_eq!(fs::read_dir(&path).expect("it stays").count(), 0);
        fs::write(path.join("d"), "x").expect("a file");
        drop(tree);
        assert!(!path.exists());
    }

    #[test]
    fn orphans_are_removed_and_living_trees_strangers_and_what_links_point_to_stay() {
        let parent = tempfile::tempdir().expect("a directory");
        let living = ScratchTree::create(parent.path()).expect("a scratch directory");
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).expect("a directory");
        fs::write(precious.join("file"), "mine").expect("a file");
        let orphan = parent.path().join(".drivelab-tree-0badcafe");
        fs::create_dir_all(orphan.join("t0")).expect("an orphan");
        fs::write(orphan.join("t0/f"), [7; 100]).expect("its file");
        std::os::unix::fs::symlink(&precious, orphan.join("link")).expect("a link");
        let link = parent.path().join(".drivelab-tree-00000001");
        std::os::unix::fs::symlink(&precious, &link).expect("a link");
        let stranger = parent.path().join(".drivelab-tree-notes");
        fs::create_dir(&stranger).expect("a stranger");
        let removed = remove_orphans(parent.path()).expect("listed");
        assert_eq!(removed.len(), 1);
        assert_eq!(removed[0].0, orphan);
        assert!(!orphan.exists() && living.path().exists() && stranger.exists());
        assert_eq!(fs::read_to_string(precious.join("file")).expect("it stays"), "mine");
        assert!(fs::symlink_metadata(&link).is_ok());
    }

    #[test]
    fn a_directory_put_in_place_of_the_scratch_directory_is_left_alone() {
        let parent = tempfile::tempdir().expect("a directory");
        let tree = ScratchTree::create(parent.path()).expect("a scratch directory");
        let path = tree.path().to_owned();
        fs::remove_dir(&path).expect("removed");
        fs::create_dir(&path).expect("another");
        fs::write(path.join("file"), "another's").expect("a file");
        drop(tree);
        assert_eq!(fs::read_to_string(path.join("file")).expect("it stays"), "another's");
    }
}
