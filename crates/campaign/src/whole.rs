//! Files that appear whole, once, and never change.

use crate::CampaignError;
use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
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
    let beside = write_beside(path, bytes, lasting)?;
    let linked = match fs::hard_link(&beside, path) {
        // On NFS it may be made and its answer lost (link(2), BUGS): whoever made it would wait for
        // itself.
        Err(_) if fs::metadata(&beside).is_ok_and(|meta| meta.nlink() == 2) => Ok(()),
        linked => linked,
    };
    let _ = fs::remove_file(&beside);
    match linked {
        Ok(()) if lasting == Lasting::Durable => sync_directory_of(path).map(|()| Made::Now),
        Ok(()) => Ok(Made::Now),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Made::Before),
        Err(error) => Err(CampaignError::io("make", path, error)),
    }
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

fn sync_directory_of(path: &Path) -> Result<(), CampaignError> {
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
