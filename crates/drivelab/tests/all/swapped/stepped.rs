//! A target between whose every two steps the other user may make a move.

use super::other::{Move, Other};
use block::{Instant, IoError, Rng};
use lab::{
    target::{
        Need, Observation, Offer, OpenEngine, OpenTree, Reset, Target, TargetError, WorkerEngines,
    },
    workload::{
        Stream,
        tree::{Act, Tree, TreeLayout},
    },
};
use record::{TargetInfo, Warning};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// When he moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Between two steps of root's, which wait for him.
    Stepped,
    /// All the time.
    Free,
}

/// What stands between two steps.
#[derive(Clone)]
pub struct Steps(Arc<Mutex<Between>>);

struct Between {
    other: Other,
    pace: Pace,
    rng: Rng,
    moves: u64,
}

impl Steps {
    /// With him; `seed` says what he does and when.
    pub fn with(mut other: Other, pace: Pace, seed: u64) -> Self {
        if pace == Pace::Free {
            other.runs_free(seed);
        }
        let rng = Rng::new(seed, 0x57e9);
        Self(Arc::new(Mutex::new(Between { other, pace, rng, moves: 0 })))
    }

    /// Between two steps of root's: a move at every other one on average.
    pub fn pass(&self) {
        let mut own = self.0.lock().expect("no panic");
        let one = own.rng.below(2 * Move::ALL.len() as u64) as usize;
        if let (Pace::Stepped, Some(one)) = (own.pace, Move::ALL.get(one)) {
            own.other.makes(*one);
            own.moves += 1;
        }
    }

    /// Has him undo everything; how many moves he made.
    pub fn end(&self) -> u64 {
        let mut own = self.0.lock().expect("no panic");
        own.moves += own.other.stops();
        own.moves
    }
}

/// The target.
pub struct Stepped {
    pub inner: Box<dyn Target>,
    pub steps: Steps,
}

impl Stepped {
    fn step<T>(&mut self, by: impl FnOnce(&mut dyn Target) -> T) -> T {
        self.steps.pass();
        let done = by(&mut *self.inner);
        self.steps.pass();
        done
    }
}

impl Target for Stepped {
    fn info(&self) -> &TargetInfo {
        self.inner.info()
    }

    fn offer(&self) -> Offer {
        self.inner.offer()
    }

    fn prepare(&mut self, need: &Need) -> Result<(), TargetError> {
        self.step(|inner| inner.prepare(need))
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        let WorkerEngines::Threads(seats) = self.step(|inner| inner.open(streams))? else {
            panic!("a path has a thread a worker");
        };
        let stepped = |seat: OpenEngine| -> OpenEngine {
            let steps = self.steps.clone();
            Box::new(move || {
                steps.pass();
                let sat = seat();
                steps.pass();
                sat
            })
        };
        Ok(WorkerEngines::Threads(seats.into_iter().map(stepped).collect()))
    }

    fn open_tree(&mut self, threads: u16) -> Result<WorkerEngines, TargetError> {
        let WorkerEngines::Trees(seats) = self.step(|inner| inner.open_tree(threads))? else {
            panic!("a path has a thread a worker");
        };
        let stepped = |seat: OpenTree| -> OpenTree {
            let steps = self.steps.clone();
            Box::new(move || {
                steps.pass();
                let inner = seat()?;
                Ok(Box::new(SteppedTree { inner, steps }) as Box<dyn Tree>)
            })
        };
        Ok(WorkerEngines::Trees(seats.into_iter().map(stepped).collect()))
    }

    fn plant(&mut self, layout: &TreeLayout) -> Result<(), TargetError> {
        self.step(|inner| inner.plant(layout))
    }

    fn reset(&mut self, reset: Reset) -> Result<(), TargetError> {
        self.step(|inner| inner.reset(reset))
    }

    fn watch(&mut self, area: Range<u64>) -> Observation {
        self.step(|inner| inner.watch(area))
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        self.step(|inner| inner.inspect())
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        self.inner.cpu_clock()
    }
}

struct SteppedTree {
    inner: Box<dyn Tree>,
    steps: Steps,
}

impl Tree for SteppedTree {
    fn now(&mut self) -> Instant {
        self.inner.now()
    }

    fn carry_out(&mut self, act: &Act<'_>) -> Result<u64, IoError> {
        self.steps.pass();
        self.inner.carry_out(act)
    }

    fn list(&mut self, directory: &str, each: &mut dyn FnMut(&str)) -> Result<(), IoError> {
        self.steps.pass();
        self.inner.list(directory, each)
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        self.inner.flush()
    }
}
