//! Files that appear whole, once, and never change.

use crate::CampaignError;
use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Whether a file was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// By this call.
    Now,
    /// By another, before.
    Before,
}

/// Whether a file must outlast a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasting {
    /// It is on the drive when the call returns.
    Durable,
    /// What is lost with it is done again.
    Cached,
}

/// Distinguishes files beside the final ones that threads of this process write.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Makes the file `path`, unless there is one. Others see all of it or nothing: it is written
/// beside and then linked under its name, which only one caller on any host succeeds with.
///
/// # Errors
/// The file system.
pub fn make(path: &Path, bytes: &[u8], lasting: Lasting) -> Result<Made, CampaignError> {
    let made = make_unsynced(path, bytes, lasting)?;
    if (made, lasting) == (Made::Now, Lasting::Durable) {
        sync_directory_of(path)?;
    }
    Ok(made)
}

/// The same, but for its name, which lasts after [`sync_directory_of`].
///
/// # Errors
/// The file system.
pub fn make_unsynced(path: &Path, bytes: &[u8], lasting: Lasting) -> Result<Made, CampaignError> {
    let beside = write_beside(path, bytes, lasting)?;
    name(&beside, path)
}

/// Gives a file that is written its name.
fn name(beside: &Path, path: &Path) -> Result<Made, CampaignError> {
    let linked = match fs::hard_link(beside, path) {
        // On NFS it may be made and its answer lost (link(2), BUGS): whoever made it would wait for
        // itself.
        Err(_) if fs::metadata(beside).is_ok_and(|meta| meta.nlink() == 2) => Ok(()),
        linked => linked,
    };
    let _ = fs::remove_file(beside);
    match linked {
        Ok(()) => Ok(Made::Now),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Made::Before),
        Err(error) => Err(CampaignError::io("make", path, error)),
    }
}

/// Makes a durable file that says that another one is there: its name is given when the name of
/// `first` lasts, which it is waited for while this one is written.
///
/// # Errors
/// The file system.
pub fn make_after(first: &Path, path: &Path, bytes: &[u8]) -> Result<Made, CampaignError> {
    let beside = thread::scope(|scope| {
        let synced = scope.spawn(|| sync_directory_of(first));
        let beside = write_beside(path, bytes, Lasting::Durable);
        synced.join().expect("it does not panic").and(beside)
    })?;
    let made = name(&beside, path)?;
    sync_directory_of(path)?;
    Ok(made)
}

fn write_beside(path: &Path, bytes: &[u8], lasting: Lasting) -> Result<PathBuf, CampaignError> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().expect("a file of the campaign").to_string_lossy();
    // A number that no other process has, dead ones and those of other hosts included.
    let beside = path.with_file_name(format!(".{name}.{:016x}-{count}", host::entropy()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        if lasting == Lasting::Durable { file.sync_data() } else { Ok(()) }
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        CampaignError::io("write", &beside, error)
    })?;
    Ok(beside)
}

/// Has a name last.
///
/// # Errors
/// The file system.
pub fn sync_directory_of(path: &Path) -> Result<(), CampaignError> {
    let directory = path.parent().expect("a file of the campaign");
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| CampaignError::io("write", directory, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn of_many_that_make_one_file_one_succeeds_and_all_see_its_bytes() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("17-1.json");
        let path = &path;
        let all: Vec<_> = thread::scope(|scope| {
            let make = |text: String| {
                let made = make(path, text.as_bytes(), Lasting::Cached).expect("made");
                (text, made, fs::read_to_string(path).expect("it is there"))
            };
            let threads: Vec<_> =
                (0..16).map(|number| scope.spawn(move || make(number.to_string()))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let winners: Vec<_> = all.iter().filter(|(_, made, _)| *made == Made::Now).collect();
        assert_eq!(winners.len(), 1);
        assert!(all.iter().all(|(.., seen)| *seen == winners[0].0));
        let left = fs::read_dir(place.path()).expect("the directory").count();
        assert_eq!(left, 1, "nothing is left beside it");
    }
}
