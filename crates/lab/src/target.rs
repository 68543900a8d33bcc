//! What the laboratory asks of whatever is measured. `target` implements it for files, directories
//! and devices; a method never learns which it is.

use crate::workload::{
    Recorder, Stream, Worker, WorkerPlan, drain, drive,
    replay::{Replayer, ReplayerPlan, drain_replay, replay},
    tree::{SharedTree, Tree, TreeLayout},
};
use block::{Command, Completion, Drive, Engine, Instant, IoError, Request, Tag};
use record::{
    CacheDrop, Completions, Condition, FastCacheKind, ManagedFlash, SsdCachePass, TargetInfo,
};
use std::{ops::Range, sync::atomic::AtomicBool};

/// Something that can be measured.
pub trait Target {
    /// What it is, for the record.
    fn info(&self) -> &TargetInfo;

    /// What a plan must know about it.
    fn offer(&self) -> Offer;

    /// Makes the tested area ready: a scratch file of this size where the target needs one.
    ///
    /// # Errors
    /// When there is no room, or no permission.
    fn prepare(&mut self, need: &Need) -> Result<(), TargetError>;

    /// One engine a worker, over all streams in order; or one for all on a virtual clock.
    ///
    /// # Errors
    /// When the target cannot be opened as the streams ask.
    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError>;

    /// One view a worker of the target's file tree, or one for all on a virtual clock.
    ///
    /// # Errors
    /// When there is none.
    fn open_tree(&mut self, threads: u16) -> Result<WorkerEngines, TargetError> {
        let _ = threads;
        Err(TargetError::refused(NO_TREE))
    }

    /// Makes the tree new: its directories, and no file.
    ///
    /// # Errors
    /// When there is no room, no permission, or no tree.
    fn plant(&mut self, layout: &TreeLayout) -> Result<(), TargetError> {
        let _ = layout;
        Err(TargetError::refused(NO_TREE))
    }

    /// Puts the target into the state a cell asks for before it starts.
    ///
    /// # Errors
    /// When the system refuses.
    fn reset(&mut self, reset: Reset) -> Result<(), TargetError>;

    /// Looks at the machine, the drives, and what the page cache holds of this range of bytes:
    /// cheap, called around every pass.
    fn watch(&mut self, area: Range<u64>) -> Observation;

    /// Flags that only the written area can show (holes left in it, zeroes read from a map).
    ///
    /// # Errors
    /// When the area cannot be read.
    fn inspect(&mut self) -> Result<Vec<record::Warning>, TargetError>;

    /// Says so where it is not there any more: a drive that was pulled out, or fell off its bus.
    /// Cheap, and asked when something failed.
    fn vanished(&self) -> Option<String> {
        None
    }

    /// What arrays and thin volumes under it are about just now, of their own accord.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Reads the calling thread's processor time in ns; 0 where time is virtual.
    fn cpu_clock(&self) -> fn() -> u64;

    /// What has completed so far, in one number; only a model, whose runs replay, has it.
    fn completions(&self) -> Option<Completions> {
        None
    }

    /// How the fast caches of its drives stand; only a model can say.
    fn fast_caches(&self) -> Vec<FastCache> {
        Vec::new()
    }

    /// How the managed flash volume stands that the target is or has; its counters run since it was
    /// opened.
    fn managed_flash(&self) -> Option<ManagedFlash> {
        None
    }
}

/// What a plan must know about a target.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    /// Largest area that can be tested, bytes.
    pub capacity_bytes: u64,
    /// Direct I/O must be aligned to this many bytes.
    pub block_bytes: u32,
    /// Whether it may be written.
    pub access: Access,
    /// Why io_uring is not to be had, if it is not.
    pub uring: Result<(), String>,
    /// Whether direct I/O is to be had.
    pub direct: Result<(), String>,
    /// Why data cannot lie in huge pages, if they cannot.
    pub huge_pages: Result<(), String>,
    /// Why there is no page cache to go through, if there is none.
    pub buffered: Result<(), String>,
    /// Why stdio is not to be had, if it is not.
    pub stdio: Result<(), String>,
    /// Why blocks cannot be trimmed, if they cannot.
    pub trim: Result<(), String>,
    /// Why blocks cannot be zeroed by command, if they cannot.
    pub write_zeroes: Result<(), String>,
    /// Why the whole machine's page cache cannot be emptied, if it cannot.
    pub drop_machine: Result<(), String>,
    /// Why its file system cannot be mounted anew, if it cannot.
    pub remount: Result<(), String>,
    /// How many files can be made in it, or why no file tree is to be had.
    pub files_max: Result<u64, String>,
    /// Whether its clock is the wall's.
    pub time: Time,
    /// Whether there is a device under it, whose life each written byte shortens.
    pub wears: bool,
    /// Memory that can cache the target's data, bytes: the machine's, or a model's own.
    pub memory_bytes: u64,
}

impl Offer {
    /// Of a drive with blocks of 512 B that wears, in the wall's time, by every way in; without memory
    /// that could cache it.
    pub fn everything(capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            block_bytes: 512,
            access: Access::ReadWrite,
            uring: Ok(()),
            direct: Ok(()),
            huge_pages: Ok(()),
            buffered: Ok(()),
            stdio: Ok(()),
            trim: Ok(()),
            write_zeroes: Ok(()),
            drop_machine: Ok(()),
            remount: Ok(()),
            files_max: Ok(1 << 30),
            time: Time::Wall,
            wears: true,
            memory_bytes: 0,
        }
    }
}

/// Whether a target may be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Freely: its contents are ours.
    ReadWrite,
    /// Never; with the reason and the cure as a sentence.
    ReadOnly(String),
}

/// Whose seconds they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// The wall clock's.
    Wall,
    /// A model's.
    Virtual,
}

impl Time {
    /// The word in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Virtual => "virtual",
        }
    }
}

/// What the plan needs of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// Size of the tested area.
    pub span_bytes: u64,
    /// How the plan writes.
    pub writes: Writes,
}

/// How a plan writes to a target, by what a table of its places would need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Writes {
    /// Not at all.
    Nothing,
    /// In few long pieces, or one after the other.
    InOrder,
    /// Here and there.
    Scattered,
}

/// What a cell asks for before it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reset {
    /// The area's file empty, as if just made.
    NewFile,
    /// What was written to the area is on the drive.
    Flush,
    /// Nothing of the area in the page cache, by this means.
    DropCache(CacheDrop),
    /// Everything forgotten: TRIM of the whole area.
    Purge,
}

/// How the fast caches of one kind stand, all drives together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastCache {
    /// Which.
    pub kind: FastCacheKind,
    /// What they hold at most, bytes.
    pub capacity_bytes: u64,
    /// What they hold, and have not yet put where it is to stay, bytes.
    pub held_bytes: u64,
    /// What was ever written into them, bytes.
    pub taken_bytes: u64,
}

/// What can be seen of machine and drives at one moment. Counters grow; `None` = not to be had.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Observation {
    /// Processor time of all kinds since boot, in the kernel's ticks.
    pub cpu_total: u64,
    /// Of it, taken by the hypervisor.
    pub cpu_steal: u64,
    /// Bytes the drives have read since boot.
    pub drive_read_bytes: Option<u64>,
    /// Bytes the drives have written since boot.
    pub drive_written_bytes: Option<u64>,
    /// Reads and writes that the drives have completed since boot; no model counts them.
    pub drive_requests: Option<u64>,
    /// Of the bytes written, those that went to flash beside disks; only a model knows.
    pub beside_written_bytes: Option<u64>,
    /// What flash that is a cache has done so far; only a model knows.
    pub ssd_cache: Option<SsdCachePass>,
    /// Drive temperature, degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// Of the area in the page cache, bytes.
    pub resident_bytes: Option<u64>,
    /// Of it newer than the drive, bytes.
    pub dirty_bytes: Option<u64>,
    /// Bytes that this program had read from storage since it began, read-ahead included and the
    /// page cache's answers not.
    pub fetched_bytes: Option<u64>,
}

impl Observation {
    /// How much a counter has grown since `before`; nothing where it is not told at both times.
    pub(crate) fn grown_since(&self, before: &Self, of: fn(&Self) -> Option<u64>) -> Option<u64> {
        Some(of(self)?.saturating_sub(of(before)?))
    }

    /// What a cache on flash did since `before`.
    pub(crate) fn cached_since(&self, before: &Self) -> Option<SsdCachePass> {
        let both = before.ssd_cache.zip(self.ssd_cache);
        both.map(|(before, after)| SsdCachePass::between(&before, &after))
    }
}

/// The workers' engines, still to be opened.
pub enum WorkerEngines {
    /// One a worker; opened on the worker's own thread.
    Threads(Vec<OpenEngine>),
    /// One a worker, on a file tree.
    Trees(Vec<OpenTree>),
    /// One file tree for all: a virtual clock.
    SharedTree(Box<dyn SharedTree>),
    /// One for all: a virtual clock.
    Shared(Box<dyn Drivable>),
}

/// Opens a worker's engine, on the thread that will use it.
pub type OpenEngine = Box<dyn FnOnce() -> Result<Box<dyn Drivable>, TargetError> + Send>;

/// Opens a worker's view of the tree, on the thread that will use it.
pub type OpenTree = Box<dyn FnOnce() -> Result<Box<dyn Tree>, TargetError> + Send>;

/// Why a target without a directory cannot run a cell on a file tree.
pub const NO_TREE: &str = "it works on a file tree, and the target has no directory: name a \
                           directory on the file system to measure, or a model with a file system such as `model:hdd-7200-cmr/ext4`";

/// Any engine, behind one dynamic call a pass instead of one an operation.
pub trait Drivable {
    /// Makes a worker with buffers from this engine.
    fn worker(&mut self, plan: &WorkerPlan, recorder: Recorder) -> Worker;
    /// [`drive`].
    fn drive(&mut self, workers: &mut [Worker], until: Instant, stop: &AtomicBool);
    /// [`drain`].
    fn drain(&mut self, workers: &mut [Worker]);
    /// Makes the worker of a replay with buffers from this engine.
    fn replayer(&mut self, plan: ReplayerPlan, recorders: Vec<Recorder>) -> Replayer;
    /// [`replay`].
    fn replay(&mut self, replayer: &mut Replayer, until: Instant, stop: &AtomicBool);
    /// [`drain_replay`].
    fn drain_replay(&mut self, replayer: &mut Replayer);
    /// [`Engine::hand_over`].
    ///
    /// # Errors
    /// The system's.
    fn hand_over(&mut self) -> Result<(), IoError>;
    /// Lets so much time pass, with nothing in flight.
    fn rest(&mut self, ns: u64);
    /// The time now; with nothing in flight.
    fn now(&mut self) -> Instant;
    /// The time that the last [`drive`] reached.
    fn reached(&self) -> Instant;
    /// Flushes; with nothing else in flight.
    ///
    /// # Errors
    /// The drive's.
    fn flush(&mut self) -> Result<Instant, IoError>;
    /// The engine's name, and what it uses and gave up, in words.
    fn describe(&self) -> (String, Vec<String>);
}

/// An engine with its name, ready for a worker.
pub struct Named<E> {
    /// The engine.
    pub engine: E,
    /// `null`, `sync`, `uring`, `stdio`.
    pub name: &'static str,
    /// Kernel features in use and given up.
    pub features: Vec<String>,
}

impl<E: Engine> Drivable for Named<E> {
    fn worker(&mut self, plan: &WorkerPlan, recorder: Recorder) -> Worker {
        Worker::new(plan, recorder, &mut self.engine)
    }

    fn drive(&mut self, workers: &mut [Worker], until: Instant, stop: &AtomicBool) {
        drive(&mut self.engine, workers, until, stop);
    }

    fn drain(&mut self, workers: &mut [Worker]) {
        drain(&mut self.engine, workers);
    }

    fn replayer(&mut self, plan: ReplayerPlan, recorders: Vec<Recorder>) -> Replayer {
        Replayer::new(plan, recorders, &mut self.engine)
    }

    fn replay(&mut self, replayer: &mut Replayer, until: Instant, stop: &AtomicBool) {
        replay(&mut self.engine, replayer, until, stop);
    }

    fn drain_replay(&mut self, replayer: &mut Replayer) {
        drain_replay(&mut self.engine, replayer);
    }

    fn hand_over(&mut self) -> Result<(), IoError> {
        self.engine.hand_over()
    }

    fn rest(&mut self, ns: u64) {
        let until = self.now().after(ns);
        let mut done = Vec::new();
        while self.engine.now() < until {
            self.engine.wait(until, &mut done);
            assert!(done.is_empty(), "a completion came back to nobody");
        }
    }

    fn now(&mut self) -> Instant {
        let mut done = Vec::new();
        self.engine.wait(Instant(0), &mut done);
        assert!(done.is_empty(), "a completion came back to nobody");
        self.engine.now()
    }

    fn reached(&self) -> Instant {
        self.engine.now()
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        let (tag, actor, drive) = (Tag::OWN, block::Actor(0), Drive(0));
        self.engine.submit(Request { tag, actor, drive, command: Command::Flush });
        let mut done: Vec<Completion> = Vec::with_capacity(1);
        while done.is_empty() {
            self.engine.wait(Instant::NEVER, &mut done);
        }
        let flush = &done[0];
        assert!(done.len() == 1 && flush.tag == tag, "only the flush was in flight");
        flush.result.map(|()| flush.finished)
    }

    fn describe(&self) -> (String, Vec<String>) {
        (self.name.to_owned(), self.features.clone())
    }
}

/// Why a target cannot do what was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    /// What kind of trouble.
    pub kind: TargetErrorKind,
    /// One sentence or two; the last names the cure.
    pub message: String,
}

/// What kind of trouble a target is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetErrorKind {
    /// It must not be touched, or cannot be what was asked for.
    Refused,
    /// There is no room.
    NoSpace,
    /// The system reported an error.
    Io,
}

impl TargetError {
    /// A refusal.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Refused, message: message.into() }
    }
}
