//! Opening what an engine works on, with errors that name the cure.

pub use block::{Caching, Syncing};
use rustix::fs::{Mode, OFlags};
use std::{
    fmt,
    fs::{self, File, Metadata},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

/// What will be done with the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads only.
    Read,
    /// Reads and writes. A block device is opened exclusively, which fails while it is in use.
    ReadWrite,
}

/// Whether the file must exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Create {
    /// It must. A device opened for writing is claimed exclusively.
    Existing,
    /// It must, and whoever asks holds the device exclusively already: many workers share one hold.
    Held,
    /// It must not: it is made, readable and writable by its owner alone.
    New,
}

/// What kept a file from being opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenErrorKind {
    /// Its file system knows no direct I/O.
    DirectRefused,
    /// It is a device in use: mounted, swap, or a member of something.
    Busy,
    /// It should have been new and is there already.
    Exists,
    /// It is not there.
    NotFound,
    /// The user may not.
    Denied,
    /// It lies on a read-only file system or device.
    ReadOnly,
    /// Anything else: see the source.
    Other,
}

/// A file that could not be opened, why, and what to do about it.
#[derive(Debug)]
pub struct OpenError {
    /// To match on.
    pub kind: OpenErrorKind,
    /// The file.
    pub path: PathBuf,
    source: io::Error,
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot open {}: {}", self.path.display(), self.source)?;
        formatter.write_str(match self.kind {
            OpenErrorKind::DirectRefused => {
                " (its file system refuses direct I/O: `--io buffered` goes through the page cache)"
            }
            OpenErrorKind::Busy => {
                " (the device is in use: unmount it, or stop the swap or array it is part of)"
            }
            OpenErrorKind::Exists => " (remove it, or name another)",
            OpenErrorKind::Denied => " (run as root, or as a member of the group that owns it)",
            OpenErrorKind::ReadOnly => " (it can only be read)",
            OpenErrorKind::NotFound | OpenErrorKind::Other => "",
        })
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Opens a regular file or block device. Symbolic links are followed, children do not inherit the
/// descriptor. A file that was made and then could not be opened as asked is removed again.
///
/// # Errors
/// [`OpenError`].
///
/// # Panics
/// If a new file is asked for, to be read only.
pub fn open_file(
    path: &Path,
    access: Access,
    caching: Caching,
    syncing: Syncing,
    create: Create,
) -> Result<File, OpenError> {
    assert!((access, create) != (Access::Read, Create::New), "nothing to read in a new file");
    let mut flags = flags(access, caching, syncing);
    if create == Create::New {
        flags |= OFlags::CREATE | OFlags::EXCL;
    } else if create == Create::Existing && access == Access::ReadWrite && is_block_device(path) {
        // Without O_CREAT it asks for the device exclusively (open(2)).
        flags |= OFlags::EXCL;
    }
    match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(errno) => {
            let direct_refused = caching == Caching::Direct && errno == rustix::io::Errno::INVAL;
            if direct_refused && create == Create::New {
                // O_DIRECT is looked at after the file is made (open(2)), and had it been there
                // before, the error were EEXIST: it is ours.
                let _ = fs::remove_file(path);
            }
            let kind = if direct_refused { OpenErrorKind::DirectRefused } else { kind(errno) };
            Err(OpenError { kind, path: path.to_owned(), source: errno.into() })
        }
    }
}

/// Opens once more, with flags of its own, the very file or device that `held` has open: by
/// descriptor, so that no renaming and no link put in its place leads to another. `shown` is its
/// path, for errors. A device is not claimed anew: whoever holds it does that.
///
/// Any thread may call it that has `held` in its table of descriptors
/// ([`own_descriptors`](crate::raw::own_descriptors)).
///
/// # Errors
/// [`OpenError`]; without /proc [`OpenErrorKind::NotFound`].
///
/// # Panics
/// If /proc leads to another file: nothing may be written there.
pub fn reopen(
    held: &File,
    shown: &Path,
    access: Access,
    caching: Caching,
    syncing: Syncing,
) -> Result<File, OpenError> {
    let failed = |kind, source| OpenError { kind, path: shown.to_owned(), source };
    // A link of the kernel's own, which names an inode and no path (proc_pid_fd(5)).
    let link = format!("/proc/thread-self/fd/{}", held.as_raw_fd());
    let opened = rustix::fs::open(link, flags(access, caching, syncing), Mode::empty());
    let file = opened.map(File::from).map_err(|errno| {
        let direct_refused = caching == Caching::Direct && errno == rustix::io::Errno::INVAL;
        let kind = if direct_refused { OpenErrorKind::DirectRefused } else { kind(errno) };
        failed(kind, errno.into())
    })?;
    let is_same = match (held.metadata(), file.metadata()) {
        (Ok(held), Ok(opened)) => identity(&held) == identity(&opened),
        (Err(error), _) | (_, Err(error)) => return Err(failed(OpenErrorKind::Other, error)),
    };
    assert!(is_same, "/proc leads to another file than the one held for {}", shown.display());
    Ok(file)
}

/// What tells a file from every other that exists now: device, inode and, of a device node, the
/// device's number.
fn identity(meta: &Metadata) -> (u64, u64, u64) {
    (meta.dev(), meta.ino(), meta.rdev())
}

fn flags(access: Access, caching: Caching, syncing: Syncing) -> OFlags {
    let access = match access {
        Access::Read => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
    };
    let syncing = match syncing {
        Syncing::None => OFlags::empty(),
        // Not OFlags::DSYNC: rustix 1.1.6 has the bits of O_SYNC there, and every metadata commit
        // with them.
        Syncing::Dsync => OFlags::from_bits_retain(libc::O_DSYNC as u32),
        Syncing::Sync => OFlags::from_bits_retain(libc::O_SYNC as u32),
    };
    let caching = match caching {
        Caching::Buffered => OFlags::empty(),
        Caching::Direct => OFlags::DIRECT,
    };
    OFlags::CLOEXEC | access | syncing | caching
}

fn is_block_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device())
}

fn kind(errno: rustix::io::Errno) -> OpenErrorKind {
    use rustix::io::Errno;
    match errno {
        Errno::BUSY => OpenErrorKind::Busy,
        Errno::EXIST => OpenErrorKind::Exists,
        Errno::NOENT => OpenErrorKind::NotFound,
        Errno::ACCESS | Errno::PERM => OpenErrorKind::Denied,
        Errno::ROFS => OpenErrorKind::ReadOnly,
        _ => OpenErrorKind::Other,
    }
}
