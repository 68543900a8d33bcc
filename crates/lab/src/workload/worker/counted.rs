//! A closed loop that ends after a number of operations: what is measured on a virtual clock
//! without a stop rule, by the same workers as every pass.

use super::{
    Area, Budget, Completion, Engine, Failure, Instant, Offsets, Op, Phase, Recorder, Share,
    Stream, Worker, WorkerPlan,
};
use crate::workload::Pattern;
use block::{Actor, Command, IoError, Payload, submit_and_wait};
use std::sync::mpsc::channel;

/// How long a counted loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Length {
    /// Operations before the clock starts: buffers fill, queues settle.
    pub before: u64,
    /// Operations that count.
    pub counted: u64,
    /// Nothing is issued from this time on, however few have been.
    pub until: Instant,
}

impl Length {
    /// So many operations, all of which count.
    pub fn of(counted: u64) -> Self {
        Self { before: 0, counted, until: Instant::NEVER }
    }

    /// The same after so many others.
    pub fn after(self, before: u64) -> Self {
        Self { before, ..self }
    }

    fn is_over(&self, engine: &dyn Engine) -> bool {
        self.until != Instant::NEVER && engine.now() >= self.until
    }
}

/// What a counted loop saw.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// Operations that counted.
    pub operations: u64,
    /// Time they took, seconds.
    pub seconds: f64,
}

impl Pace {
    /// Operations per second.
    pub fn iops(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// The workers of one or more streams on one engine. Nothing is in flight between two runs, and
/// each worker goes on where it was.
pub struct Counted {
    workers: Vec<Worker>,
    done: Vec<Completion>,
}

impl Counted {
    /// The workers of `stream`, all of whose random choices come from `seed`.
    pub fn new(engine: &mut dyn Engine, stream: &Stream, area: Area, seed: u64) -> Self {
        Self::of_streams(engine, &[(stream.clone(), area)], seed)
    }

    /// The workers of several streams, each in an area of its own. Their seeds are those of a pass
    /// over a cell of these streams.
    ///
    /// # Panics
    /// On a stream with a rate, think time or a later start: it is no plain closed loop.
    pub fn of_streams(engine: &mut dyn Engine, streams: &[(Stream, Area)], seed: u64) -> Self {
        let mut workers: Vec<Worker> = Vec::new();
        for (index, (stream, area)) in streams.iter().enumerate() {
            let is_plain = !stream.is_paced() && stream.start_after_s == 0.0;
            assert!(is_plain, "what waits by the clock ends by time");
            for worker in 0..u64::from(stream.threads) {
                let plan = WorkerPlan {
                    stream: stream.clone(),
                    area: *area,
                    share: Share { worker, of: u64::from(stream.threads) },
                    actor: Actor(workers.len() as u16),
                    budget: Budget::Endless,
                    seed: seed ^ (index as u64) << 48,
                    errors_max: 0,
                    ramp_s: 0.0,
                };
                // Never started, it has no ticks to send.
                let recorder = Recorder::new(index, workers.len(), 1, channel().0, || 0);
                workers.push(Worker::new(&plan, recorder, engine));
            }
        }
        Self { workers, done: Vec::new() }
    }

    /// One worker that goes where `offsets` say, whatever the stream's pattern.
    pub fn along(engine: &mut dyn Engine, stream: &Stream, offsets: Offsets) -> Self {
        assert_eq!(stream.threads, 1, "one list for one worker");
        let area = Area { offset: 0, bytes: u64::from(stream.block_bytes) };
        let mut counted = Self::new(engine, stream, area, 0);
        counted.workers[0].offsets = offsets;
        counted
    }

    /// Does something else from the next run on, with the same slots and memory: an engine gives
    /// its memory once.
    pub fn turn_to(&mut self, op: Op, pattern: Pattern, area: Area, seed: u64) {
        let of = self.workers.len() as u64;
        for (number, worker) in (0..).zip(&mut self.workers) {
            let (share, bytes) = (Share { worker: number, of }, u64::from(worker.block_bytes));
            worker.op = op;
            worker.offsets = Offsets::new(pattern, area, bytes, share, seed);
        }
    }

    /// Every write is durable before it counts as done, as if the file had been opened with
    /// `O_DSYNC`.
    pub fn write_durably(&mut self) {
        self.workers.iter_mut().for_each(Worker::write_durably);
    }

    /// Keeps every slot of every worker busy until so many operations are done. The next operation
    /// is issued by the worker that has just become free.
    ///
    /// # Errors
    /// The first operation that failed.
    pub fn run(&mut self, engine: &mut dyn Engine, length: Length) -> Result<Pace, Failure> {
        let total = length.before + length.counted;
        let (mut issued, mut completed) = (0, 0);
        let mut start = engine.now();
        let mut end = start;
        'fill: for (index, worker) in self.workers.iter_mut().enumerate() {
            while let Some(&slot) = worker.idle.last() {
                if issued == total || length.is_over(engine) {
                    break 'fill;
                }
                worker.idle.pop();
                worker.issue_idle(engine, index, slot);
                issued += 1;
            }
        }
        // A flush of a stream's own may be on its way when all operations are done.
        while completed < issued || self.workers.iter().any(|worker| worker.in_flight() > 0) {
            engine.wait(Instant::NEVER, &mut self.done);
            for completion in self.done.drain(..) {
                let index = (completion.tag.0 >> 16) as usize;
                let worker = &mut self.workers[index];
                if worker.slots[usize::from(completion.tag.0 as u16)].phase.ends_operation() {
                    completed += 1;
                    if completed == length.before {
                        start = completion.finished;
                    }
                    end = completion.finished;
                }
                let is_enough = issued == total || length.is_over(engine);
                let left = worker.left;
                worker.complete(engine, index, completion, is_enough);
                if let Some(failure) = worker.failure {
                    return Err(failure);
                }
                issued += left - worker.left;
            }
        }
        let operations = completed.saturating_sub(length.before);
        Ok(Pace { operations, seconds: end.since(start) as f64 / 1e9 })
    }
}

impl Phase {
    /// Whether its completion is an operation's.
    fn ends_operation(self) -> bool {
        matches!(self, Self::Transfer | Self::CommitFlush)
    }
}

/// One command, to its end; how long it took, ns.
///
/// # Errors
/// The drive's.
pub fn once(engine: &mut dyn Engine, command: Command) -> Result<u64, IoError> {
    let before = engine.now();
    let completion = submit_and_wait(engine, command);
    completion.result?;
    assert!(matches!(completion.payload, Payload::None), "a command without memory");
    Ok(completion.finished.since(before))
}
