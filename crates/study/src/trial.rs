//! A trial on a stack: what the study's program did, in its order, on a model in virtual time.

use crate::{
    Before, Case, Figure, Flush, Op, Order, Setup, Streams, Study, Then, Trial, bonnie,
    fill::fill,
    mail,
    managed::{overwrite, overwrite_from, random_writers},
    pass::{SEED, TrialError, bm_flash, cell_of, pass},
    run_loads, surface,
};
use block::{Command, parse_bytes};
use lab::{
    method::{CacheState, CellSpec, FileState},
    workload::{Area, Counted, Length, Pace, Pattern, Stream, Zones, once},
};
use record::CacheDrop;
use target::{
    catalog::{Catalog, DriveKind},
    stack::{self, Opened, Stack},
};

/// Where the clock stops before the flush, a larger file and the memory that holds part of it are
/// made smaller together, to this size, bytes: what decides is their ratio.
const SCALED_FILE_BYTES: u64 = 1 << 30;

/// Size of a file on flash of which only some blocks are asked for, bytes.
const FLASH_FILE_BYTES: u64 = 256 << 20;

/// The small part of [`Trial::Hot`], percent of the area: of a disk of 750 GB 75 MB, more than
/// its own buffer, and so little that no distance within it counts.
const HOT_PERCENT: f64 = 0.01;

/// What a trial gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// In the unit of the figure.
    pub value: f64,
    /// Hash of everything that completed.
    pub hash: u64,
}

/// How long trials are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effort {
    /// Operations that count in a random trial, fewer of large blocks; some more go before.
    pub operations: u64,
    /// Sequential trials move this many bytes, random reads at most twice as many.
    pub file_bytes_max: u64,
}

impl Effort {
    /// For a report: random trials scatter by under a percent.
    pub const REPORT: Self = Self { operations: 8_000, file_bytes_max: 640 << 20 };
    /// For a search.
    pub const SEARCH: Self = Self { operations: 2_000, file_bytes_max: 256 << 20 };
}

/// Does what `case` asks for, on its stack built from `catalog`.
///
/// # Errors
/// When the stack cannot be built, or fails.
pub fn run(case: &Case, catalog: &Catalog, effort: Effort) -> Result<Outcome, TrialError> {
    let setup = Setup { stack: case.stack.clone(), trial: case.trial };
    measure(&setup, &case.figure, catalog, effort)
}

/// Does a trial on its stack; the value is in the unit of `figure`.
///
/// # Errors
/// When the stack cannot be built, or fails.
pub(crate) fn measure(
    setup: &Setup,
    figure: &Figure,
    catalog: &Catalog,
    effort: Effort,
) -> Result<Outcome, TrialError> {
    let stack = setup.stack.as_str();
    let bench = Bench { catalog, effort };
    let unit = unit(figure, setup.trial)?;
    let (rate, hash) = match setup.trial {
        Trial::Direct { op, block_bytes, threads } => {
            bench.direct(stack, op, block_bytes, threads)?
        }
        Trial::Managed { op, block_bytes, threads, before } => {
            bench.managed(stack, op, block_bytes, threads, before)?
        }
        Trial::Hot { op, block_bytes, threads } => bench.hot(stack, op, block_bytes, threads)?,
        Trial::Linear { op, block_bytes } => bench.linear(stack, op, block_bytes)?,
        Trial::File { op, order, block_bytes, file_bytes, flush } => {
            let pass = FilePass { op, order, block_bytes, file_bytes, flush };
            bench.file(stack, pass)?
        }
        Trial::FilePercent { op, block_bytes, file_bytes } => {
            let pass =
                |order| FilePass { op, order, block_bytes, file_bytes, flush: Flush::Untimed };
            let (sequential, first) = bench.file(stack, pass(Order::Sequential))?;
            let (random, second) = bench.file(stack, pass(Order::Random))?;
            (100.0 * random / sequential, first.rotate_left(1) ^ second)
        }
        Trial::Streams(streams) => bench.streams(stack, streams)?,
        Trial::SyncWrites => bench.sync_writes(stack)?,
        Trial::SyncBandwidth => bench.sync_bandwidth(stack)?,
        Trial::Bonnie(phase) => bonnie::run(&mut bench.open(stack)?, phase)?,
        Trial::Deliveries => mail::deliveries(stack.parse()?)?,
        Trial::Surface { test, record_bytes, file_bytes } => {
            let mut opened = bench.open(stack)?;
            let rate = surface::run(&mut opened, test, record_bytes, file_bytes)?;
            (rate, opened.engine.hash())
        }
        Trial::Deleted { is_told, then } => bench.deleted(stack, is_told, then)?,
        Trial::Fill { depth } => {
            let (filled, hash) = fill(stack, depth, catalog)?;
            (filled.value(figure)?, hash)
        }
        Trial::Load(load) => {
            let outcome = &run_loads(stack, &[load], catalog, effort)?[0];
            (outcome.value(figure)?, outcome.hash)
        }
    };
    Ok(Outcome { value: rate / unit, hash })
}

/// Whether trials leave the stack to the next one as they found it, so that several can be done on
/// one. Then only the first pays for the past that is planted or written.
pub(crate) fn leaves_as_found(setup: &Setup) -> bool {
    match setup.trial {
        // Random writes keep a drive in the steady state in which they found it.
        Trial::Direct { .. } => setup.stack.contains("state=steady"),
        Trial::Managed { op, before, .. } => op == Op::Read && before == Before::Filled,
        _ => false,
    }
}

/// Whether it changes what was written to the stack before, but can be done on a copy of one that
/// was filled: random writes to a managed volume.
pub(crate) fn begins_filled(trial: &Trial) -> bool {
    matches!(trial, Trial::Managed { op: Op::Write, .. })
}

/// Does trials that leave the stack as they found it, one after the other on one stack; or each on
/// a copy of one that was filled. Operations per second of each.
///
/// # Errors
/// When the stack cannot be built, or fails.
pub fn measure_together(
    stack: &str,
    trials: &[Trial],
    catalog: &Catalog,
    effort: Effort,
) -> Result<Vec<f64>, TrialError> {
    let bench = Bench { catalog, effort };
    if trials.iter().all(begins_filled) {
        return bench.on_copies(stack, trials);
    }
    let mut opened = bench.open(stack)?;
    let mut rates = Vec::with_capacity(trials.len());
    let mut is_filled = false;
    for trial in trials {
        let (op, block_bytes, threads) = match *trial {
            Trial::Direct { op, block_bytes, threads } => (op, block_bytes, threads),
            Trial::Managed { op: Op::Read, block_bytes, threads, .. } => {
                if !is_filled {
                    fill_in_order(&mut opened, u64::MAX)?;
                    is_filled = true;
                }
                (Op::Read, block_bytes, threads)
            }
            other => unreachable!("{other:?} needs a stack of its own"),
        };
        rates.push(bench.at_random(&mut opened, op, block_bytes, threads)?);
    }
    Ok(rates)
}

/// What the trial's own unit (bytes per second, operations per second, percent, seconds) has to be
/// divided by.
fn unit(figure: &Figure, trial: Trial) -> Result<f64, TrialError> {
    let metric = figure.metric.as_str();
    match (metric, trial) {
        (
            "iops",
            Trial::Direct { .. } | Trial::Managed { .. } | Trial::Hot { .. } | Trial::Bonnie(_),
        )
        | ("percent", Trial::FilePercent { .. }) => Ok(1.0),
        ("iops", Trial::File { block_bytes, .. }) => Ok(f64::from(block_bytes)),
        // IOPS x size = MB/s only with 2^20 (CMU).
        ("mb_per_s", Trial::File { .. }) if figure.study == Study::Cmu2009 => Ok(1048576.0),
        // EasyCo's M is 2^20.
        ("mb_per_s", Trial::Linear { .. } | Trial::Surface { .. }) => Ok(1048576.0),
        ("mb_per_s", Trial::File { .. } | Trial::SyncBandwidth | Trial::Streams(_)) => Ok(1e6),
        ("ms", Trial::SyncWrites | Trial::Deleted { then: Then::SyncWrites, .. }) => Ok(1e-3),
        ("iops", Trial::Deliveries | Trial::Deleted { then: Then::Overwrites, .. })
        | (_, Trial::Load(_) | Trial::Fill { .. }) => Ok(1.0),
        _ => Err(TrialError::Unit(metric.to_owned())),
    }
}

/// One pass over a file.
#[derive(Clone, Copy)]
struct FilePass {
    op: Op,
    order: Order,
    block_bytes: u32,
    file_bytes: u64,
    flush: Flush,
}

impl FilePass {
    /// Whether what stays in memory at the end counts, so that no part stands for the whole.
    fn writes_all(&self) -> bool {
        self.op == Op::Write && self.flush == Flush::Untimed
    }
}

struct Bench<'a> {
    catalog: &'a Catalog,
    effort: Effort,
}

type Seen = Result<(f64, u64), TrialError>;

impl Bench<'_> {
    fn open(&self, stack: &str) -> Result<Opened, TrialError> {
        Ok(stack::open(&stack.parse()?, self.catalog, SEED)?)
    }

    /// Random aligned operations over the whole stack; operations per second.
    fn direct(&self, stack: &str, op: Op, block_bytes: u32, threads: u16) -> Seen {
        let mut opened = self.open(stack)?;
        let rate = self.at_random(&mut opened, op, block_bytes, threads)?;
        Ok((rate, opened.engine.hash()))
    }

    /// The same on a managed volume. It answers at once for blocks that nothing was written to, and
    /// cleans only when free space is short: what was written before decides.
    fn managed(&self, stack: &str, op: Op, block_bytes: u32, threads: u16, before: Before) -> Seen {
        let mut opened = self.open(stack)?;
        fill_in_order(&mut opened, u64::MAX)?;
        let rate = match (op, before) {
            (Op::Read, _) => self.at_random(&mut opened, op, block_bytes, threads)?,
            (Op::Write, before) => overwrite(&mut opened, block_bytes, threads, before)?,
        };
        Ok((rate, opened.engine.hash()))
    }

    /// Random writes, each trial on a managed volume that was filled once for all of them; on one
    /// of its own where there is no copy to be had.
    fn on_copies(&self, stack: &str, trials: &[Trial]) -> Result<Vec<f64>, TrialError> {
        let mut filled = self.open(stack)?;
        fill_in_order(&mut filled, u64::MAX)?;
        let rate = |trial: &Trial| {
            let Trial::Managed { op: Op::Write, block_bytes, threads, before } = *trial else {
                unreachable!("{trial:?} does not begin on a volume that was filled")
            };
            match filled.copy_managed() {
                Some(mut copy) => {
                    let pool_bytes = copy.machine.counters().map(|all| all.clean_pool_bytes);
                    overwrite_from(&mut copy, pool_bytes, block_bytes, threads, before)
                }
                None => Ok(self.managed(stack, Op::Write, block_bytes, threads, before)?.0),
            }
        };
        trials.iter().map(rate).collect()
    }

    fn at_random(
        &self,
        opened: &mut Opened,
        op: Op,
        block_bytes: u32,
        threads: u16,
    ) -> Result<f64, TrialError> {
        // Large ones scatter less: fewer are enough.
        let most = (2 * self.effort.file_bytes_max / u64::from(block_bytes)).max(1);
        let counted = match op {
            Op::Read => self.effort.operations.min(most),
            // An array's buffers take thousands of writes before its slowest drive is felt.
            Op::Write => 2 * self.effort.operations.min(most),
        };
        let length = Length::of(counted).after(counted / 4 + 8 * u64::from(threads));
        let cell = bm_flash(op, Pattern::Random, block_bytes, threads);
        Ok(pass(opened, &cell, length)?.iops())
    }

    /// Nine in ten operations go to a small part of the area. All of it is read once before, by
    /// pieces in no order: a stream would pass a cache by. What was never written on a managed
    /// volume is read from no flash, so that one is filled first.
    fn hot(&self, stack: &str, op: Op, block_bytes: u32, threads: u16) -> Seen {
        const PIECE_BYTES: u32 = 64 << 10;
        let mut opened = self.open(stack)?;
        if opened.managed().is_some() {
            fill_in_order(&mut opened, u64::MAX)?;
        }
        let area_bytes = opened.contract().capacity_bytes as f64;
        let pieces = (area_bytes * HOT_PERCENT / 100.0 / f64::from(PIECE_BYTES)).ceil() as u64;
        let mut all = bm_flash(Op::Read, Pattern::Random, PIECE_BYTES, 1);
        all.streams[0].pattern = Pattern::Permutation;
        all.file_bytes = Some(pieces * u64::from(PIECE_BYTES));
        pass(&mut opened, &all, Length::of(pieces))?;
        let zones = format!("90/{HOT_PERCENT}:10/{}", 100.0 - HOT_PERCENT);
        let mut cell = bm_flash(op, Pattern::Random, block_bytes, threads);
        cell.streams[0].pattern = Pattern::Zones(Zones::parse(&zones).expect("two zones"));
        let counted = self.effort.operations;
        let length = Length::of(counted).after(counted + 8 * u64::from(threads));
        Ok((pass(&mut opened, &cell, length)?.iops(), opened.engine.hash()))
    }

    /// Aligned operations from the front on; bytes per second.
    fn linear(&self, stack: &str, op: Op, block_bytes: u32) -> Seen {
        let mut opened = self.open(stack)?;
        let block = u64::from(block_bytes);
        let capacity_bytes = opened.contract().capacity_bytes;
        let counted = self.effort.file_bytes_max.min(capacity_bytes / 2) / block;
        if op == Op::Read {
            fill_in_order(&mut opened, 2 * counted * block)?;
        }
        // What a write leaves in buffers would count as done.
        let length = Length::of(counted).after(counted);
        let mut cell = bm_flash(op, Pattern::Sequential, block_bytes, 1);
        cell.file_bytes = Some(2 * counted * block);
        let pace = pass(&mut opened, &cell, length)?;
        Ok(((counted * block) as f64 / pace.seconds, opened.engine.hash()))
    }

    /// A pass over a file, from a cold cache; bytes per second.
    fn file(&self, stack: &str, pass: FilePass) -> Seen {
        let block = u64::from(pass.block_bytes);
        let scale = self.scale(stack, pass);
        let mut opened = self.open_scaled(stack, scale)?;
        let capacity_bytes = opened.contract().capacity_bytes;
        let mut file_bytes = (pass.file_bytes / scale).min(capacity_bytes);
        if self.kind(stack) == DriveKind::PageMapped {
            // What is read was written before, in order; and so was the whole drive if it is to be
            // filled beyond its spare. No distance counts, so that a part of a large file stands
            // for it.
            if !pass.writes_all() {
                file_bytes = file_bytes.min(FLASH_FILE_BYTES);
            }
            fill_in_order(
                &mut opened,
                if pass.writes_all() { capacity_bytes } else { file_bytes },
            )?;
        }
        let blocks = file_bytes / block;
        let counted = match pass.order {
            _ if pass.writes_all() => blocks,
            Order::Sequential => blocks.min(self.effort.file_bytes_max / block),
            Order::Random => blocks.min(self.effort.operations),
        };
        let cell = iozone(pass, blocks * block);
        let pace = self::pass(&mut opened, &cell, Length::of(counted))?;
        Ok(((counted * block) as f64 / pace.seconds, opened.engine.hash()))
    }

    /// Readers side by side: on a disk over all of it, for distance counts there; on flash over a
    /// file that was written before.
    fn streams(&self, stack: &str, streams: Streams) -> Seen {
        let mut opened = self.open(stack)?;
        let mut span_bytes = opened.contract().capacity_bytes;
        let mut read_bytes = self.effort.file_bytes_max / 8;
        if streams.order == Order::Random {
            read_bytes = read_bytes.min(self.effort.operations * u64::from(streams.block_bytes));
        }
        if self.kind(stack) == DriveKind::PageMapped {
            span_bytes = FLASH_FILE_BYTES.min(span_bytes) * 4;
            fill_in_order(&mut opened, span_bytes)?;
        }
        let rate = streams.measure(&mut opened, span_bytes, read_bytes, SEED)?;
        Ok((rate, opened.engine.hash()))
    }

    /// By how much a file and its memory are made smaller. Only where the clock stops before the
    /// last flush does the whole file have to be written, and on a disk smaller means shorter
    /// seeks.
    fn scale(&self, stack: &str, pass: FilePass) -> u64 {
        let seeks = self.kind(stack) == DriveKind::Disk && pass.order == Order::Random;
        if !pass.writes_all() || seeks {
            return 1;
        }
        pass.file_bytes.div_ceil(SCALED_FILE_BYTES).next_power_of_two()
    }

    /// Opens a stack with its memory, and the flash of its drive, divided by `scale`: how full a
    /// drive is decides what its cleaner has to move.
    fn open_scaled(&self, stack: &str, scale: u64) -> Result<Opened, TrialError> {
        if scale == 1 {
            return self.open(stack);
        }
        let stack = smaller_memory(stack.parse()?, scale);
        let mut catalog = self.catalog.clone();
        let name = &stack.members[0].drive.name;
        let drive = catalog.drive_mut(name).expect("the cases name drives");
        if drive.kind == DriveKind::PageMapped {
            drive.capacity_bytes = drive.capacity_bytes / scale / 4096 * 4096;
        }
        Ok(stack::open(&stack, &catalog, SEED)?)
    }

    fn kind(&self, stack: &str) -> DriveKind {
        let stack: Stack = stack.parse().expect("the cases' stacks can be read");
        let drive = self.catalog.drive(&stack.members[0].drive.name);
        drive.expect("the cases name drives of the catalog").kind
    }

    /// Durable 512 B writes, one after the other; seconds each.
    fn sync_writes(&self, stack: &str) -> Seen {
        let mut opened = self.open(stack)?;
        let pace = durable_writes(&mut opened, "dd-latency", 0)?;
        Ok((1.0 / pace.iops(), opened.engine.hash()))
    }

    /// What a used drive does after half of its data was deleted: seconds a durable write of 512 B,
    /// or lasting overwrites a second. The stack says how it was used: `state=steady`.
    fn deleted(&self, stack: &str, is_told: bool, then: Then) -> Seen {
        const DEPTH: u16 = 8;
        let mut opened = self.open(stack)?;
        let half_bytes = opened.contract().capacity_bytes / 2 / 4096 * 4096;
        let len = opened.contract().capacity_bytes - half_bytes;
        if is_told {
            once(&mut opened, Command::Discard { offset: half_bytes, len })?;
        }
        let value = match then {
            Then::SyncWrites => 1.0 / durable_writes(&mut opened, "dd-latency", half_bytes)?.iops(),
            Then::Overwrites => {
                let blocks = half_bytes / 4096;
                // What the drive knows to be free is a half and the spare: it is used up first.
                // One that was told nothing is in its steady state already.
                let before = if is_told { blocks * 3 / 2 } else { blocks / 2 };
                let length = Length::of(blocks / 4).after(before);
                opened.make_ready(&bm_flash(Op::Write, Pattern::Random, 4096, DEPTH))?;
                let engine = opened.as_engine();
                let mut writers = random_writers(engine, 4096, DEPTH, half_bytes);
                writers.run(engine, length)?.iops()
            }
        };
        Ok((value, opened.engine.hash()))
    }

    /// Ten durable writes of 128 MiB; bytes per second.
    fn sync_bandwidth(&self, stack: &str) -> Seen {
        const BYTES: u32 = 128 << 20;
        let mut opened = self.open(stack)?;
        let pace = durable_writes(&mut opened, "dd-bandwidth", 0)?;
        Ok((pace.iops() * f64::from(BYTES), opened.engine.hash()))
    }
}

/// A cell on a file that is there: of iozone-cmu, which counts the flush, or of iozone-stfc, here
/// from a cold cache as well.
fn iozone(pass: FilePass, file_bytes: u64) -> CellSpec {
    let method = match pass.flush {
        Flush::Timed => "iozone-cmu",
        Flush::Untimed => "iozone-stfc",
    };
    let settings = [("block", u64::from(pass.block_bytes)), ("file", file_bytes)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_string()));
    let pattern = match pass.order {
        Order::Sequential => Pattern::Sequential,
        Order::Random => Pattern::Permutation,
    };
    let mut cell = cell_of(method, &settings, |cell| {
        let stream = &cell.streams[0];
        stream.op == pass.op.into() && stream.pattern == pattern && cell.file != FileState::New
    });
    cell.cache = CacheState::Dropped(CacheDrop::File);
    cell
}

/// The only cell of a method of durable writes, moved up by `offset`.
fn durable_writes(opened: &mut Opened, method: &str, offset: u64) -> Result<Pace, TrialError> {
    let mut cell = cell_of(method, &[], |_| true);
    let operations = lab::trial::bound(&cell, 0).expect("dd counts its writes");
    let stream = &mut cell.streams[0];
    cell.file_bytes = Some(offset + operations * u64::from(stream.block_bytes));
    stream.shift_bytes = offset;
    pass(opened, &cell, Length::of(operations))
}

/// Writes the first `file_bytes` of the file, or all there is, from front to end.
fn fill_in_order(opened: &mut Opened, file_bytes: u64) -> Result<(), TrialError> {
    const BYTES: u32 = 1 << 20;
    let calls = file_bytes.min(opened.contract().capacity_bytes) / u64::from(BYTES);
    let area = Area { offset: 0, bytes: calls.max(1) * u64::from(BYTES) };
    let stream = Stream::new(Op::Write.into(), Pattern::Sequential, BYTES);
    let engine = opened.as_engine();
    Counted::new(engine, &stream, area, SEED).run(engine, Length::of(calls))?;
    once(engine, Command::Flush)?;
    if let Some(files) = opened.file_system() {
        files.drop_cache();
    }
    Ok(())
}

/// The stack with its memory divided by `scale`.
fn smaller_memory(mut stack: Stack, scale: u64) -> Stack {
    for layer in &mut stack.layers {
        let Some(ram) = layer.get("ram") else { continue };
        let ram = parse_bytes(ram).expect("the cases give memory in bytes");
        layer.set("ram", (ram / scale).to_string());
    }
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_on_one_steady_drive_give_what_they_give_on_drives_of_their_own() {
        let catalog = Catalog::built_in().expect("a catalog");
        let stack = "intel-x25e-32:state=steady";
        let trial = |op, threads| Trial::Direct { op, block_bytes: 4096, threads };
        let trials = [trial(Op::Read, 1), trial(Op::Read, 8), trial(Op::Write, 4)];
        let together = measure_together(stack, &trials, &catalog, Effort::SEARCH).expect("rates");
        for (trial, rate) in trials.iter().zip(together) {
            let alone = measure_together(stack, &[*trial], &catalog, Effort::SEARCH);
            let alone = alone.expect("a rate")[0];
            // Other victims are cleaned: what differs is chance.
            assert!((rate / alone - 1.0).abs() < 0.01, "{trial:?}: {rate} and {alone}");
        }
    }

    #[test]
    fn writes_to_a_copy_of_a_filled_volume_go_exactly_as_to_one_that_was_filled_for_them() {
        let catalog = Catalog::built_in().expect("a catalog");
        let bench = Bench { catalog: &catalog, effort: Effort::SEARCH };
        for (stack, is_copied) in [
            ("mtron-pro-32/flash:drive-size=256M", true),
            ("4xmtron-pro-32/raid5:chunk=64K,driver=md/flash:drive-size=768M", true),
            ("intel-x25e-32/flash:drive-size=64M", false),
        ] {
            let copy = bench.open(stack).expect("a stack").copy_managed();
            assert_eq!(copy.is_some(), is_copied, "{stack}");
            let kinds = [(4096, 1, Before::Filled), (65_536, 10, Before::Overwritten)];
            let trials = kinds.map(|(block_bytes, threads, before)| Trial::Managed {
                op: Op::Write,
                block_bytes,
                threads,
                before,
            });
            let together = bench.on_copies(stack, &trials).expect("rates");
            for ((block_bytes, threads, before), rate) in kinds.into_iter().zip(together) {
                let alone = bench.managed(stack, Op::Write, block_bytes, threads, before);
                assert_eq!(rate, alone.expect("a rate").0, "{stack}: {block_bytes} {before:?}");
            }
        }
    }

    #[test]
    fn memory_is_made_smaller_where_it_stands() {
        let smaller = |text: &str| smaller_memory(text.parse().expect("a stack"), 16).to_string();
        assert_eq!(smaller("a/ext2:ram=16G,elevator=cfq"), "a/ext2:ram=1073741824,elevator=cfq");
        assert_eq!(smaller("a"), "a");
    }
}
