//! Directories, files and block devices.
//!
//! ```text
//!   new      identify, open once, guard, look at the contents, try direct I/O and io_uring on a real descriptor
//!   prepare  scratch file (orphans of killed runs go first)
//!   open     one engine a worker: each opens what is held once more, by descriptor, on its own thread
//!   drop     scratch file removed, hold on the device released
//! ```
//!
//! After `new` no path is walked again: whatever others put in its place meanwhile, what is written
//! is what was opened, or what was made in it.

mod probe;

use crate::{
    Permission, absent,
    pace::{Divided, Pace},
    tree::FileTree,
};
use block::{Data, Engine, Geometry};
use engine::{
    Access as OpenAccess, OpenError, Stdio, Sync, Uring, UringOptions, UringUnavailable, raw,
    reopen,
};
use host::{
    Directory, HostError, Permit, Presence, Roots, Scratch, ScratchTree, Watch, page_cache,
};
use lab::{
    target::{
        Access, Drivable, NO_TREE, Named, Need, Observation, Offer, OpenEngine, OpenTree, Reset,
        Target, TargetError, TargetErrorKind, Time, WorkerEngines, Writes,
    },
    workload::{
        Caching, EngineChoice, Io, Op, Stream, Syncing,
        tree::{Tree, TreeLayout},
    },
};
use probe::{Probe, trimmable};
use record::{CacheDrop, Condition, TargetInfo, TargetKind, Warning};
use std::{
    ffi::OsString,
    fs::File,
    num::NonZeroU32,
    ops::Range,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Blocks looked at on a raw device before it is read without having been written.
const ZERO_SAMPLE: u64 = 1000;
/// As long as that takes no longer: a disk with 12 ms a block would be looked at for 12 s.
const ZERO_SAMPLE_TIME: Duration = Duration::from_secs(1);

/// Why a plain run mounts nothing.
const NO_REMOUNT: &str = "its file system would have to be mounted anew, and only a matrix has file systems of its own: \
                          use `drivelab matrix`, or --set drop_cache=file";

/// A target that has a path.
pub struct PathTarget {
    info: TargetInfo,
    /// Where that is: for people.
    path: PathBuf,
    pace: Pace,
    watch: Watch,
    presence: Presence,
    access: Access,
    scratch: Option<Scratch>,
    tree: Option<ScratchTree>,
    place: Place,
    span_bytes: u64,
    block_bytes: u32,
    direct: Result<(), OpenError>,
    uring: Result<(), UringUnavailable>,
    trim: Result<(), String>,
    write_zeroes: Result<(), String>,
    capacity_bytes: u64,
    seed: u64,
    written: bool,
    remount: Option<Remount>,
}

/// What is measured, held open from the time that it was looked at.
enum Place {
    /// A scratch file is made in it, or a tree.
    Directory(Directory),
    /// A file of this name is made in it.
    NewFile(Directory, OsString),
    /// A file that is there, or a device that is only read.
    Read(Arc<File>),
    /// A device that may be overwritten, and the right to.
    Device(Arc<File>, #[expect(dead_code, reason = "it is the hold on the device")] Permit),
}

impl Place {
    /// Opens what `info` describes. `path` is canonical: a link there now has come since.
    fn open(
        info: &TargetInfo,
        path: &Path,
        permission: &Permission,
        roots: &Roots,
    ) -> Result<Self, TargetError> {
        let failed = |error: std::io::Error| io_error(path, &error);
        match info.kind {
            TargetKind::Directory => {
                Directory::open_canonical(path).map(Self::Directory).map_err(refused)
            }
            TargetKind::NewFile => {
                let parent = path.parent().expect("a file has a directory");
                let name = path.file_name().expect("a file has a name").to_owned();
                let parent = Directory::open_canonical(parent).map_err(refused)?;
                Ok(Self::NewFile(parent, name))
            }
            _ => match permit(info, path, permission, roots)? {
                Some(permit) => {
                    let file = permit.file().try_clone().map_err(failed)?;
                    Ok(Self::Device(Arc::new(file), permit))
                }
                None => {
                    let file = host::directory::open_file_canonical(path).map_err(refused)?;
                    let kind = file.metadata().map_err(failed)?.file_type();
                    if kind.is_block_device() != (info.kind == TargetKind::BlockDevice)
                        || !(kind.is_file() || kind.is_block_device())
                    {
                        return Err(TargetError::refused(format!(
                            "{} was exchanged while it was looked at: run again",
                            path.display()
                        )));
                    }
                    Ok(Self::Read(Arc::new(file)))
                }
            },
        }
    }

    /// Where files are made.
    fn directory(&self) -> Option<&Directory> {
        match self {
            Self::Directory(directory) | Self::NewFile(directory, _) => Some(directory),
            Self::Read(_) | Self::Device(..) => None,
        }
    }

    /// What is there to be measured; nothing before a file is made.
    fn file(&self) -> Option<&Arc<File>> {
        match self {
            Self::Directory(_) | Self::NewFile(..) => None,
            Self::Read(file) | Self::Device(file, _) => Some(file),
        }
    }

    fn is_permitted(&self) -> bool {
        matches!(self, Self::Device(..))
    }
}

/// Unmounts the file system that a target lies on, and mounts it again.
pub type Remount = Box<dyn FnMut() -> Result<(), HostError>>;

impl PathTarget {
    /// Finds out what `path` is and whether it may be measured. Nothing is written yet, but for a
    /// probe file of one block in a directory, removed at once.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn new(
        path: &Path,
        permission: &Permission,
        pace: Pace,
        seed: u64,
    ) -> Result<Self, TargetError> {
        let roots = Roots::default();
        let text = path.to_string_lossy();
        absent::refuse_mistyped(path)?;
        let mut info = host::target_info(path, &text, &roots).map_err(refused)?;
        let path = info.place().unwrap_or_else(|| path.to_owned());
        let place = Place::open(&info, &path, permission, &roots)?;
        let probe = Probe::of(&place, &path)?;
        if let (TargetKind::File, Some(file)) = (info.kind, place.file()) {
            refuse_if_not_written(file, &path)?;
        }
        info.direct_alignment_bytes = probe.alignment_bytes;
        let logical =
            info.stack.first().and_then(|layer| layer.queue.as_ref()?.logical_block_bytes);
        let block_bytes =
            probe.alignment_bytes.or(logical.map(|bytes| bytes as u32)).unwrap_or(512);
        let trim = place.file().map_or(probe.trim, |_| trimmable(&info));
        Ok(Self {
            access: access(&info, place.is_permitted()),
            watch: Watch::new(&info.stack, &roots),
            presence: Presence::of(&info.stack, &roots),
            capacity_bytes: match place.directory() {
                Some(directory) => host::scratch::bytes_available(directory).map_err(refused)?,
                None => info.capacity_bytes,
            },
            path,
            pace,
            scratch: None,
            tree: None,
            place,
            span_bytes: 0,
            block_bytes,
            direct: probe.direct,
            uring: probe.uring,
            trim,
            write_zeroes: probe.write_zeroes,
            seed,
            written: false,
            remount: None,
            info,
        })
    }

    /// The same on a file system that is the caller's own, with the means to mount it anew.
    pub fn remountable(self, remount: Remount) -> Self {
        Self { remount: Some(remount), ..self }
    }

    fn mount_anew(&mut self) -> Result<(), TargetError> {
        let remount = self.remount.as_mut().ok_or_else(|| TargetError::refused(NO_REMOUNT))?;
        if self.tree.is_some() {
            return Err(TargetError::refused(
                "its file system cannot be mounted anew with a file tree in it: measure trees by themselves",
            ));
        }
        match (&mut self.scratch, &mut self.place) {
            (Some(scratch), Place::Directory(directory)) => {
                scratch.let_go_while(directory, remount).map_err(refused)
            }
            _ => Err(TargetError::refused(NO_REMOUNT)),
        }
    }

    /// What workers open once more.
    fn area(&self) -> Option<&Arc<File>> {
        self.scratch.as_ref().map(Scratch::file).or(self.place.file())
    }

    /// How many files a tree may have here.
    fn files_max(&self) -> Result<u64, String> {
        match &self.place {
            Place::Directory(directory) => {
                host::scratch_tree::files_available(directory).map_err(|error| error.to_string())
            }
            _ => Err(NO_TREE.to_owned()),
        }
    }

    fn opener(&self, stream: &Stream) -> OpenEngine {
        let area = self.area().expect("a target is prepared before it is opened");
        let order = SeatOrder {
            held: Arc::clone(area),
            path: self.path.clone(),
            access: if self.scratch.is_some() || self.place.is_permitted() {
                OpenAccess::ReadWrite
            } else {
                OpenAccess::Read
            },
            io: stream.io,
            choice: stream.engine,
            zeroing: stream.op == Op::WriteZeroes,
            pace: self.pace,
            geometry: Geometry {
                capacity_bytes: self.span_bytes,
                block_bytes: match stream.io.caching {
                    Caching::Direct if !stream.engine.is_stdio() => self.block_bytes,
                    _ => 1,
                },
                transfer_bytes_max: stream.block_bytes,
                queue_depth: stream.queue_depth,
                data: Data::Stored,
            },
        };
        Box::new(move || order.engine())
    }
}

impl Target for PathTarget {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn offer(&self) -> Offer {
        Offer {
            capacity_bytes: self.capacity_bytes,
            block_bytes: self.block_bytes,
            access: self.access.clone(),
            uring: in_words(&self.uring),
            direct: in_words(&self.direct),
            huge_pages: host::environment::huge_pages(&Roots::default()),
            buffered: Ok(()),
            stdio: Ok(()),
            trim: self.trim.clone(),
            write_zeroes: self.write_zeroes.clone(),
            drop_machine: page_cache::machine_droppable(&Roots::default())
                .map_err(|error| error.to_string()),
            remount: self.remount.as_ref().map(|_| ()).ok_or_else(|| NO_REMOUNT.to_owned()),
            files_max: self.files_max(),
            time: Time::Wall,
            wears: true,
            memory_bytes: host::environment::memory_usable(&Roots::default()).unwrap_or(0),
        }
    }

    fn prepare(&mut self, need: &Need) -> Result<(), TargetError> {
        self.span_bytes = need.span_bytes;
        self.written = need.writes != Writes::Nothing;
        let made = match &self.place {
            Place::Directory(directory) => Some(Scratch::create(directory, need.span_bytes)),
            Place::NewFile(parent, name) => Some(Scratch::named(parent, name, need.span_bytes)),
            Place::Read(_) | Place::Device(..) => None,
        };
        self.scratch = made.transpose().map_err(refused)?;
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        let openers = streams
            .iter()
            .flat_map(|stream| (0..stream.threads).map(|_| self.opener(stream)))
            .collect();
        Ok(WorkerEngines::Threads(openers))
    }

    fn open_tree(&mut self, threads: u16) -> Result<WorkerEngines, TargetError> {
        let tree = self.tree.as_ref().ok_or_else(|| TargetError::refused(NO_TREE))?;
        let opener = |_| -> OpenTree {
            let (root, pace, seed) = (tree.root().clone(), self.pace, self.seed);
            Box::new(move || {
                raw::own_descriptors();
                let root = root.duplicate().map_err(|error| io_error(root.path(), &error))?;
                let tree = FileTree::new(root, pace, seed);
                Ok(Box::new(tree) as Box<dyn Tree>)
            })
        };
        Ok(WorkerEngines::Trees((0..threads).map(opener).collect()))
    }

    fn plant(&mut self, layout: &TreeLayout) -> Result<(), TargetError> {
        let Place::Directory(directory) = &self.place else {
            return Err(TargetError::refused(NO_TREE));
        };
        let tree = match self.tree.take() {
            Some(tree) => tree,
            None => ScratchTree::create(directory).map_err(refused)?,
        };
        tree.clear().map_err(refused)?;
        for path in layout.directory_paths() {
            tree.make_directory(&path).map_err(refused)?;
        }
        self.tree = Some(tree);
        Ok(())
    }

    fn reset(&mut self, reset: Reset) -> Result<(), TargetError> {
        if reset == Reset::DropCache(CacheDrop::Machine) {
            return page_cache::drop_machine(&Roots::default()).map_err(refused);
        }
        if reset == Reset::DropCache(CacheDrop::Remount) {
            return self.mount_anew();
        }
        let Some(area) = self.area() else { return Ok(()) };
        let done = match reset {
            Reset::NewFile if self.scratch.is_some() => area.set_len(0),
            // A device has no new state to offer; its blocks are simply written again.
            Reset::NewFile => Ok(()),
            Reset::Flush => area.sync_all(),
            Reset::DropCache(_) => page_cache::drop_file(area),
            Reset::Purge if self.scratch.is_none() && !self.place.is_permitted() => {
                return Err(TargetError::refused("what may not be written is not discarded"));
            }
            Reset::Purge => {
                let scratch = self.scratch.is_some();
                raw::discard(area, 0, if scratch { self.span_bytes } else { self.capacity_bytes })
            }
        };
        done.map_err(|error| io_error(&self.path, &error))
    }

    fn watch(&mut self, area: Range<u64>) -> Observation {
        let sample = self.watch.sample();
        let held = self.area().and_then(|file| raw::residency(file, area).ok());
        Observation {
            cpu_total: sample.cpu.map_or(0, |cpu| cpu.user + cpu.system + cpu.idle + cpu.steal),
            cpu_steal: sample.cpu.map_or(0, |cpu| cpu.steal),
            drive_read_bytes: sample.traffic.map(|traffic| traffic.read_bytes),
            drive_written_bytes: sample.traffic.map(|traffic| traffic.written_bytes),
            drive_requests: sample.traffic.map(|traffic| traffic.requests),
            beside_written_bytes: None,
            ssd_cache: None,
            temperature_celsius: sample.temperature_celsius,
            resident_bytes: held.map(|pages| pages.resident_bytes),
            dirty_bytes: held.and_then(|pages| pages.dirty_bytes),
            fetched_bytes: page_cache::fetched_bytes(&Roots::default()),
        }
    }

    fn vanished(&self) -> Option<String> {
        self.presence.sentence(&self.path.display().to_string())
    }

    fn conditions(&mut self) -> Vec<Condition> {
        host::conditions(&self.info.stack, &Roots::default())
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        let findings = match (&self.scratch, self.place.file(), self.info.kind) {
            (Some(scratch), ..) if self.written && scratch_is_full(scratch) => {
                let contents = host::file_contents(scratch.file(), scratch.path());
                contents.map_err(refused)?.findings(scratch.path())
            }
            (None, Some(file), TargetKind::File) => {
                host::file_contents(file, &self.path).map_err(refused)?.findings(&self.path)
            }
            (None, Some(file), TargetKind::BlockDevice) => {
                let (span, seed) = (self.span_bytes, self.seed);
                let (blocks, time) = (ZERO_SAMPLE, ZERO_SAMPLE_TIME);
                let sample = host::sample_zeros(file, &self.path, span, blocks, time, seed);
                sample.map_err(refused)?.findings(&self.path)
            }
            _ => return Ok(Vec::new()),
        };
        Ok(findings.warnings)
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        raw::thread_cpu_ns
    }
}

/// A scratch file that the method grows itself has nothing to show before.
fn scratch_is_full(scratch: &Scratch) -> bool {
    scratch.file().metadata().is_ok_and(|meta| meta.len() >= scratch.bytes())
}

/// As `lab` knows it: why something is not to be had, in words.
fn in_words(probed: &Result<(), impl std::error::Error>) -> Result<(), String> {
    probed.as_ref().copied().map_err(ToString::to_string)
}

/// The guard's permit for a device that will be written.
fn permit(
    info: &TargetInfo,
    path: &Path,
    permission: &Permission,
    roots: &Roots,
) -> Result<Option<Permit>, TargetError> {
    if info.kind != TargetKind::BlockDevice || permission.reads_only {
        return Ok(None);
    }
    let cleared = host::judge_destruction(path, roots).map_err(refused)?;
    cleared.confirm(&permission.consent).map(Some).map_err(|refusal| {
        TargetError::refused(format!("{refusal}, or add --reads-only to run only cells that read"))
    })
}

fn access(info: &TargetInfo, permitted: bool) -> Access {
    match info.kind {
        TargetKind::Directory | TargetKind::NewFile => Access::ReadWrite,
        TargetKind::BlockDevice if permitted => Access::ReadWrite,
        TargetKind::BlockDevice => {
            Access::ReadOnly("it writes, and --destroy was not given for this device".to_owned())
        }
        _ => Access::ReadOnly(format!(
            "it writes, and {} exists: drivelab never writes to an existing file; name a directory or \
             a new file",
            info.text
        )),
    }
}

/// A file whose blocks were never written would be read from no drive.
fn refuse_if_not_written(file: &File, path: &Path) -> Result<(), TargetError> {
    let contents = host::file_contents(file, path).map_err(refused)?;
    let findings = contents.findings(path);
    let never_written = [record::Flag::SparseFile, record::Flag::UnwrittenExtents];
    match findings.warnings.iter().find(|w| w.flag.is_some_and(|f| never_written.contains(&f))) {
        Some(warning) => {
            let flag = warning.flag.map_or("", record::Flag::name);
            Err(TargetError::refused(format!("{} ({flag})", warning.text)))
        }
        None => Ok(()),
    }
}

/// What a worker needs to open its engine on its own thread.
struct SeatOrder {
    /// The target holds it longer than any worker: the one to close it.
    held: Arc<File>,
    /// Where it is: for errors.
    path: PathBuf,
    access: OpenAccess,
    io: Io,
    choice: EngineChoice,
    /// Whether discards zero instead.
    zeroing: bool,
    pace: Pace,
    geometry: Geometry,
}

impl SeatOrder {
    /// On the worker's own thread, which keeps what it opens to itself.
    fn engine(self) -> Result<Box<dyn Drivable>, TargetError> {
        raw::own_descriptors();
        let uring = match self.choice {
            EngineChoice::Stdio => {
                return Ok(named(self.pace, self.stdio()?, "stdio", Vec::new()));
            }
            EngineChoice::StdioBlock => {
                let bytes = self.geometry.transfer_bytes_max as usize;
                let engine = self.stdio()?.with_buffer(bytes);
                let buffer = vec![format!("buffer of {bytes} B")];
                return Ok(named(self.pace, engine, "stdio", buffer));
            }
            EngineChoice::Sync => false,
            EngineChoice::Uring => true,
            EngineChoice::Auto => self.geometry.queue_depth > 1,
        };
        let file = self.file()?;
        if !uring {
            let mut engine = Sync::new(self.pace.clock(), file, self.geometry);
            if self.zeroing {
                engine = engine.zeroing();
            }
            return Ok(named(self.pace, engine, "sync", Vec::new()));
        }
        let clock = self.pace.clock();
        let mut engine = Uring::new(clock, file, self.geometry, UringOptions::default())
            .map_err(|error| TargetError::refused(format!("{error}; use --engine sync")))?;
        if self.zeroing {
            engine = engine.zeroing();
        }
        let features = vec![engine.features().to_string()];
        Ok(named(self.pace, engine, "uring", features))
    }

    fn stdio(&self) -> Result<Stdio, TargetError> {
        let file = self.open(Caching::Buffered, Syncing::None)?;
        Ok(Stdio::on(self.pace.clock(), file, self.access, self.geometry))
    }

    fn file(&self) -> Result<File, TargetError> {
        self.open(self.io.caching, self.io.syncing)
    }

    fn open(&self, caching: Caching, syncing: Syncing) -> Result<File, TargetError> {
        reopen(&self.held, &self.path, self.access, caching, syncing).map_err(open_error)
    }
}

fn refused(error: impl std::fmt::Display) -> TargetError {
    TargetError::refused(error.to_string())
}

/// In the pace's time; without a word more where that is the clock's own.
fn named(
    pace: Pace,
    engine: impl Engine + 'static,
    name: &'static str,
    features: Vec<String>,
) -> Box<dyn Drivable> {
    match pace.times() {
        NonZeroU32::MIN => Box::new(Named { engine, name, features }),
        _ => Box::new(Named { engine: Divided::new(engine, pace), name, features }),
    }
}

fn open_error(error: OpenError) -> TargetError {
    TargetError { kind: TargetErrorKind::Refused, message: error.to_string() }
}

fn io_error(path: &Path, error: &std::io::Error) -> TargetError {
    TargetError { kind: TargetErrorKind::Io, message: format!("{}: {error}", path.display()) }
}
