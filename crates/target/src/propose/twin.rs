//! The model that stands for a measured drive while its numbers are sought: the same cells, on less
//! flash where the cell's result does not depend on how much there is.

use super::{
    curve::Curve,
    figures::{Beside, Figures, LongWrite},
};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Payload, Request, Rng, Tag,
};
use lab::{
    load::{Demand, LoadLength, LoadOp, LoadStream, load},
    method::{CellSpec, Method},
    workload::Length,
};
use model::{
    Disk, DiskParams, Sim,
    flash::page_mapped::{PageMapped, PageMappedParams},
};

/// Where all random choices come from.
const SEED: u64 = 17;
/// Most bytes that read cells work on a part of.
const READ_SPAN_BYTES: u64 = 4 << 30;
/// Flash that long writes are modelled on, at least; a larger drive is as many times smaller in
/// bytes and in time.
const WRITE_BYTES: u64 = 2 << 30;
/// Superblocks of that flash.
const SUPERBLOCKS: u64 = 256;
/// A tick of a run's series, seconds.
const TICK_S: f64 = 0.1;
/// Reads beside writes that are enough to know their mean.
const READS_MAX: u64 = 4_000;
/// Outstanding requests of the models.
const DEPTH_MAX: u32 = 512;

/// The method's cells, and the sizes of the run.
pub(super) struct Bench {
    method: Method,
    span_bytes: u64,
    capacity_bytes: u64,
}

/// What the long writes come to on a model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Written {
    /// `fill`.
    pub fill: Curve,
    /// The bursts.
    pub bursts: Vec<Curve>,
    /// `scattered`, if it was asked for.
    pub scattered: Option<Curve>,
}

/// Which of the long writes are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Until {
    /// The first alone.
    Fill,
    /// With the bursts and the random writes.
    Scattered,
}

impl Bench {
    /// For the run that `figures` are of.
    pub fn new(figures: &Figures) -> Self {
        let method = Method::built_in("characterise", &[]).expect("a test reads it");
        let (span_bytes, capacity_bytes) = (figures.span_bytes, figures.capacity_bytes);
        Self { method, span_bytes, capacity_bytes }
    }

    fn cell(&self, name: &str) -> Option<&CellSpec> {
        self.method.cells.iter().find(|cell| cell.name == name)
    }

    /// Bytes of one operation of a cell.
    pub fn block_bytes(&self, name: &str) -> Option<f64> {
        Some(f64::from(self.cell(name)?.streams[0].block_bytes))
    }

    /// Operations per second of cells of reads that keep their depth, one after the other on one
    /// drive, which they leave as they found it; `None` where it cannot be built.
    pub fn reads<'c>(
        &self,
        params: &PageMappedParams,
        names: impl Iterator<Item = &'c str>,
    ) -> Option<Vec<f64>> {
        let area_bytes = (self.read_span_bytes() / 16).next_multiple_of(1 << 20);
        let mut sim = small(params, area_bytes, area_bytes)?;
        let iops = |name| {
            let cell = self.cell(name)?;
            let depth = depth(cell);
            // One at a time the model's reads are all but alike.
            let length = match depth {
                1 => Length::of(200).after(10),
                _ => Length::of(1_500).after(4 * depth),
            };
            let pace = lab::trial::pass(&mut sim, cell, self.read_span_bytes(), SEED, length);
            Some(pace.ok()?.iops())
        };
        names.map(iops).collect()
    }

    /// Operations per second of `mixed`.
    pub fn mixed(&self, params: &PageMappedParams) -> Option<f64> {
        let (cell, span_bytes) = (self.cell("mixed")?, self.read_span_bytes());
        let mut sim = small(params, span_bytes / (1 << 20) * (1 << 20), span_bytes / 16)?;
        // What the buffer takes at first is not what lasts.
        let buffered = params.write_buffer_bytes / 4096;
        let length = Length::of(8_000).after(4 * buffered);
        Some(lab::trial::pass(&mut sim, cell, span_bytes, SEED, length).ok()?.iops())
    }

    /// Reads beside writes: 64 KiB four deep, and 4 KiB one at a time.
    pub fn beside(&self, params: &PageMappedParams, as_in: Beside) -> Option<Beside> {
        let span_bytes = self.read_span_bytes();
        let area = span_bytes / 16;
        let mut sim = small(params, span_bytes / (1 << 20) * (1 << 20), area)?;
        let stream = |op, block_bytes, depth| {
            let span_bytes = area / u64::from(block_bytes) * u64::from(block_bytes);
            LoadStream { op, block_bytes, span_bytes, demand: Demand::Depth(depth), threads: 1 }
        };
        let streams = [stream(LoadOp::Read, 4096, 1), stream(LoadOp::Write, 65_536, 4)];
        let (before, counted) = as_in.reads;
        let length = LoadLength { before, counted: counted.clamp(1, READS_MAX) };
        let seen = load(&mut sim, &streams, SEED, length).ok()?;
        Some(Beside {
            mean_ns: seen[0].mean_ns(),
            p99_ns: seen[0].quantile_ns(0.99),
            reads: as_in.reads,
        })
    }

    /// Operations per second of a disk's cell.
    pub fn disk_iops(&self, params: &DiskParams, name: &str) -> Option<f64> {
        let cell = self.cell(name)?;
        let mut sim = Sim::new(Disk::new(params.clone(), DEPTH_MAX));
        let length = Length::of(400).after(2 * depth(cell));
        Some(lab::trial::pass(&mut sim, cell, self.span_bytes, SEED, length).ok()?.iops())
    }

    fn read_span_bytes(&self) -> u64 {
        self.span_bytes.min(READ_SPAN_BYTES)
    }

    /// The long writes of the run, in their order and with its pauses.
    pub fn written(
        &self,
        params: &PageMappedParams,
        figures: &Figures,
        until: Until,
    ) -> Option<Written> {
        let least = (u64::from(params.planes()) * u64::from(params.nand_page_bytes))
            .saturating_mul(4 * SUPERBLOCKS);
        let scale = self.capacity_bytes as f64 / least.max(WRITE_BYTES) as f64;
        let scale = scale.max(1.0);
        let mut sim = self.scaled(params, scale)?;
        let span_bytes = (self.span_bytes as f64 / scale) as u64 / (1 << 20) * (1 << 20);
        let mut write = |long: &LongWrite, block_bytes, depth, order| {
            let idle_ns = (long.idle_s * 1e9 / scale) as u64;
            let until = sim.now().after(idle_ns);
            while sim.now() < until {
                sim.wait(until, &mut Vec::new());
            }
            let bytes = (long.bytes as f64 / scale) as u64;
            let asked = Asked { block_bytes, depth, order, bytes, span_bytes };
            asked.write(&mut sim, TICK_S / scale)?.stretched(scale)
        };
        let mut in_order = |long: &LongWrite| write(long, 1 << 20, 8, Order::Sequential);
        let fill = in_order(&figures.fill)?;
        let asked = if until == Until::Fill { &[][..] } else { &figures.bursts };
        let bursts = asked.iter().map(&mut in_order).collect::<Option<_>>()?;
        let scattered = match (&figures.scattered, until) {
            (Some(long), Until::Scattered) => Some(write(long, 4096, 32, Order::Random)?),
            _ => None,
        };
        Some(Written { fill, bursts, scattered })
    }

    /// As many times smaller in everything but its planes.
    fn scaled(&self, params: &PageMappedParams, scale: f64) -> Option<Sim<PageMapped>> {
        let of = |bytes: u64| (bytes as f64 / scale) as u64;
        let capacity_bytes = of(self.capacity_bytes) / (1 << 20) * (1 << 20);
        let share = 1.0 + f64::from(params.over_provisioning_per_mille) / 1000.0;
        let flash_bytes = (capacity_bytes as f64 * share) as u64;
        let per_block = pages_per_block(params, flash_bytes, SUPERBLOCKS);
        let erase = params.erase_ns * u64::from(per_block) / u64::from(params.pages_per_block);
        let page_of_all = u64::from(params.planes()) * u64::from(params.nand_page_bytes);
        let mut small = PageMappedParams {
            capacity_bytes,
            pages_per_block: per_block,
            erase_ns: erase,
            // Less than that could not keep all planes busy.
            write_buffer_bytes: of(params.write_buffer_bytes)
                .max(2 * page_of_all)
                .min(params.write_buffer_bytes),
            ..params.clone()
        };
        if let Some(slc) = &mut small.slc_cache {
            (slc.bytes, slc.dynamic_bytes) = (of(slc.bytes), of(slc.dynamic_bytes));
        }
        Some(Sim::new(PageMapped::new(&small, DEPTH_MAX, SEED).ok()?))
    }
}

/// A drive whose first `written` bytes were written in order, with room to write as much again
/// without cleaning.
fn small(params: &PageMappedParams, capacity_bytes: u64, written: u64) -> Option<Sim<PageMapped>> {
    let small = PageMappedParams {
        capacity_bytes,
        over_provisioning_per_mille: 1000,
        pages_per_block: pages_per_block(params, 2 * capacity_bytes, 64),
        ..params.clone()
    };
    let mut drive = PageMapped::new(&small, DEPTH_MAX, SEED).ok()?;
    drive.fill(0, written.min(capacity_bytes) / 4096 * 4096);
    Some(Sim::new(drive))
}

/// Operations that a cell keeps in flight.
fn depth(cell: &CellSpec) -> u64 {
    let stream = &cell.streams[0];
    u64::from(stream.threads) * u64::from(stream.queue_depth)
}

/// Pages of a block with which so much flash is about `superblocks` of them.
fn pages_per_block(params: &PageMappedParams, flash_bytes: u64, superblocks: u64) -> u32 {
    let page_of_all = u64::from(params.planes()) * u64::from(params.nand_page_bytes);
    (flash_bytes / page_of_all.max(1) / superblocks).clamp(4, 512) as u32
}

/// In which order a long write goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Sequential,
    Random,
}

/// A long write.
struct Asked {
    block_bytes: u32,
    depth: u64,
    order: Order,
    bytes: u64,
    span_bytes: u64,
}

impl Asked {
    fn write(&self, sim: &mut Sim<PageMapped>, tick_s: f64) -> Option<Curve> {
        let block = u64::from(self.block_bytes);
        let (count, places) = (self.bytes / block, (self.span_bytes / block).max(1));
        let mut rng = Rng::new(SEED, 1);
        let (start, tick_ns) = (sim.now(), tick_s * 1e9);
        let mut ticks: Vec<f64> = Vec::new();
        let mut done: Vec<Completion> = Vec::new();
        let (mut issued, mut completed) = (0, 0);
        while completed < count {
            while issued < count && issued - completed < self.depth {
                let place = match self.order {
                    Order::Sequential => issued % places,
                    Order::Random => rng.below(places),
                };
                let at = Extent { offset: place * block, bytes: self.block_bytes };
                let command =
                    Command::Write { at, from: Payload::None, durability: Durability::Cached };
                let (tag, actor, drive) = (Tag(issued), Actor(0), Drive(0));
                sim.submit(Request { tag, actor, drive, command });
                issued += 1;
            }
            sim.wait(block::Instant::NEVER, &mut done);
            for completion in done.drain(..) {
                let tick = (completion.finished.since(start) as f64 / tick_ns) as usize;
                if ticks.len() <= tick {
                    ticks.resize(tick + 1, 0.0);
                }
                ticks[tick] += block as f64;
                completed += 1;
            }
        }
        // The last one is cut short.
        ticks.pop();
        Curve::from_ticks(tick_s, ticks.into_iter())
    }
}
