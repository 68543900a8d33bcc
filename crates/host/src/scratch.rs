//! Scratch files: made fresh, locked while they live, gone when dropped.
//!
//! The lock is the owner's sign of life: a run that was killed leaves its file but not its lock, so the
//! next run in the directory knows the orphan and removes it.

use crate::{
    error::{ErrorKind, HostError},
    identify::free_bytes,
    scratch_tree,
};
use block::display_bytes;
use engine::raw::{FileLock, try_lock};
use rustix::{
    fs::{Mode, OFlags, StatVfs, statvfs},
    io::Errno,
};
use std::{
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Scratch files begin so; eight hexadecimal digits follow.
const PREFIX: &str = ".drivelab-scratch-";
/// Names tried before giving up: a clash means that a random 32-bit number came twice.
const NAMES_TRIED: u32 = 16;
const GIB: u64 = 1 << 30;

/// A file of our own, removed on drop. It is empty: whoever uses it fills it, and asks
/// [`allocated_fully`](crate::contents::allocated_fully) afterwards.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl Scratch {
    /// A new file in `directory` for `bytes` bytes, with a random hidden name, mode 0600, locked.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] when the file would leave less free than the reserve: 5 % of the file
    /// system or 1 GiB, whichever is more, but never over 10 %. Else the system's.
    pub fn create(directory: &Path, bytes: u64) -> Result<Self, HostError> {
        check_space(directory, bytes)?;
        let mut last = None;
        for _ in 0..NAMES_TRIED {
            let path = directory.join(format!("{PREFIX}{:08x}", random() as u32));
            match Self::make(&path, bytes) {
                Ok(Some(scratch)) => return Ok(scratch),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => {
                    return Err(HostError::io("create a scratch file in", directory, error));
                }
            }
        }
        let error = last.unwrap_or_else(|| io::Error::other("others keep removing it"));
        Err(HostError::io("create a scratch file in", directory, error))
    }

    /// A new file at the user's own path; it must not exist yet. Removed on drop like any other.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] when there is something; else as [`Scratch::create`].
    pub fn named(path: &Path, bytes: u64) -> Result<Self, HostError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        check_space(parent.unwrap_or(Path::new(".")), bytes)?;
        let made = Self::make(path, bytes).map_err(|error| HostError::io("create", path, error))?;
        made.ok_or_else(|| {
            let sentence = format!("somebody removed {} as it was made: run again", path.display());
            HostError::new(ErrorKind::Io, sentence)
        })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// How many bytes it is meant to take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Closes the file, does `meanwhile`, and opens and locks it again: its file system may be unmounted in between, as long as
    /// it is back afterwards. Between the two the file looks like an orphan.
    ///
    /// # Errors
    /// What `meanwhile` says, or the system's.
    pub fn let_go_while(
        &mut self,
        meanwhile: impl FnOnce() -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let failed = |error| HostError::io("open again", &self.path, error);
        self.file = File::open("/dev/null").map_err(failed)?;
        meanwhile()?;
        self.file = File::options().read(true).write(true).open(&self.path).map_err(failed)?;
        try_lock(&self.file).map(drop).map_err(failed)
    }

    /// `None` when another run's [`remove_orphans`] was quicker than our lock.
    fn make(path: &Path, bytes: u64) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // File systems without locks have no orphans that could be told from living files.
        let lock = try_lock(&file);
        if matches!(lock, Ok(FileLock::HeldByAnother)) || !is_at(&file, &path) {
            return Ok(None);
        }
        Ok(Some(Self { file, path, bytes }))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Somebody may have put another file there; that one is not ours to remove.
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the scratch files and directories in `directory` that no living run holds; gives their paths and lengths. What
/// cannot be removed is left out.
///
/// # Errors
/// When the directory cannot be listed.
pub fn remove_orphans(directory: &Path) -> Result<Vec<(PathBuf, u64)>, HostError> {
    let entries =
        fs::read_dir(directory).map_err(|error| HostError::io("list", directory, error))?;
    let orphan = |entry: fs::DirEntry| match entry.file_name() {
        name if is_scratch_name(&name) => remove_orphan(&entry.path()),
        name if scratch_tree::is_tree_name(&name) => scratch_tree::remove_orphan(&entry.path()),
        _ => None,
    };
    let mut removed: Vec<(PathBuf, u64)> = entries.flatten().filter_map(orphan).collect();
    removed.sort();
    Ok(removed)
}

fn is_scratch_name(name: &std::ffi::OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn remove_orphan(path: &Path) -> Option<(PathBuf, u64)> {
    let mut options = OpenOptions::new();
    let file =
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
    try_lock(&file).ok().filter(|lock| *lock == FileLock::Acquired)?;
    // Between listing and locking, another run may have removed it and made a new one.
    (is_at(&file, path) && fs::remove_file(path).is_ok()).then(|| (path.to_owned(), meta.len()))
}

/// Whether the open file is the one at `path`.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => identity(&open) == identity(&there),
        _ => false,
    }
}

/// How much a scratch file in `directory` may take at most, after the reserve.
///
/// # Errors
/// When the file system cannot be asked.
pub fn bytes_available(directory: &Path) -> Result<u64, HostError> {
    let usage = statvfs(directory).map_err(|error| HostError::io("look at", directory, error))?;
    Ok(free_bytes(&usage).saturating_sub(reserve_bytes(&usage)))
}

/// Whether files in `directory` can be written past the page cache. Leaves nothing there, not even for a moment; where
/// the file system knows no file without a name it is believed to be able to.
pub fn takes_direct_io(directory: &Path) -> bool {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT;
    !matches!(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR), Err(Errno::INVAL))
}

/// The size of the file system that `directory` is in, bytes.
///
/// # Errors
/// When the file system cannot be asked.
pub fn bytes_total(directory: &Path) -> Result<u64, HostError> {
    let usage = statvfs(directory).map_err(|error| HostError::io("look at", directory, error))?;
    Ok(usage.f_blocks * usage.f_frsize)
}

fn check_space(directory: &Path, bytes: u64) -> Result<(), HostError> {
    let usage = statvfs(directory).map_err(|error| HostError::io("look at", directory, error))?;
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
        directory.display(),
        display_bytes(free),
        display_bytes(reserve)
    );
    Err(HostError::new(ErrorKind::NoSpace, sentence))
}

/// File systems slow down and fragment when nearly full, and other programs need room: 5 % or 1 GiB,
/// whichever is more; on those under 10 GiB, 10 %.
fn reserve_bytes(usage: &StatVfs) -> u64 {
    reserve_of(usage.f_blocks.saturating_mul(usage.f_frsize))
}

fn reserve_of(total: u64) -> u64 {
    (total / 20).max(GIB).min(total / 10)
}

/// A number that differs from run to run: a file name is no measurement, so it needs no seed.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_ten_per_cent_of_small_and_five_of_large_file_systems() {
        assert_eq!(reserve_of(64 << 20), (64 << 20) / 10);
        assert_eq!(reserve_of(10 * GIB), GIB);
        assert_eq!(reserve_of(16 * GIB), GIB);
        assert_eq!(reserve_of(100 * GIB), 5 * GIB);
    }

    #[test]
    fn only_eight_hexadecimal_digits_make_a_scratch_name() {
        let is = |name: &str| is_scratch_name(std::ffi::OsStr::new(name));
        assert!(is(".drivelab-scratch-00ff12ab"));
        assert!(!is(".drivelab-scratch-00ff12a"));
        assert!(!is(".drivelab-scratch-00ff12ag"));
        assert!(!is("x.drivelab-scratch-00ff12ab"));
    }

    #[test]
    fn a_scratch_file_is_private_and_vanishes() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create(directory.path(), 4096).expect("a scratch file");
        let path = scratch.path().to_owned();
        assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o777, 0o600);
        assert!(is_scratch_name(path.file_name().expect("it has a name")));
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn orphans_are_removed_and_living_files_and_strangers_stay() {
        let directory = tempfile::tempdir().expect("a directory");
        let living = Scratch::create(directory.path(), 1).expect("a scratch file");
        let orphan = directory.path().join(".drivelab-scratch-0badcafe");
        fs::write(&orphan, [7; 100]).expect("an orphan");
        let stranger = directory.path().join(".drivelab-scratch-notes");
        fs::write(&stranger, "mine").expect("a stranger");
        let link = directory.path().join(".drivelab-scratch-00000001");
        std::os::unix::fs::symlink(&stranger, &link).expect("a link");
        let removed = remove_orphans(directory.path()).expect("the directory is listed");
        assert_eq!(removed, [(orphan.clone(), 100)]);
        assert!(!orphan.exists() && living.path().exists() && stranger.exists());
        assert!(fs::symlink_metadata(&link).is_ok());
    }

    #[test]
    fn a_file_put_in_place_of_the_scratch_file_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::create(directory.path(), 1).expect("a scratch file");
        let path = scratch.path().to_owned();
        fs::remove_file(&path).expect("the scratch file is removed");
        fs::write(&path, "another's").expect("another file");
        drop(scratch);
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "another's");
    }

    #[test]
    fn a_named_file_must_be_new() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("data");
        fs::write(&path, "mine").expect("a file");
        let error = Scratch::named(&path, 1).expect_err("it exists");
        assert_eq!(error.kind(), ErrorKind::Exists);
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "mine");
        let fresh = directory.path().join("fresh");
        drop(Scratch::named(&fresh, 1).expect("a new file"));
        assert!(!fresh.exists());
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_with_the_size_that_would() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = Scratch::create(directory.path(), 1 << 60).expect_err("an exbibyte");
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(error.to_string().contains("--size"), "{error}");
    }
}
