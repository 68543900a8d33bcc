//! The target over a scripted drive: what the laboratory may ask of it, each answer scripted.

use super::drive::{Admission, CAPACITY_BYTES, Life, Script, ScriptedEngine, Service, cpu_ns};
use block::{Data, IoError};
use lab::{
    target::{
        Access, FastCache, Named, Need, Observation, Offer, Reset, Target, TargetError, Time,
        WorkerEngines,
    },
    workload::{Caching, EngineChoice, Stream},
};
use record::{
    BlockLayer, Condition, DriveIdentity, Flag, Link, Queue, TargetInfo, TargetKind, Warning,
};
use std::{cell::RefCell, ops::Range, rc::Rc};

/// What a drive of this life tells of its caches.
pub type Told = dyn Fn(&Life) -> Vec<FastCache>;

/// Why a drive of this life is gone, if it is.
pub type Gone = dyn Fn(&Life) -> Option<String>;
/// What devices under a drive of this life are about.
pub type Conditions = dyn Fn(&Life) -> Vec<Condition>;

/// What the system would say about the drive and around it.
#[derive(Clone)]
pub struct Facts {
    pub info: TargetInfo,
    /// Turns what the drive really did into what the system's counters show.
    pub observe: Rc<dyn Fn(&Life) -> Observation>,
    pub offer: Offer,
    /// What a look at the written area finds.
    pub inspected: Vec<Warning>,
    /// What a model would say of its caches.
    pub fast_caches: Rc<Told>,
    /// Whether it is still there.
    pub vanished: Rc<Gone>,
    /// What devices under it are about.
    pub conditions: Rc<Conditions>,
}

/// A scripted drive as a target.
#[derive(Clone)]
pub struct Scripted {
    pub script: Script,
    pub facts: Facts,
    pub life: Rc<RefCell<Life>>,
}

impl Scripted {
    /// A well-behaved SATA drive: 7,300 reads or writes a second at depth 1, four at once, each
    /// within a tenth of 137 us; a flush takes 350 us, and so does a write that must be durable.
    pub fn calm() -> Self {
        Self::new(|at| at.about(if at.is_fua { 350_000 } else { 137_000 }))
    }

    /// A drive of this service time and otherwise calm.
    pub fn new(service: impl Fn(&Service) -> u64 + 'static) -> Self {
        let script = Script {
            service: Rc::new(service),
            failure: Rc::new(|_| None),
            parallelism: 4,
            admission: Admission::AtOnce,
            cpu_ns: 2_000,
            data: Data::TimingOnly,
            seed: 1,
        };
        Self { script, facts: Facts::calm(), life: Rc::default() }
    }

    /// The same with other facts.
    pub fn with(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(&mut self.facts);
        self
    }

    /// The same with another script.
    pub fn scripted(mut self, change: impl FnOnce(&mut Script)) -> Self {
        change(&mut self.script);
        self
    }

    /// The same, failing where `failure` says so.
    pub fn failing(self, failure: impl Fn(&Service) -> Option<IoError> + 'static) -> Self {
        self.scripted(|script| script.failure = Rc::new(failure))
    }

    /// The same, seen by the system through `observe`.
    pub fn observed(self, observe: impl Fn(&Life) -> Observation + 'static) -> Self {
        self.with(|facts| facts.observe = Rc::new(observe))
    }
}

impl Facts {
    fn calm() -> Self {
        Self {
            info: info(),
            observe: Rc::new(honest),
            offer: Offer {
                time: Time::Virtual,
                wears: false,
                memory_bytes: 8 << 30,
                ..Offer::everything(CAPACITY_BYTES)
            },
            inspected: Vec::new(),
            fast_caches: Rc::new(|_| Vec::new()),
            vanished: Rc::new(|_| None),
            conditions: Rc::new(|_| Vec::new()),
        }
    }

    /// The queue of the one drive.
    pub fn queue(&mut self) -> &mut Queue {
        self.info.stack[0].queue.as_mut().expect("the calm drive has a queue")
    }

    /// The one drive.
    pub fn drive(&mut self) -> &mut DriveIdentity {
        self.info.stack[0].drive.as_mut().expect("the calm drive is one")
    }

    /// A flag of the whole target, with its sentence.
    pub fn flag(&mut self, flag: Flag) {
        self.info.flags.push(flag);
        let text = format!("{}: {}", flag.meaning(), flag.cure());
        self.info.warnings.push(Warning { flag: Some(flag), text });
    }
}

/// Counters as the kernel keeps them, on a machine where nothing else happens.
pub fn honest(life: &Life) -> Observation {
    Observation {
        cpu_total: life.now.0 / 10_000_000,
        cpu_steal: 0,
        drive_read_bytes: Some(life.read_bytes),
        drive_written_bytes: Some(life.written_bytes),
        drive_requests: None,
        beside_written_bytes: None,
        ssd_cache: None,
        temperature_celsius: Some(38.0),
        resident_bytes: Some(0),
        dirty_bytes: Some(0),
        fetched_bytes: None,
    }
}

/// A plain SATA drive without write cache.
fn info() -> TargetInfo {
    TargetInfo {
        text: "scripted".to_owned(),
        kind: TargetKind::BlockDevice,
        path: None,
        path_exact: None,
        capacity_bytes: CAPACITY_BYTES,
        free_bytes: None,
        file_system: None,
        stack: vec![BlockLayer {
            name: "sda".to_owned(),
            kind: "disk".to_owned(),
            bytes: CAPACITY_BYTES,
            start_bytes: None,
            queue: Some(Queue { rotational: Some(false), ..Queue::default() }),
            drive: Some(DriveIdentity {
                link: Some(Link {
                    negotiated: "SATA 6.0 Gbps".to_owned(),
                    possible: None,
                    bytes_per_s: Some(600_000_000),
                }),
                ..DriveIdentity::default()
            }),
            ..BlockLayer::default()
        }],
        direct_alignment_bytes: Some(512),
        flags: Vec::new(),
        warnings: Vec::new(),
        completions: None,
        managed_flash: None,
        price: None,
        identity: None,
    }
}

impl Scripted {
    /// Opens nothing that it did not offer.
    fn check(&self, stream: &Stream) -> Result<(), TargetError> {
        let offer = &self.facts.offer;
        let is_stdio = stream.engine.is_stdio();
        if stream.io.caching == Caching::Direct && !is_stdio {
            offer.direct.clone().map_err(TargetError::refused)?;
        }
        if stream.engine == EngineChoice::Uring || stream.queue_depth > 1 {
            offer.uring.clone().map_err(TargetError::refused)?;
        }
        Ok(())
    }
}

impl Target for Scripted {
    fn info(&self) -> &TargetInfo {
        &self.facts.info
    }

    fn offer(&self) -> Offer {
        self.facts.offer.clone()
    }

    fn prepare(&mut self, _: &Need) -> Result<(), TargetError> {
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        for stream in streams {
            self.check(stream)?;
        }
        let depth = streams.iter().map(|stream| u32::from(stream.threads) * stream.queue_depth);
        // One more for the flush at the end.
        let engine = ScriptedEngine::open(&self.script, &self.life, depth.sum::<u32>() + 1);
        Ok(WorkerEngines::Shared(Box::new(Named {
            engine,
            name: "scripted",
            features: Vec::new(),
        })))
    }

    fn reset(&mut self, _: Reset) -> Result<(), TargetError> {
        Ok(())
    }

    fn watch(&mut self, _: Range<u64>) -> Observation {
        (self.facts.observe)(&self.life.borrow())
    }

    fn fast_caches(&self) -> Vec<FastCache> {
        (self.facts.fast_caches)(&self.life.borrow())
    }

    fn vanished(&self) -> Option<String> {
        (self.facts.vanished)(&self.life.borrow())
    }

    fn conditions(&mut self) -> Vec<Condition> {
        (self.facts.conditions)(&self.life.borrow())
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        Ok(self.facts.inspected.clone())
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        cpu_ns
    }
}
