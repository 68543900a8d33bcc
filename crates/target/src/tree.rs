//! A file tree in a directory of our own, through the page cache: one thread a worker, one system call after another.
//!
//! Paths are relative to the tree's root, which is open, so that no operation walks the way to it.

use block::{Instant, IoError};
use engine::Clock;
use lab::workload::tree::{Act, Tree, TreeOp};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, CWD, Dir, Mode, OFlags},
    io::Errno,
};
use std::path::Path;

/// Files are read and written in pieces of this size at most.
const PIECE_BYTES: usize = 1 << 20;
/// Every block of this size begins with a number of its own, so that no two are alike: a file system that keeps
/// equal blocks once would else be measured on one block.
const STAMP_EVERY: usize = 4096;
/// What new files are: read and written by their owner.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
/// What new directories are.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

/// A worker's view of the tree.
pub(crate) struct FileTree {
    clock: Clock,
    root: OwnedFd,
    /// Random bytes, made once.
    contents: Vec<u8>,
    /// What is read goes here.
    read: Vec<u8>,
}

impl FileTree {
    /// On the tree at `root`; `seed` makes the contents of files.
    ///
    /// # Errors
    /// When the root cannot be opened.
    pub fn open(root: &Path, clock: Clock, seed: u64) -> Result<Self, IoError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, root, flags, Mode::empty()).map_err(failed)?;
        let mut contents = vec![0; PIECE_BYTES];
        block::Rng::new(seed, 0x7eee_0003).fill(&mut contents);
        Ok(Self { clock, root, contents, read: vec![0; PIECE_BYTES] })
    }

    fn file(&self, path: &str, flags: OFlags) -> Result<OwnedFd, IoError> {
        rustix::fs::openat(&self.root, path, flags | OFlags::CLOEXEC, FILE_MODE).map_err(failed)
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

    fn sync_directory(&self, parent: &str) -> Result<(), IoError> {
        if parent.is_empty() {
            return rustix::fs::fsync(&self.root).map_err(failed);
        }
        let directory = self.file(parent, OFlags::RDONLY | OFlags::DIRECTORY)?;
        rustix::fs::fsync(directory).map_err(failed)
    }
}

impl Tree for FileTree {
    fn now(&mut self) -> Instant {
        self.clock.now()
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
                rustix::fs::statat(&self.root, act.path, AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(failed)?;
            }
            TreeOp::Readdir => self.list(act.path, &mut |_| {})?,
            TreeOp::Rename => {
                rustix::fs::renameat(&self.root, act.path, &self.root, act.to).map_err(failed)?;
            }
            TreeOp::Link => {
                rustix::fs::linkat(&self.root, act.path, &self.root, act.to, AtFlags::empty())
                    .map_err(failed)?;
            }
            TreeOp::Unlink => {
                rustix::fs::unlinkat(&self.root, act.path, AtFlags::empty()).map_err(failed)?;
            }
            TreeOp::Mkdir => {
                rustix::fs::mkdirat(&self.root, act.path, DIRECTORY_MODE).map_err(failed)?;
            }
            TreeOp::Rmdir => {
                rustix::fs::unlinkat(&self.root, act.path, AtFlags::REMOVEDIR).map_err(failed)?;
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
        Ok(self.clock.now())
    }
}

fn failed(error: Errno) -> IoError {
    IoError::Os(error.raw_os_error())
}
