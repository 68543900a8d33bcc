//! Scratch files: made fresh, locked while they live, gone when dropped.
//!
//! The lock is the owner's sign of life: a run that was killed leaves its file but not its lock, so
//! the next run in the directory knows the orphan and removes it. File and directory are held open;
//! the file's name only shows people that it is there.

use crate::{
    directory::{Directory, may_be_ours},
    error::{ErrorKind, HostError},
    identify::free_bytes,
    missing,
    scratch_name::{is_scratch_name, random_name},
    scratch_tree,
};
use block::display_bytes;
use engine::raw::{FileLock, try_lock};
use rustix::{
    fs::{Mode, OFlags, StatVfs, fstat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Names tried before giving up: a clash means that a random 32-bit number came twice.
const NAMES_TRIED: u32 = 16;
const GIB: u64 = 1 << 30;

/// A file of our own, removed on drop. It is empty: whoever uses it fills it, and asks
/// [`allocated_fully`](crate::contents::allocated_fully) afterwards.
#[derive(Debug)]
pub struct Scratch {
    directory: Directory,
    name: OsString,
    file: Arc<File>,
    path: PathBuf,
    bytes: u64,
}

impl Scratch {
    /// A new file in `directory` for `bytes` bytes, with a random hidden name, mode 0600, locked.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] when the file would leave less free than the reserve: 5 % of the file
    /// system or 1 GiB, whichever is more, but never over 10 %. Else the system's.
    pub fn create(directory: &Directory, bytes: u64) -> Result<Self, HostError> {
        check_space(directory, bytes)?;
        let failed = |error| HostError::io("create a scratch file in", directory.path(), error);
        let mut last = io::Error::other("others keep removing it");
        for _ in 0..NAMES_TRIED {
            match Self::make(directory, OsStr::new(&random_name()), bytes) {
                Ok(Some(scratch)) => return Ok(scratch),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(last))
    }

    /// A new file of the user's own name; it must not exist yet. Removed on drop like any other.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] when there is something; else as [`Scratch::create`].
    pub fn named(directory: &Directory, name: &OsStr, bytes: u64) -> Result<Self, HostError> {
        check_space(directory, bytes)?;
        let path = directory.path().join(name);
        let made = Self::make(directory, name, bytes);
        made.map_err(|error| HostError::io("create", &path, error))?.ok_or_else(|| {
            let sentence = format!("somebody removed {} as it was made: run again", path.display());
            HostError::new(ErrorKind::Io, sentence)
        })
    }

    /// Where the file was made: for people. It is opened by [`file`](Self::file).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for reading and writing; whoever needs other flags opens it again by
    /// [`engine::reopen`].
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// How many bytes it is meant to take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lets go of the file and of `directory`, in which it lies, does `meanwhile`, and takes both
    /// again: their file system may be unmounted in between, as long as it is back afterwards.
    /// Between the two the file looks like an orphan.
    ///
    /// # Errors
    /// What `meanwhile` says, that other files are there afterwards, or the system's.
    pub fn let_go_while(
        &mut self,
        directory: &mut Directory,
        meanwhile: impl FnOnce() -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let failed = |error| HostError::io("open again", &self.path, error);
        let place = directory.path().to_owned();
        let was = fstat(&*self.file).map_err(|error| failed(error.into()))?;
        self.file = Arc::new(File::open("/dev/null").map_err(failed)?);
        self.directory = Directory::open(Path::new("/"))?;
        *directory = self.directory.clone();
        meanwhile()?;
        let again = Directory::open_canonical(&place)?;
        let file = again.open_beneath(self.name.as_os_str(), OFlags::RDWR, Mode::empty());
        let file = File::from(file.map_err(|error| failed(error.into()))?);
        let is = fstat(&file).map_err(|error| failed(error.into()))?;
        // Btrfs gets another st_dev with every mount.
        if (is.st_ino, is.st_uid, is.st_mode) != (was.st_ino, was.st_uid, was.st_mode) {
            return Err(failed(io::Error::other("it is another file now")));
        }
        try_lock(&file).map_err(failed)?;
        self.file = Arc::new(file);
        self.directory = again.clone();
        *directory = again;
        Ok(())
    }

    /// `None` when another run's [`remove_orphans`] was quicker than our lock.
    fn make(directory: &Directory, name: &OsStr, bytes: u64) -> io::Result<Option<Self>> {
        let file = directory.create(name)?;
        // File systems without locks have no orphans that could be told from living files.
        let lock = try_lock(&file);
        if matches!(lock, Ok(FileLock::HeldByAnother)) || !directory.has(name, &file) {
            return Ok(None);
        }
        let path = directory.path().join(name);
        let (directory, name, file) = (directory.clone(), name.to_owned(), Arc::new(file));
        Ok(Some(Self { directory, name, file, path, bytes }))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.directory.give_back(&self.name, &self.file);
    }
}

/// Removes the scratch files and trees in `directory` that no living run holds; gives their paths
/// and lengths. What cannot be removed is left out, and so is what drivelab did not make, whatever
/// its name.
///
/// # Errors
/// When the directory cannot be listed.
pub fn remove_orphans(directory: &Directory) -> Result<Vec<(PathBuf, u64)>, HostError> {
    let failed = |error| HostError::io("list", directory.path(), error);
    let orphan = |name: OsString| {
        let bytes = if is_scratch_name(&name) {
            remove_orphan(directory, &name)
        } else if scratch_tree::is_tree_name(&name) {
            scratch_tree::remove_orphan(directory, &name)
        } else {
            None
        };
        bytes.map(|bytes| (directory.path().join(name), bytes))
    };
    let names = directory.names().map_err(failed)?;
    let mut removed: Vec<(PathBuf, u64)> = names.into_iter().filter_map(orphan).collect();
    removed.sort();
    Ok(removed)
}

fn remove_orphan(directory: &Directory, name: &OsStr) -> Option<u64> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(directory.open_beneath(name, flags, Mode::empty()).ok()?);
    let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
    if !may_be_ours(directory, meta.uid()) {
        return None;
    }
    try_lock(&file).ok().filter(|lock| *lock == FileLock::Acquired)?;
    // Between listing and locking, another run may have removed it and made a new one.
    directory.remove_file(name, &file).ok()?.then_some(meta.len())
}

/// How much a scratch file in `directory` may take at most, after the reserve.
///
/// # Errors
/// When the file system cannot be asked.
pub fn bytes_available(directory: &Directory) -> Result<u64, HostError> {
    let usage = directory.usage()?;
    Ok(free_bytes(&usage).saturating_sub(reserve_bytes(&usage)))
}

/// Whether files in `directory` can be written past the page cache. Leaves nothing there, not even
/// for a moment; where the file system knows no file without a name it is believed to be able to.
pub fn takes_direct_io(directory: &Directory) -> bool {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT;
    let opened = directory.open_beneath(".", flags, Mode::RUSR | Mode::WUSR);
    !matches!(opened, Err(Errno::INVAL))
}

/// The size of the file system that `directory` is in, bytes.
///
/// # Errors
/// When the file system cannot be asked.
pub fn bytes_total(directory: &Directory) -> Result<u64, HostError> {
    let usage = directory.usage()?;
    Ok(usage.f_blocks * usage.f_frsize)
}

fn check_space(directory: &Directory, bytes: u64) -> Result<(), HostError> {
    missing::refuse_kernels_place(directory.path())?;
    let usage = directory.usage()?;
    let (free, reserve) = (free_bytes(&usage), reserve_bytes(&usage));
    let room = free.saturating_sub(reserve);
    let size =
        if room >= 1 << 20 { format!("{}M", room >> 20) } else { format!("{}K", room >> 10) };
    if bytes <= room {
        return Ok(());
    }
    let sentence = format!(
        "a scratch file of {} does not fit into {}: {} are free, of which {} stay in reserve; free some \
         space, or use --size {size} or less",
        display_bytes(bytes),
        directory.path().display(),
        display_bytes(free),
        display_bytes(reserve)
    );
    Err(HostError::new(ErrorKind::NoSpace, sentence))
}

/// File systems slow down and fragment when nearly full, and other programs need room: 5 % or
/// 1 GiB, whichever is more; on those under 10 GiB, 10 %.
fn reserve_bytes(usage: &StatVfs) -> u64 {
    reserve_of(usage.f_blocks.saturating_mul(usage.f_frsize))
}

fn reserve_of(total: u64) -> u64 {
    (total / 20).max(GIB).min(total / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(directory: &tempfile::TempDir) -> Directory {
        Directory::open(directory.path()).expect("it is there")
    }

    #[test]
    fn the_reserve_is_ten_per_cent_of_small_and_five_of_large_file_systems() {
        assert_eq!(reserve_of(64 << 20), (64 << 20) / 10);
        assert_eq!(reserve_of(10 * GIB), GIB);
        assert_eq!(reserve_of(16 * GIB), GIB);
        assert_eq!(reserve_of(100 * GIB), 5 * GIB);
    }

    #[test]
    fn a_scratch_file_is_private_and_vanishes() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create(&held(&directory), 4096).expect("a scratch file");
        let path = scratch.path().to_owned();
        assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o777, 0o600);
        assert!(is_scratch_name(path.file_name().expect("it has a name")));
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn orphans_are_removed_and_living_files_and_strangers_stay() {
        let directory = tempfile::tempdir().expect("a directory");
        let living = Scratch::create(&held(&directory), 1).expect("a scratch file");
        let orphan = directory.path().join(".drivelab-scratch-0badcafe");
        fs::write(&orphan, [7; 100]).expect("an orphan");
        let stranger = directory.path().join(".drivelab-scratch-notes");
        fs::write(&stranger, "mine").expect("a stranger");
        let link = directory.path().join(".drivelab-scratch-00000001");
        std::os::unix::fs::symlink(&stranger, &link).expect("a link");
        let removed = remove_orphans(&held(&directory)).expect("the directory is listed");
        assert_eq!(removed, [(orphan.clone(), 100)]);
        assert!(!orphan.exists() && living.path().exists() && stranger.exists());
        assert!(fs::symlink_metadata(&link).is_ok());
    }

    #[test]
    fn a_file_put_in_place_of_the_scratch_file_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create(&held(&directory), 1).expect("a scratch file");
        let path = scratch.path().to_owned();
        fs::remove_file(&path).expect("the scratch file is removed");
        fs::write(&path, "another's").expect("another file");
        drop(scratch);
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "another's");
    }

    #[test]
    fn a_scratch_file_that_was_moved_away_gives_its_space_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create(&held(&directory), 4096).expect("a scratch file");
        scratch.file().set_len(4096).expect("it grows");
        let away = directory.path().join("away");
        fs::rename(scratch.path(), &away).expect("renamed");
        std::os::unix::fs::symlink(&away, scratch.path()).expect("a link in its place");
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(path.is_symlink(), "the link is not ours");
        assert_eq!(fs::metadata(&away).expect("it stays").len(), 0);
    }

    #[test]
    fn a_named_file_must_be_new() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("data");
        fs::write(&path, "mine").expect("a file");
        let error =
            Scratch::named(&held(&directory), OsStr::new("data"), 1).expect_err("it exists");
        assert_eq!(error.kind(), ErrorKind::Exists);
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "mine");
        let fresh = directory.path().join("fresh");
        let named = Scratch::named(&held(&directory), OsStr::new("fresh"), 1);
        assert!(fresh.exists());
        drop(named.expect("a new file"));
        assert!(!fresh.exists());
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_with_the_size_that_would() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = Scratch::create(&held(&directory), 1 << 60).expect_err("an exbibyte");
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(error.to_string().contains("--size"), "{error}");
    }
}
