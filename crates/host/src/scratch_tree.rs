//! Scratch directories: made fresh, locked while they live, gone with all that is in them when
//! dropped.
//!
//! As with scratch files the lock is the owner's sign of life. The directory is held open from the
//! moment it was made, and everything in it goes by that descriptor: who renames it, or puts a link
//! in its place, changes nothing but where an empty directory is left. It belongs to us alone, so
//! that nobody else can put anything into it.

use crate::{
    directory::{DIRECTORY_MODE, Directory, may_be_ours},
    error::HostError,
    scratch_name::random,
};
use engine::raw::{FileLock, try_lock};
use rustix::fs::{FileType, fstat, mkdirat};
use std::{
    ffi::{CStr, OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

/// Scratch directories begin so; eight hexadecimal digits follow.
const PREFIX: &str = ".drivelab-tree-";
/// Names tried before giving up: a clash means that a random 32-bit number came twice.
const NAMES_TRIED: u32 = 16;

/// A directory of our own, removed on drop with all that is in it.
#[derive(Debug)]
pub struct ScratchTree {
    parent: Directory,
    name: OsString,
    root: Directory,
    path: PathBuf,
}

impl ScratchTree {
    /// A new directory in `parent`, with a random hidden name, mode 0700, locked.
    ///
    /// # Errors
    /// The system's; that somebody put another directory there as it was made.
    pub fn create(parent: &Directory) -> Result<Self, HostError> {
        let failed = |error| HostError::io("create a scratch directory in", parent.path(), error);
        let mut last = io::Error::other("others keep removing it");
        for _ in 0..NAMES_TRIED {
            let name = format!("{PREFIX}{:08x}", random() as u32);
            match Self::make(parent, OsStr::new(&name)) {
                Ok(Some(tree)) => return Ok(tree),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(last))
    }

    /// Where it was made: for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, held open.
    pub fn root(&self) -> &Directory {
        &self.root
    }

    /// Makes a directory at `path` below the root; those on the way exist.
    ///
    /// # Errors
    /// The system's.
    pub fn make_directory(&self, path: &str) -> Result<(), HostError> {
        let made = match path.rsplit_once('/') {
            None => mkdirat(&self.root, path, DIRECTORY_MODE),
            Some((parent, name)) => {
                self.root.lead(parent).and_then(|parent| mkdirat(parent, name, DIRECTORY_MODE))
            }
        };
        made.map_err(|error| HostError::io("create", &self.path.join(path), error))
    }

    /// Removes everything in it, and leaves it there.
    ///
    /// # Errors
    /// The system's.
    pub fn clear(&self) -> Result<(), HostError> {
        self.root.clear().map_err(|error| HostError::io("clear", &self.path, error))
    }

    /// `None` when another run's [`remove_orphan`] was quicker than our lock.
    fn make(parent: &Directory, name: &OsStr) -> io::Result<Option<Self>> {
        let root = match parent.make(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            made => made?,
        };
        // File systems without locks have no orphans that could be told from living directories.
        let lock = try_lock(root.file());
        if matches!(lock, Ok(FileLock::HeldByAnother)) || !parent.has(name, &root) {
            return Ok(None);
        }
        let path = parent.path().join(name);
        Ok(Some(Self { parent: parent.clone(), name: name.to_owned(), root, path }))
    }
}

impl Drop for ScratchTree {
    fn drop(&mut self) {
        // Somebody may have put another directory there; that one is not ours to remove.
        let _ = self.root.clear();
        let _ = self.parent.remove_directory(&self.name, &self.root);
    }
}

/// Whether a directory entry may be a scratch directory.
pub(crate) fn is_tree_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Removes a scratch directory that no living run holds; gives the bytes of its files. Only what a
/// run makes is removed: the owner of a directory may give any other directory in it, root's too,
/// the name of one of ours.
pub(crate) fn remove_orphan(parent: &Directory, name: &OsStr) -> Option<u64> {
    let root = parent.enter(name).ok()?;
    let owner = fstat(&root).ok()?.st_uid;
    if !may_be_ours(parent, owner) {
        return None;
    }
    try_lock(root.file()).ok().filter(|lock| *lock == FileLock::Acquired)?;
    let mut bytes = 0;
    let counted = root.survey(&mut |name, stat| {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if stat.st_uid != owner || !is_name_in_a_tree(name, kind) {
            return Err(io::Error::other("it is none of ours"));
        }
        // A file with two names counts once, as near as one can tell from a name.
        bytes += if kind.is_file() { stat.st_size.max(0) as u64 / stat.st_nlink.max(1) } else { 0 };
        Ok(())
    });
    counted.ok()?;
    root.clear().ok()?;
    parent.remove_directory(name, &root).ok()?.then_some(bytes)
}

/// Whether a run gives such a name to such a thing in a tree (docs/reference/tree-workloads.md).
fn is_name_in_a_tree(name: &CStr, kind: FileType) -> bool {
    let Some((letter, rest)) = name.to_bytes().split_first() else { return false };
    let is_hexadecimal = rest.len() == 18 && rest.iter().all(u8::is_ascii_hexdigit);
    match (letter, kind) {
        (b'f' | b'r' | b'l', FileType::RegularFile) | (b'd', FileType::Directory) => is_hexadecimal,
        (b't', FileType::Directory) => !rest.is_empty() && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// How many files a file system has room for: its free inodes, or `u64::MAX` where it makes them as
/// they are needed (Btrfs says 0 of 0).
///
/// # Errors
/// When the file system cannot be asked.
pub fn files_available(directory: &Directory) -> Result<u64, HostError> {
    let usage = directory.usage()?;
    Ok(if usage.f_files == 0 { u64::MAX } else { usage.f_favail })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remove_orphans;
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    fn held(directory: &tempfile::TempDir) -> Directory {
        Directory::open(directory.path()).expect("it is there")
    }

    #[test]
    fn a_scratch_directory_is_private_and_vanishes_with_what_is_in_it() {
        let parent = tempfile::tempdir().expect("a directory");
        let tree = ScratchTree::create(&held(&parent)).expect("a scratch directory");
        let path = tree.path().to_owned();
        let mode = fs::metadata(&path).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        tree.make_directory("a").expect("a directory");
        tree.make_directory("a/b").expect("a directory in it");
        fs::write(path.join("a/b/c"), "x").expect("a file");
        tree.clear().expect("cleared");
        assert_eq!(fs::read_dir(&path).expect("it stays").count(), 0);
        fs::write(path.join("d"), "x").expect("a file");
        drop(tree);
        assert!(!path.exists());
    }

    #[test]
    fn orphans_are_removed_and_living_trees_strangers_and_links_stay() {
        let parent = tempfile::tempdir().expect("a directory");
        let living = ScratchTree::create(&held(&parent)).expect("a scratch directory");
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).expect("a directory");
        fs::write(precious.join("file"), "mine").expect("a file");
        let orphan = parent.path().join(".drivelab-tree-0badcafe");
        fs::create_dir_all(orphan.join("t0/d000000000100000007")).expect("an orphan");
        fs::write(orphan.join("t0/f000000000000000007"), [7; 100]).expect("its file");
        let link = parent.path().join(".drivelab-tree-00000001");
        symlink(&precious, &link).expect("a link");
        let stranger = parent.path().join(".drivelab-tree-notes");
        fs::create_dir(&stranger).expect("a stranger");
        let removed = remove_orphans(&held(&parent)).expect("listed");
        assert_eq!(removed, [(orphan.clone(), 100)]);
        assert!(!orphan.exists() && living.path().exists() && stranger.exists());
        assert_eq!(fs::read_to_string(precious.join("file")).expect("it stays"), "mine");
        assert!(fs::symlink_metadata(&link).is_ok());
    }

    #[test]
    fn a_directory_with_the_name_of_an_orphan_and_other_things_in_it_stays() {
        // Whoever owns a directory can rename, but not empty, a directory of root's that lies in
        // it. Renamed to `.drivelab-tree-0badcafe` it was taken for what a killed run had left, and
        // root removed it with all that was in it.
        let parent = tempfile::tempdir().expect("a directory");
        for (at, name) in ["notes.txt", "f00", "t1", "f0000000000000000zz"].iter().enumerate() {
            let renamed = parent.path().join(format!(".drivelab-tree-0badcaf{at}"));
            fs::create_dir_all(renamed.join("t0")).expect("a directory");
            fs::write(renamed.join("t0").join(name), "mine").expect("a file");
        }
        let linked = parent.path().join(".drivelab-tree-0badcaff");
        fs::create_dir(&linked).expect("a directory");
        symlink("/etc/passwd", linked.join("f000000000000000007")).expect("a link");
        assert_eq!(remove_orphans(&held(&parent)).expect("listed"), []);
        assert_eq!(fs::read_dir(parent.path()).expect("listed").count(), 5);
    }

    #[test]
    fn a_directory_put_in_place_of_the_scratch_directory_is_left_alone() {
        let parent = tempfile::tempdir().expect("a directory");
        let tree = ScratchTree::create(&held(&parent)).expect("a scratch directory");
        let path = tree.path().to_owned();
        fs::remove_dir(&path).expect("removed");
        fs::create_dir(&path).expect("another");
        fs::write(path.join("file"), "another's").expect("a file");
        drop(tree);
        assert_eq!(fs::read_to_string(path.join("file")).expect("it stays"), "another's");
    }
}
