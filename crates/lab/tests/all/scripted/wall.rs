//! A target on the wall clock, with a thread a worker: for what threads can do and virtual time
//! cannot show. What becomes of a request is scripted by worker and number.

use block::{Command, Completion, Data, Drive, Engine, Geometry, Instant, IoError, Request};
use lab::{
    target::{
        Access, Drivable, Named, Need, Observation, Offer, OpenEngine, Reset, Target, TargetError,
        Time, WorkerEngines,
    },
    workload::Stream,
};
use record::TargetInfo;
use std::{
    collections::VecDeque,
    ops::Range,
    os::fd::BorrowedFd,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant as WallInstant},
};

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Done after so long.
    Done(Duration),
    /// Answered with an error.
    Fails(IoError),
    /// The engine has a bug.
    Panics,
}

/// Decides by worker and by the number of its request.
pub type Fates = dyn Fn(usize, u64) -> Fate + Send + Sync;

/// The target: every worker has a drive of its own.
#[derive(Clone)]
pub struct Walled {
    pub info: TargetInfo,
    pub fates: Arc<Fates>,
    /// The worker that gets no engine, if any.
    pub refused: Option<usize>,
    /// The worker whose engine has a bug, if any.
    pub broken: Option<usize>,
    pub flushes: Arc<AtomicU64>,
    pub written_bytes: Arc<AtomicU64>,
    pub origin: WallInstant,
}

impl Walled {
    pub fn new(
        info: TargetInfo,
        fates: impl Fn(usize, u64) -> Fate + Send + Sync + 'static,
    ) -> Self {
        Self {
            info,
            fates: Arc::new(fates),
            refused: None,
            broken: None,
            flushes: Arc::default(),
            written_bytes: Arc::default(),
            origin: WallInstant::now(),
        }
    }
}

struct WallEngine {
    worker: usize,
    number: u64,
    fates: Arc<Fates>,
    flushes: Arc<AtomicU64>,
    written_bytes: Arc<AtomicU64>,
    origin: WallInstant,
    now: Instant,
    pending: VecDeque<Completion>,
}

impl WallEngine {
    fn read_clock(&self) -> Instant {
        Instant(self.origin.elapsed().as_nanos() as u64)
    }
}

impl Engine for WallEngine {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: 1 << 40,
            block_bytes: 512,
            transfer_bytes_max: 1 << 24,
            queue_depth: 1,
            data: Data::TimingOnly,
        }
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) {
        self.number += 1;
        let issued = self.read_clock();
        let (took, result) = match (self.fates)(self.worker, self.number) {
            Fate::Done(took) => (took, Ok(())),
            Fate::Fails(error) => (Duration::ZERO, Err(error)),
            Fate::Panics => panic!("a scripted bug"),
        };
        match &request.command {
            Command::Write { at, .. } => {
                self.written_bytes.fetch_add(u64::from(at.bytes), Ordering::Relaxed);
            }
            Command::Flush => drop(self.flushes.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
        self.pending.push_back(Completion {
            tag: request.tag,
            issued,
            finished: issued.after(took.as_nanos() as u64),
            result,
            payload: request.command.into_payload(),
        });
    }

    fn start(&mut self) {}

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        let next = self.pending.front().map_or(until, |first| first.finished.min(until));
        assert!(next != Instant::NEVER, "nothing outstanding: nothing could ever happen");
        sleep(Duration::from_nanos(next.since(self.read_clock())));
        self.now = self.read_clock();
        if self.pending.front().is_some_and(|first| first.finished <= self.now) {
            done.extend(self.pending.pop_front());
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.pending.front().map_or(Instant::NEVER, |first| first.finished)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Target for Walled {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn offer(&self) -> Offer {
        Offer { wears: false, memory_bytes: 8 << 30, ..Offer::everything(1 << 40) }
    }

    fn prepare(&mut self, _: &Need) -> Result<(), TargetError> {
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        let workers: usize = streams.iter().map(|stream| usize::from(stream.threads)).sum();
        let (refused, broken) = (self.refused, self.broken);
        let opener = |worker: usize| {
            let engine = WallEngine {
                worker,
                number: 0,
                fates: Arc::clone(&self.fates),
                flushes: Arc::clone(&self.flushes),
                written_bytes: Arc::clone(&self.written_bytes),
                origin: self.origin,
                now: Instant(0),
                pending: VecDeque::new(),
            };
            Box::new(move || {
                assert!(broken != Some(worker), "a scripted bug");
                if refused == Some(worker) {
                    return Err(TargetError::refused("no engine left: use fewer threads"));
                }
                Ok(Box::new(Named { engine, name: "wall", features: Vec::new() })
                    as Box<dyn Drivable>)
            }) as OpenEngine
        };
        Ok(WorkerEngines::Threads((0..workers).map(opener).collect()))
    }

    fn reset(&mut self, _: Reset) -> Result<(), TargetError> {
        Ok(())
    }

    fn watch(&mut self, _: Range<u64>) -> Observation {
        Observation::default()
    }

    fn inspect(&mut self) -> Result<Vec<record::Warning>, TargetError> {
        Ok(Vec::new())
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        || 0
    }
}
