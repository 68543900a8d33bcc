//! What the engine itself costs: the worker's own loop on an engine without a device.

use crate::{
    target::Drivable,
    workload::{Area, Budget, Op, Pattern, Recorder, Share, Stream, WorkerPlan},
};
use block::{Actor, Instant};
use std::sync::{atomic::AtomicBool, mpsc::channel};

/// Operations of one round. Every run pays for all rounds before it begins: some 5 ms, and ten
/// times that where a look at the clock is a system call.
const OPERATIONS: u64 = 10_000;
/// The best of so many rounds: noise only ever adds.
const ROUNDS: u64 = 15;

/// Nanoseconds an operation costs at depth 1 with full recording, on an engine that does nothing.
/// The best of several short rounds.
pub fn engine_cost_ns(engine: &mut dyn Drivable) -> f64 {
    let plan = WorkerPlan {
        stream: Stream::new(Op::Read, Pattern::Random, 4096),
        area: Area { offset: 0, bytes: 1 << 30 },
        share: Share { worker: 0, of: 1 },
        actor: Actor(0),
        budget: Budget::Operations(OPERATIONS),
        seed: 1,
        errors_max: 0,
        ramp_s: 0.0,
    };
    let (sink, _parts) = channel();
    let stop = AtomicBool::new(false);
    (0..ROUNDS)
        .map(|_| {
            let recorder = Recorder::new(0, 0, u64::MAX, sink.clone(), || 0);
            let mut workers = [engine.worker(&plan, recorder)];
            let start = engine.now();
            workers[0].start(start);
            engine.drive(&mut workers, Instant::NEVER, &stop);
            engine.now().since(start) as f64 / OPERATIONS as f64
        })
        .fold(f64::INFINITY, f64::min)
}
