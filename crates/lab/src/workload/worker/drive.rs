//! Workers on their engine: the loop that waits and passes completions on.

use super::{Finish, Worker};
use block::{Engine, Instant};
use std::sync::atomic::{AtomicBool, Ordering};

/// Drives `workers` on `engine` until `until`, until `stop` is raised, until a worker fails, or
/// until all budgets are spent. May be called again to go on; operations stay in flight in between.
pub fn drive<E: Engine + ?Sized>(
    engine: &mut E,
    workers: &mut [Worker],
    until: Instant,
    stop: &AtomicBool,
) -> Finish {
    let in_flight_max = workers.iter().map(|worker| worker.slots.len()).sum();
    let mut done = Vec::with_capacity(in_flight_max);
    let paced = workers.iter().any(|worker| worker.pacer.is_some());
    for (index, worker) in workers.iter_mut().enumerate() {
        worker.fill(engine, index);
    }
    let mut maybe_spent = true;
    loop {
        if maybe_spent && workers.iter().all(Worker::is_spent) {
            return outcome(workers, Finish::Spent);
        }
        let mut alarm = until;
        if paced {
            alarm = workers.iter().map(Worker::next_due).fold(until, Instant::min);
        }
        engine.wait(alarm, &mut done);
        let mut failed = false;
        for completion in done.drain(..) {
            let index = (completion.tag.0 >> 16) as usize;
            let worker = &mut workers[index];
            let is_error = completion.result.is_err();
            worker.complete(engine, index, completion, failed);
            failed |= is_error && worker.failure.is_some();
            maybe_spent |= worker.left == 0;
        }
        if failed || engine.now() >= until || stop.load(Ordering::Relaxed) {
            return outcome(workers, Finish::Stopped);
        }
        if paced {
            for (index, worker) in workers.iter_mut().enumerate() {
                worker.fill(engine, index);
            }
        }
    }
}

/// Lets everything in flight finish, and issues nothing more.
pub fn drain<E: Engine + ?Sized>(engine: &mut E, workers: &mut [Worker]) {
    let mut done = Vec::new();
    while workers.iter().any(|worker| worker.in_flight() > 0) {
        engine.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            let index = (completion.tag.0 >> 16) as usize;
            workers[index].complete(engine, index, completion, true);
        }
    }
}

fn outcome(workers: &[Worker], otherwise: Finish) -> Finish {
    if workers.iter().any(|worker| worker.failure.is_some()) { Finish::Failed } else { otherwise }
}
