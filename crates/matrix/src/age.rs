//! A file system, or a device, in the state that use leaves it in: filled, churned, filled again to
//! the wanted share.

use crate::{
    attached::Attached,
    error::{InWords, MatrixError},
};
use block::Rng;
use lab::runner::RunError;
use rustix::fs::{StatVfs, statvfs, syncfs};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Pieces that a device is written in.
const PIECE_BYTES: usize = 1 << 20;
/// Files that a file system is filled with: few enough to be made quickly, enough to leave gaps
/// everywhere.
const FILES: u64 = 256;
/// How full the file system is while it is churned; a file system that is really full refuses.
const CHURN_FULL_PERCENT: u64 = 95;

/// How full a configuration is when it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filling {
    /// Of the file system's size; the tested area is part of it. 0: fresh, with nothing but that
    /// area.
    pub percent: u32,
    /// What the method will write there, bytes.
    pub area_bytes: u64,
    /// Where contents and order come from.
    pub seed: u64,
}

/// Fills the file system at `at`, so that it is full to the wanted share once the tested area is
/// there, too. On the way it is filled to 95 %, and half of its files are deleted in random order
/// and written again, so that free space is old space.
pub fn file_system(at: &Path, filling: Filling, stop: &AtomicBool) -> Result<(), MatrixError> {
    if filling.percent == 0 {
        return Ok(());
    }
    let usage = usage(at)?;
    let total = usage.f_blocks * usage.f_frsize;
    let mut files = Files::new(at, total, filling.seed)?;
    while available(at)? > total / 100 * (100 - CHURN_FULL_PERCENT) + files.bytes {
        files.add(stop)?;
    }
    for _ in 0..files.living.len() / 2 {
        files.remove_any()?;
        files.add(stop)?;
    }
    let wanted = total / 100 * u64::from(100 - filling.percent) + filling.area_bytes;
    loop {
        // Deleted blocks are free, and the drive is told of them, when the deletion is committed.
        let root = File::open(at).in_words("the file system cannot be flushed")?;
        syncfs(&root).in_words("the file system cannot be flushed")?;
        let missing = wanted.saturating_sub(available(at)?).div_ceil(files.bytes);
        if missing == 0 || files.living.is_empty() {
            return Ok(());
        }
        for _ in 0..missing.min(files.living.len() as u64) {
            files.remove_any()?;
        }
    }
}

/// The files that a file system is full of.
struct Files {
    directory: PathBuf,
    bytes: u64,
    living: Vec<u64>,
    next: u64,
    rng: Rng,
}

impl Files {
    fn new(at: &Path, total_bytes: u64, seed: u64) -> Result<Self, MatrixError> {
        let directory = at.join("aged");
        fs::create_dir(&directory).in_words("the file system cannot be filled")?;
        let bytes = (total_bytes / FILES).max(1 << 20) & !0xfff;
        Ok(Self { directory, bytes, living: Vec::new(), next: 0, rng: Rng::new(seed, 0xa6e) })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.directory.join(number.to_string())
    }

    fn add(&mut self, stop: &AtomicBool) -> Result<(), MatrixError> {
        let failed = "the file system cannot be filled";
        let mut file = File::create_new(self.path(self.next)).in_words(failed)?;
        write(&mut file, self.bytes, &mut self.rng, stop, failed)?;
        file.sync_data().in_words(failed)?;
        self.living.push(self.next);
        self.next += 1;
        Ok(())
    }

    fn remove_any(&mut self) -> Result<(), MatrixError> {
        let at = self.rng.below(self.living.len() as u64) as usize;
        let number = self.living.swap_remove(at);
        fs::remove_file(self.path(number)).in_words("the file system cannot be churned")
    }
}

fn usage(at: &Path) -> Result<StatVfs, MatrixError> {
    statvfs(at).in_words("the file system cannot be asked for its size")
}

/// What a user may still write, bytes: what is kept for root counts as taken.
fn available(at: &Path) -> Result<u64, MatrixError> {
    let usage = usage(at)?;
    Ok(usage.f_bavail * usage.f_frsize)
}

/// Writes the first part of a device, in order.
pub fn device(attached: &Attached, filling: Filling, stop: &AtomicBool) -> Result<(), MatrixError> {
    if filling.percent == 0 {
        return Ok(());
    }
    let failed = "the device cannot be filled";
    let permit = attached.permit()?;
    let bytes = permit.bytes();
    let mut file = permit.file();
    let mut rng = Rng::new(filling.seed, 0xa6e);
    let bytes = bytes / 100 * u64::from(filling.percent);
    write(&mut file, bytes, &mut rng, stop, failed)?;
    file.sync_all().in_words(failed)
}

/// Bytes that no drive compresses and no two pieces share.
fn write(
    file: &mut impl Write,
    bytes: u64,
    rng: &mut Rng,
    stop: &AtomicBool,
    failed: &str,
) -> Result<(), MatrixError> {
    let mut piece = vec![0u8; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted.into());
        }
        rng.fill(&mut piece);
        let now = left.min(PIECE_BYTES as u64) as usize;
        file.write_all(&piece[..now]).in_words(failed)?;
        left -= now as u64;
    }
    Ok(())
}
