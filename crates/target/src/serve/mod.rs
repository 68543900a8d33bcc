//! A target as one engine that keeps bytes, for whoever hands it to others: the NBD server.
//!
//! ```text
//!   flash, memory  as they are: they are there to be written
//!   model          on the wall clock, with bytes
//!   file, device   read-only, or with --destroy: direct I/O through io_uring, locked against others
//! ```
//!
//! Opening writes nothing but what a managed volume's recovery must, and with `--read-only` not
//! that. What exists is changed by nobody unless its name was typed.

pub mod floor;
pub mod lone;
mod path;

use crate::{
    MemoryText, Pace, TargetText,
    catalog::Catalog,
    pace::Slowed,
    stack::{Opened, Power, Purpose, Stack, open_for},
    volume::{HeldDrive, ManagedVolume, Use},
    write_log::{Head, Recorded, RecordingEnd, WriteLogError, Writer},
};
use block::{Discarded, Drive, Engine, Geometry, IoError, Wrapper};
use engine::Clock;
use flash::{Answered, ScrubReport, Scrubbing};
use host::{Consent, Permit};
use lab::target::TargetError;
use model::VolatileCache;
pub use model::{Flushes, Loss};
use std::{
    fs::File,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

/// Requests that may be outstanding at a real drive: what a client of one connection may have under
/// way, and as many again for others.
const QUEUE_DEPTH: u32 = 256;
/// The longest request to a real drive.
const TRANSFER_BYTES_MAX: u32 = 1 << 20;

/// What whoever serves wants of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wishes {
    /// Whether it may be changed.
    pub sharing: Sharing,
    /// To have what is there changed.
    pub consent: Consent,
    /// Keeps what no flush covered in memory, so that killing the process is a power cut; what goes
    /// down early is drawn from this seed.
    pub volatile_cache: Option<u64>,
    /// Whether [`power_cycle`] may be called.
    pub power: Cuttable,
    /// Of a model: a file that gets what clients change, until the power is cut.
    pub record_writes: Option<PathBuf>,
    /// How many times slower the time of modelled drives passes; of others nothing.
    pub slower: NonZeroU32,
}

/// Whether the power of modelled drives can be cut while they are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cuttable {
    /// No: what was answered is there.
    No,
    /// Yes: what their write caches hold is lost then. The drives make this of flushes.
    Yes(Flushes),
}

impl Wishes {
    /// The drive, behind a volatile write cache if one is wished for.
    fn cached(&self, drive: Box<dyn Engine>) -> Box<dyn Engine> {
        match self.volatile_cache {
            Some(seed) => {
                let cache = VolatileCache::new(drive.geometry(Drive(0)), seed);
                Box::new(block::Stack::new(cache, drive))
            }
            None => drive,
        }
    }
}

/// Whether a target may be changed by those who are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// They read.
    ReadOnly,
    /// They read and write.
    ReadWrite,
}

/// What an answered write is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteCache {
    /// It may be lost until a flush is answered.
    Volatile,
    /// It is durable: nobody has to flush.
    None,
}

/// A target that can be served, and the hold on it: nobody else may use it until this is dropped.
pub struct Served {
    /// Drive 0 is the target.
    pub engine: ServedEngine,
    /// Its size in bytes, no multiple of anything; the engine's blocks may not reach all of it.
    pub bytes: u64,
    /// What its discarded ranges read as.
    pub discarded: Discarded,
    /// Whether an answered write may still be lost.
    pub write_cache: WriteCache,
    /// What it is, in a few words.
    pub description: String,
    /// What keeps others away.
    pub hold: Hold,
}

/// What serves it. A managed volume is kept in reach: it is asked how it stands, and stopped.
pub enum ServedEngine {
    /// A drive.
    Plain(Box<dyn Engine>),
    /// A managed volume.
    Managed(Box<ManagedVolume>),
    /// Modelled drives, perhaps with a managed volume on them.
    Modelled(Box<Slowed<Recorded<Opened>>>),
}

impl ServedEngine {
    /// The managed volume, if it is one.
    pub fn volume(&self) -> Option<&flash::Volume> {
        match self {
            Self::Managed(managed) => Some(managed.volume()),
            Self::Modelled(opened) => opened.inner.inner.managed(),
            Self::Plain(_) => None,
        }
    }

    /// Whether it is a managed volume that is open for reading only.
    pub fn is_read_only(&self) -> bool {
        self.volume().is_some_and(flash::Volume::is_read_only)
    }

    /// How many times slower its time passes than this machine's.
    pub fn slower(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(opened) => opened.pace().times(),
            Self::Plain(_) | Self::Managed(_) => NonZeroU32::MIN,
        }
    }

    /// Why what is written is not recorded any more, if so.
    pub fn recording_end(&self) -> Option<&RecordingEnd> {
        match self {
            Self::Modelled(opened) => opened.inner.recording_end(),
            Self::Plain(_) | Self::Managed(_) => None,
        }
    }

    /// How many sectors of modelled drives a power cut could take now.
    pub fn sectors_at_risk(&self) -> u64 {
        match self {
            Self::Modelled(opened) => opened.inner.inner.sectors_at_risk(),
            Self::Plain(_) | Self::Managed(_) => 0,
        }
    }

    /// How the managed volume stands, if it is one.
    pub fn standing(&self) -> Option<record::ManagedFlash> {
        self.volume().and_then(crate::stack::standing)
    }

    /// From now on nothing is lost that was answered when this process is killed and the target is
    /// served anew.
    ///
    /// # Errors
    /// What it holds goes with the process.
    pub fn survive_kills(&mut self) -> Result<(), TargetError> {
        match self {
            Self::Managed(managed) => managed.set_answered(Answered::Written),
            // The system has what was answered.
            Self::Plain(_) => {}
            Self::Modelled(_) => {
                return Err(TargetError::refused(
                    "modelled drives are gone with the process: leave --restartable out",
                ));
            }
        }
        Ok(())
    }

    /// How far scrubbing has come, of a managed volume that is scrubbed.
    pub fn scrub_report(&self) -> Option<ScrubReport> {
        self.volume().and_then(flash::Volume::scrub_report)
    }

    /// Has a managed volume on a file, a device or memory scrubbed from now on.
    ///
    /// # Errors
    /// It is another target.
    pub fn scrub(&mut self, plan: Scrubbing) -> Result<(), TargetError> {
        match self {
            Self::Managed(managed) => {
                managed.set_scrubbing(Some(plan));
                Ok(())
            }
            Self::Plain(_) | Self::Modelled(_) => Err(TargetError::refused(
                "only a managed volume has checksums to scrub by: serve flash:PATH or \
                 memory:SIZE/flash, or leave --scrub out",
            )),
        }
    }

    /// Stops it in order, when everything is flushed and nothing is under way: a managed volume has
    /// nothing to recover then.
    ///
    /// # Errors
    /// The drive's; nothing is lost that a flush covered.
    pub fn stop(self) -> Result<(), IoError> {
        match self {
            Self::Managed(managed) => managed.stop(),
            Self::Plain(_) | Self::Modelled(_) => Ok(()),
        }
    }
}

impl Wrapper for ServedEngine {
    type Inner = dyn Engine;

    fn inner(&self) -> &Self::Inner {
        match self {
            Self::Plain(engine) => engine,
            Self::Managed(managed) => &**managed,
            Self::Modelled(opened) => &**opened,
        }
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        match self {
            Self::Plain(engine) => engine,
            Self::Managed(managed) => &mut **managed,
            Self::Modelled(opened) => &mut **opened,
        }
    }
}

/// Keeps others from a target as long as it lives.
#[derive(Debug)]
pub enum Hold {
    /// A lock on a file.
    File(File),
    /// The permit to write to a file or device, and a lock on it.
    Permitted(Permit, File),
    /// The engine holds what it needs itself.
    Within,
}

/// Opens what `text` names, to be served.
///
/// # Errors
/// A sentence with the cure: not there, in use, nothing that keeps bytes, not agreed to.
pub fn serve(text: &TargetText, wishes: &Wishes, clock: Clock) -> Result<Served, TargetError> {
    if wishes.power != Cuttable::No && !matches!(text, TargetText::Model(_)) {
        return Err(TargetError::refused(
            "--power-cut is for modelled drives: name model:STACK; elsewhere --volatile-cache makes killing the server a power cut",
        ));
    }
    if wishes.record_writes.is_some() && !matches!(text, TargetText::Model(_)) {
        return Err(TargetError::refused(
            "only what is written to modelled drives is recorded, to be replayed on them: name \
             model:STACK",
        ));
    }
    match text {
        TargetText::Null => Err(TargetError::refused(
            "`null:` keeps no bytes, so there is nothing to serve: name a file or a block device",
        )),
        TargetText::Model(stack) => {
            let power = match wishes.power {
                Cuttable::Yes(flushes) => Power::MayGo(flushes),
                Cuttable::No => Power::Steady,
            };
            let log = wishes.record_writes.as_deref();
            model(stack, power, Pace::slower(clock, wishes.slower), log)
        }
        TargetText::Flash(path) => managed(path, wishes, clock),
        TargetText::Memory(text) => memory(text, clock),
        TargetText::Path(path) => path::serve(path, wishes, clock),
    }
}

/// Cuts the power of a modelled target that is served and switches it on again: its drives start
/// anew, on what their media hold, an array without `lost_member`. `seed` draws what stays of what
/// the write caches held.
///
/// # Errors
/// A managed volume on the drives that cannot be recovered.
///
/// # Panics
/// Of another target.
pub fn power_cycle(
    engine: ServedEngine,
    text: &TargetText,
    seed: u64,
    lost_member: Option<u16>,
) -> Result<(ServedEngine, Loss), TargetError> {
    let (ServedEngine::Modelled(opened), TargetText::Model(stack)) = (engine, text) else {
        panic!("{text:?} is not modelled")
    };
    let pace = opened.pace();
    let (kept, loss) = opened.inner.inner.power_cut(seed);
    let back = lost_member.map(|member| without(stack, member)).transpose()?;
    let back = back.as_ref().unwrap_or(stack);
    // A recording ends with the power.
    Ok((model(back, Power::Back(kept), pace, None)?.engine, loss))
}

/// The stack whose array lacks this member.
///
/// # Errors
/// There is no array, or none is left without it.
pub fn without(stack: &Stack, member: u16) -> Result<Stack, TargetError> {
    let Some(back) = stack.without_member(member) else {
        return Err(TargetError::refused(format!(
            "model:{stack} is no array, so that it cannot lose a member: name one, such as \
             model:3xsata-tlc/raid5"
        )));
    };
    crate::stack::open(&back, &Catalog::load()?, 0)?;
    Ok(back)
}

/// A managed volume: what clients write to it is what it is for, so nobody has to agree. Opening
/// recovers it; where it is only read, in memory.
fn managed(path: &Path, wishes: &Wishes, clock: Clock) -> Result<Served, TargetError> {
    let r#use = match wishes.sharing {
        Sharing::ReadOnly => Use::Read,
        Sharing::ReadWrite => Use::Write,
    };
    engine::raw::give_freed_memory_back();
    let mut drive = HeldDrive::polled(path, r#use, clock)?;
    drive.engine = wishes.cached(drive.engine);
    let volume = ManagedVolume::open_on(drive)?;
    let engine = ServedEngine::Managed(Box::new(volume));
    Ok(kept(engine, format!("the managed volume in {}", path.display())))
}

/// Modelled drives that answer when real ones would, and keep in memory what is written to them.
/// What is changed on them is written to `log`.
fn model(
    stack: &Stack,
    power: Power,
    pace: Pace,
    log: Option<&Path>,
) -> Result<Served, TargetError> {
    let fault = match power {
        Power::MayGo(flushes) => flushes.fault(),
        Power::Steady | Power::Back(_) => None,
    };
    let planted = fault.map(|fault| format!(", which {fault} (planted)")).unwrap_or_default();
    let opened = open_for(Purpose::Served(pace, power), stack, &Catalog::load()?, 0)?;
    let discarded = match opened.managed() {
        Some(_) => Discarded::ReadsZero,
        None => Discarded::Unknown,
    };
    let write_cache = match opened.writes_through {
        true => WriteCache::None,
        false => WriteCache::Volatile,
    };
    let log = log.map(|path| writer(&opened.contract(), path)).transpose()?;
    let engine = Recorded::new(opened, log);
    let engine = ServedEngine::Modelled(Box::new(Slowed::new(engine, pace)));
    let description = format!("model:{stack}{planted}, gone when this process ends");
    Ok(Served { discarded, write_cache, ..kept(engine, description) })
}

/// A new log of writes; nothing is replaced.
fn writer(geometry: &Geometry, path: &Path) -> Result<Writer, TargetError> {
    let head =
        Head { device_bytes: geometry.capacity_bytes, block_bytes: geometry.block_bytes.max(1) };
    let file = File::options().append(true).create_new(true).open(path);
    let writer = file.map_err(WriteLogError::Io).and_then(|file| Writer::new(file, head));
    writer.map_err(|error| TargetError::refused(format!("{}: {error}", path.display())))
}

fn memory(text: &MemoryText, clock: Clock) -> Result<Served, TargetError> {
    let memory_bytes = host::environment::memory_usable(&host::Roots::default());
    text.check(memory_bytes.unwrap_or(u64::MAX))?;
    let engine = match &text.flash {
        None => ServedEngine::Plain(Box::new(text.engine(clock))),
        Some(_) => ServedEngine::Managed(Box::new(ManagedVolume::in_memory(text, clock, 0)?)),
    };
    Ok(kept(engine, format!("memory:{text}, gone when this process ends")))
}

/// What holds itself, and reads zeroes where nothing is.
fn kept(engine: ServedEngine, description: String) -> Served {
    let bytes = engine.geometry(Drive(0)).capacity_bytes;
    Served {
        engine,
        bytes,
        discarded: Discarded::ReadsZero,
        write_cache: WriteCache::Volatile,
        description,
        hold: Hold::Within,
    }
}
