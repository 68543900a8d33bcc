//! A log of writes is replayed on modelled drives in virtual time, and the power is cut at many
//! places of it.
//!
//! ```text
//!   log -> Survey: operations, flushes, promises, the command line         target::write_log
//!   Places: after every flush, and some that the seed draws                places
//!   for each operation:  Replayed::begin ... finish                        target::replayed
//!     for each place of it:  left_by_cut -> Left
//!       Image: a sparse file in memory takes what is left                  image
//!       losetup, mount, the program's check, umount, the file system's own check    round::Rig
//!   -> Cut: a PowerCutRound at a Place; Tally                              page
//! ```
//!
//! The drives do not notice: their media are cloned, and the clones lose their power. What is
//! looked at is a file, so that no disk and no server is needed, and a cut costs what mount and
//! checks cost.

mod image;
mod page;
mod places;

pub use page::{head, json, line, progress, recorded, verdict};
pub use places::{Place, Places};

use crate::{
    error::PowerCutError,
    order::{self, PowerCutOrder},
    recording::failed,
    round::{Rig, begin, file_system},
};
use block::IoError;
use host::{Directory, Ledger, Roots, ledger::Mounting};
use image::Image;
use matrix::{Caller, MatrixError, rig};
use record::{FileSystemState, PowerCutRound, Promises};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};
use target::{
    replayed::{Left, Replayed},
    serve::Loss,
    write_log::{self, Entry, Operation, Reader, Survey, survey},
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
}

/// What a power cut found.
#[derive(Clone, PartialEq, Debug)]
pub struct Cut {
    /// Where.
    pub place: Place,
    /// Sectors that had a version beside the one on the medium.
    pub sectors_at_risk: u64,
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
    /// The first of those.
    pub first_broken: Option<Place>,
    /// How many found nothing in the drives' caches.
    pub idle: u64,
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
    let file = File::open(path).map_err(|error| failed(path, error.into()))?;
    let survey = survey(file).map_err(|error| failed(path, error))?;
    if survey.promises.is_empty() || survey.command.is_empty() {
        return Err(PowerCutError::NoPromise(path.display().to_string()));
    }
    Ok(survey)
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
    let PowerCutOrder { stack, flushes, lost_member, bytes, .. } = &order.order;
    let drives = Replayed::open(stack, *flushes, *lost_member);
    let drives = drives.map_err(|error| PowerCutError::NoReplay(error.to_string()))?;
    let capacity = drives.geometry().capacity_bytes;
    let needed = order.survey.head.device_bytes.min(*bytes);
    if capacity < needed {
        return Err(PowerCutError::NoReplay(format!(
            "model:{stack} has {}, and the file system in the log {}: give STACK a larger \
             capacity=, or record a smaller file system",
            block::display_bytes(capacity),
            block::display_bytes(needed)
        )));
    }
    // The image is in memory: without room, mounts would fail that say nothing of the drives. What
    // was written more than once counts as often.
    let image_bytes = order.survey.written_bytes.min(needed);
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
    let bytes = order.order.bytes.min(order.survey.head.device_bytes);
    let image = make_image(&mut ledger, &caller.place, bytes, &drives)?;
    let since = Instant::now();
    let mut replay = Replay { order, caller, stop, ledger, drives, image, tally, audience, since };
    let ended = replay.run();
    let mut ledger = replay.ledger;
    drop(replay.image);
    rig::put_back(&mut ledger, whole, &mut Vec::new())?;
    ended
}

/// An empty file in memory, as large as what the file system takes of the drives.
fn make_image(
    ledger: &mut Ledger,
    base: &Path,
    bytes: u64,
    drives: &Replayed,
) -> Result<Image, PowerCutError> {
    let memory = base.join("memory");
    ledger.new_directory(&Directory::open_canonical(base)?, "memory".as_ref())?;
    // What no flush of the check's is to wait for a disk; pages are taken when they are written.
    let mounting = Mounting { fs: "tmpfs".to_owned(), options: "mode=700,size=90%".to_owned() };
    ledger.mount(Path::new("tmpfs"), &memory, &mounting)?;
    let file = ledger.file(&Directory::open_canonical(&memory)?, "image".as_ref())?;
    let path = memory.join("image");
    let image = Image::new(file, path.clone(), bytes, drives.geometry().block_bytes);
    image.map_err(|error| failed(&path, error.into()))
}

/// A replay under way.
struct Replay<'a> {
    order: &'a ReplayOrder,
    caller: &'a Caller,
    stop: &'a AtomicBool,
    ledger: Ledger,
    drives: Replayed,
    image: Image,
    tally: &'a mut Tally,
    audience: &'a mut dyn Audience,
    since: Instant,
}

impl Replay<'_> {
    fn run(&mut self) -> Result<(), PowerCutError> {
        let log = &self.order.log;
        let bad = |error| failed(log, error);
        let file = File::open(log).map_err(|error| bad(error.into()))?;
        let mut reader = Reader::new(file).map_err(bad)?;
        let places = self.order.places.of(&self.order.survey, self.order.order.seed);
        let last = places.last();
        let mut number = 0;
        while number < last
            && let Some(entry) = reader.entry().map_err(bad)?
        {
            let Entry::Operation(operation) = entry else { break };
            number += 1;
            self.operation(number, operation, reader.payload(), places.at(number, operation))?;
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
                self.image.touch(offset, bytes);
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
        let order = &self.order.order;
        let due = self.order.survey.due(place.operations_before());
        let promised: Vec<String> =
            self.order.survey.promises[..due].iter().map(|promise| promise.id.clone()).collect();
        let round = (self.tally.cuts + 1) as u32;
        let mut found = PowerCutRound {
            round,
            cut_after_s: 0.0,
            sectors_changed: 0,
            promises: Promises { made: due as u64, lost: 0, torn: 0 },
            broken: None,
            file_system: FileSystemState::Unmountable,
            mounted_after_s: 0.0,
        };
        let mut sectors_at_risk = 0;
        match self.drives.left_by_cut(place.seed(order.seed)) {
            Ok((left, loss)) => {
                let Loss { sectors_changed, .. } = loss;
                (found.sectors_changed, sectors_at_risk) = (sectors_changed, loss.sectors_at_risk);
                self.look(left, round, &promised, &mut found)?;
            }
            // What stands on the drives cannot be opened again: all of it is lost.
            Err(error) => {
                found.promises.lost = due as u64;
                found.broken = Some(error.to_string());
            }
        }
        let cut = Cut { place, sectors_at_risk, found };
        self.tally.add(&cut, self.since.elapsed().as_secs_f64());
        self.audience.cut(&cut, self.tally)
    }

    /// Mounts what is left, has the program check it, unmounts it, and has the file system checked.
    fn look(
        &mut self,
        mut left: Left,
        round: u32,
        promised: &[String],
        found: &mut PowerCutRound,
    ) -> Result<(), PowerCutError> {
        let order = &self.order.order;
        if let Err(error) = self.image.take(&mut left) {
            let image::Untaken::Drives(error) = error else { return Err(error.into()) };
            found.promises.lost = found.promises.made;
            found.broken = Some(format!("what is left cannot be read: {error:?}"));
            return Ok(());
        }
        drop(left);
        let (caller, stop) = (self.caller, self.stop);
        let mut rig = Rig { order, caller, stop, round, children: Vec::new(), workload: None };
        let mark = self.ledger.mark();
        let looked = look(&mut self.ledger, &mut rig, &self.image, promised, found);
        rig.end_workload();
        rig::put_back(&mut self.ledger, mark, &mut Vec::new())?;
        looked?;
        // Ctrl-C goes to mount and fsck, too: what they say then is said of nothing.
        if stop.load(Ordering::Relaxed) {
            return Err(PowerCutError::Interrupted);
        }
        Ok(())
    }
}

fn look(
    ledger: &mut Ledger,
    rig: &mut Rig<'_>,
    image: &Image,
    promised: &[String],
    found: &mut PowerCutRound,
) -> Result<(), PowerCutError> {
    let order = rig.order;
    let at = rig.caller.place.join("mount");
    let device = ledger.loop_device(image.file(), image.path(), Some(image.bytes()))?;
    let mark = ledger.mark();
    let since = Instant::now();
    let mounted = rig::mount_again(ledger, &order.configuration, &device, &at);
    found.mounted_after_s = since.elapsed().as_secs_f64();
    if let Err(error) = mounted {
        ledger.say(&error.to_string());
        found.promises.lost = found.promises.made;
        return Ok(());
    }
    rig.ask(ledger, &order::Place::Directory(at), promised, found)?;
    rig::put_back(ledger, mark, &mut Vec::new())?;
    found.file_system = file_system(ledger, order, &device);
    Ok(())
}

impl Tally {
    fn add(&mut self, cut: &Cut, seconds: f64) {
        self.cuts += 1;
        self.seconds = seconds;
        self.idle += u64::from(cut.sectors_at_risk == 0);
        let Promises { made, lost, torn } = cut.found.promises;
        self.promises.made += made;
        self.promises.lost += lost;
        self.promises.torn += torn;
        if cut.found.is_broken() {
            self.broken += 1;
            self.first_broken.get_or_insert(cut.place);
        }
    }
}

impl From<image::Untaken> for PowerCutError {
    fn from(error: image::Untaken) -> Self {
        match error {
            image::Untaken::Image(path, error) => {
                failed(&path, write_log::WriteLogError::Io(error))
            }
            image::Untaken::Drives(error) => Self::NoReplay(format!("the drives answer {error:?}")),
        }
    }
}
