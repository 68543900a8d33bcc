//! The directory of a bench run, and the really written file in it.

use super::child::go_on;
use anyhow::{Context, Result, ensure};
use rustix::fs::{Advice, FlockOperation, Mode, OFlags, fadvise, flock};
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// A directory that is removed at the end, and by the next run if this one is killed.
pub struct Scratch {
    path: PathBuf,
    /// Held, so that no second bench removes what this one uses.
    _lock: OwnedFd,
}

impl Scratch {
    /// An empty `xtask-bench` in `parent`.
    pub fn create(parent: &Path) -> Result<Self> {
        let path = parent.join("xtask-bench");
        fs::create_dir_all(&path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let lock = rustix::fs::open(&path, flags, Mode::empty())?;
        let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        ensure!(locked.is_ok(), "another bench is running in {}", path.display());
        for entry in fs::read_dir(&path)? {
            let path = entry?.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.with_context(|| format!("{}, left behind", path.display()))?;
        }
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("xtask: {} could not be removed: {error}", self.path.display());
        }
    }
}

/// Writes `bytes` of incompressible data to `path`, anew, in order and past the page cache: as
/// drivelab fills its scratch files, so that both find the drive in the same state.
pub fn write_file(path: &Path, bytes: u64) -> Result<()> {
    const CHUNK_BYTES: usize = 1 << 20;
    const PAGE_BYTES: usize = 4096;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::DIRECT;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .with_context(|| format!("cannot write {} by O_DIRECT", path.display()))?;
    let mut file = File::from(file);
    let mut memory = vec![0u8; CHUNK_BYTES + PAGE_BYTES];
    let start = memory.as_ptr().align_offset(PAGE_BYTES);
    let chunk = &mut memory[start..start + CHUNK_BYTES];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..bytes / CHUNK_BYTES as u64 {
        go_on()?;
        for word in chunk.chunks_exact_mut(8) {
            // xorshift64 of Marsaglia (2003): quick, and beyond any drive's compressor.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all(chunk).with_context(|| path.display().to_string())?;
    }
    file.sync_all()?;
    Ok(())
}

/// Reads all of `path` twice, so that it is in the page cache.
pub fn bring_into_cache(path: &Path) -> Result<()> {
    let mut chunk = vec![0u8; 1 << 20];
    for _ in 0..2 {
        let mut file = File::open(path)?;
        while file.read(&mut chunk)? > 0 {
            go_on()?;
        }
    }
    Ok(())
}

/// Takes all of `path` out of the page cache; it must be clean.
pub fn drop_from_cache(path: &Path) -> Result<()> {
    fadvise(File::open(path)?, 0, None, Advice::DontNeed)?;
    Ok(())
}
