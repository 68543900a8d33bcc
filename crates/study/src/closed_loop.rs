//! The simplest workload: so many threads, each with one request in flight, on any engine.

use block::{Actor, Command, Drive, Engine, Instant, IoError, Payload, Request, Tag};

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

/// Keeps one operation of each of `threads` actors in flight. `next` makes the commands, in the order
/// in which the threads become free. Nothing is left in flight.
///
/// # Errors
/// The first operation that failed.
pub fn run(
    engine: &mut dyn Engine,
    threads: u16,
    length: Length,
    next: &mut dyn FnMut() -> Command,
) -> Result<Pace, IoError> {
    let total = length.before + length.counted;
    let mut issued = 0;
    let mut completed = 0;
    let mut start = engine.now();
    let mut end = start;
    let mut submit = |engine: &mut dyn Engine, actor: u64| {
        let (tag, actor) = (Tag(actor), Actor(actor as u16));
        engine.submit(Request { tag, actor, drive: Drive(0), command: next() });
    };
    for actor in 0..u64::from(threads).min(total) {
        submit(engine, actor);
        issued += 1;
    }
    let mut done = Vec::with_capacity(usize::from(threads));
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
    engine.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
    let mut done = Vec::new();
    while done.is_empty() {
        engine.wait(Instant::NEVER, &mut done);
    }
    let completion = &done[0];
    completion.result?;
    assert!(matches!(completion.payload, Payload::None), "a timing-only command");
    Ok(completion.finished.since(before))
}
