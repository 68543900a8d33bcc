//! What a drive can do without the layer: the four rates that everything follows from.

use crate::{
    error::AdviceError,
    steady::{self, Bench, Order, Workload},
};
use block::{Command, Engine, display_bytes};
use lab::workload::{Area, Counted, Length, Op, Pattern, Stream, once};
use record::Record;
use study::TrialError;
use target::{
    catalog::Catalog,
    stack::{self, Stack},
};

pub const BLOCK_BYTES: u64 = 4096;
pub const LINE_BYTES: u64 = 1 << 20;
/// Filled, and then asked: some times more than any write cache of the catalog.
const SPAN_BYTES: u64 = 4 << 30;
/// Virtual time after which a slow drive has said enough.
const ENOUGH_NS: u64 = 4_000_000_000;
const OPERATIONS_MAX: u64 = 100_000;
/// Operations in flight: more than any drive of the catalog takes at a time is no faster.
const DEPTH: u32 = 32;
const SEED: u64 = 1;

/// How long random operations are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Bytes of a read.
    pub read_bytes: u64,
    /// Bytes of a write: whole blocks of a managed volume.
    pub write_bytes: u64,
}

impl Blocks {
    /// What rates are of unless something else is asked for: 4 KiB.
    pub const USUAL: Self = Self { read_bytes: BLOCK_BYTES, write_bytes: BLOCK_BYTES };

    /// `4 KiB`; `reads of 16 KiB, writes of 4 KiB`.
    pub fn words(self) -> String {
        let [read, write] = [self.read_bytes, self.write_bytes].map(display_bytes);
        if read == write { read } else { format!("reads of {read}, writes of {write}") }
    }
}

/// Of a drive or an array as it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Rates {
    /// Of random operations.
    pub blocks: Blocks,
    /// Many in flight.
    pub random_writes_per_s: f64,
    /// The same.
    pub random_reads_per_s: f64,
    /// 1 MiB at a time.
    pub write_bytes_per_s: f64,
    /// The same.
    pub read_bytes_per_s: f64,
    /// Its size.
    pub device_bytes: u64,
    /// Whether they are of drives that are full, and faster with less on them.
    pub of_full_drives: bool,
    /// Where these come from, in words.
    pub source: String,
}

impl Rates {
    /// What is left of the sequential rate as writes of its blocks.
    pub fn managed_writes_per_s(&self, efficiency: f64) -> f64 {
        efficiency * self.write_bytes_per_s / self.blocks.write_bytes as f64
    }

    /// Operations a second of a mix: reads go as fast as without the layer, and the drive does one
    /// thing at a time.
    pub fn mixed(&self, writes_per_s: f64, write_share: f64) -> f64 {
        1.0 / (write_share / writes_per_s + (1.0 - write_share) / self.random_reads_per_s)
    }

    /// Bw/Br of the limit.
    pub fn write_over_read(&self) -> f64 {
        self.write_bytes_per_s / self.read_bytes_per_s
    }

    /// Reading sequentially what was written at random, over reading it sequentially from a bare
    /// drive.
    pub fn line_after_random(&self) -> f64 {
        // What was written in pieces is read in such pieces, if they are the smaller ones.
        let piece_bytes = self.blocks.read_bytes.min(self.blocks.write_bytes);
        (self.random_reads_per_s * piece_bytes as f64 / self.read_bytes_per_s).min(1.0)
    }
}

/// Asks a model, without the managed layer if the stack has one.
///
/// # Errors
/// A stack that cannot be opened, or has a file system.
pub fn of_model(stack: &Stack, blocks: Blocks) -> Result<Rates, AdviceError> {
    let mut bare = stack.clone();
    bare.layers.retain(|layer| layer.name != "flash");
    let mut opened = stack::open(&bare, &Catalog::load()?, SEED)?;
    if opened.ram_bytes.is_some() {
        let text = format!(
            "`model:{bare}` has a file system on it, and the layer lies on drives and arrays: \
             leave the file system out"
        );
        return Err(AdviceError::NoVolume(text));
    }
    let device_bytes = opened.contract().capacity_bytes;
    let catalog = Catalog::load()?;
    if steady::ages(&bare, &catalog) {
        return of_aged(&bare, blocks, device_bytes, &catalog);
    }
    let rotates = opened.layers.iter().any(|layer| layer.rotational == Some(true));
    let span_bytes = SPAN_BYTES.min(device_bytes) / LINE_BYTES * LINE_BYTES;
    // A disk seeks over all of itself, and needs no filling.
    let area_bytes = if rotates { device_bytes } else { span_bytes };
    let lines = span_bytes / LINE_BYTES;
    let span = Area { offset: 0, bytes: span_bytes };
    let sequential = |op| stream(op, Pattern::Sequential, LINE_BYTES);
    let engine = opened.as_engine();
    let write_lines = per_second(engine, &sequential(Op::Write), span, lines)?;
    let read_lines = per_second(engine, &sequential(Op::Read), span, lines)?;
    let area = Area { offset: 0, bytes: area_bytes };
    let random = |op, bytes| stream(op, Pattern::Random, bytes);
    let reads = random(Op::Read, blocks.read_bytes);
    let random_reads_per_s = per_second(engine, &reads, area, OPERATIONS_MAX)?;
    let writes = random(Op::Write, blocks.write_bytes);
    let random_writes_per_s = per_second(engine, &writes, area, OPERATIONS_MAX)?;
    Ok(Rates {
        blocks,
        random_writes_per_s,
        random_reads_per_s,
        write_bytes_per_s: LINE_BYTES as f64 * write_lines,
        read_bytes_per_s: LINE_BYTES as f64 * read_lines,
        device_bytes,
        of_full_drives: false,
        source: "the model's own rates, 32 in flight, in virtual time".to_owned(),
    })
}

/// Of drives that were overwritten at random for long, their fast caches used up: what a new drive
/// does for a while, none does for a year.
fn of_aged(
    stack: &Stack,
    blocks: Blocks,
    device_bytes: u64,
    catalog: &Catalog,
) -> Result<Rates, AdviceError> {
    let trial = |error| AdviceError::Trial { stack: stack.to_string(), error };
    let bench = |bytes: u64| {
        let workload = Workload::plain(0.5, bytes as u32, DEPTH as u16, Order::Random);
        Bench { catalog, workload, seed: SEED }
    };
    let rates = |bytes: u64| bench(bytes).bare(stack, None).map_err(trial);
    let log = bench(LINE_BYTES);
    let line = log.sequential(stack).map_err(trial)?;
    let mut share: f64 = 1.0;
    for member in &stack.members {
        share = share.min(log.log_share(&member.drive).map_err(trial)?);
    }
    Ok(Rates {
        blocks,
        random_writes_per_s: rates(blocks.write_bytes)?.write,
        random_reads_per_s: rates(blocks.read_bytes)?.read,
        write_bytes_per_s: share * line.write_bytes_per_s,
        read_bytes_per_s: line.read_bytes_per_s,
        device_bytes,
        of_full_drives: true,
        source: "the model's own rates after long use, 32 in flight, in virtual time".to_owned(),
    })
}

/// One worker of a drive that has nothing else to do, many in flight.
pub fn stream(op: Op, pattern: Pattern, block_bytes: u64) -> Stream {
    Stream { queue_depth: DEPTH, ..Stream::new(op, pattern, block_bytes as u32) }
}

/// Completions a second of virtual time, over as many operations or until enough time has passed;
/// what is cached at the end is flushed and counts.
fn per_second(
    engine: &mut dyn Engine,
    stream: &Stream,
    area: Area,
    operations: u64,
) -> Result<f64, TrialError> {
    let start = engine.now();
    let length = Length { until: start.after(ENOUGH_NS), ..Length::of(operations) };
    let pace = Counted::new(engine, stream, area, SEED).run(engine, length)?;
    once(engine, Command::Flush)?;
    Ok(pace.operations as f64 * 1e9 / engine.now().since(start).max(1) as f64)
}

/// Of a stored run: the fastest of its cells of each kind.
///
/// # Errors
/// A run that lacks one of them.
pub fn of_record(record: &Record) -> Result<Rates, AdviceError> {
    let fastest = |op: &str, pattern: &str, bytes: u64| {
        let fits = |cell: &&record::Cell| {
            cell.op == op
                && cell.pattern == pattern
                && cell.block_bytes == bytes
                && cell.target == 0
                && cell.io == "direct"
        };
        let cells = record.cells.iter().filter(fits);
        let best = cells.map(|cell| cell.iops).fold(f64::NAN, f64::max);
        if best > 0.0 {
            return Ok(best);
        }
        let kind = if pattern == "seq" { "sequential" } else { pattern };
        let cell = format!("{kind} {op} of {}", block::display_bytes(bytes));
        Err(AdviceError::NoCell { run: record.id.clone(), cell })
    };
    let target = record.targets.first();
    let text = target.map_or("", |target| target.text.as_str());
    Ok(Rates {
        blocks: Blocks::USUAL,
        random_writes_per_s: fastest("write", "random", BLOCK_BYTES)?,
        random_reads_per_s: fastest("read", "random", BLOCK_BYTES)?,
        write_bytes_per_s: fastest("write", "seq", LINE_BYTES)? * LINE_BYTES as f64,
        read_bytes_per_s: fastest("read", "seq", LINE_BYTES)? * LINE_BYTES as f64,
        device_bytes: target.map_or(0, |target| target.capacity_bytes),
        of_full_drives: false,
        source: format!("run {} of {text}, its fastest cells", record.id),
    })
}
