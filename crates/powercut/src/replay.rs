//! A log of writes is replayed on modelled drives in virtual time, and the power is cut at many
//! places of it.
//!
//! ```text
//!   log -> Survey: operations, flushes, promises, the command line         target::write_log
//!   Places: after every flush, and some that the seed draws                places
//!   Share: those of one process of several                                 share, side_by_side
//!   for each operation:  Replayed::begin ... finish                        target::replayed
//!     for each place of it:  left_by_cut -> Remains
//!       the same was judged lately: the same verdict                       judged
//!       Judge: mount, the program's check, umount, the file system's own   judge, image, checker
//!   -> Cut: a PowerCutRound at a Place; Tally                              page
//! ```
//!
//! The drives do not notice: their media are cloned, and the clones lose their power. What is
//! looked at is a file, so that no disk and no server is needed, and a cut costs what mount and
//! checks cost.

mod checker;
mod image;
mod judge;
mod judged;
mod page;
mod places;
mod share;
mod side_by_side;

pub use page::{head, json, line, progress, recorded, told, verdict};
pub use places::{Place, Places};
pub use share::{Share, workers};
pub use side_by_side::side_by_side;

use crate::{
    error::PowerCutError,
    order::PowerCutOrder,
    recording::failed,
    round::{begin, lost_member},
};
use block::IoError;
use host::{Ledger, Roots, ledger::Change};
use judge::Judge;
use judged::Judged;
use matrix::{Caller, MatrixError, TestDevice, rig};
use record::{FileSystemState, PowerCutRound, Promises};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};
use target::{
    replayed::Replayed,
    serve::Loss,
    write_log::{Entry, Operation, Reader, Survey, survey},
};

/// What is replayed, and where the power is cut.
#[derive(Clone, Debug)]
pub struct ReplayOrder {
    /// On what, and what looks at it.
    pub order: PowerCutOrder,
    /// The log.
    pub log: PathBuf,
    /// What is in it.
    pub survey: Survey,
    /// Where.
    pub places: Places,
    /// Which of these.
    pub share: Share,
}

/// What a power cut found.
#[derive(Clone, PartialEq, Debug)]
pub struct Cut {
    /// Where.
    pub place: Place,
    /// Sectors that had a version beside the one on the medium.
    pub sectors_at_risk: u64,
    /// It left what was judged before.
    pub seen: bool,
    /// The rest.
    pub found: PowerCutRound,
}

/// Who hears of it.
pub trait Audience {
    /// A command, as it would be typed.
    fn step(&self) -> Box<dyn FnMut(&str)>;

    /// A cut was looked at.
    ///
    /// # Errors
    /// No further one is.
    fn cut(&mut self, cut: &Cut, tally: &Tally) -> Result<(), PowerCutError>;
}

/// All cuts so far.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tally {
    /// How many.
    pub cuts: u64,
    /// How many broke a promise.
    pub broken: u64,
    /// The first of those in the log.
    pub first_broken: Option<Place>,
    /// How many found nothing in the drives' caches.
    pub idle: u64,
    /// How many left the same bytes, with the same promises due, as one that was judged before.
    pub seen: u64,
    /// Promises that were due, and what became of them, summed over the cuts.
    pub promises: Promises,
    /// Seconds since the first operation that is cut.
    pub seconds: f64,
}

/// Reads a log to its end.
///
/// # Errors
/// It is not there, damaged, or has no promise.
pub fn open(path: &Path) -> Result<Survey, PowerCutError> {
    let file = record::input::open(path).map_err(|error| failed(path, error.into()))?;
    let survey = survey(file).map_err(|error| failed(path, error))?;
    if survey.promises.is_empty() || survey.command.is_empty() {
        return Err(PowerCutError::NoPromise(path.display().to_string()));
    }
    Ok(survey)
}

/// Refuses what cannot be had here, before anything is touched. Nothing is served, so that no
/// program for that is needed.
///
/// # Errors
/// A sentence with the cure.
pub fn check(order: &ReplayOrder, caller: &Caller) -> Result<(), PowerCutError> {
    let PowerCutOrder { configuration, stack, .. } = &order.order;
    if configuration.is_raw() {
        return Err(PowerCutError::NoReplay(
            "the log was recorded without a file system, and only the program that attached the \
             drives could say what a cut left: record with one"
                .to_owned(),
        ));
    }
    caller.check_place()?;
    lost_member(&order.order)?;
    TestDevice::Model { stack: stack.clone() }.bytes()?;
    rig::check_image(configuration)?;
    if let Some(checker) = rig::checker(configuration, Path::new("")) {
        checker.require().map_err(MatrixError::from)?;
    }
    Ok(())
}

impl ReplayOrder {
    /// So much of the drives the file system takes, from their beginning.
    fn file_system_bytes(&self) -> u64 {
        self.order.bytes.min(self.survey.head.device_bytes)
    }

    /// For how many images there is memory; an image and the media below it take as much as the log
    /// wrote, and what was written more than once counts as often.
    pub fn images_max(&self) -> u64 {
        let usable = host::environment::memory_usable(&Roots::default()).unwrap_or(u64::MAX);
        usable / (2 * self.image_bytes()).max(1)
    }

    fn image_bytes(&self) -> u64 {
        self.survey.written_bytes.min(self.file_system_bytes())
    }
}

/// Replays the log and cuts at all places of it, until one cannot be looked at or `stop` is raised.
///
/// # Errors
/// Everything is put back then, too.
pub fn replay(
    order: &ReplayOrder,
    caller: &Caller,
    tally: &mut Tally,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<(), PowerCutError> {
    order.places.check(&order.survey).map_err(PowerCutError::NoReplay)?;
    let drives = open_drives(order)?;
    match replay_all(order, caller, drives, tally, audience, stop) {
        // A signal goes to the programs that it runs, too: then it is one of them that has failed.
        Err(PowerCutError::Matrix(error @ MatrixError::LeftChanged(_))) => Err(error.into()),
        _ if stop.load(Ordering::Relaxed) => Err(PowerCutError::Interrupted),
        ended => ended,
    }
}

fn open_drives(order: &ReplayOrder) -> Result<Replayed, PowerCutError> {
    let PowerCutOrder { stack, flushes, lost_member, .. } = &order.order;
    let drives = Replayed::open(stack, *flushes, *lost_member);
    let drives = drives.map_err(|error| PowerCutError::NoReplay(error.to_string()))?;
    let capacity = drives.geometry().capacity_bytes;
    let needed = order.file_system_bytes();
    if capacity < needed {
        return Err(PowerCutError::NoReplay(format!(
            "model:{stack} has {}, and the file system in the log {}: give STACK a larger \
             capacity=, or record a smaller file system",
            block::display_bytes(capacity),
            block::display_bytes(needed)
        )));
    }
    // The image is in memory: without room, mounts would fail that say nothing of the drives.
    let image_bytes = order.image_bytes();
    let usable = host::environment::memory_usable(&Roots::default()).unwrap_or(u64::MAX);
    if usable < image_bytes {
        return Err(PowerCutError::NoReplay(format!(
            "what the log wrote takes {} of memory, and {} are free: record for a shorter time, \
             or a smaller file system",
            block::display_bytes(image_bytes),
            block::display_bytes(usable)
        )));
    }
    Ok(drives)
}

fn replay_all(
    order: &ReplayOrder,
    caller: &Caller,
    drives: Replayed,
    tally: &mut Tally,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<(), PowerCutError> {
    let (mut ledger, whole) = begin(caller, audience.step())?;
    let judge = Judge::new(&mut ledger, order, caller, stop, drives.geometry().block_bytes)?;
    stand_for_checks(&mut ledger, order, judge.at())?;
    let (judged, since) = (Judged::default(), Instant::now());
    let mut replay = Replay { order, stop, ledger, drives, judge, judged, tally, audience, since };
    let ended = replay.run();
    let Replay { mut ledger, judge, .. } = replay;
    drop(judge);
    rig::put_back(&mut ledger, whole, &mut Vec::new())?;
    ended
}

/// A line of the ledger for every process that checks.
fn stand_for_checks(
    ledger: &mut Ledger,
    order: &ReplayOrder,
    at: &Path,
) -> Result<(), PowerCutError> {
    let program = order.order.program.file_name();
    let mark = at.display().to_string();
    Ok(ledger.make(Change::Process { program, mark }, || Ok(()))?)
}

/// A replay under way.
struct Replay<'a> {
    order: &'a ReplayOrder,
    stop: &'a AtomicBool,
    ledger: Ledger,
    drives: Replayed,
    judge: Judge<'a>,
    judged: Judged,
    tally: &'a mut Tally,
    audience: &'a mut dyn Audience,
    since: Instant,
}

impl Replay<'_> {
    fn run(&mut self) -> Result<(), PowerCutError> {
        let log = &self.order.log;
        let bad = |error| failed(log, error);
        let file = record::input::open(log).map_err(|error| bad(error.into()))?;
        let mut reader = Reader::new(file).map_err(bad)?;
        let places = self.order.places.of(&self.order.survey, self.order.order.seed);
        let last = places.last();
        let mut number = 0;
        while number < last
            && let Some(entry) = reader.entry().map_err(bad)?
        {
            let Entry::Operation(operation) = entry else { break };
            number += 1;
            let of_it = match self.order.share.has(number) {
                true => places.at(number, operation),
                false => Vec::new(),
            };
            self.operation(number, operation, reader.payload(), of_it)?;
        }
        Ok(())
    }

    /// Carries out an operation, and cuts while it is under way and behind it, as the places say.
    fn operation(
        &mut self,
        number: u64,
        operation: Operation,
        payload: &[u8],
        places: Vec<Place>,
    ) -> Result<(), PowerCutError> {
        let of_drives = |error: IoError| {
            let text = format!("operation {number} of the log: the drives answer {error:?}");
            PowerCutError::NoReplay(text)
        };
        if let Operation::Write { offset, bytes, .. } | Operation::Discard { offset, bytes } =
            operation
        {
            let capacity = self.drives.geometry().capacity_bytes;
            if offset + bytes > capacity {
                return Err(PowerCutError::NoReplay(format!(
                    "operation {number} of the log lies beyond the end of model:{}: give STACK a \
                     larger capacity=",
                    self.order.order.stack
                )));
            }
            if matches!(operation, Operation::Write { .. }) {
                self.judge.touch(offset, bytes);
            }
        }
        self.drives.begin(operation, payload).map_err(of_drives)?;
        let begun = self.drives.now();
        for place in places {
            match place.delay_ns(self.order.order.seed) {
                Some(delay) => drop(self.drives.run_until(begun.after(delay)).map_err(of_drives)?),
                None => self.drives.finish().map_err(of_drives)?,
            }
            self.cut(place)?;
        }
        self.drives.finish().map_err(of_drives)
    }

    /// Looks at what a power cut would leave now.
    fn cut(&mut self, place: Place) -> Result<(), PowerCutError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(PowerCutError::Interrupted);
        }
        let survey = &self.order.survey;
        let due = survey.due(place.operations_before());
        let round = (self.tally.cuts + 1) as u32;
        let (remains, loss) = self.drives.left_by_cut(place.seed(self.order.order.seed));
        let Loss { sectors_changed, sectors_at_risk, .. } = loss;
        let known = self.judged.find(&remains, due as u64);
        let (found, seen) = match known {
            Some(found) => (PowerCutRound { round, sectors_changed, ..found.clone() }, true),
            None => {
                let mut found = PowerCutRound {
                    round,
                    cut_after_s: 0.0,
                    sectors_changed,
                    promises: Promises { made: due as u64, lost: 0, torn: 0 },
                    broken: None,
                    file_system: FileSystemState::Unmountable,
                    mounted_after_s: 0.0,
                };
                let promised = survey.promises[..due].iter().map(|promise| promise.id.clone());
                let promised: Vec<String> = promised.collect();
                match self.drives.open_left(&remains) {
                    Ok(left) => self.judge.look(&mut self.ledger, left, &promised, &mut found)?,
                    // What stands on the drives cannot be opened again: all of it is lost.
                    Err(error) => {
                        found.promises.lost = due as u64;
                        found.broken = Some(error.to_string());
                    }
                }
                self.judged.keep(remains, &found);
                (found, false)
            }
        };
        let cut = Cut { place, sectors_at_risk, seen, found };
        self.tally.add(&cut, self.since.elapsed().as_secs_f64());
        self.audience.cut(&cut, self.tally)
    }
}

impl Tally {
    fn add(&mut self, cut: &Cut, seconds: f64) {
        self.cuts += 1;
        self.seconds = seconds;
        self.idle += u64::from(cut.sectors_at_risk == 0);
        self.seen += u64::from(cut.seen);
        let Promises { made, lost, torn } = cut.found.promises;
        self.promises.made += made;
        self.promises.lost += lost;
        self.promises.torn += torn;
        if cut.found.is_broken() {
            self.broken += 1;
            let first = self.first_broken.map_or(cut.place, |first| first.min(cut.place));
            self.first_broken = Some(first);
        }
    }
}
