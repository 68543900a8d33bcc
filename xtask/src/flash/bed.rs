//! A managed volume on a stack of the catalog's, and the closed loop that measures it.

use anyhow::{Context, Result, ensure};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Geometry, Instant, Payload,
    Request, Rng, Stack, Tag,
};
use flash::{BLOCK_BYTES, Checksums, Classes, Counters, Parity, Settings, Shape, Volume, VolumeId};
use target::{
    catalog::Catalog,
    stack::{Opened, open},
};

/// Callers of random requests.
pub const DEPTH: usize = 32;
pub const MIB: u64 = 1 << 20;

/// The stack without a volume.
pub fn bare(catalog: &Catalog, text: &str) -> Result<Opened> {
    Ok(open(&text.parse()?, catalog, 1)?)
}

/// What a volume is made like, on the front of a stack.
#[derive(Clone, Copy)]
pub struct Plan {
    /// So much of the drive is used.
    pub device_bytes: u64,
    /// Of it, so much is exported, and all of that written.
    pub live: f64,
    pub stripe_bytes: u64,
    pub segment_bytes: u64,
    pub chunk_bytes: u64,
    pub parity: Parity,
    pub classes: Classes,
    pub settings: Settings,
}

impl Plan {
    fn shape(&self) -> Shape {
        let exported = (self.device_bytes as f64 * self.live) as u64;
        Shape {
            device_bytes: self.device_bytes,
            exported_bytes: exported / BLOCK_BYTES * BLOCK_BYTES,
            stripe_bytes: self.stripe_bytes,
            erase_unit_bytes: BLOCK_BYTES,
            segment_bytes: self.segment_bytes,
            chunk_bytes: self.chunk_bytes,
            parity: self.parity,
            checksums: Checksums::OnCleaning,
            classes: self.classes,
            ring_bytes: 0,
        }
    }
}

/// A volume, written from end to end once.
pub struct Bed<E> {
    pub stack: Stack<Volume, E>,
    pub blocks: u64,
}

impl<E: Engine> Bed<E> {
    pub fn new(engine: E, plan: &Plan) -> Result<Self> {
        let shape = plan.shape();
        let below = Geometry { capacity_bytes: plan.device_bytes, ..engine.geometry(Drive(0)) };
        let volume = Volume::create(below, shape, VolumeId([1; 16]), plan.settings)?;
        let mut bed =
            Self { stack: Stack::new(volume, engine), blocks: shape.exported_bytes / BLOCK_BYTES };
        let blocks = bed.blocks;
        closed_loop(&mut bed.stack, DEPTH, blocks, |number| write(number, 1))?;
        Ok(bed)
    }

    pub fn counters(&self) -> Result<Counters> {
        self.stack.machine.counters().context("the volume is open")
    }

    /// Writes random blocks; how many a second.
    pub fn write_at_random(&mut self, count: u64, rng: &mut Rng) -> Result<f64> {
        let blocks = self.blocks;
        rate(&mut self.stack, DEPTH, count, |_| write(rng.below(blocks), 1))
    }

    /// The same up to the end of a flush: what is in memory or in the drive's buffer is not done.
    pub fn burst(&mut self, count: u64, rng: &mut Rng) -> Result<f64> {
        let begun = self.stack.now();
        self.write_at_random(count, rng)?;
        closed_loop(&mut self.stack, 1, 1, |_| Command::Flush)?;
        Ok(count as f64 * 1e9 / self.stack.now().since(begun) as f64)
    }

    /// Nothing is asked for so long.
    pub fn rest(&mut self, seconds: u64) {
        let until = self.stack.now().after(seconds * 1_000_000_000);
        while self.stack.now() < until {
            self.stack.wait(until, &mut Vec::new());
        }
    }
}

pub fn write(block: u64, blocks: u64) -> Command {
    let at = Extent { offset: block * BLOCK_BYTES, bytes: (blocks * BLOCK_BYTES) as u32 };
    Command::Write { at, from: Payload::None, durability: Durability::Cached }
}

pub fn read(block: u64, blocks: u64) -> Command {
    let at = Extent { offset: block * BLOCK_BYTES, bytes: (blocks * BLOCK_BYTES) as u32 };
    Command::Read { at, into: Payload::None }
}

/// Requests a second of so many, by callers who ask again when they are answered.
pub fn rate(
    engine: &mut impl Engine,
    depth: usize,
    count: u64,
    next: impl FnMut(u64) -> Command,
) -> Result<f64> {
    let begun = engine.now();
    closed_loop(engine, depth, count, next)?;
    Ok(count as f64 * 1e9 / engine.now().since(begun) as f64)
}

fn closed_loop(
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

/// MiB/s of reading or writing one after the other, so many blocks at a time.
pub fn linear(
    engine: &mut impl Engine,
    command: fn(u64, u64) -> Command,
    blocks: u64,
    count: u64,
) -> Result<f64> {
    let rate = rate(engine, 4, count, |number| command(number * blocks, blocks))?;
    Ok(rate * (blocks * BLOCK_BYTES) as f64 / MIB as f64)
}
