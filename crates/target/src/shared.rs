//! One engine for all workers and all passes.

use block::{Engine, Instant, IoError};
use lab::{
    target::{Drivable, Named},
    workload::{
        Recorder, Syncing, Worker, WorkerPlan,
        replay::{Replayer, ReplayerPlan},
    },
};
use std::{cell::RefCell, rc::Rc, sync::atomic::AtomicBool};

/// An engine that lives as long as its target.
pub(crate) type Shared<E> = Rc<RefCell<Named<E>>>;

/// The engine, for a pass. Borrowed once a call, not once an operation.
pub(crate) struct SharedEngine<E>(pub Shared<E>);

impl<E: Engine> Drivable for SharedEngine<E> {
    fn worker(&mut self, plan: &WorkerPlan, recorder: Recorder) -> Worker {
        let mut worker = self.0.borrow_mut().worker(plan, recorder);
        // There is no file of the worker's own that could have been opened so.
        if plan.stream.io.syncing != Syncing::None {
            worker.write_durably();
        }
        worker
    }

    fn drive(&mut self, workers: &mut [Worker], until: Instant, stop: &AtomicBool) {
        self.0.borrow_mut().drive(workers, until, stop);
    }

    fn drain(&mut self, workers: &mut [Worker]) {
        self.0.borrow_mut().drain(workers);
    }

    fn replayer(&mut self, plan: ReplayerPlan, recorders: Vec<Recorder>) -> Replayer {
        self.0.borrow_mut().replayer(plan, recorders)
    }

    fn replay(&mut self, replayer: &mut Replayer, until: Instant, stop: &AtomicBool) {
        self.0.borrow_mut().replay(replayer, until, stop);
    }

    fn drain_replay(&mut self, replayer: &mut Replayer) {
        self.0.borrow_mut().drain_replay(replayer);
    }

    fn hand_over(&mut self) -> Result<(), IoError> {
        self.0.borrow_mut().hand_over()
    }

    fn rest(&mut self, ns: u64) {
        self.0.borrow_mut().rest(ns);
    }

    fn now(&mut self) -> Instant {
        self.0.borrow_mut().now()
    }

    fn reached(&self) -> Instant {
        self.0.borrow().reached()
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        self.0.borrow_mut().flush()
    }

    fn describe(&self) -> (String, Vec<String>) {
        self.0.borrow().describe()
    }
}
