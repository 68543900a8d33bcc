//! Directories that are opened once. What is made, opened and removed in them goes by descriptor,
//! never by a path that is walked again.
//!
//! ```text
//!   open(path)             the one time that a path is walked, links and all: what the user named
//!   create, make           one name, new, never through a link
//!   open_beneath(path)     openat2(2): below this directory, through no link and no mount
//!   remove_file, clear     by descriptor; a name goes only while it still leads to what is held
//! ```
//!
//! drivelab runs as root in directories of others, who may rename what lies there, or the directory
//! itself, and put a link in its place at any moment. Then they have moved what they own; nothing
//! outside is touched.

use crate::{
    error::{ErrorKind, HostError},
    scratch_name::random_name,
};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, StatVfs, fstat, fstatvfs,
        mkdirat, open, openat, openat2, statat, unlinkat,
    },
    io::Errno,
    process::geteuid,
};
use std::{
    ffi::{CStr, OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// What no path of ours needs: `..` and absolute paths, links, mounts.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// How a directory is opened to be listed.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// How a directory is opened to lead to others.
const LEADING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Directories of ours lie at most this deep in one another, those of the file trees and one more.
const DEPTH_MAX: u32 = 32;
/// Listings until a directory must be empty that is cleared: others may go on adding to it.
const LISTINGS_MAX: u32 = 100;
/// What new files are: read and written by their owner.
pub const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
/// What new directories are.
pub const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

/// A directory that is held open. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Directory {
    file: Arc<File>,
    path: PathBuf,
}

/// What became of a file of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GivenBack {
    /// Its name is gone, and with it the file.
    Removed,
    /// It has another name somewhere; it is empty.
    Emptied,
    /// It had no name any more.
    AlreadyGone,
}

/// What tells a file from every other that exists now: device and inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity(u64, u64);

impl Identity {
    fn of(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

impl Directory {
    /// The directory at `path`; symbolic links are followed, this once.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> Result<Self, HostError> {
        let opened = open(path, LEADING, Mode::empty());
        let file = opened.map_err(|error| HostError::io("open", path, error))?.into();
        Ok(Self::held(file, path))
    }

    /// The directory at a path that was canonical a moment ago: a link that has come since is not
    /// followed.
    ///
    /// # Errors
    /// The system's; ELOOP where there is a link now.
    pub fn open_canonical(path: &Path) -> Result<Self, HostError> {
        let opened = open_canonical(path, LEADING);
        let file = opened.map_err(|error| HostError::io("open", path, error))?.into();
        Ok(Self { file: Arc::new(file), path: path.to_owned() })
    }

    fn held(file: File, shown: &Path) -> Self {
        // For people: where it lies now.
        let link = format!("/proc/thread-self/fd/{}", rustix::fd::AsRawFd::as_raw_fd(&file));
        let path = std::fs::read_link(link).ok().filter(|path| path.is_absolute());
        Self { file: Arc::new(file), path: path.unwrap_or_else(|| shown.to_owned()) }
    }

    /// Where it lay when it was opened: for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another descriptor of the same directory, in the calling thread's own table of descriptors.
    ///
    /// # Errors
    /// When there are too many.
    pub fn duplicate(&self) -> io::Result<Self> {
        Ok(Self { file: Arc::new(self.file.try_clone()?), path: self.path.clone() })
    }

    /// A path that leads to this very directory as long as it is held, for what only knows paths.
    pub fn held_path(&self) -> PathBuf {
        let descriptor = rustix::fd::AsRawFd::as_raw_fd(&*self.file);
        PathBuf::from(format!("/proc/{}/fd/{descriptor}", std::process::id()))
    }

    /// The open directory: to be locked, and flushed if it was made here.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Room and inodes of its file system.
    ///
    /// # Errors
    /// The system's.
    pub fn usage(&self) -> Result<StatVfs, HostError> {
        fstatvfs(&*self.file).map_err(|error| HostError::io("look at", &self.path, error))
    }

    /// Whether both are the same directory.
    ///
    /// # Errors
    /// The system's.
    pub fn is_same(&self, other: &Self) -> io::Result<bool> {
        Ok(Identity::of(&fstat(&*self.file)?) == Identity::of(&fstat(&*other.file)?))
    }

    /// A new empty file of this name, for reading and writing, by its owner alone.
    ///
    /// # Errors
    /// EEXIST where there is something, a link among others; the system's.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let made = openat(&*self.file, only_name(name)?, flags | OFlags::CLOEXEC, FILE_MODE)?;
        Ok(made.into())
    }

    /// A new directory of this name, for its owner alone: made, opened, and looked at, since
    /// another may have put something else there in between. One that fails this is left alone.
    ///
    /// # Errors
    /// EEXIST where there is something; that what is there now is not what was made; the system's.
    pub fn make(&self, name: &OsStr) -> io::Result<Self> {
        mkdirat(&*self.file, only_name(name)?, DIRECTORY_MODE)?;
        let made = self.enter(name)?;
        let (stat, own) = (fstat(&*made.file)?, fstat(&*self.file)?);
        let is_new = stat.st_dev == own.st_dev && made.names()?.is_empty();
        if is_new && self.is_owned(&stat)? {
            return Ok(made);
        }
        let path = self.path.join(name);
        let sentence = format!(
            "another directory stands at {} than the one just made: somebody else changes this \
             directory; name one that only you may write",
            path.display()
        );
        Err(io::Error::other(sentence))
    }

    /// The directory of this name.
    ///
    /// # Errors
    /// ENOTDIR or ELOOP for anything else, a link among others; the system's.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let opened = self.open_beneath(only_name(name)?, LISTED, Mode::empty())?;
        Ok(Self { file: Arc::new(opened.into()), path: self.path.join(name) })
    }

    /// Whether somebody who only has `stat` of a new directory in here may take it for ours: it
    /// belongs to us and is closed to others. Where the file system keeps no owners (FAT) or a
    /// server gives root's files to nobody, it must belong to whom a file belongs that is made with
    /// `O_EXCL`, and so is surely ours.
    fn is_owned(&self, stat: &Stat) -> io::Result<bool> {
        let is_closed = |stat: &Stat| stat.st_mode & 0o077 == 0;
        if stat.st_uid == geteuid().as_raw() && is_closed(stat) {
            return Ok(true);
        }
        let name = OsString::from(random_name());
        let probe = self.create(&name)?;
        let given = fstat(&probe)?;
        self.remove_file(&name, &probe)?;
        let keeps_owners = given.st_uid == geteuid().as_raw() && is_closed(&given);
        Ok(!keeps_owners && stat.st_uid == given.st_uid)
    }

    /// Opens what lies at `path` below this directory, through no symbolic link and no mount.
    ///
    /// # Errors
    /// ELOOP or ENOTDIR for a link, EXDEV for what leads out; the system's.
    #[inline]
    pub fn open_beneath(
        &self,
        path: impl rustix::path::Arg,
        flags: OFlags,
        mode: Mode,
    ) -> rustix::io::Result<OwnedFd> {
        open_below(self.file.as_fd(), path, flags | OFlags::CLOEXEC, mode, BENEATH)
    }

    /// The directory at `path` below this one, to make, rename and remove names in.
    ///
    /// # Errors
    /// As [`open_beneath`](Self::open_beneath).
    pub fn lead(&self, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
        self.open_beneath(path, LEADING, Mode::empty())
    }

    /// Its names, without `.` and `..`.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in list(self.file.as_fd())? {
            let entry = entry?;
            let name = entry.file_name();
            if !is_dots(name) {
                names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            }
        }
        Ok(names)
    }

    /// Whether there is anything of this name, a link to nothing among others.
    pub fn has_name(&self, name: &OsStr) -> bool {
        statat(&*self.file, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether `name` leads to the very file or directory that is open.
    pub fn has(&self, name: &OsStr, held: impl AsFd) -> bool {
        let there = statat(&*self.file, name, AtFlags::SYMLINK_NOFOLLOW);
        match (there, fstat(held)) {
            (Ok(there), Ok(held)) => Identity::of(&there) == Identity::of(&held),
            _ => false,
        }
    }

    /// Removes `name` if it leads to the file that is open; says whether it did. Between looking
    /// and removing only those can put another file there who may remove that one themselves.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_file(&self, name: &OsStr, held: &File) -> io::Result<bool> {
        if !self.has(name, held) {
            return Ok(false);
        }
        unlinkat(&*self.file, name, AtFlags::empty())?;
        Ok(true)
    }

    /// Removes the file of ours that is open and was made as `name`. Where it still has a name
    /// afterwards, because others moved it away, even between looking and removing, it is emptied:
    /// its space is given back wherever it lies.
    ///
    /// # Errors
    /// The system's.
    pub fn give_back(&self, name: &OsStr, made: &File) -> io::Result<GivenBack> {
        let removed = match self.remove_file(name, made) {
            // Moved away at that very moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed,
        };
        if fstat(made)?.st_nlink > 0 {
            let emptied = made.set_len(0);
            return removed.and(emptied).map(|()| GivenBack::Emptied);
        }
        Ok(if removed? { GivenBack::Removed } else { GivenBack::AlreadyGone })
    }

    /// Removes `name` if it leads to `held`, which must be empty; says whether it did.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_directory(&self, name: &OsStr, held: &Self) -> io::Result<bool> {
        if !self.has(name, &*held.file) {
            return Ok(false);
        }
        unlinkat(&*self.file, name, AtFlags::REMOVEDIR)?;
        Ok(true)
    }

    /// Removes the name of a file, socket or pipe that is no longer held, if it is this user's or
    /// the directory's owner's; a link is no file.
    ///
    /// # Errors
    /// ENOENT where there is nothing; EPERM where there is something else; the system's.
    pub fn remove_left(&self, name: &OsStr) -> io::Result<()> {
        let stat = statat(&*self.file, only_name(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_file = matches!(kind, FileType::RegularFile | FileType::Socket | FileType::Fifo);
        if !is_file || !may_be_ours(self, stat.st_uid) {
            return Err(Errno::PERM.into());
        }
        Ok(unlinkat(&*self.file, name, AtFlags::empty())?)
    }

    /// Removes an empty directory that is no longer held.
    ///
    /// # Errors
    /// ENOENT where there is nothing; the system's.
    pub fn remove_empty(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&*self.file, only_name(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Removes everything in it, and leaves it there. Links are removed, not followed; mounts stay,
    /// with an error.
    ///
    /// # Errors
    /// The system's.
    pub fn clear(&self) -> io::Result<()> {
        clear(self.file.as_fd(), 0)
    }

    /// Looks at all that is in it, at any depth, without links and mounts: `each` is told name and
    /// facts, and says whether to go on.
    ///
    /// # Errors
    /// The system's; what `each` says.
    pub fn survey(&self, each: &mut dyn FnMut(&CStr, &Stat) -> io::Result<()>) -> io::Result<()> {
        survey(self.file.as_fd(), 0, each)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Removes the file that is open and was made at `path`, if that still leads to it; says whether it
/// did.
///
/// # Errors
/// The system's.
pub fn remove_made(path: &Path, file: &File) -> io::Result<bool> {
    let Some(name) = path.file_name() else { return Ok(false) };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = open(parent.unwrap_or(Path::new(".")), LEADING, Mode::empty())?;
    Directory { file: Arc::new(parent.into()), path: PathBuf::new() }.remove_file(name, file)
}

/// Whether what belongs to `owner` may be what a killed run left in `directory`: a run of this
/// user, or of the directory's owner, who could remove it himself. Where a file system keeps no
/// owners the two are one.
pub(crate) fn may_be_ours(directory: &Directory, owner: u32) -> bool {
    let of_directory = statat(directory, ".", AtFlags::SYMLINK_NOFOLLOW);
    owner == geteuid().as_raw() || of_directory.is_ok_and(|stat| stat.st_uid == owner)
}

/// The file or device at a path that was canonical a moment ago, for reading: a link that has come
/// since is not followed, and a pipe is not waited for.
///
/// # Errors
/// The system's; ELOOP where there is a link now.
pub fn open_file_canonical(path: &Path) -> Result<File, HostError> {
    let opened = open_canonical(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY);
    opened.map(File::from).map_err(|error| HostError::io("open", path, error))
}

fn open_canonical(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let root = open("/", LEADING, Mode::empty())?;
    let flags = flags | OFlags::CLOEXEC;
    open_below(root.as_fd(), relative, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// One component, which leads nowhere else.
fn only_name(name: &OsStr) -> io::Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(Errno::INVAL.into()),
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// openat2(2); before Linux 5.6, and where a container forbids it, component by component, none of
/// them a link.
fn open_below(
    at: BorrowedFd<'_>,
    path: impl rustix::path::Arg,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    static KNOWS_OPENAT2: OnceLock<bool> = OnceLock::new();
    let knows = KNOWS_OPENAT2.get_or_init(|| {
        openat2(CWD, ".", LEADING, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok()
    });
    match knows {
        true => openat2(at, path, flags | OFlags::NOFOLLOW, mode, resolve),
        false => path.into_with_c_str(|path| by_component(at, path, flags, mode)),
    }
}

/// The same by openat(2). It crosses mounts, which only root can put into a directory of root's.
fn by_component(
    at: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let mut parts = Path::new(OsStr::from_bytes(path.to_bytes())).components().peekable();
    let mut on_the_way: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Errno::XDEV);
            }
        };
        let from = on_the_way.as_ref().map_or(at, AsFd::as_fd);
        if parts.peek().is_none() {
            return openat(from, name, flags | OFlags::NOFOLLOW, mode);
        }
        on_the_way = Some(openat(from, name, LEADING | OFlags::NOFOLLOW, Mode::empty())?);
    }
    Err(Errno::NOENT)
}

fn list(at: BorrowedFd<'_>) -> rustix::io::Result<Dir> {
    Dir::new(openat(at, ".", LISTED, Mode::empty())?)
}

fn clear(at: BorrowedFd<'_>, depth: u32) -> io::Result<()> {
    // A file system may leave names out of a listing from which others are removed meanwhile.
    for _ in 0..LISTINGS_MAX {
        let mut is_empty = true;
        for entry in list(at)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            is_empty = false;
            match entry.file_type() {
                FileType::Directory => clear_directory(at, name, depth)?,
                _ => match unlinkat(at, name, AtFlags::empty()) {
                    // The listing does not say what it is, or it was another a moment ago.
                    Err(Errno::ISDIR | Errno::PERM) => clear_directory(at, name, depth)?,
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
        if is_empty {
            return Ok(());
        }
    }
    Err(Errno::NOTEMPTY.into())
}

/// Removes a directory with all that is in it.
fn clear_directory(at: BorrowedFd<'_>, name: &CStr, depth: u32) -> io::Result<()> {
    let below = enter(at, name, depth)?;
    clear(below.as_fd(), depth + 1)?;
    let there = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Identity::of(&there) != Identity::of(&fstat(&below)?) {
        return Err(io::Error::other("a directory was exchanged while it was removed"));
    }
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

fn survey(
    at: BorrowedFd<'_>,
    depth: u32,
    each: &mut dyn FnMut(&CStr, &Stat) -> io::Result<()>,
) -> io::Result<()> {
    for entry in list(at)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_dots(name) {
            continue;
        }
        let stat = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        each(name, &stat)?;
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            survey(enter(at, name, depth)?.as_fd(), depth + 1, each)?;
        }
    }
    Ok(())
}

fn enter(at: BorrowedFd<'_>, name: &CStr, depth: u32) -> io::Result<OwnedFd> {
    if depth >= DEPTH_MAX {
        let sentence = "directories lie deeper in one another than drivelab makes them";
        return Err(io::Error::other(sentence));
    }
    Ok(open_below(at, name, LISTED, Mode::empty(), BENEATH)?)
}

/// Whether nobody but root and this user can rename anything on the way to the directory at `path`:
/// what goes there by path, such as a mount point for mount(8), stays what it was.
///
/// # Errors
/// [`ErrorKind::Permission`] with the directory that others may change.
pub fn check_way(path: &Path) -> Result<(), HostError> {
    let canonical = path.canonicalize().map_err(|error| HostError::io("look at", path, error))?;
    for place in canonical.ancestors() {
        let stat = rustix::fs::lstat(place).map_err(|e| HostError::io("look at", place, e))?;
        let is_ours = stat.st_uid == 0 || stat.st_uid == geteuid().as_raw();
        let is_sticky = stat.st_mode & 0o1000 != 0;
        if !is_ours || (stat.st_mode & 0o022 != 0 && !is_sticky) {
            let sentence = format!(
                "{} can be changed by others, who could put another directory in place of {}",
                place.display(),
                path.display()
            );
            return Err(HostError::new(ErrorKind::Permission, sentence));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
