//! A stack of the catalog's in virtual time, and the closed loops that measure it.

use anyhow::{Context, Result, anyhow, ensure};
use block::{Command, Engine};
use flash::{BLOCK_BYTES, Counters, Layout, Volume};
use lab::workload::{Area, Counted, Failure, Length, Op, Pattern, Stream, once};
use target::{
    catalog::Catalog,
    stack::{self, Opened},
};

/// Callers of requests of 4 KiB, where nothing else is said.
pub const DEPTH: u16 = 32;
/// Callers of long requests.
const LINEAR_DEPTH: u16 = 4;
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
    /// Of the random writes so far: those that come are not the same again.
    seed: u64,
}

impl Bed {
    pub fn new(catalog: &Catalog, text: &str) -> Result<Self> {
        let mut opened = open(catalog, text)?;
        let bytes = opened.contract().capacity_bytes;
        let whole = bytes / LINE_BYTES * LINE_BYTES;
        fill(&mut opened, LINEAR_DEPTH, LINE_BYTES, Area { offset: 0, bytes: whole })?;
        fill(&mut opened, DEPTH, BLOCK_BYTES, Area { offset: whole, bytes: bytes - whole })?;
        let bed = Self { opened, blocks: bytes / BLOCK_BYTES, seed: 0 };
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
    pub fn overwrite(&mut self, count: u64) -> Result<f64> {
        self.seed += 1;
        random(&mut self.opened, Op::Write, DEPTH, count, self.blocks, self.seed)
    }

    /// Reads random blocks, so many, by so many callers; how many a second.
    pub fn read(&mut self, depth: u16, count: u64) -> Result<f64> {
        self.seed += 1;
        random(&mut self.opened, Op::Read, depth, count, self.blocks, self.seed)
    }

    /// Nothing is asked for so long.
    pub fn rest(&mut self, seconds: u64) {
        let until = self.opened.now().after(seconds * 1_000_000_000);
        while self.opened.now() < until {
            self.opened.wait(until, &mut Vec::new());
        }
    }
}

/// Writes an area once, front to back.
fn fill(engine: &mut Opened, depth: u16, block_bytes: u64, area: Area) -> Result<()> {
    let stream = callers(Op::Write, Pattern::Sequential, block_bytes, depth);
    let count = area.bytes / block_bytes;
    if count > 0 {
        run(engine, &stream, area, 0, count)?;
    }
    Ok(())
}

/// Requests a second of 4 KiB, so many, at random in the first so many blocks, by callers who ask
/// again when they are answered; then a flush, which counts.
pub fn random(
    engine: &mut Opened,
    op: Op,
    depth: u16,
    count: u64,
    blocks: u64,
    seed: u64,
) -> Result<f64> {
    let area = Area { offset: 0, bytes: blocks * BLOCK_BYTES };
    flushed(engine, &callers(op, Pattern::Random, BLOCK_BYTES, depth), area, seed, count)
}

/// MiB/s of sequential requests over the first so many bytes.
pub fn sequential(engine: &mut Opened, op: Op, bytes: u64) -> Result<f64> {
    let stream = callers(op, Pattern::Sequential, LINE_BYTES, LINEAR_DEPTH);
    let area = Area { offset: 0, bytes: bytes / LINE_BYTES * LINE_BYTES };
    let rate = flushed(engine, &stream, area, 0, bytes / LINE_BYTES)?;
    Ok(rate * LINE_BYTES as f64 / MIB)
}

/// So many callers, each of whom asks again when answered.
fn callers(op: Op, pattern: Pattern, block_bytes: u64, callers: u16) -> Stream {
    let stream = Stream::new(op, pattern, block_bytes as u32);
    match pattern {
        // One walk, of which all have the next request in hand.
        Pattern::Sequential => Stream { queue_depth: callers.into(), ..stream },
        _ => Stream { threads: callers, ..stream },
    }
}

fn flushed(engine: &mut Opened, stream: &Stream, area: Area, seed: u64, count: u64) -> Result<f64> {
    let begun = engine.now();
    run(engine, stream, area, seed, count)?;
    once(engine, Command::Flush).map_err(|error| anyhow!("a flush failed: {error:?}"))?;
    Ok(count as f64 * 1e9 / engine.now().since(begun) as f64)
}

fn run(engine: &mut Opened, stream: &Stream, area: Area, seed: u64, count: u64) -> Result<()> {
    Counted::new(engine, stream, area, seed).run(engine, Length::of(count)).map_err(failed)?;
    Ok(())
}

/// In words.
pub fn failed(failure: Failure) -> anyhow::Error {
    anyhow!("a request failed: {failure:?}")
}
