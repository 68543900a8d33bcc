//! What is kept of a run: by whom it was measured, its record in the store, and a note of where it
//! may leave something behind if it is killed.

use crate::CannotRun;
use block::{Rng, display_bytes};
use engine::{Clock, counters_differ_by_ns};
use host::Roots;
use lab::{order::Opening, target::Time};
use record::{Calibration, Record, State, Store, TargetInfo, TargetKind, Tool, Warning};
use std::{fmt, path::PathBuf};

/// By which program, as it was called.
#[derive(Clone, Debug)]
pub struct MeasuredBy {
    /// The program.
    pub tool: Tool,
    /// As it was typed.
    pub command_line: Vec<String>,
}

/// Who measures, by which program, at what time: what is known of a run before its first cell.
///
/// # Errors
/// The store cannot be read.
pub fn opening(
    targets: Vec<TargetInfo>,
    time: Time,
    by: &MeasuredBy,
    store: &Store,
    clock: Clock,
) -> Result<Opening, record::StoreError> {
    let mut rng = Rng::new(host::entropy(), 1);
    let id = store.fresh_id(|| rng.next() as u32)?;
    Ok(opening_as(id, targets, time, by, target::calibrate(clock)))
}

/// Likewise of a run that has its id already, and no store.
pub(crate) fn opening_as(
    id: String,
    mut targets: Vec<TargetInfo>,
    time: Time,
    by: &MeasuredBy,
    calibration: Calibration,
) -> Opening {
    let environment = host::environment_of(&mut targets, &Roots::default());
    if let (Time::Wall, Some(apart_ns)) = (time, counters_differ_by_ns()) {
        let warning = Warning { flag: None, text: clock_is_wrong(apart_ns) };
        targets.iter_mut().for_each(|target| target.warnings.push(warning.clone()));
    }
    Opening {
        id,
        started: host::now(),
        time,
        targets,
        environment,
        calibration,
        command_line: by.command_line.clone(),
        tool: by.tool.clone(),
    }
}

/// The kernel trusts counters that do not agree.
fn clock_is_wrong(apart_ns: u64) -> String {
    format!(
        "the processors' time stamp counters are {:.3} s apart and the kernel takes its time from \
         them: latencies and rates may be far off; write another source than `tsc` of \
         available_clocksource to \
         /sys/devices/system/clocksource/clocksource0/current_clocksource",
        apart_ns as f64 / 1e9
    )
}

/// Keeps a run that is about to begin.
///
/// # Errors
/// The store cannot be written.
pub fn begin(store: &mut Store, record: &mut Record) -> Result<(), CannotRun> {
    record.state = State::Running;
    store.save(record)?;
    // A note without a run would be taken for an orphan by whoever starts meanwhile.
    scratch_places(record).try_for_each(|path| store.note_scratch(&record.id, &path))?;
    Ok(())
}

/// Keeps a run that has ended and left nothing behind.
///
/// # Errors
/// The store cannot be written.
pub fn conclude(store: &mut Store, record: &Record) -> Result<(), CannotRun> {
    scratch_places(record).try_for_each(|path| store.forget_scratch(&path))?;
    Ok(store.save(record)?)
}

/// Where this run may leave something behind if it is killed.
fn scratch_places(record: &Record) -> impl Iterator<Item = PathBuf> {
    let made = [TargetKind::Directory, TargetKind::NewFile];
    let targets = record.targets.iter().filter(move |target| made.contains(&target.kind));
    targets.filter_map(TargetInfo::place)
}

/// What a killed run left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeftBehind {
    /// A scratch file, which is removed now.
    Removed {
        /// Which.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A file that the user named, which stays.
    Stays(PathBuf),
}

impl fmt::Display for LeftBehind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed { path, bytes } => {
                let (path, bytes) = (path.display(), display_bytes(*bytes));
                write!(formatter, "removed {path} ({bytes}), left behind by a killed run")
            }
            Self::Stays(path) => write!(
                formatter,
                "a killed run left {} behind: remove it if you do not need it",
                path.display()
            ),
        }
    }
}

/// Runs that were killed are marked as interrupted, and what they left behind is removed and told.
///
/// # Errors
/// The store cannot be read or written.
pub fn clean_up(store: &mut Store, tell: &mut dyn FnMut(LeftBehind)) -> Result<(), CannotRun> {
    store.close_orphans()?;
    for path in store.orphaned_scratch()? {
        if path.is_dir() {
            let removed = host::Directory::open(&path).and_then(|it| host::remove_orphans(&it));
            for (path, bytes) in removed.unwrap_or_default() {
                tell(LeftBehind::Removed { path, bytes });
            }
        } else if path.exists() {
            tell(LeftBehind::Stays(path.clone()));
        }
        store.forget_scratch(&path)?;
    }
    Ok(())
}
