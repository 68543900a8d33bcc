//! Targets of one engine that all workers share, on the wall clock: managed volumes and drives of
//! memory.

use crate::{
    Permission,
    memory::MemoryText,
    shared::{Shared, SharedEngine},
    stack::{standing, unmapped},
    volume::{HeldDrive, ManagedVolume, Use},
};
use block::{Command, Drive, Engine, Wrapper, submit_and_wait};
use engine::{Clock, Memory, raw};
use flash::tools::{Status, status};
use host::{Consent, Permit, Presence, Reason, Roots, Watch};
use lab::{
    target::{
        Access, Named, Need, Observation, Offer, Reset, Target, TargetError, TargetErrorKind, Time,
        WorkerEngines, Writes,
    },
    workload::Stream,
};
use record::{Condition, Flag, ManagedFlash, TargetIdentity, TargetInfo, TargetKind, Warning};
use std::{
    cell::RefCell,
    ops::{ControlFlow, Range},
    path::Path,
    path::PathBuf,
    rc::Rc,
};

/// What all workers share.
pub(crate) enum Backend {
    Memory(Memory),
    Volume(Box<ManagedVolume>),
}

impl Backend {
    fn volume(&self) -> Option<&flash::Volume> {
        match self {
            Self::Memory(_) => None,
            Self::Volume(managed) => Some(managed.volume()),
        }
    }
}

impl Wrapper for Backend {
    type Inner = dyn Engine;

    fn inner(&self) -> &Self::Inner {
        match self {
            Self::Memory(engine) => engine,
            Self::Volume(engine) => &**engine,
        }
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        match self {
            Self::Memory(engine) => engine,
            Self::Volume(engine) => &mut **engine,
        }
    }
}

/// A volume that is not open yet.
enum Later {
    /// To be written: it was agreed to, and is held since.
    Permitted(Permit),
    /// There was nothing to agree to.
    Named(PathBuf),
}

/// A target whose bytes stay where they are between passes.
pub(crate) struct KeptTarget {
    info: TargetInfo,
    access: Access,
    /// What is opened when the first byte may be written.
    later: Option<Later>,
    backend: Option<Shared<Backend>>,
    capacity_bytes: u64,
    watch: Option<Watch>,
    presence: Presence,
    clock: Clock,
    span_bytes: u64,
}

impl KeptTarget {
    /// `flash:PATH`. Looks at the volume and writes nothing yet.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn volume(path: &Path, permission: &Permission, clock: Clock) -> Result<Self, TargetError> {
        let refused = |error: host::HostError| TargetError::refused(error.to_string());
        let roots = Roots::default();
        let text = format!("flash:{}", path.display());
        let seen = look(path, clock)?;
        let mut info = host::target_info(path, &text, &roots).map_err(refused)?;
        let capacity_bytes = seen.layout.shape.exported_bytes;
        (info.kind, info.capacity_bytes) = (TargetKind::Flash, capacity_bytes);
        info.free_bytes = None;
        let (access, later) = access(path, &seen, permission)?;
        let volume: String = seen.id.0.iter().map(|byte| format!("{byte:02x}")).collect();
        // A volume is itself wherever it was copied to; the file's inode says nothing of it.
        info.identity = Some(TargetIdentity { volume: Some(volume), ..TargetIdentity::default() });
        let note = |text: String| Warning { flag: None, text };
        info.warnings.extend(seen.report.warnings().into_iter().map(note));
        Ok(Self {
            watch: Some(Watch::new(&info.stack, &roots)),
            presence: Presence::of(&info.stack, &roots),
            access,
            info,
            later: Some(later),
            backend: None,
            capacity_bytes,
            clock,
            span_bytes: 0,
        })
    }

    /// `memory:SIZE`, or a managed volume on it.
    ///
    /// # Errors
    /// What does not fit, in a sentence.
    pub fn memory(text: &MemoryText, clock: Clock, seed: u64) -> Result<Self, TargetError> {
        text.check(memory_bytes())?;
        let (backend, name) = match &text.flash {
            None => (Backend::Memory(text.engine(clock)), "memory"),
            Some(_) => {
                let managed = ManagedVolume::in_memory(text, clock, seed)?;
                let carrier = managed.carrier();
                (Backend::Volume(Box::new(managed)), carrier)
            }
        };
        let capacity_bytes = backend.geometry(Drive(0)).capacity_bytes;
        let flag = Flag::MemoryBacked;
        let info = TargetInfo {
            direct_alignment_bytes: Some(backend.geometry(Drive(0)).block_bytes),
            flags: vec![flag],
            warnings: vec![Warning {
                flag: Some(flag),
                text: format!("the drive is memory of this process: {}", flag.cure()),
            }],
            ..TargetInfo::of(format!("memory:{text}"), TargetKind::Memory, capacity_bytes)
        };
        Ok(Self {
            info,
            access: Access::ReadWrite,
            later: None,
            backend: Some(shared(backend, name)),
            capacity_bytes,
            watch: None,
            presence: Presence::of(&[], &Roots::default()),
            clock,
            span_bytes: 0,
        })
    }

    fn backend(&self) -> &Shared<Backend> {
        self.backend.as_ref().expect("a target is prepared before it is opened")
    }
}

fn shared(backend: Backend, name: &'static str) -> Shared<Backend> {
    Rc::new(RefCell::new(Named { engine: backend, name, features: Vec::new() }))
}

fn memory_bytes() -> u64 {
    host::environment::memory_usable(&Roots::default()).unwrap_or(u64::MAX)
}

/// How the volume at `path` stands, without opening it for writing.
fn look(path: &Path, clock: Clock) -> Result<Status, TargetError> {
    let mut drive = HeldDrive::open(path, Use::Read, clock)?;
    status(&mut *drive.engine, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| TargetError::refused(format!("{}: {error}", path.display())))
}

/// An empty volume may be written; one that holds data, when that was agreed to.
fn access(
    path: &Path,
    seen: &Status,
    permission: &Permission,
) -> Result<(Access, Later), TargetError> {
    let by_name = Later::Named(path.to_owned());
    if permission.reads_only {
        let access = match seen.mapped_blocks {
            0 => Access::ReadWrite,
            _ => Access::ReadOnly("it writes, and only reads were asked for".to_owned()),
        };
        return Ok((access, by_name));
    }
    let refused = |refusal: host::Refusal| TargetError::refused(refusal.to_string());
    let cleared = match host::judge_volume(path, &Roots::default()) {
        Ok(cleared) => cleared,
        // It was just looked at: to be read nothing is in the way.
        Err(refusal)
            if matches!(
                refusal.reason,
                Reason::ReadOnly | Reason::Denied { .. } | Reason::Unreadable { .. }
            ) =>
        {
            return Ok((Access::ReadOnly(format!("it writes: {refusal}")), by_name));
        }
        Err(refusal) => return Err(refused(refusal)),
    };
    if seen.mapped_blocks == 0 {
        let permit = cleared.confirm(&Consent::as_managed_volume()).map_err(refused)?;
        return Ok((Access::ReadWrite, Later::Permitted(permit)));
    }
    match cleared.confirm(&permission.consent) {
        Ok(permit) => Ok((Access::ReadWrite, Later::Permitted(permit))),
        Err(host::Refusal { reason: Reason::NotConfirmed { expected, .. }, .. }) => {
            let held = block::display_bytes(seen.mapped_blocks * flash::BLOCK_BYTES);
            let sentence = format!(
                "it writes, and the volume holds {held} of data, which would be overwritten: \
                 agree with `--destroy {expected}`, or create a new one"
            );
            Ok((Access::ReadOnly(sentence), by_name))
        }
        Err(refusal) => Err(refused(refusal)),
    }
}

impl Target for KeptTarget {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn offer(&self) -> Offer {
        Offer {
            capacity_bytes: self.capacity_bytes,
            block_bytes: 512,
            access: self.access.clone(),
            uring: Ok(()),
            direct: Ok(()),
            huge_pages: host::environment::huge_pages(&Roots::default()),
            buffered: Err(format!(
                "`{}` has no page cache in front: use --io direct",
                self.info.text
            )),
            stdio: Err(format!("`{}` has no stdio: use --engine auto", self.info.text)),
            trim: Ok(()),
            write_zeroes: Err(format!(
                "`{}` has no command that zeroes blocks: use op = `trim`, or op = `write` with \
                 data = `zeros`",
                self.info.text
            )),
            drop_machine: Ok(()),
            remount: Ok(()),
            files_max: Err(lab::target::NO_TREE.to_owned()),
            time: Time::Wall,
            wears: self.info.kind == TargetKind::Flash,
            memory_bytes: 0,
        }
    }

    fn prepare(&mut self, need: &Need) -> Result<(), TargetError> {
        self.span_bytes = need.span_bytes;
        if let Some(later) = self.later.take() {
            let reads_only =
                need.writes == Writes::Nothing || matches!(self.access, Access::ReadOnly(_));
            let managed = match later {
                Later::Permitted(permit) if !reads_only => {
                    ManagedVolume::open_on(HeldDrive::permitted(permit, self.clock)?)?
                }
                Later::Permitted(permit) => {
                    let path = permit.path().to_owned();
                    drop(permit);
                    ManagedVolume::open_read_only(&path, self.clock)?
                }
                Later::Named(path) if reads_only => {
                    ManagedVolume::open_read_only(&path, self.clock)?
                }
                Later::Named(path) => ManagedVolume::open(&path, self.clock)?,
            };
            let carrier = managed.carrier();
            self.backend = Some(shared(Backend::Volume(Box::new(managed)), carrier));
        }
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        let depth = streams.iter().map(|s| u64::from(s.threads) * u64::from(s.queue_depth));
        // One more for the flush at the end.
        let asked = depth.sum::<u64>() + 1;
        let held = u64::from(self.backend().borrow().engine.geometry(Drive(0)).queue_depth);
        if asked > held {
            return Err(TargetError::refused(format!(
                "{asked} operations in flight are more than the {held} that `{}` holds: use fewer threads or a lower \
                 depth",
                self.info.text
            )));
        }
        Ok(WorkerEngines::Shared(Box::new(SharedEngine(Rc::clone(self.backend())))))
    }

    fn reset(&mut self, reset: Reset) -> Result<(), TargetError> {
        let command = match reset {
            Reset::Purge => Command::Discard { offset: 0, len: self.capacity_bytes },
            Reset::Flush => Command::Flush,
            Reset::NewFile | Reset::DropCache(_) => return Ok(()),
        };
        let mut backend = self.backend().borrow_mut();
        submit_and_wait(&mut backend.engine, command).result.map_err(|error| TargetError {
            kind: TargetErrorKind::Io,
            message: format!("{}: {error:?}", self.info.text),
        })
    }

    fn watch(&mut self, _: Range<u64>) -> Observation {
        let Some(watch) = &mut self.watch else { return Observation::default() };
        let sample = watch.sample();
        Observation {
            cpu_total: sample.cpu.map_or(0, |cpu| cpu.user + cpu.system + cpu.idle + cpu.steal),
            cpu_steal: sample.cpu.map_or(0, |cpu| cpu.steal),
            drive_read_bytes: sample.traffic.map(|traffic| traffic.read_bytes),
            drive_written_bytes: sample.traffic.map(|traffic| traffic.written_bytes),
            temperature_celsius: sample.temperature_celsius,
            ..Observation::default()
        }
    }

    fn vanished(&self) -> Option<String> {
        self.presence.sentence(&self.info.text)
    }

    fn conditions(&mut self) -> Vec<Condition> {
        host::conditions(&self.info.stack, &Roots::default())
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        let backend = self.backend().borrow();
        let found = backend.engine.volume().and_then(|volume| unmapped(volume, self.span_bytes));
        Ok(found.into_iter().collect())
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        raw::thread_cpu_ns
    }

    fn managed_flash(&self) -> Option<ManagedFlash> {
        self.backend.as_ref()?.borrow().engine.volume().and_then(standing)
    }
}
