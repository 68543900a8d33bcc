//! Streams of requests on a disk in virtual time, each kept at its own depth and rate.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use model::{Disk, DiskParams, Sim};

/// One stream.
#[derive(Clone, Copy)]
pub struct Stream {
    pub order: Order,
    pub op: Op,
    pub depth: u64,
    pub bytes: u64,
    /// Part of the disk that it stays in: where it begins, and how long it is, bytes.
    pub first: u64,
    pub span: u64,
    /// Bytes a second at most; 0 is no limit.
    pub cap: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Random,
    Sequential,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
}

/// What a stream came to.
pub struct Seen {
    /// Requests a second.
    pub rate: f64,
    latencies_ns: Vec<u64>,
}

impl Seen {
    pub fn quantile_ms(&self, part: f64) -> f64 {
        let last = (self.latencies_ns.len() - 1) as f64;
        self.latencies_ns[(last * part).round() as usize] as f64 / 1e6
    }
}

struct State {
    stream: Stream,
    rng: Rng,
    next: u64,
    /// When the next request is due, ns.
    due: f64,
    outstanding: u64,
    latencies_ns: Vec<u64>,
}

impl State {
    fn command(&mut self) -> Command {
        let Stream { order, op, bytes, first, span, cap, .. } = self.stream;
        let blocks = span / bytes;
        let block = match order {
            Order::Random => self.rng.below(blocks),
            Order::Sequential => self.next % blocks,
        };
        self.next += 1;
        if cap > 0.0 {
            self.due += bytes as f64 / cap * 1e9;
        }
        let at = Extent { offset: first + block * bytes, bytes: bytes as u32 };
        match op {
            Op::Read => Command::Read { at, into: Payload::None },
            Op::Write => Command::Write { at, from: Payload::None, durability: Durability::Cached },
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.outstanding < self.stream.depth && self.due <= now.0 as f64
    }
}

/// Runs all streams side by side; counts what ends in `seconds` after `warm` seconds.
pub fn run(params: &DiskParams, streams: &[Stream], warm: u64, seconds: u64) -> Vec<Seen> {
    let mut engine = Sim::new(Disk::new(params.clone(), 1024));
    let state = |(stream, &it): (u64, &Stream)| State {
        stream: it,
        rng: Rng::new(41, stream),
        next: 0,
        due: 0.0,
        outstanding: 0,
        latencies_ns: Vec::new(),
    };
    let mut states: Vec<State> = (0..).zip(streams).map(state).collect();
    let (from, to) = (warm * 1_000_000_000, (warm + seconds) * 1_000_000_000);
    let mut done = Vec::new();
    while engine.now() < Instant(to) {
        for (number, state) in (0..).zip(&mut states) {
            while state.is_due(engine.now()) {
                let (tag, command) = (Tag(number), state.command());
                engine.submit(Request { tag, actor: Actor(0), drive: Drive(0), command });
                state.outstanding += 1;
            }
        }
        let idle = states.iter().filter(|state| state.outstanding < state.stream.depth);
        let due = idle.map(|state| Instant(state.due as u64 + 1)).min().unwrap_or(Instant::NEVER);
        engine.wait(due.min(Instant(to)), &mut done);
        for Completion { tag, issued, finished, .. } in done.drain(..) {
            let state = &mut states[tag.0 as usize];
            state.outstanding -= 1;
            if finished >= Instant(from) {
                state.latencies_ns.push(finished.since(issued));
            }
        }
    }
    let seen = |mut state: State| {
        state.latencies_ns.sort_unstable();
        let rate = state.latencies_ns.len() as f64 / seconds as f64;
        Seen { rate, latencies_ns: state.latencies_ns }
    };
    states.into_iter().map(seen).collect()
}
