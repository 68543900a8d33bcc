//! What is written before the power is cut, and how much of it is there afterwards.
//!
//! ```text
//!   file system   files that hold something else are deleted, so that free blocks hold what nobody may see
//!                 64 times: a file is written and flushed, every other one overwritten and flushed again
//!                           a loose file is written, and handed to the drive, and not flushed
//!                 16 more loose files
//!   raw device    64 ranges, all written and flushed, then each overwritten and flushed; 16 more are not flushed
//! ```

use crate::error::{InWords, MatrixError};
use block::{Rng, is_zero};
use lab::runner::RunError;
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// Files, or ranges of a device, that are flushed.
const FLUSHED: u64 = 64;
/// The longest of them, bytes; what is deleted before, and what is not flushed, is as long.
const BYTES_MAX: u64 = 64 << 10;
/// Files that are written after the last flush, so that there is something to lose.
const LOOSE: u64 = 16;
/// Ranges start on a multiple of this, bytes.
const ALIGNED: u64 = 4096;
/// A drive keeps or loses a sector whole: contents are told apart one by one.
const SECTOR_BYTES: usize = 512;

/// All that was written, by name; a range of a device has its offset for a name.
pub struct Trial {
    seed: u64,
    written: BTreeMap<String, Written>,
}

/// What one file was made to hold, oldest first.
struct Written {
    versions: Vec<Vec<u8>>,
    flush: Flush,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flush {
    /// The last version was flushed.
    Answered,
    /// None was.
    Never,
}

/// What is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Files whose last version was flushed.
    pub flushed: u32,
    /// Those that hold it.
    pub intact: u32,
    /// Files with a sector that was never written to them there, and is not zero.
    pub foreign: u32,
}

impl Trial {
    /// Writes files into the directory `at`, the root of a file system.
    pub fn on_file_system(at: &Path, seed: u64, stop: &AtomicBool) -> Result<Self, MatrixError> {
        let mut trial = Self { seed, written: BTreeMap::new() };
        trial.leave_something_behind(at).in_words("files cannot be written and deleted")?;
        let mut rng = Rng::new(seed, 0x7472_6961);
        for number in 0..FLUSHED {
            check(stop)?;
            let name = format!("flushed-{number}");
            for _ in 0..1 + number % 2 {
                let bytes = 1 + rng.below(BYTES_MAX);
                let contents = trial.add(&name, bytes, Flush::Answered);
                write_file(&at.join(&name), contents)
                    .and_then(|file| file.sync_all())
                    .and_then(|()| File::open(at)?.sync_all())
                    .in_words("a file cannot be written and flushed")?;
            }
            trial.add_loose(at, number).in_words("a file cannot be written")?;
        }
        for number in FLUSHED..FLUSHED + LOOSE {
            trial.add_loose(at, number).in_words("a file cannot be written")?;
        }
        Ok(trial)
    }

    /// Writes ranges of a device.
    pub fn on_device(mut device: &File, seed: u64, stop: &AtomicBool) -> Result<Self, MatrixError> {
        let failed = "the device cannot be written";
        let mut trial = Self { seed, written: BTreeMap::new() };
        let bytes = device.seek(SeekFrom::End(0)).in_words(failed)?;
        let offset = |number: u64| bytes / (FLUSHED + LOOSE) * number / ALIGNED * ALIGNED;
        for version in 0..2 {
            for number in 0..FLUSHED {
                check(stop)?;
                let contents = trial.add(&offset(number).to_string(), BYTES_MAX, Flush::Answered);
                device.write_all_at(contents, offset(number)).in_words(failed)?;
                if version == 1 || number == FLUSHED - 1 {
                    device.sync_all().in_words("the device cannot be flushed")?;
                }
            }
        }
        for number in FLUSHED..FLUSHED + LOOSE {
            let contents = trial.add(&offset(number).to_string(), BYTES_MAX, Flush::Never);
            device.write_all_at(contents, offset(number)).in_words(failed)?;
        }
        hand_on(device).in_words(failed)?;
        Ok(trial)
    }

    /// Reads all of it: files of the directory `at`, or ranges of the device.
    pub fn look(&self, at: &Path) -> Found {
        let mut found = Found::default();
        for (name, written) in &self.written {
            let there = match at.is_dir() {
                true => fs::read(at.join(name)).ok(),
                false => read_range(at, name, written.newest().len()),
            };
            let bytes = there.as_deref().unwrap_or_default();
            if written.flush == Flush::Answered {
                found.flushed += 1;
                found.intact += u32::from(there.is_some() && bytes == written.newest());
            }
            found.foreign += u32::from(written.has_foreign_sector(bytes));
        }
        found
    }

    /// What is found where nothing can be read.
    pub fn nothing(&self) -> Found {
        let flushed = self.written.values().filter(|one| one.flush == Flush::Answered).count();
        Found { flushed: flushed as u32, ..Found::default() }
    }

    fn add_loose(&mut self, at: &Path, number: u64) -> std::io::Result<()> {
        let name = format!("loose-{number}");
        let contents = self.add(&name, BYTES_MAX, Flush::Never);
        hand_on(&write_file(&at.join(&name), contents)?)
    }

    /// Blocks that hold what was deleted, durably both.
    fn leave_something_behind(&mut self, at: &Path) -> std::io::Result<()> {
        let name = |number: u64| at.join(format!("deleted-{number}"));
        for number in 0..2 * FLUSHED {
            write_file(&name(number), &contents(self.seed, !number, BYTES_MAX))?;
        }
        let root = File::open(at)?;
        rustix::fs::syncfs(&root)?;
        for number in 0..2 * FLUSHED {
            fs::remove_file(name(number))?;
        }
        Ok(rustix::fs::syncfs(&root)?)
    }

    /// Another version of a file, as it is about to be written.
    fn add(&mut self, name: &str, bytes: u64, flush: Flush) -> &[u8] {
        let number = self.written.values().map(|known| known.versions.len() as u64).sum();
        let new = contents(self.seed, number, bytes);
        let written = self.written.entry(name.to_owned());
        let written = written.or_insert_with(|| Written { versions: Vec::new(), flush });
        written.versions.push(new);
        written.newest()
    }
}

impl Written {
    fn newest(&self) -> &[u8] {
        self.versions.last().expect("it was written")
    }

    fn has_foreign_sector(&self, bytes: &[u8]) -> bool {
        let is_own = |at: usize, sector: &[u8]| {
            let end = at + sector.len();
            // What is behind the end of a shorter version is zero.
            self.versions.iter().any(|version| {
                let kept = &version[at.min(version.len())..end.min(version.len())];
                sector.starts_with(kept) && is_zero(&sector[kept.len()..])
            })
        };
        let sectors = bytes.chunks(SECTOR_BYTES).enumerate();
        let mut strange = sectors
            .filter(|(number, sector)| !is_own(number * SECTOR_BYTES, sector) && !is_zero(sector));
        strange.next().is_some()
    }
}

/// Lets Linux write to the drive what is dirty, and waits for nothing: dropping pages begins so
/// (mm/fadvise.c).
fn hand_on(file: &File) -> std::io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// Bytes that nothing else has.
fn contents(seed: u64, number: u64, bytes: u64) -> Vec<u8> {
    let mut contents = vec![0; bytes as usize];
    Rng::new(seed, number).fill(&mut contents);
    contents
}

/// Overwrites from the beginning, and ends where the contents do.
fn write_file(path: &Path, contents: &[u8]) -> std::io::Result<File> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(contents)?;
    file.set_len(contents.len() as u64)?;
    Ok(file)
}

fn read_range(device: &Path, offset: &str, bytes: usize) -> Option<Vec<u8>> {
    let mut there = vec![0; bytes];
    let file = File::open(device).ok()?;
    file.read_exact_at(&mut there, offset.parse().expect("a range's name is its offset")).ok()?;
    Some(there)
}

fn check(stop: &AtomicBool) -> Result<(), MatrixError> {
    if stop.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static CALM: AtomicBool = AtomicBool::new(false);

    fn directory(name: &str) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("drivelab-trial-{}-{name}", std::process::id()));
        fs::create_dir(&path).expect("a directory");
        path
    }

    #[test]
    fn what_is_there_is_found_and_what_is_missing_or_strange_is_counted() {
        let at = directory("files");
        let trial = Trial::on_file_system(&at, 5, &CALM).expect("room");
        assert_eq!(trial.look(&at), Found { flushed: 64, intact: 64, foreign: 0 });
        // Three are lost: one is gone, one is older than it was, one is zeroes.
        fs::remove_file(at.join("flushed-0")).expect("it was there");
        fs::write(at.join("flushed-1"), &trial.written["flushed-1"].versions[0]).expect("room");
        fs::write(at.join("flushed-2"), vec![0; 9000]).expect("room");
        assert_eq!(trial.look(&at), Found { flushed: 64, intact: 61, foreign: 0 });
        // What was not flushed may be gone, or cut short.
        fs::remove_file(at.join("loose-0")).expect("it was there");
        File::options()
            .write(true)
            .open(at.join("loose-1"))
            .and_then(|file| file.set_len(777))
            .expect("room");
        assert_eq!(trial.look(&at).foreign, 0);
        // It may not show what another file held.
        let mut mixed = trial.written["loose-2"].newest().to_vec();
        mixed[1024..1536].copy_from_slice(&contents(5, !3, BYTES_MAX)[..512]);
        fs::write(at.join("loose-2"), mixed).expect("room");
        assert_eq!(trial.look(&at), Found { flushed: 64, intact: 61, foreign: 1 });
        fs::remove_dir_all(at).expect("it is ours");
    }

    #[test]
    fn ranges_of_a_device_are_read_back() {
        let at = directory("device");
        let device = at.join("device");
        let file = File::create(&device).expect("room");
        file.set_len(32 << 20).expect("room");
        let trial = Trial::on_device(&file, 5, &CALM).expect("room");
        assert_eq!(trial.look(&device), Found { flushed: 64, intact: 64, foreign: 0 });
        file.write_all_at(&[7; 512], 1024).expect("room");
        assert_eq!(trial.look(&device), Found { flushed: 64, intact: 63, foreign: 1 });
        fs::remove_dir_all(at).expect("it is ours");
    }
}
