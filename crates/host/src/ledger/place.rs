//! The directory that ledgers are in, held open, and whose ledgers are obeyed: only those of the
//! user who runs this.
//!
//! What a ledger says is carried out, as root where root reads it. So neither its directory nor its
//! file may be another user's, be writable for others, or be a link; each is looked at through the
//! descriptor that is then read.

use crate::error::{ErrorKind, HostError};
use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat},
    io::Errno,
    process::geteuid,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{DirBuilder, File},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::DirBuilderExt},
    },
    path::{Path, PathBuf},
};

/// A directory of ledgers that may be believed.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    held: OwnedFd,
}

impl Place {
    /// The directory; `None` where there is none.
    ///
    /// # Errors
    /// One sentence, when it is not the user's own alone.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, HostError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = match fs::open(path, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(no_link(path, "directory")),
            held => held.map_err(|error| HostError::io("open", path, error))?,
        };
        check(path, &stat(path, &held)?)?;
        Ok(Some(Self { path: path.to_owned(), held }))
    }

    /// The directory, made if there is none.
    ///
    /// # Errors
    /// As [`open`](Self::open), or the system's.
    pub(super) fn make(path: &Path) -> Result<Self, HostError> {
        let failed = |error| HostError::io("keep a ledger in", path, error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        Self::open(path)?.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))
    }

    /// Where a ledger of that name is.
    pub(super) fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// The names of all ledgers, sorted.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn names(&self) -> Result<Vec<OsString>, HostError> {
        let failed = |error| HostError::io("list", &self.path, error);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.held).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if Path::new(name).extension().is_some_and(|end| end == "ledger") {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens a ledger for reading and appending; `None` where it is gone.
    ///
    /// # Errors
    /// One sentence, when it is not the user's own alone.
    pub(super) fn ledger(&self, name: &OsStr) -> Result<Option<File>, HostError> {
        let path = self.path_of(name);
        // A pipe of that name must not be waited for.
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = fs::openat(&self.held, name, flags | OFlags::CLOEXEC, Mode::empty());
        let file: File = match opened {
            // Its process has just removed it.
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(no_link(&path, "file")),
            opened => {
                opened.map_err(|error| HostError::io("read the ledger", &path, error))?.into()
            }
        };
        let found = stat(&path, &file)?;
        if FileType::from_raw_mode(found.st_mode as RawMode) != FileType::RegularFile {
            return Err(no_link(&path, "file"));
        }
        check(&path, &found)?;
        Ok(Some(file))
    }

    /// Makes a ledger that was not there.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new_ledger(&self, name: &OsStr) -> rustix::io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat(&self.held, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Makes durable which ledgers there are.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn sync(&self) -> rustix::io::Result<()> {
        fs::fsync(&self.held)
    }

    /// Removes a ledger.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn remove(&self, name: &OsStr) -> rustix::io::Result<()> {
        fs::unlinkat(&self.held, name, AtFlags::empty())
    }
}

fn stat(path: &Path, held: impl std::os::fd::AsFd) -> Result<Stat, HostError> {
    fs::fstat(held).map_err(|error| HostError::io("look at", path, error))
}

fn check(path: &Path, found: &Stat) -> Result<(), HostError> {
    let (path, user) = (path.display(), geteuid().as_raw());
    let mode = found.st_mode as RawMode & 0o7777;
    let sentence = if found.st_uid != user {
        format!(
            "{path} belongs to uid {}, and uid {user} puts back only what its own ledgers say: if \
             XDG_STATE_HOME was \
             inherited (su and sudo -E keep it), unset it",
            found.st_uid
        )
    } else if mode & 0o022 != 0 {
        format!(
            "{path} can be written by others than its owner (mode {mode:04o}), so what it says \
             may not be its owner's: \
             read it, then `chmod go-w {path}`"
        )
    } else {
        return Ok(());
    };
    Err(HostError::new(ErrorKind::Permission, sentence))
}

fn no_link(path: &Path, what: &str) -> HostError {
    let sentence =
        format!("{} is a link, or no {what}: ledgers are read from no other place", path.display());
    HostError::new(ErrorKind::WrongKind, sentence)
}
