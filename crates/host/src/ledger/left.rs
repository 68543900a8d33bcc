//! Ledgers whose process is gone: what `drivelab restore` finds.

use super::{NotPutBack, append, boot, lines, mark::Boot, place::Place, put_back};
use crate::{
    error::{ErrorKind, HostError},
    ledger::{Change, Head, lines::Line},
    roots::Roots,
};
use engine::raw::{FileLock, try_lock};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How long a program is waited for that a dead process had started.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// A ledger that still lists changes.
#[derive(Debug)]
pub struct Left {
    place: Arc<Place>,
    name: OsString,
    path: PathBuf,
    file: File,
    /// Who kept it.
    pub head: Head,
    /// What is not put back, oldest first.
    pub standing: Vec<(u64, Change)>,
    /// Whether its process still runs, and will put it back itself.
    pub is_alive: bool,
}

/// All ledgers in `directory`, oldest first, each with what is left; those that cannot be read as
/// errors. One without a process and without changes is removed on the way.
///
/// # Errors
/// When the directory exists and cannot be read, or is not the user's own alone.
pub fn left(directory: &Path) -> Result<Vec<Result<Left, HostError>>, HostError> {
    let Some(place) = Place::open(directory)? else { return Ok(Vec::new()) };
    let place = Arc::new(place);
    let names = place.names()?;
    let mut found: Vec<_> =
        names.iter().filter_map(|name| open(&place, name).transpose()).collect();
    found.sort_by_key(|one| one.as_ref().map_or(0, |left| left.head.started_unix_s));
    Ok(found)
}

/// `None` when there is nothing in it to put back.
fn open(place: &Arc<Place>, name: &OsStr) -> Result<Option<Left>, HostError> {
    let path = place.path_of(name);
    let failed = |error| HostError::io("read the ledger", &path, error);
    let Some(mut file) = place.ledger(name)? else { return Ok(None) };
    let mut is_alive = try_lock(&file).map_err(failed)? == FileLock::HeldByAnother;
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed)?;
    let story = lines::read(&String::from_utf8_lossy(&text))
        .map_err(|why| HostError::new(ErrorKind::Io, format!("{}: {why}", path.display())))?;
    let deadline = Instant::now() + PATIENCE;
    // Its process is gone and a program that it ran, such as mkfs, is not done yet.
    while is_alive && story.as_ref().is_some_and(|story| !is_running(story.head.pid)) {
        if Instant::now() >= deadline {
            let sentence = format!(
                "a program that process {} ran before it died still runs and holds {}: wait for it, or end it",
                story.map_or(0, |story| story.head.pid),
                path.display()
            );
            return Err(HostError::new(ErrorKind::Io, sentence));
        }
        thread::sleep(PAUSE);
        is_alive = try_lock(&file).map_err(failed)? == FileLock::HeldByAnother;
    }
    match story {
        Some(story) if is_alive || !story.standing.is_empty() => Ok(Some(Left {
            place: Arc::clone(place),
            name: name.to_owned(),
            path,
            file,
            head: story.head,
            standing: story.standing,
            is_alive,
        })),
        _ if is_alive => Ok(None),
        _ => place.remove(name).map(|()| None).map_err(|error| failed(error.into())),
    }
}

impl Left {
    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts back, newest first, what is left; the ledger is gone if that was possible.
    ///
    /// # Panics
    /// When its process is alive: that one does it itself.
    pub fn put_back(mut self, roots: &Roots, log: &mut dyn FnMut(&str)) -> Vec<NotPutBack> {
        assert!(!self.is_alive, "a living process puts its own changes back");
        let now = boot(roots);
        let is_same_boot = self.head.boot == now;
        // A kernel that tells no boot id may be any.
        let boot = if is_same_boot && !now.is_empty() { Boot::Same } else { Boot::Later };
        // A loop device of its own, or a server's, goes with all that is on it.
        let is_own_device = self
            .standing
            .iter()
            .any(|(_, change)| matches!(change, Change::Loop { .. } | Change::Process { .. }));
        let mut failures = Vec::new();
        for (number, change) in std::mem::take(&mut self.standing).into_iter().rev() {
            let done = if is_same_boot || outlives_a_boot(&change) {
                put_back::put_back(&change, boot, roots, log)
            } else {
                log(&format!("# gone with the restart of the machine: {change}"));
                Ok(())
            };
            match done {
                Ok(()) => {
                    if let Some(stays) = stays(&change, boot).filter(|_| !is_own_device) {
                        log(&stays);
                    }
                    // A line that is lost has the change put back once more, which does nothing.
                    let line = Line::PutBack { put_back: number };
                    let _ = append(&mut self.file, &self.path, &line);
                }
                Err(error) => failures.push(NotPutBack { change, error }),
            }
        }
        if failures.is_empty() {
            let _ = self.place.remove(&self.name);
        }
        failures
    }
}

/// What is on a drive after its file system was unmounted, and what takes it off: a drive that
/// holds data is refused by whatever comes next.
fn stays(change: &Change, boot: Boot) -> Option<String> {
    let Change::Mount { source, fs, .. } = change else { return None };
    let cure = match boot {
        Boot::Same => format!("`wipefs -a {source}` takes it off"),
        // Its name may be another's now.
        Boot::Later => "`drivelab devices` shows where, and `wipefs -a` takes it off".to_owned(),
    };
    Some(format!("# {fs} itself stays on the drive, so that the next matrix is refused: {cure}"))
}

/// Whether there is such a process that does more than wait for its parent to notice its end.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name stands in parentheses and may hold any character; the state follows.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Loop devices, mounts, processes and queue settings are gone with the kernel that had them.
fn outlives_a_boot(change: &Change) -> bool {
    match change {
        Change::File { .. } | Change::Directory { .. } | Change::WriteCache { .. } => true,
        Change::Loop { .. }
        | Change::Mount { .. }
        | Change::Queue { .. }
        | Change::Process { .. } => false,
    }
}
