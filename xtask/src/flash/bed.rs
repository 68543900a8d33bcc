//! A stack of the catalog's in virtual time, and the closed loops that measure it.

use anyhow::{Context, Result, ensure};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use flash::{BLOCK_BYTES, Counters, Layout, Volume};
use target::{
    catalog::Catalog,
    stack::{self, Opened},
};

/// Callers of requests of 4 KiB, where nothing else is said.
pub const DEPTH: usize = 32;
/// Callers of long requests.
const LINEAR_DEPTH: usize = 4;
/// A sequential request.
pub const LINE_BYTES: u64 = 1 << 20;
pub const MIB: f64 = 1_048_576.0;

/// A stack, opened; its volume new.
pub fn open(catalog: &Catalog, text: &str) -> Result<Opened> {
    let stack = text.parse().with_context(|| format!("`model:{text}`"))?;
    Ok(stack::open(&stack, catalog, 1)?)
}

/// A managed volume, written from end to end once.
pub struct Bed {
    pub opened: Opened,
    /// All of them mapped.
    pub blocks: u64,
}

impl Bed {
    pub fn new(catalog: &Catalog, text: &str) -> Result<Self> {
        let mut opened = open(catalog, text)?;
        let bytes = opened.contract().capacity_bytes;
        let lines = bytes / LINE_BYTES;
        closed_loop(&mut opened, LINEAR_DEPTH, lines, |number| {
            write(number * LINE_BYTES, LINE_BYTES)
        })?;
        let rest = (bytes - lines * LINE_BYTES) / BLOCK_BYTES;
        closed_loop(&mut opened, DEPTH, rest, |number| {
            write(lines * LINE_BYTES + number * BLOCK_BYTES, BLOCK_BYTES)
        })?;
        let bed = Self { opened, blocks: bytes / BLOCK_BYTES };
        ensure!(bed.counters().mapped_blocks == bed.blocks, "`model:{text}` is not all mapped");
        Ok(bed)
    }

    fn volume(&self) -> &Volume {
        self.opened.managed().expect("the stack has a managed volume")
    }

    pub fn counters(&self) -> Counters {
        self.volume().counters().expect("it is open")
    }

    pub fn layout(&self) -> &Layout {
        self.volume().layout().expect("it is open")
    }

    /// Overwrites random blocks, so many; how many a second, up to the end of a flush: what is in
    /// memory or in the drive's buffer is not done.
    pub fn overwrite(&mut self, count: u64, rng: &mut Rng) -> Result<f64> {
        let blocks = self.blocks;
        rate(&mut self.opened, DEPTH, count, |_| random_write(rng, blocks))
    }

    /// Nothing is asked for so long.
    pub fn rest(&mut self, seconds: u64) {
        let until = self.opened.now().after(seconds * 1_000_000_000);
        while self.opened.now() < until {
            self.opened.wait(until, &mut Vec::new());
        }
    }
}

pub fn write(offset: u64, bytes: u64) -> Command {
    let at = Extent { offset, bytes: bytes as u32 };
    Command::Write { at, from: Payload::None, durability: Durability::Cached }
}

pub fn read(offset: u64, bytes: u64) -> Command {
    Command::Read { at: Extent { offset, bytes: bytes as u32 }, into: Payload::None }
}

/// 4 KiB somewhere in the first so many blocks.
pub fn random_write(rng: &mut Rng, blocks: u64) -> Command {
    write(rng.below(blocks) * BLOCK_BYTES, BLOCK_BYTES)
}

/// The same, read.
pub fn random_read(rng: &mut Rng, blocks: u64) -> Command {
    read(rng.below(blocks) * BLOCK_BYTES, BLOCK_BYTES)
}

/// Requests a second of so many, by callers who ask again when they are answered; then a flush,
/// which counts.
pub fn rate(
    engine: &mut impl Engine,
    depth: usize,
    count: u64,
    next: impl FnMut(u64) -> Command,
) -> Result<f64> {
    let begun = engine.now();
    closed_loop(engine, depth, count, next)?;
    closed_loop(engine, 1, 1, |_| Command::Flush)?;
    Ok(count as f64 * 1e9 / engine.now().since(begun) as f64)
}

/// MiB/s of sequential requests over the first so many bytes.
pub fn linear(
    engine: &mut impl Engine,
    command: fn(u64, u64) -> Command,
    bytes: u64,
) -> Result<f64> {
    let count = bytes / LINE_BYTES;
    let rate =
        rate(engine, LINEAR_DEPTH, count, |number| command(number * LINE_BYTES, LINE_BYTES))?;
    Ok(rate * LINE_BYTES as f64 / MIB)
}

/// So many requests, each caller asking again when answered.
pub fn closed_loop(
    engine: &mut impl Engine,
    depth: usize,
    count: u64,
    mut next: impl FnMut(u64) -> Command,
) -> Result<()> {
    let mut done: Vec<Completion> = Vec::with_capacity(depth);
    let (mut sent, mut ended) = (0, 0);
    while ended < count {
        while sent < count && sent - ended < depth as u64 {
            let (tag, actor) = (Tag(sent), Actor((sent % depth as u64) as u16));
            engine.submit(Request { tag, actor, drive: Drive(0), command: next(sent) });
            sent += 1;
        }
        engine.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            ensure!(completion.result.is_ok(), "a request failed: {:?}", completion.result);
            ended += 1;
        }
    }
    Ok(())
}
