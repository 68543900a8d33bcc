//! The ledger: every change on the machine is written down before it is made, and put back in
//! reverse.
//!
//! ```text
//!   Ledger::make(change, apply)   line on disk -> apply -> ...
//!   Ledger::put_back_to(mark)     newest first -> put back -> line on disk
//!   drop: end, Ctrl-C, panic      all of it; the file goes when nothing is left
//!   left() -> Left::put_back      after SIGKILL or a crash, by `drivelab restore`
//! ```
//!
//! docs/reference/ledger-format.md has the file's format and what is assumed.

mod change;
mod held;
mod left;
mod lines;
mod mark;
mod place;
mod put_back;
mod remounting;
mod stage;

pub use change::Change;
pub use left::{Left, left};
pub use lines::Head;
pub use mark::DriveMark;
pub use remounting::Remounting;
pub use stage::{Mounting, attaching};

use crate::{
    error::{ErrorKind, HostError},
    roots::{Roots, read_text},
};
use engine::raw::{FileLock, try_lock};
use held::Held;
use lines::Line;
use mark::Boot;
use place::Place;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::{
    ffi::OsString,
    fmt,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// A change that could not be put back, and why. It stays in the ledger.
#[derive(Debug)]
pub struct NotPutBack {
    /// What is still there.
    pub change: Change,
    /// Why.
    pub error: HostError,
}

impl fmt::Display for NotPutBack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is left: {}", self.change, self.error)
    }
}

/// What one run has changed and not yet put back. Dropped, it puts everything back.
pub struct Ledger {
    place: Place,
    name: OsString,
    path: PathBuf,
    file: File,
    roots: Roots,
    standing: Vec<(u64, Change)>,
    /// What is held of them, under the same numbers.
    held: Vec<(u64, Held)>,
    next: u64,
    log: Box<dyn FnMut(&str)>,
}

/// A point in the ledger to come back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u64);

impl Mark {
    /// Before the first change.
    pub const START: Self = Self(0);
}

impl Ledger {
    /// Where ledgers are kept: below `$XDG_STATE_HOME` where it is set, for root in `/var/lib`,
    /// else in `~/.local/state`.
    pub fn directory() -> PathBuf {
        let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
        let base = match state {
            Some(state) => PathBuf::from(state),
            None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib"),
            None => {
                PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".local/state")
            }
        };
        base.join("drivelab/ledger")
    }

    /// A new ledger in `directory`, for the run with this command line. `log` is told each step as
    /// it would be typed into a shell.
    ///
    /// # Errors
    /// When it cannot be made durable, or the directory is not the user's own alone: then nothing
    /// may be changed.
    pub fn create(
        directory: &Path,
        command: &str,
        roots: &Roots,
        log: impl FnMut(&str) + 'static,
    ) -> Result<Self, HostError> {
        let failed = |error| HostError::io("keep a ledger in", directory, error);
        let place = Place::make(directory)?;
        let started =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let pid = std::process::id();
        let make = |attempt: u64| {
            let name = OsString::from(format!("{pid}-{}.ledger", started + attempt));
            place.new_ledger(&name).map(|file| (name, file))
        };
        // One process may keep several in one second.
        let mut made = make(0);
        for attempt in 1..1000 {
            if !matches!(made, Err(Errno::EXIST)) {
                break;
            }
            made = make(attempt);
        }
        let (name, file) = made.map_err(|error| failed(error.into()))?;
        let path = place.path_of(&name);
        if try_lock(&file).map_err(failed)? == FileLock::HeldByAnother {
            let sentence = format!("somebody else holds {}: run again", path.display());
            return Err(HostError::new(ErrorKind::Io, sentence));
        }
        // Programs that are run for a change keep the lock until they end: killed between them and
        // us, restore waits for mkfs to be done.
        inherit(&file, Inherited::Yes).map_err(failed)?;
        let mut ledger = Self {
            place,
            name,
            path,
            file,
            roots: roots.clone(),
            standing: Vec::new(),
            held: Vec::new(),
            next: 1,
            log: Box::new(log),
        };
        let head = Head {
            ledger: lines::VERSION,
            command: command.to_owned(),
            pid,
            boot: boot(roots),
            started_unix_s: started,
        };
        ledger.append(&Line::Head(head))?;
        ledger.place.sync().map_err(|error| failed(error.into()))?;
        Ok(ledger)
    }

    /// Writes `change` down, then makes it by `apply`. If that fails, what it may have left is put
    /// back.
    ///
    /// # Errors
    /// Those of `apply`; or of writing it down, and then nothing was changed.
    pub fn make<T>(
        &mut self,
        change: Change,
        apply: impl FnOnce() -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let number = self.next;
        self.append(&Line::Change { change: number, what: change.clone() })?;
        self.next += 1;
        self.standing.push((number, change));
        let made = apply();
        if made.is_err() {
            self.put_back_to(Mark(number));
        }
        made
    }

    /// As [`make`](Self::make), for what is held from then on.
    fn make_held<T>(
        &mut self,
        change: Change,
        apply: impl FnOnce() -> Result<(T, Held), HostError>,
    ) -> Result<T, HostError> {
        let number = self.next;
        let (made, held) = self.make(change, apply)?;
        self.held.push((number, held));
        Ok(made)
    }

    /// The present point.
    pub fn mark(&self) -> Mark {
        Mark(self.next)
    }

    /// Puts back, newest first, what was changed since `mark`. What cannot be put back stays in the
    /// ledger.
    pub fn put_back_to(&mut self, mark: Mark) -> Vec<NotPutBack> {
        let mut failures = Vec::new();
        let from = self.standing.partition_point(|(number, _)| *number < mark.0);
        for (number, change) in self.standing.split_off(from).into_iter().rev() {
            let held = self.held.pop_if(|(held, _)| *held == number);
            let done = match held {
                Some((_, held)) => held.put_back(&mut self.log),
                None => put_back::put_back(&change, Boot::Same, &self.roots, &mut self.log),
            };
            let Err(error) = done else {
                // A line that is lost has the change put back once more, which does nothing.
                let _ = self.append(&Line::PutBack { put_back: number });
                continue;
            };
            self.standing.insert(from, (number, change.clone()));
            failures.push(NotPutBack { change, error });
        }
        failures
    }

    /// The machine's files.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Tells the log about a step that needs no putting back.
    pub fn say(&mut self, step: &str) {
        (self.log)(step);
    }

    fn end(&mut self) -> Vec<NotPutBack> {
        let failures = self.put_back_to(Mark::START);
        if failures.is_empty() {
            let _ = self.place.remove(&self.name);
        }
        failures
    }

    fn append(&mut self, line: &Line) -> Result<(), HostError> {
        append(&mut self.file, &self.path, line)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        for failure in self.end() {
            (self.log)(&format!("{failure}; `drivelab restore` tries again"));
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Ledger");
        text.field("path", &self.path).field("standing", &self.standing).finish_non_exhaustive()
    }
}

/// Whether programs that are started have the ledger open, too, and with it the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inherited {
    Yes,
    No,
}

fn inherit(file: &File, inherited: Inherited) -> std::io::Result<()> {
    let flags = match inherited {
        Inherited::Yes => FdFlags::empty(),
        Inherited::No => FdFlags::CLOEXEC,
    };
    Ok(fcntl_setfd(file, flags)?)
}

/// Appends one line durably.
fn append(file: &mut File, path: &Path, line: &Line) -> Result<(), HostError> {
    let text = line.to_text().map_err(|why| {
        let sentence = format!("a path cannot be kept in the ledger: {why}; rename it");
        HostError::new(ErrorKind::Io, sentence)
    })?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_data())
        .map_err(|error| HostError::io("write the ledger", path, error))
}

/// The kernel's boot id; empty where it tells none.
fn boot(roots: &Roots) -> String {
    read_text(&roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default()
}
