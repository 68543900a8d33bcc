//! A file with the process's number, for whoever starts and stops it by scripts.
//!
//! It appears whole, is locked as long as the process lives, and goes with it. One that a dead
//! process left is replaced; one of a living process is not.

use crate::error::{InWords, Obstacle, StartError};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

/// Longest text that can be a process's number, in bytes.
const TEXT_BYTES_MAX: u64 = 64;
/// A process that began so much later than the file was written is another one with the same
/// number, in seconds: clocks of processes and of files differ by some 10 ms.
const LATER_S: f64 = 2.0;

/// This process's number in a file. Dropping it removes the file.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    /// Locked: who finds it so knows that its writer lives.
    file: File,
}

impl PidFile {
    /// Writes the file, unless a living process has it.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn write(path: &Path) -> Result<Self, StartError> {
        host::missing::refuse_in_kernels_place(path)?;
        // Two that find the same stale file must not both replace it.
        let _turn = lock_directory_of(path)?;
        refuse_living(path)?;
        let name = path.file_name().ok_or_else(|| in_the_way(path, Obstacle::NoName))?;
        let mut beside = OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.new", process::id()));
        let beside = path.with_file_name(beside);
        let written = write_locked(&beside).and_then(|file| {
            fs::rename(&beside, path)?;
            Ok(file)
        });
        let file = written.inspect_err(|_| {
            // The error that counts is the one that is returned.
            let _ = fs::remove_file(&beside);
        });
        let file = file.in_words(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let place = |facts: fs::Metadata| (facts.dev(), facts.ino());
        let there = fs::symlink_metadata(&self.path).ok().map(place);
        if there.is_some() && there == self.file.metadata().ok().map(place) {
            // Gone already is as good.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn in_the_way(path: &Path, what: Obstacle) -> StartError {
    StartError::PidFile { path: path.to_owned(), what }
}

fn write_locked(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path); // Of a process with our number, which is dead.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    file.try_lock().map_err(io::Error::from)?;
    writeln!(file, "{}", process::id())?;
    Ok(file)
}

/// Refuses what is in the way, unless a dead process left it.
fn refuse_living(path: &Path) -> Result<(), StartError> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_file() => {}
        Ok(_) => {
            return Err(in_the_way(path, Obstacle::NoFile));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).in_words(|| format!("cannot look at {shown}")),
    }
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.in_words(|| format!("cannot read {shown}"))?;
    let mut text = String::new();
    (&file)
        .take(TEXT_BYTES_MAX)
        .read_to_string(&mut text)
        .in_words(|| format!("cannot read {shown}"))?;
    let text = text.trim();
    let living = |number: &str| in_the_way(path, Obstacle::Living(number.to_owned()));
    if matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return Err(living(text));
    }
    if text.is_empty() {
        return Ok(()); // The disk was full when somebody else wrote it.
    }
    let Ok(number) = text.parse::<u32>() else {
        return Err(in_the_way(path, Obstacle::NoNumber));
    };
    let written = file.metadata().in_words(|| format!("cannot look at {shown}"))?;
    let seconds = written.mtime() as f64 + written.mtime_nsec() as f64 / 1e9;
    match started(number) {
        Some(start) if number != process::id() && start <= seconds + LATER_S => Err(living(text)),
        _ => Ok(()),
    }
}

/// When a process began, in seconds of the calendar; none if there is no such process (proc(5)).
fn started(number: u32) -> Option<f64> {
    let state = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name may hold spaces and parentheses; the 22nd field is the 20th behind it.
    let ticks: f64 = state.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let machine = fs::read_to_string("/proc/stat").ok()?;
    let booted: f64 =
        machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(booted + ticks / rustix::param::clock_ticks_per_second() as f64)
}

/// Waits for another process that is writing one there, which takes less than a millisecond.
fn lock_directory_of(path: &Path) -> Result<File, StartError> {
    const TRIES: u32 = 80;
    const PAUSE: Duration = Duration::from_millis(25);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let directory = match File::open(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(in_the_way(parent, Obstacle::NoDirectory));
        }
        opened => opened.in_words(|| format!("cannot open {}", parent.display()))?,
    };
    for _ in 0..TRIES {
        match directory.try_lock() {
            Ok(()) => return Ok(directory),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => {
                return Err(error).in_words(|| format!("cannot lock {}", parent.display()));
            }
        }
    }
    Err(in_the_way(parent, Obstacle::Locked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn refused(path: &Path) -> String {
        PidFile::write(path).expect_err("in the way").to_string()
    }

    #[test]
    fn it_holds_this_process_and_goes_with_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pid");
        let file = PidFile::write(&path).expect("nothing is in the way");
        let text = fs::read_to_string(&path).expect("it is there");
        assert_eq!(text, format!("{}\n", process::id()));
        assert!(refused(&path).contains("is alive"));
        drop(file);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn one_of_a_dead_process_is_replaced_and_one_of_a_living_one_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pid");
        let mut other = Command::new("sleep").arg("600").spawn().expect("sleep(1)");
        fs::write(&path, format!("{}\n", other.id())).expect("written");
        let complaint = refused(&path);
        assert!(complaint.contains(&format!("process {}, which is alive", other.id())));
        // Written before that process began: it is another one by now.
        let old = std::time::SystemTime::now() - Duration::from_secs(3600);
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(old))
            .expect("aged");
        drop(PidFile::write(&path).expect("the number was given anew"));
        fs::write(&path, format!("{}\n", other.id())).expect("written");
        other.kill().and_then(|()| other.wait()).expect("it ends");
        let file = PidFile::write(&path).expect("its process is dead");
        fs::remove_file(&path).expect("someone tidies up");
        fs::write(&path, "another's").expect("and puts a file there");
        drop(file);
        assert_eq!(fs::read_to_string(&path).expect("still there"), "another's");
    }

    #[test]
    fn what_is_no_such_file_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pid");
        fs::write(&path, "precious\n").expect("written");
        assert!(refused(&path).contains("no process's number"));
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious\n");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(refused(&link).contains("no regular file"));
        fs::write(&path, "").expect("emptied");
        PidFile::write(&path).expect("it held nothing");
    }
}
