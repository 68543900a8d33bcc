//! A file that the user names for what a program writes: it has the old contents or the new ones,
//! never a part.
//!
//! ```text
//!   regular file, none yet   a file beside it -> sync -> rename -> sync of the directory
//!   link                     its aim, if that exists and the link is one's own or root's; else none
//!   pipe, terminal, null     written directly        /dev/stdout, /dev/fd/1   as `-`
//!   directory, block device  refused
//! ```
//!
//! The directory is held open from the first look to the rename: what is put under the name
//! meanwhile is replaced, never followed. docs/reference/report-formats.md tells users the same.

use crate::{
    error::{ErrorKind, HostError},
    missing,
    time::entropy,
};
use rustix::{
    fs::{
        self, Access, AtFlags, FileType, Gid, Mode, OFlags, PROC_SUPER_MAGIC, RawMode, Stat, Uid,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::{Path, PathBuf},
};

/// Links that lead to one another, as many as the kernel follows (`MAXSYMLINKS` in linux/namei.h).
const LINKS_MAX: usize = 40;
/// Names tried for the file beside the old one.
const NAMES_MAX: u32 = 100;

fn refused(text: String) -> HostError {
    HostError::new(ErrorKind::WrongKind, text)
}

macro_rules! refuse {
    ($($text:tt)*) => { return Err(refused(format!($($text)*))) };
}

/// Where something is written.
pub struct Destination {
    place: Place,
}

enum Place {
    Stdout,
    Stderr,
    /// What has no contents to keep.
    Stream(OwnedFd, OsString),
    /// A file in the directory; what is there, if anything is.
    File(Directory, OsString, Option<Stat>),
}

struct Directory {
    path: PathBuf,
    held: OwnedFd,
    /// Whether it may be read, and thus synced.
    is_readable: bool,
}

impl Destination {
    /// Looks at what is there, and whether it can be written; leaves it as it is.
    ///
    /// # Errors
    /// A directory, a block device, a link that leads nowhere or that is another user's, no
    /// permission, a full disk.
    pub fn of(path: &Path) -> Result<Self, HostError> {
        if path == Path::new("-") {
            return Ok(Self { place: Place::Stdout });
        }
        let place = follow(path)?;
        if let Place::File(directory, name, old) = &place {
            if old.is_some() {
                fs::accessat(&directory.held, name, Access::WRITE_OK, AtFlags::EACCESS)
                    .map_err(|error| HostError::plain("write", path, error))?;
            }
            // A record that cannot be written is no news for the end of a long run.
            let (beside, _) = directory.make_beside()?;
            let _ = fs::unlinkat(&directory.held, &beside, AtFlags::empty());
        }
        Ok(Self { place })
    }

    /// Whether a file that is there will be replaced.
    pub fn replaces(&self) -> bool {
        matches!(self.place, Place::File(_, _, Some(_)))
    }

    /// Whether it is this process's stdout, which is not written here: what became of its reader
    /// is the caller's matter.
    pub fn is_stdout(&self) -> bool {
        matches!(self.place, Place::Stdout)
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// The system's. What was there is then as it was, unless it was a pipe or a device.
    ///
    /// # Panics
    /// When it is stdout.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.place {
            Place::Stdout => panic!("stdout is the caller's"),
            Place::Stderr => {
                let mut stream = io::stderr().lock();
                stream.write_all(bytes).and_then(|()| stream.flush())
            }
            Place::Stream(directory, name) => {
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
                let opened = fs::openat(directory, name, flags, Mode::empty())?;
                File::from(opened).write_all(bytes)
            }
            Place::File(directory, name, old) => directory.replace(name, old.as_ref(), bytes),
        }
    }
}

/// What a path names in the end.
fn follow(path: &Path) -> Result<Place, HostError> {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        let (directory, name) = Directory::of(&at)?;
        let found = match fs::statat(&directory.held, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) if at == path => {
                missing::refuse_in_kernels_place(path)?;
                return Ok(Place::File(directory, name, None));
            }
            Err(Errno::NOENT) => refuse!(
                "{0} is a link to {1}, and there is no {1}: remove the link, or name {1} itself",
                path.display(),
                at.display()
            ),
            found => found.map_err(|error| HostError::plain("look at", &at, error))?,
        };
        if FileType::from_raw_mode(found.st_mode as RawMode) != FileType::Symlink {
            return place(path, directory, name, found);
        }
        if directory.is_of_processes() {
            return descriptor(path, directory, &name);
        }
        let aim = fs::readlinkat(&directory.held, &name, Vec::new())
            .map_err(|error| HostError::plain("read the link", &at, error))?;
        let aim = directory.path.join(OsString::from_vec(aim.into_bytes()));
        if found.st_uid != 0 && found.st_uid != rustix::process::geteuid().as_raw() {
            refuse!(
                "{} is a link of another user (uid {}) to {}: name that file itself",
                at.display(),
                found.st_uid,
                aim.display()
            );
        }
        at = aim;
    }
    refuse!("{} leads through more than {LINKS_MAX} links: name the file itself", path.display())
}

/// What is there and no link.
fn place(
    path: &Path,
    directory: Directory,
    name: OsString,
    found: Stat,
) -> Result<Place, HostError> {
    let shown = path.display();
    match FileType::from_raw_mode(found.st_mode as RawMode) {
        FileType::RegularFile => Ok(Place::File(directory, name, Some(found))),
        FileType::Fifo | FileType::CharacterDevice => Ok(Place::Stream(directory.held, name)),
        FileType::Directory => refuse!("{shown} is a directory: name a file in it"),
        FileType::BlockDevice => {
            refuse!(
                "{shown} is a block device, and a file would be written over what is on it: name \
                 a file"
            )
        }
        other => refuse!("{shown} is no file that can be written ({other:?}): name another"),
    }
}

/// What an entry of /proc/PID/fd leads to: no text says where that is.
fn descriptor(path: &Path, directory: Directory, name: &OsStr) -> Result<Place, HostError> {
    let own = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    let is_own = directory.path.canonicalize().is_ok_and(|path| path == own);
    match name.to_str() {
        Some("1") if is_own => return Ok(Place::Stdout),
        Some("2") if is_own => return Ok(Place::Stderr),
        _ => {}
    }
    let aim = fs::statat(&directory.held, name, AtFlags::empty())
        .map_err(|error| HostError::plain("look at", path, error))?;
    // Its owner holds it open: that it is a file does not make it ours to replace.
    if FileType::from_raw_mode(aim.st_mode as RawMode) == FileType::RegularFile {
        return Ok(Place::Stream(directory.held, name.to_owned()));
    }
    place(path, directory, name.to_owned(), aim)
}

impl Directory {
    /// The directory that a path's last name is in, and that name.
    fn of(path: &Path) -> Result<(Self, OsString), HostError> {
        let name = path.file_name().map(OsStr::to_owned);
        let name = name.ok_or_else(|| refused(format!("{} names no file", path.display())))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).to_owned();
        let open =
            |flags| fs::open(&parent, flags | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let (held, is_readable) = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => (open(OFlags::PATH), false),
            held => (held, true),
        };
        let held = match held {
            Err(Errno::NOENT) => refuse!(
                "the directory {0} does not exist: make it with `mkdir -p {0}`, or name another",
                parent.display()
            ),
            held => held.map_err(|error| HostError::plain("open", &parent, error))?,
        };
        Ok((Self { path: parent, held, is_readable }, name))
    }

    /// Whether its links are the kernel's, which lead where no path does.
    fn is_of_processes(&self) -> bool {
        fs::fstatfs(&self.held).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
    }

    /// An empty file of ours that nobody else has the name of, and its name.
    fn make_beside(&self) -> Result<(OsString, File), HostError> {
        let first = block::Rng::new(entropy(), u64::from(std::process::id())).next();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o666);
        for attempt in 0..NAMES_MAX {
            let name = format!(".drivelab-{:016x}.part", first.wrapping_add(attempt.into()));
            match fs::openat(&self.held, &name, flags | OFlags::CLOEXEC, mode) {
                Err(Errno::EXIST) => {}
                made => {
                    let made = made
                        .map_err(|error| HostError::plain("make a file in", &self.path, error))?;
                    return Ok((name.into(), made.into()));
                }
            }
        }
        refuse!("{NAMES_MAX} names are taken in {}: name another directory", self.path.display())
    }

    /// Puts a new file in the place of the old one when all of it is on the disk.
    fn replace(&self, name: &OsStr, old: Option<&Stat>, bytes: &[u8]) -> io::Result<()> {
        let (beside, mut file) = self.make_beside().map_err(io::Error::other)?;
        let written = old
            .map_or(Ok(()), |old| dress(&file, old))
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(fs::renameat(&self.held, &beside, &self.held, name)?));
        if let Err(error) = written {
            // The error that counts is the one above.
            let _ = fs::unlinkat(&self.held, &beside, AtFlags::empty());
            return Err(error);
        }
        if self.is_readable {
            fs::fsync(&self.held)?;
        }
        Ok(())
    }
}

/// Owner and permissions of the old file for the new one. Who may not give files away keeps it.
fn dress(file: &File, old: &Stat) -> io::Result<()> {
    let _ = fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
    // After the owner, since chown(2) clears bits; those that grant more than reading and writing
    // are not for reports.
    Ok(fs::fchmod(file, Mode::from_raw_mode(old.st_mode as RawMode & 0o777))?)
}
