//! A file tree in a directory of our own, through the page cache: one thread a worker, one system
//! call after another.
//!
//! Every operation names one name in the directory that holds it, which is open: none walks a path,
//! and none follows a link.

use crate::pace::Pace;
use block::{Instant, IoError};
use host::{
    Directory,
    directory::{DIRECTORY_MODE, FILE_MODE},
};
use lab::workload::tree::{Act, Tree, TreeOp};
use model::WallClock;
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, Dir, OFlags},
    io::Errno,
    process::{Resource, getrlimit},
};
use std::collections::HashMap;

/// Files are read and written in pieces of this size at most.
const PIECE_BYTES: usize = 1 << 20;
/// Every block of this size begins with a number of its own, so that no two are alike: a file
/// system that keeps equal blocks once would else be measured on one block.
const STAMP_EVERY: usize = 4096;
/// Directories that a worker keeps open at most; of those beyond, each operation opens the one it
/// needs.
const HELD_DIRECTORIES_MAX: u64 = 1 << 16;

/// A worker's view of the tree.
pub(crate) struct FileTree {
    pace: Pace,
    root: Directory,
    /// Directories below the root that hold names, by their paths.
    parents: HashMap<Box<str>, OwnedFd>,
    /// How many of them are kept: three quarters of the descriptors that the process may have.
    parents_max: usize,
    /// Random bytes, made once.
    contents: Vec<u8>,
    /// What is read goes here.
    read: Vec<u8>,
}

/// The directory that holds a name.
enum Parent<'a> {
    Held(BorrowedFd<'a>),
    Opened(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Held(held) => held.as_fd(),
            Self::Opened(opened) => opened.as_fd(),
        }
    }
}

impl FileTree {
    /// On the tree at `root`, a descriptor of this thread's own; `seed` makes the contents of
    /// files.
    pub fn new(root: Directory, pace: Pace, seed: u64) -> Self {
        let mut contents = vec![0; PIECE_BYTES];
        block::Rng::new(seed, 0x7eee_0003).fill(&mut contents);
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let parents_max = (descriptors / 4 * 3).min(HELD_DIRECTORIES_MAX) as usize;
        let (parents, read) = (HashMap::new(), vec![0; PIECE_BYTES]);
        Self { pace, root, parents, parents_max, contents, read }
    }

    fn file(&mut self, path: &str, flags: OFlags) -> Result<OwnedFd, IoError> {
        let (parent, name) = self.parent(path)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(parent, name, flags, FILE_MODE).map_err(failed)
    }

    /// The directory that holds the name at the end of `path`, and that name.
    fn parent<'a, 'p>(&'a mut self, path: &'p str) -> Result<(Parent<'a>, &'p str), IoError> {
        let Some((parent, name)) = path.rsplit_once('/') else {
            return Ok((Parent::Held(self.root.as_fd()), path));
        };
        if !self.parents.contains_key(parent) {
            let opened = match self.root.lead(parent) {
                // Workers that share one table of descriptors.
                Err(Errno::MFILE) => {
                    self.parents = HashMap::new();
                    self.root.lead(parent)
                }
                opened => opened,
            };
            let opened = opened.map_err(failed)?;
            if self.parents.len() >= self.parents_max {
                return Ok((Parent::Opened(opened), name));
            }
            self.parents.insert(parent.into(), opened);
        }
        Ok((Parent::Held(self.parents[parent].as_fd()), name))
    }

    /// Writes all bytes of a file, stamped with its number.
    fn write(&mut self, file: impl AsFd, act: &Act<'_>) -> Result<u64, IoError> {
        let mut done = 0;
        while done < act.bytes {
            let piece = (act.bytes - done).min(PIECE_BYTES as u64) as usize;
            for at in (0..piece.saturating_sub(15)).step_by(STAMP_EVERY) {
                self.contents[at..at + 8].copy_from_slice(&act.number.to_le_bytes());
                self.contents[at + 8..at + 16].copy_from_slice(&(done + at as u64).to_le_bytes());
            }
            let mut left = &self.contents[..piece];
            while !left.is_empty() {
                match rustix::io::write(&file, left) {
                    Ok(0) => return Err(IoError::Short),
                    Ok(written) => left = &left[written..],
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            done += piece as u64;
        }
        Ok(done)
    }

    /// Reads a file to its end; it must be as long as it was made.
    fn read(&mut self, file: impl AsFd, act: &Act<'_>) -> Result<u64, IoError> {
        let mut done = 0;
        loop {
            match rustix::io::read(&file, self.read.as_mut_slice()) {
                Ok(0) => break,
                Ok(bytes) => done += bytes as u64,
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        if done == act.bytes { Ok(done) } else { Err(IoError::Short) }
    }

    fn sync_directory(&mut self, parent: &str) -> Result<(), IoError> {
        if parent.is_empty() {
            return rustix::fs::fsync(&self.root).map_err(failed);
        }
        let directory = self.file(parent, OFlags::RDONLY | OFlags::DIRECTORY)?;
        rustix::fs::fsync(directory).map_err(failed)
    }
}

impl Tree for FileTree {
    fn now(&mut self) -> Instant {
        self.pace.now()
    }

    fn carry_out(&mut self, act: &Act<'_>) -> Result<u64, IoError> {
        let mut moved = 0;
        match act.op {
            TreeOp::Create | TreeOp::WriteFile => {
                let flags = match act.op {
                    TreeOp::Create => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
                    _ => OFlags::WRONLY,
                };
                let file = self.file(act.path, flags)?;
                moved = self.write(&file, act)?;
                if act.sync.file() {
                    rustix::fs::fsync(&file).map_err(failed)?;
                }
            }
            TreeOp::ReadFile => {
                let file = self.file(act.path, OFlags::RDONLY)?;
                moved = self.read(&file, act)?;
            }
            TreeOp::Stat => {
                let (parent, name) = self.parent(act.path)?;
                rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            }
            TreeOp::Readdir => self.list(act.path, &mut |_| {})?,
            TreeOp::Rename => {
                let (parent, name) = self.parent(act.path)?;
                let to = name_in(act.to);
                rustix::fs::renameat(&parent, name, &parent, to).map_err(failed)?;
            }
            TreeOp::Link => {
                let (parent, name) = self.parent(act.path)?;
                let to = name_in(act.to);
                rustix::fs::linkat(&parent, name, &parent, to, AtFlags::empty()).map_err(failed)?;
            }
            TreeOp::Unlink => {
                let (parent, name) = self.parent(act.path)?;
                rustix::fs::unlinkat(parent, name, AtFlags::empty()).map_err(failed)?;
            }
            TreeOp::Mkdir => {
                let (parent, name) = self.parent(act.path)?;
                rustix::fs::mkdirat(parent, name, DIRECTORY_MODE).map_err(failed)?;
            }
            TreeOp::Rmdir => {
                let (parent, name) = self.parent(act.path)?;
                rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(failed)?;
            }
        }
        if act.sync.directory() {
            self.sync_directory(act.parent)?;
        }
        Ok(moved)
    }

    fn list(&mut self, directory: &str, each: &mut dyn FnMut(&str)) -> Result<(), IoError> {
        let directory = if directory.is_empty() { "." } else { directory };
        let opened = self.file(directory, OFlags::RDONLY | OFlags::DIRECTORY)?;
        for entry in Dir::new(opened).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // Our own names are ASCII; what else somebody put there is not ours to count.
            match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => each(name),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        rustix::fs::syncfs(&self.root).map_err(failed)?;
        Ok(self.pace.now())
    }
}

/// The name at the end of a path in the same directory.
fn name_in(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn failed(error: Errno) -> IoError {
    IoError::Os(error.raw_os_error())
}
