//! Directories, files and block devices.
//!
//! ```text
//!   new      identify, guard, look at the contents, try direct I/O and io_uring on a real descriptor
//!   prepare  scratch file (orphans of killed runs go first)
//!   open     one seat a worker: each opens its own descriptor on its own thread
//!   drop     scratch file removed, hold on the device released
//! ```

use crate::{Permission, tree::FileTree};
use block::{Data, Engine, Geometry};
use engine::{
    Access as OpenAccess, Caching as OpenCaching, Clock, Create, OpenError, OpenErrorKind, Stdio,
    Sync, Syncing as OpenSyncing, Uring, UringOptions, open_file, raw,
};
use host::{HostError, Permit, Roots, Scratch, ScratchTree, Watch, page_cache};
use lab::{
    target::{
        Access, Crew, Drivable, NO_TREE, Named, Need, Observation, Offer, Reset, Seat, Target,
        TargetError, TargetErrorKind, Time, TreeSeat,
    },
    workload::{
        Caching, EngineChoice, Io, Stream, Syncing,
        tree::{Tree, TreeLayout},
    },
};
use record::{CacheDrop, TargetInfo, TargetKind, Warning};
use std::{
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
};

/// Blocks looked at on a raw device before it is read without having been written.
const ZERO_SAMPLE: u64 = 1000;

/// Why a plain run mounts nothing.
const NO_REMOUNT: &str = "its file system would have to be mounted anew, and only a matrix has file systems of its own: \
                          use `drivelab matrix`, or --set drop_cache=file";

/// A target that has a path.
pub struct PathTarget {
    info: TargetInfo,
    path: PathBuf,
    clock: Clock,
    watch: Watch,
    access: Access,
    scratch: Option<Scratch>,
    tree: Option<ScratchTree>,
    permit: Option<Permit>,
    span_bytes: u64,
    block_bytes: u32,
    direct: Result<(), String>,
    uring: Result<(), String>,
    capacity_bytes: u64,
    seed: u64,
    written: bool,
    remount: Option<Remount>,
}

/// Unmounts the file system that a target lies on, and mounts it again.
pub type Remount = Box<dyn FnMut() -> Result<(), HostError>>;

impl PathTarget {
    /// Finds out what `path` is and whether it may be measured. Nothing is written yet, but for a probe file of
    /// one block in a directory, removed at once.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn new(
        path: &Path,
        permission: &Permission,
        clock: Clock,
        seed: u64,
    ) -> Result<Self, TargetError> {
        let roots = Roots::default();
        let text = path.to_string_lossy();
        let mut info = host::target_info(path, &text, &roots).map_err(refused)?;
        let path = info.path.as_ref().map_or_else(|| path.to_owned(), PathBuf::from);
        let permit = permit(&info, &path, permission, &roots)?;
        let probe = Probe::of(&info, &path)?;
        if info.kind == TargetKind::File {
            refuse_if_not_written(&path)?;
        }
        info.direct_alignment_bytes = probe.alignment_bytes;
        let logical =
            info.stack.first().and_then(|layer| layer.queue.as_ref()?.logical_block_bytes);
        let block_bytes =
            probe.alignment_bytes.or(logical.map(|bytes| bytes as u32)).unwrap_or(512);
        Ok(Self {
            access: access(&info, permit.is_some()),
            watch: Watch::new(&info.stack, &roots),
            capacity_bytes: capacity(&info, &path)?,
            path,
            clock,
            scratch: None,
            tree: None,
            permit,
            span_bytes: 0,
            block_bytes,
            direct: probe.direct,
            uring: probe.uring,
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
        match &mut self.scratch {
            Some(scratch) => scratch.let_go_while(remount).map_err(refused),
            None => remount().map_err(refused),
        }
    }

    /// The path that workers open.
    fn area_path(&self) -> PathBuf {
        match (&self.scratch, &self.permit) {
            (Some(scratch), _) => scratch.path().to_owned(),
            (None, Some(permit)) => permit.held_path(),
            (None, None) => self.path.clone(),
        }
    }

    /// How many files a tree may have here.
    fn files_max(&self) -> Result<u64, String> {
        match self.info.kind {
            TargetKind::Directory => {
                host::scratch_tree::files_available(&self.path).map_err(|error| error.to_string())
            }
            _ => Err(NO_TREE.to_owned()),
        }
    }

    fn seat(&self, stream: &Stream) -> Seat {
        let order = SeatOrder {
            path: self.area_path(),
            access: if self.scratch.is_some() || self.permit.is_some() {
                OpenAccess::ReadWrite
            } else {
                OpenAccess::Read
            },
            io: stream.io,
            choice: stream.engine,
            clock: self.clock,
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
        Box::new(move || order.sit())
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
            uring: self.uring.clone(),
            direct: self.direct.clone(),
            buffered: Ok(()),
            stdio: Ok(()),
            drop_machine: page_cache::machine_droppable(&Roots::default())
                .map_err(|error| error.to_string()),
            remount: self.remount.as_ref().map(|_| ()).ok_or_else(|| NO_REMOUNT.to_owned()),
            files_max: self.files_max(),
            time: Time::Wall,
            memory_bytes: host::environment::memory_usable(&Roots::default()).unwrap_or(0),
        }
    }

    fn prepare(&mut self, need: &Need) -> Result<(), TargetError> {
        self.span_bytes = need.span_bytes;
        self.written = need.writes;
        self.scratch = match self.info.kind {
            TargetKind::Directory => {
                Some(Scratch::create(&self.path, need.span_bytes).map_err(refused)?)
            }
            TargetKind::NewFile => {
                Some(Scratch::named(&self.path, need.span_bytes).map_err(refused)?)
            }
            _ => None,
        };
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<Crew, TargetError> {
        let seats = streams
            .iter()
            .flat_map(|stream| (0..stream.threads).map(|_| self.seat(stream)))
            .collect();
        Ok(Crew::Threads(seats))
    }

    fn open_tree(&mut self, threads: u16) -> Result<Vec<TreeSeat>, TargetError> {
        let tree = self.tree.as_ref().ok_or_else(|| TargetError::refused(NO_TREE))?;
        let seat = |_| -> TreeSeat {
            let (root, clock, seed) = (tree.path().to_owned(), self.clock, self.seed);
            Box::new(move || {
                raw::own_descriptors();
                let opened = FileTree::open(&root, clock, seed);
                let tree = opened.map_err(|error| {
                    TargetError::refused(format!("{}: {error:?}", root.display()))
                })?;
                Ok(Box::new(tree) as Box<dyn Tree>)
            })
        };
        Ok((0..threads).map(seat).collect())
    }

    fn plant(&mut self, layout: &TreeLayout) -> Result<(), TargetError> {
        if self.info.kind != TargetKind::Directory {
            return Err(TargetError::refused(NO_TREE));
        }
        let tree = match self.tree.take() {
            Some(tree) => tree,
            None => ScratchTree::create(&self.path).map_err(refused)?,
        };
        tree.clear().map_err(refused)?;
        for path in layout.directory_paths() {
            let path = tree.path().join(path);
            std::fs::create_dir(&path).map_err(|error| io_error(&path, &error))?;
        }
        self.tree = Some(tree);
        Ok(())
    }

    fn reset(&mut self, reset: Reset) -> Result<(), TargetError> {
        let failed = |error: std::io::Error| io_error(&self.path, &error);
        match (reset, &self.scratch) {
            (Reset::NewFile, Some(scratch)) => scratch.file().set_len(0).map_err(failed),
            // A device has no new state to offer; its blocks are simply written again.
            (Reset::NewFile, None) => Ok(()),
            (Reset::Flush, _) => {
                File::open(self.area_path()).and_then(|file| file.sync_all()).map_err(failed)
            }
            (Reset::DropCache(CacheDrop::Machine), _) => {
                page_cache::drop_machine(&Roots::default()).map_err(refused)
            }
            (Reset::DropCache(CacheDrop::Remount), _) => self.mount_anew(),
            (Reset::DropCache(CacheDrop::File), _) => {
                page_cache::drop_file(&self.area_path()).map_err(failed)
            }
            (Reset::Purge, Some(scratch)) => {
                raw::discard(scratch.file(), 0, self.span_bytes).map_err(failed)
            }
            (Reset::Purge, None) => {
                let path = self.area_path();
                let file = File::options().write(true).open(path).map_err(failed)?;
                raw::discard(&file, 0, self.capacity_bytes).map_err(failed)
            }
        }
    }

    fn watch(&mut self, area: Range<u64>) -> Observation {
        let sample = self.watch.sample();
        let file = File::open(self.area_path()).ok();
        let held = file.and_then(|file| raw::residency(&file, area).ok());
        Observation {
            cpu_total: sample.cpu.map_or(0, |cpu| cpu.user + cpu.system + cpu.idle + cpu.steal),
            cpu_steal: sample.cpu.map_or(0, |cpu| cpu.steal),
            drive_read_bytes: sample.traffic.map(|traffic| traffic.read_bytes),
            drive_written_bytes: sample.traffic.map(|traffic| traffic.written_bytes),
            temperature_celsius: sample.temperature_celsius,
            resident_bytes: held.map(|pages| pages.resident_bytes),
            dirty_bytes: held.and_then(|pages| pages.dirty_bytes),
            fetched_bytes: page_cache::fetched_bytes(&Roots::default()),
        }
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        let findings = match (&self.scratch, self.info.kind) {
            (Some(scratch), _) if self.written && scratch_is_full(scratch) => {
                host::file_contents(scratch.path()).map_err(refused)?.findings(scratch.path())
            }
            (None, TargetKind::File) => {
                host::file_contents(&self.path).map_err(refused)?.findings(&self.path)
            }
            (None, TargetKind::BlockDevice) => {
                let sample =
                    host::sample_zeros(&self.area_path(), self.span_bytes, ZERO_SAMPLE, self.seed);
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

/// What direct I/O and io_uring say on a real descriptor.
struct Probe {
    direct: Result<(), String>,
    uring: Result<(), String>,
    alignment_bytes: Option<u32>,
}

impl Probe {
    fn of(info: &TargetInfo, path: &Path) -> Result<Self, TargetError> {
        let directory = match info.kind {
            TargetKind::Directory => Some(path),
            TargetKind::NewFile => path.parent(),
            _ => None,
        };
        // The scratch file of the probe must live until the end of it.
        let scratch = match directory {
            Some(directory) => {
                host::remove_orphans(directory).map_err(refused)?;
                Some(Scratch::create(directory, 4096).map_err(refused)?)
            }
            None => None,
        };
        let path = scratch.as_ref().map_or(path, |scratch| scratch.path());
        let opened = open(path, OpenAccess::Read, OpenCaching::Direct);
        let (file, direct) = match opened {
            Ok(file) => (file, Ok(())),
            Err(error) if error.kind == OpenErrorKind::DirectRefused => {
                let file =
                    open(path, OpenAccess::Read, OpenCaching::Buffered).map_err(open_error)?;
                (file, Err(error.to_string()))
            }
            Err(error) => return Err(open_error(error)),
        };
        let alignment = raw::direct_alignment(&file).ok().flatten();
        let alignment_bytes = alignment.map(|alignment| alignment.offset_bytes);
        Ok(Self { direct, uring: try_uring(file), alignment_bytes })
    }
}

fn try_uring(file: File) -> Result<(), String> {
    let geometry = Geometry {
        capacity_bytes: 4096,
        block_bytes: 1,
        transfer_bytes_max: 4096,
        queue_depth: 2,
        data: Data::Stored,
    };
    // The calibrated clock costs a calibration; a ring that only proves itself needs none.
    let ring = Uring::new(Clock::start_monotonic(), file, geometry, UringOptions::default());
    ring.map(drop).map_err(|unavailable| unavailable.to_string())
}

fn open(path: &Path, access: OpenAccess, caching: OpenCaching) -> Result<File, OpenError> {
    open_file(path, access, caching, OpenSyncing::None, Create::Existing)
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
    let typed = permission.destroy.iter().find(|typed| {
        let path = Path::new(typed.as_str());
        typed.as_str() == cleared.expected() || path == cleared_path(info)
    });
    let typed = typed.or(permission.destroy.first()).map(String::as_str);
    cleared.confirm(typed).map(Some).map_err(|refusal| {
        TargetError::refused(format!("{refusal}, or add --reads-only to run only cells that read"))
    })
}

fn cleared_path(info: &TargetInfo) -> &Path {
    Path::new(info.path.as_deref().unwrap_or_default())
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

fn capacity(info: &TargetInfo, path: &Path) -> Result<u64, TargetError> {
    let directory = match info.kind {
        TargetKind::Directory => Some(path),
        TargetKind::NewFile => path.parent(),
        _ => None,
    };
    match directory {
        Some(directory) => host::scratch::bytes_available(directory).map_err(refused),
        None => Ok(info.capacity_bytes),
    }
}

/// A file whose blocks were never written would be read from no drive.
fn refuse_if_not_written(path: &Path) -> Result<(), TargetError> {
    let contents = host::file_contents(path).map_err(refused)?;
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

/// Everything a seat needs to open its engine on its own thread.
struct SeatOrder {
    path: PathBuf,
    access: OpenAccess,
    io: Io,
    choice: EngineChoice,
    clock: Clock,
    geometry: Geometry,
}

impl SeatOrder {
    /// On the worker's own thread, which keeps what it opens to itself.
    fn sit(self) -> Result<Box<dyn Drivable>, TargetError> {
        raw::own_descriptors();
        let uring = match self.choice {
            EngineChoice::Stdio => return Ok(sat(self.stdio()?, "stdio", Vec::new())),
            EngineChoice::StdioBlock => {
                let bytes = self.geometry.transfer_bytes_max as usize;
                let engine = self.stdio()?.with_buffer(bytes);
                return Ok(sat(engine, "stdio", vec![format!("buffer of {bytes} B")]));
            }
            EngineChoice::Sync => false,
            EngineChoice::Uring => true,
            EngineChoice::Auto => self.geometry.queue_depth > 1,
        };
        let file = self.file()?;
        if !uring {
            let engine = Sync::new(self.clock, file, self.geometry);
            return Ok(sat(engine, "sync", Vec::new()));
        }
        let engine = Uring::new(self.clock, file, self.geometry, UringOptions::default())
            .map_err(|error| TargetError::refused(format!("{error}; use --engine sync")))?;
        let features = vec![engine.features().to_string()];
        Ok(sat(engine, "uring", features))
    }

    fn stdio(&self) -> Result<Stdio, TargetError> {
        Stdio::open(self.clock, &self.path, self.access, self.geometry).map_err(open_error)
    }

    fn file(&self) -> Result<File, TargetError> {
        let caching = match self.io.caching {
            Caching::Direct => OpenCaching::Direct,
            Caching::Buffered => OpenCaching::Buffered,
        };
        let syncing = match self.io.syncing {
            Syncing::None => OpenSyncing::None,
            Syncing::Dsync => OpenSyncing::Dsync,
            Syncing::Sync => OpenSyncing::Sync,
        };
        open_file(&self.path, self.access, caching, syncing, Create::Held).map_err(open_error)
    }
}

fn refused(error: impl std::fmt::Display) -> TargetError {
    TargetError::refused(error.to_string())
}

fn sat(
    engine: impl Engine + 'static,
    name: &'static str,
    features: Vec<String>,
) -> Box<dyn Drivable> {
    Box::new(Named { engine, name, features })
}

fn open_error(error: OpenError) -> TargetError {
    TargetError { kind: TargetErrorKind::Refused, message: error.to_string() }
}

fn io_error(path: &Path, error: &std::io::Error) -> TargetError {
    TargetError { kind: TargetErrorKind::Io, message: format!("{}: {error}", path.display()) }
}
