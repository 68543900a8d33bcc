//! `model:STACK`: modelled drives in virtual time, measured as real ones are.
//!
//! The drives live as long as the target: what one pass writes the next one finds, and their clock
//! goes on.

use crate::{
    catalog::{BadCatalog, Catalog},
    model_tree::{ModelTree, size_of},
    shared::{Shared, SharedEngine},
    stack::{BadStack, Flash, LayerInfo, Opened, Stack, open, standing, unmapped},
};
use block::{Command, IoError, submit_and_wait};
use host::Roots;
use lab::{
    method::{CacheState, CellSpec, FileState},
    target::{
        Access, FastCache, NO_TREE, Named, Need, Observation, Offer, Reset, Target, TargetError,
        TargetErrorKind, Time, WorkerEngines, Writes,
    },
    workload::{
        Stream,
        tree::{TREE_FILES_MAX, TreeLayout},
    },
};
use model::fs::FileSystem;
use record::{
    BlockLayer, Completions, DriveIdentity, FastCacheKind, ManagedFlash, Queue, SsdCachePass,
    TargetInfo, TargetKind, Warning,
};
use std::{cell::RefCell, ops::Range, rc::Rc};

/// A stack of models as a target.
pub struct ModelTarget {
    info: TargetInfo,
    stack: Stack,
    flash: Flash,
    opened: Shared<Opened>,
    /// The tested area of a plan whose cells read what was written.
    span_bytes: u64,
    /// The tree that was planted last.
    tree: Option<TreeLayout>,
}

impl ModelTarget {
    /// Builds the stack.
    ///
    /// # Errors
    /// What cannot be built, in a sentence.
    pub fn new(stack: &Stack, seed: u64) -> Result<Self, TargetError> {
        let catalog = Catalog::load()?;
        let flash = Flash::of(stack, &catalog)?;
        let opened = open(stack, &catalog, seed)?;
        let info = info(stack, &opened);
        let named = Named { engine: opened, name: "sim", features: Vec::new() };
        Ok(Self {
            info,
            stack: stack.clone(),
            flash,
            opened: Rc::new(RefCell::new(named)),
            span_bytes: 0,
            tree: None,
        })
    }

    /// Tells a file system how each worker opened its file.
    fn open_file(&mut self, streams: &[Stream]) {
        self.opened.borrow_mut().engine.open_file(streams);
    }
}

impl Opened {
    /// Brings the stack into the state that a cell's pass begins in, with the file open as its
    /// workers open it.
    ///
    /// # Errors
    /// An operation that failed.
    pub fn make_ready(&mut self, cell: &CellSpec) -> Result<(), IoError> {
        match cell.file {
            FileState::AsIs => {}
            FileState::Flushed => self.reset(Reset::Flush)?,
            FileState::New => self.reset(Reset::NewFile)?,
        }
        if let CacheState::Dropped(means) = cell.cache {
            self.reset(Reset::DropCache(means))?;
        }
        self.open_file(&cell.streams);
        Ok(())
    }

    /// Tells a file system how each worker opened its file.
    fn open_file(&mut self, streams: &[Stream]) {
        let Some(files) = self.file_system() else { return };
        let workers = streams.iter().flat_map(|stream| (0..stream.threads).map(|_| stream.io));
        for (number, io) in (0..).zip(workers) {
            files.set_open(block::Actor(number), io.caching, io.syncing);
        }
    }

    fn reset(&mut self, reset: Reset) -> Result<(), IoError> {
        let len = self.contract().capacity_bytes;
        match reset {
            Reset::Purge => submit_and_wait(self, Command::Discard { offset: 0, len }).result,
            Reset::Flush => submit_and_wait(self, Command::Flush).result,
            Reset::NewFile => {
                // Without a file system there is no file that could be new.
                self.file_system().into_iter().for_each(FileSystem::new_file);
                Ok(())
            }
            Reset::DropCache(_) if self.ram_bytes.is_some() => {
                let flushed = submit_and_wait(self, Command::Flush).result;
                self.file_system().into_iter().for_each(FileSystem::drop_cache);
                flushed
            }
            Reset::DropCache(_) => Ok(()),
        }
    }
}

/// How many files a tree may have, or why there is none.
fn files_max(opened: &Opened) -> Result<u64, String> {
    match (opened.has_tree(), opened.ram_bytes.is_some()) {
        (true, _) => Ok(2 * TREE_FILES_MAX),
        (false, true) => Err("it works on a file tree, and that of a modelled ext2, which has no \
                              journal, is not modelled: use /ext3, /ext4 or /xfs"
            .to_owned()),
        (false, false) => Err(NO_TREE.to_owned()),
    }
}

/// Memory that this program may have; where nobody says, there is enough.
fn memory_bytes() -> u64 {
    host::environment::memory_usable(&Roots::default()).unwrap_or(u64::MAX)
}

fn info(stack: &Stack, opened: &Opened) -> TargetInfo {
    let layer = |layer: &LayerInfo| BlockLayer {
        name: layer.text.clone(),
        kind: layer.kind.to_owned(),
        bytes: layer.bytes,
        start_bytes: None,
        queue: layer
            .rotational
            .map(|rotational| Queue { rotational: Some(rotational), ..Queue::default() }),
        drive: layer.title.clone().filter(|_| layer.kind == "drive").map(|title| DriveIdentity {
            model: Some(title),
            transport: Some("model".to_owned()),
            ..DriveIdentity::default()
        }),
        ..BlockLayer::default()
    };
    let note = |text: &String| Warning { flag: None, text: text.clone() };
    let capacity_bytes = opened.contract().capacity_bytes;
    TargetInfo {
        stack: opened.layers.iter().map(layer).collect(),
        direct_alignment_bytes: Some(opened.contract().block_bytes),
        warnings: opened.notes.iter().map(note).collect(),
        ..TargetInfo::of(format!("model:{stack}"), TargetKind::Model, capacity_bytes)
    }
}

impl Target for ModelTarget {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn offer(&self) -> Offer {
        let opened = self.opened.borrow();
        let opened = &opened.engine;
        let no_page_cache = || {
            Err("a modelled drive has no page cache: add a file-system layer, such as /ext3:ram=2G"
                .to_owned())
        };
        let buffered = if opened.ram_bytes.is_some() { Ok(()) } else { no_page_cache() };
        Offer {
            capacity_bytes: opened.contract().capacity_bytes,
            block_bytes: opened.contract().block_bytes,
            access: Access::ReadWrite,
            uring: Ok(()),
            direct: Ok(()),
            huge_pages: Err(
                "a modelled drive reads and writes no memory, in whatever pages: use io = \
                             `direct`"
                    .to_owned(),
            ),
            stdio: Err("a model has no stdio: use --engine auto with --io buffered".to_owned()),
            trim: Ok(()),
            write_zeroes: Err("no model has a command that zeroes blocks: use op = `trim`, or \
                               op = `write` with data = `zeros`"
                .to_owned()),
            drop_machine: Ok(()),
            remount: Ok(()),
            files_max: files_max(opened),
            buffered,
            time: Time::Virtual,
            wears: false,
            memory_bytes: opened.ram_bytes.unwrap_or(0),
        }
    }

    fn prepare(&mut self, need: &Need) -> Result<(), TargetError> {
        self.span_bytes = need.span_bytes;
        if need.writes == Writes::Scattered {
            let spans = (need.span_bytes, self.offer().capacity_bytes);
            self.flash.check_written(&self.stack, spans, memory_bytes())?;
        }
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        let depth =
            streams.iter().map(|stream| u64::from(stream.threads) * u64::from(stream.queue_depth));
        // One more for the flush at the end.
        let (asked, held) =
            (depth.sum::<u64>() + 1, self.opened.borrow().engine.contract().queue_depth);
        if asked > u64::from(held) {
            return Err(TargetError::refused(format!(
                "{asked} operations in flight are more than the {held} that the model holds: use fewer threads or a \
                 lower depth"
            )));
        }
        self.open_file(streams);
        Ok(WorkerEngines::Shared(Box::new(SharedEngine(Rc::clone(&self.opened)))))
    }

    fn open_tree(&mut self, threads: u16) -> Result<WorkerEngines, TargetError> {
        let held = self.opened.borrow().engine.contract().queue_depth;
        if u32::from(threads) > held {
            return Err(TargetError::refused(format!(
                "{threads} workers are more than the {held} that the model holds: use fewer threads"
            )));
        }
        let layout = self.tree.clone().ok_or_else(|| TargetError::refused(NO_TREE))?;
        let tree = ModelTree::new(Rc::clone(&self.opened), layout, threads);
        Ok(WorkerEngines::SharedTree(Box::new(tree)))
    }

    fn plant(&mut self, layout: &TreeLayout) -> Result<(), TargetError> {
        let mut opened = self.opened.borrow_mut();
        let files = opened.engine.file_system().ok_or_else(|| TargetError::refused(NO_TREE))?;
        files.plant(size_of(layout)).map_err(|_| {
            TargetError::refused(format!(
                "the metadata of {} files has no room on its modelled drive: take fewer files, or a \
                 larger drive",
                layout.files
            ))
        })?;
        self.tree = Some(layout.clone());
        Ok(())
    }

    fn reset(&mut self, reset: Reset) -> Result<(), TargetError> {
        self.opened.borrow_mut().engine.reset(reset).map_err(|error| TargetError {
            kind: TargetErrorKind::Io,
            message: format!("{}: {error:?}", self.info.text),
        })
    }

    fn watch(&mut self, area: Range<u64>) -> Observation {
        let mut opened = self.opened.borrow_mut();
        let cached = opened
            .engine
            .file_system()
            .map(|files| (files.cached_bytes(area.clone()), files.unwritten_bytes()));
        let traffic = &opened.engine.traffic;
        Observation {
            drive_read_bytes: Some(traffic.read_bytes()),
            drive_written_bytes: Some(traffic.written_bytes()),
            drive_requests: None,
            beside_written_bytes: traffic.beside_written_bytes(),
            ssd_cache: opened.engine.ssd_cache.as_ref().map(|tally| {
                let seen = tally.counters();
                SsdCachePass {
                    read_bytes: seen.read_bytes,
                    read_hit_bytes: seen.hit_bytes,
                    written_bytes: seen.written_bytes,
                    write_hit_bytes: seen.write_hit_bytes,
                    flash_written_bytes: seen.flash_written_bytes,
                    written_back_bytes: seen.cleaned_bytes,
                }
            }),
            resident_bytes: cached.map(|(resident, _)| resident),
            dirty_bytes: cached.map(|(_, dirty)| dirty),
            ..Observation::default()
        }
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        let opened = self.opened.borrow();
        // A file has its own way of knowing what was written.
        let volume = opened.engine.managed().filter(|_| opened.engine.ram_bytes.is_none());
        Ok(volume.and_then(|volume| unmapped(volume, self.span_bytes)).into_iter().collect())
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        || 0
    }

    fn completions(&self) -> Option<Completions> {
        let opened = self.opened.borrow();
        let witness = &opened.engine.engine;
        Some(Completions { hash: format!("{:016x}", witness.hash()), count: witness.count() })
    }

    fn fast_caches(&self) -> Vec<FastCache> {
        let of_target = |cache: model::FastCache| FastCache {
            kind: match cache.kind {
                model::FastCacheKind::Memory => FastCacheKind::WriteCache,
                model::FastCacheKind::Media => FastCacheKind::MediaCache,
                model::FastCacheKind::Slc => FastCacheKind::SlcCache,
            },
            capacity_bytes: cache.capacity_bytes,
            held_bytes: cache.held_bytes,
            taken_bytes: cache.taken_bytes,
        };
        self.opened.borrow().engine.fast_caches().into_iter().map(of_target).collect()
    }

    fn managed_flash(&self) -> Option<ManagedFlash> {
        self.opened.borrow().engine.managed().and_then(standing)
    }
}

impl From<BadCatalog> for TargetError {
    fn from(bad: BadCatalog) -> Self {
        Self::refused(bad.0)
    }
}

impl From<BadStack> for TargetError {
    fn from(bad: BadStack) -> Self {
        Self::refused(bad.to_string())
    }
}
