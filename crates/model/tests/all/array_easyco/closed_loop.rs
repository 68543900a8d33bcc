//! The study's program in virtual time: threads that each ask for one aligned random block after
//! the other.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};

/// What the threads do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Read a block.
    Read,
    /// Write a block.
    Write,
}

/// One cell of a table.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub op: Op,
    pub block_bytes: u32,
    pub threads: u16,
    /// Virtual time before counting starts, ns.
    pub warm_up_ns: u64,
    /// Virtual time that is counted, ns.
    pub counted_ns: u64,
}

/// Operations per second, rounded down as the study prints them, and operations simulated.
pub fn run(engine: &mut dyn Engine, cell: Cell, seed: u64) -> (f64, u64) {
    let blocks = engine.geometry(Drive(0)).capacity_bytes / u64::from(cell.block_bytes);
    let mut rng = Rng::new(seed, u64::from(cell.block_bytes));
    let mut ask = |engine: &mut dyn Engine, actor: u16| {
        let offset = rng.below(blocks) * u64::from(cell.block_bytes);
        let at = Extent { offset, bytes: cell.block_bytes };
        let command = match cell.op {
            Op::Read => Command::Read { at, into: Payload::None },
            Op::Write => Command::Write { at, from: Payload::None, durability: Durability::Cached },
        };
        let (tag, actor) = (Tag(u64::from(actor)), Actor(actor));
        engine.submit(Request { tag, actor, drive: Drive(0), command });
    };
    let started = engine.now();
    let counted_from = started.after(cell.warm_up_ns);
    let end = counted_from.after(cell.counted_ns);
    for actor in 0..cell.threads {
        ask(engine, actor);
    }
    let mut done: Vec<Completion> = Vec::new();
    let (mut counted, mut total) = (0u64, 0u64);
    while engine.now() < end {
        engine.wait(end, &mut done);
        for completion in done.drain(..) {
            assert_eq!(completion.result, Ok(()));
            total += 1;
            counted += u64::from(completion.finished > counted_from);
            ask(engine, completion.tag.0 as u16);
        }
    }
    let mut outstanding = cell.threads;
    while outstanding > 0 {
        engine.wait(Instant::NEVER, &mut done);
        outstanding -= done.drain(..).count() as u16;
    }
    (counted as f64 * 1e9 / cell.counted_ns as f64, total)
}
