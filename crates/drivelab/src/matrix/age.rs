//! A file system, or a device, in the state that use leaves it in: filled, churned, filled again to the wanted share.

use anyhow::{Context, Result, bail};
use block::Rng;
use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Pieces that a device is written in.
const PIECE_BYTES: usize = 1 << 20;
/// Files that a file system is filled with: few enough to be made quickly, enough to leave gaps everywhere.
const FILES: u64 = 256;
/// How full the file system is while it is churned; a file system that is really full refuses.
const CHURN_FULL_PERCENT: u64 = 95;

/// Fills the file system at `at` to `percent` of its size. On the way it is filled to 95 %, and half of its files
/// are deleted in random order and written again, so that free space is old space.
pub fn file_system(at: &Path, percent: u32, seed: u64, stop: &AtomicBool) -> Result<()> {
    if percent == 0 {
        return Ok(());
    }
    let usage = rustix::fs::statvfs(at).context("the file system cannot be asked for its size")?;
    let total = usage.f_blocks * usage.f_frsize;
    let free = usage.f_bavail * usage.f_frsize;
    let used = total - free;
    let file_bytes = (total / FILES).max(1 << 20) & !0xfff;
    let directory = at.join("aged");
    fs::create_dir(&directory).context("the file system cannot be filled")?;
    let name = |number: u64| directory.join(format!("{number}"));
    let full = (total / 100 * CHURN_FULL_PERCENT).saturating_sub(used) / file_bytes;
    let mut rng = Rng::new(seed, 0xa6e);
    let mut living: Vec<u64> = Vec::new();
    for number in 0..full {
        write_file(&name(number), file_bytes, &mut rng, stop)?;
        living.push(number);
    }
    for next in full..full + full / 2 {
        let at = (rng.next() % living.len() as u64) as usize;
        remove(&name(living.swap_remove(at)))?;
        write_file(&name(next), file_bytes, &mut rng, stop)?;
        living.push(next);
    }
    let wanted = (total / 100 * u64::from(percent)).saturating_sub(used) / file_bytes;
    while living.len() as u64 > wanted {
        let at = (rng.next() % living.len() as u64) as usize;
        remove(&name(living.swap_remove(at)))?;
    }
    // Deleted blocks are told to the drive when the deletion is committed.
    let root = File::open(at).context("the file system cannot be flushed")?;
    rustix::fs::syncfs(&root).context("the file system cannot be flushed")?;
    Ok(())
}

/// Writes the first `percent` of a device, in order.
pub fn device(path: &Path, percent: u32, seed: u64, stop: &AtomicBool) -> Result<()> {
    if percent == 0 {
        return Ok(());
    }
    let mut file =
        OpenOptions::new().write(true).open(path).context("the device cannot be filled")?;
    let bytes = file.seek(SeekFrom::End(0)).context("the device has no size")?;
    file.rewind().context("the device cannot be filled")?;
    let mut rng = Rng::new(seed, 0xa6e);
    write(&mut file, bytes / 100 * u64::from(percent), &mut rng, stop)
        .context("the device cannot be filled")?;
    file.sync_all().context("the device cannot be filled")
}

fn write_file(path: &PathBuf, bytes: u64, rng: &mut Rng, stop: &AtomicBool) -> Result<()> {
    let mut file = File::create_new(path).context("the file system cannot be filled")?;
    write(&mut file, bytes, rng, stop).context("the file system cannot be filled")?;
    file.sync_data().context("the file system cannot be filled")
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).context("the file system cannot be churned")
}

/// Bytes that no drive compresses and no two pieces share.
fn write(file: &mut File, bytes: u64, rng: &mut Rng, stop: &AtomicBool) -> Result<()> {
    let mut piece = vec![0u8; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.next().to_le_bytes());
        }
        let now = left.min(PIECE_BYTES as u64) as usize;
        file.write_all(&piece[..now])?;
        left -= now as u64;
    }
    Ok(())
}
