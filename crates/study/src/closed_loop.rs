//! The simplest workload: so many threads, each with one request in flight, on any engine.

use block::{
    Actor, Command, Drive, Engine, Instant, IoError, Payload, Request, Tag, submit_and_wait,
};

/// How long a closed loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Length {
    /// Operations before the clock starts: buffers fill, queues settle.
    pub before: u64,
    /// Operations that count.
    pub counted: u64,
}

/// What a closed loop saw.
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

/// Keeps one operation of each of `threads` actors in flight. `next` makes the commands, in the
/// order in which the threads become free. Nothing is left in flight.
///
/// # Errors
/// The first operation that failed.
pub fn run(
    engine: &mut dyn Engine,
    threads: u16,
    length: Length,
    next: &mut dyn FnMut() -> Command,
) -> Result<Pace, IoError> {
    keep_in_flight(engine, threads, Actor, length, &mut |_| next())
}

/// The same, and `next` is told which thread asks.
///
/// # Errors
/// The first operation that failed.
pub fn run_each(
    engine: &mut dyn Engine,
    threads: u16,
    length: Length,
    next: &mut dyn FnMut(u16) -> Command,
) -> Result<Pace, IoError> {
    keep_in_flight(engine, threads, Actor, length, next)
}

/// Keeps `depth` operations of a single actor in flight, else as [`run`].
///
/// # Errors
/// The first operation that failed.
pub fn run_deep(
    engine: &mut dyn Engine,
    depth: u16,
    length: Length,
    next: &mut dyn FnMut() -> Command,
) -> Result<Pace, IoError> {
    keep_in_flight(engine, depth, |_| Actor(0), length, &mut |_| next())
}

/// `slots` operations in flight, the one in each slot asked for by an actor.
fn keep_in_flight(
    engine: &mut dyn Engine,
    slots: u16,
    actor: fn(u16) -> Actor,
    length: Length,
    next: &mut dyn FnMut(u16) -> Command,
) -> Result<Pace, IoError> {
    let total = length.before + length.counted;
    let mut issued = 0;
    let mut completed = 0;
    let mut start = engine.now();
    let mut end = start;
    let mut submit = |engine: &mut dyn Engine, slot: u64| {
        let slot = slot as u16;
        let (tag, actor, command) = (Tag(slot.into()), actor(slot), next(slot));
        engine.submit(Request { tag, actor, drive: Drive(0), command });
    };
    for slot in 0..u64::from(slots).min(total) {
        submit(engine, slot);
        issued += 1;
    }
    let mut done = Vec::with_capacity(usize::from(slots));
    while completed < total {
        engine.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            completion.result?;
            completed += 1;
            if completed == length.before {
                start = completion.finished;
            }
            end = completion.finished;
            if issued < total {
                submit(engine, completion.tag.0);
                issued += 1;
            }
        }
    }
    Ok(Pace { operations: length.counted, seconds: end.since(start) as f64 / 1e9 })
}

/// One command, to its end; how long it took, ns.
///
/// # Errors
/// The drive's.
pub fn once(engine: &mut dyn Engine, command: Command) -> Result<u64, IoError> {
    let before = engine.now();
    let completion = submit_and_wait(engine, command);
    completion.result?;
    assert!(matches!(completion.payload, Payload::None), "a timing-only command");
    Ok(completion.finished.since(before))
}
