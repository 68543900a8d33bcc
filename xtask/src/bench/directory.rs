//! `cargo xtask bench directory`: random writes to a managed volume in a file, beside the same
//! writes to a plain file.
//!
//! Both files lie in one directory of a real disk, were written wholly before, and are asked by the
//! same loop in this process, past the page cache by io_uring: at random over the same span, 4 KiB
//! at depth 32, or by `--kib N` another size, long ones at depth 8. They take turns, and a turn
//! ends with a flush that counts. What the volume could still take before it has to clean stands
//! beside each pair: the ratio means little without it.

use super::{
    child, machine,
    sample::median,
    scratch::{Scratch, write_file},
};
use crate::flash::failed;
use anyhow::{Context, Result, anyhow, ensure};
use block::{Command, Drive, Engine};
use engine::Clock;
use flash::{BLOCK_BYTES, Checksums, Classes, Parity, Shape, Size, Topology, VolumeId, Wishes};
use lab::workload::{Area, Counted, Length, Op, Pattern, Stream, once};
use rustix::time::{ClockId, clock_gettime};
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use target::volume::{HeldDrive, ManagedVolume, Use};

/// The file that the volume is in.
const DRIVE_BYTES: u64 = 4 << 30;
/// What is written over and over, in either file: a quarter of the drive is live then.
const SPAN_BYTES: u64 = 1 << 30;
const PAIRS: u16 = 9;
const SECONDS: u64 = 1;
/// From here on fewer requests keep a drive busy.
const LONG_BYTES: u64 = 64 << 10;
const LONG_DEPTH: u32 = 8;
const DEPTH: u32 = 32;
const LONGEST_BYTES: u64 = 4 << 20;

/// What is written, where, and how often.
#[derive(clap::Args)]
pub struct Options {
    /// Where both files are made; below the target directory if it is not said.
    #[arg(value_name = "DIRECTORY")]
    parent: Option<PathBuf>,
    /// A request, KiB: a power of two.
    #[arg(long, value_name = "N", default_value_t = BLOCK_BYTES >> 10, value_parser = kib)]
    kib: u64,
    /// How long a measurement takes, seconds.
    #[arg(long, value_name = "N", default_value_t = SECONDS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Pairs.
    #[arg(long, value_name = "N", default_value_t = PAIRS)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3600))]
    rounds: u16,
}

fn kib(text: &str) -> Result<u64> {
    let kib: u64 = text.parse()?;
    ensure!(
        kib.is_power_of_two() && (BLOCK_BYTES >> 10..=LONGEST_BYTES >> 10).contains(&kib),
        "a power of two, {} to {}",
        BLOCK_BYTES >> 10,
        LONGEST_BYTES >> 10
    );
    Ok(kib)
}

/// Measures, prints, asserts nothing.
pub fn run(options: &Options) -> Result<()> {
    child::catch_signals()?;
    let own = std::env::current_exe()?;
    let built = own.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(options.parent.as_deref().unwrap_or(built))?;
    compare(&scratch, options.kib << 10, options.seconds, usize::from(options.rounds))
}

fn compare(scratch: &Scratch, bytes: u64, seconds: u64, pairs: usize) -> Result<()> {
    println!(
        "Writing {} MiB in {} ...",
        (DRIVE_BYTES + SPAN_BYTES) >> 20,
        scratch.path().display()
    );
    let (raw, managed) = (scratch.path().join("raw"), scratch.path().join("managed"));
    write_file(&raw, SPAN_BYTES)?;
    write_file(&managed, DRIVE_BYTES)?;
    let clock = Clock::start();
    let raw = HeldDrive::open(&raw, Use::Write, clock)?;
    println!("{}, beside the same engine on a plain file", raw.carrier);
    let depth = if bytes < LONG_BYTES { DEPTH } else { LONG_DEPTH };
    let stream =
        Stream { queue_depth: depth, ..Stream::new(Op::Write, Pattern::Random, bytes as u32) };
    let mut raw = Side::new(raw.engine, &stream);
    let mut managed = Side::new(volume(HeldDrive::open(&managed, Use::Write, clock)?)?, &stream);
    managed.fill(SPAN_BYTES / bytes)?;
    println!(
        "{} KiB random writes at depth {depth} over {} MiB, {pairs} pairs of {seconds} s.\n",
        bytes >> 10,
        SPAN_BYTES >> 20
    );
    println!(
        "{:<8}{:>10}{:>12}{:>8}{:>14}{:>14}{:>18}",
        "pair", "raw/s", "managed/s", "ratio", "raw CPU ns", "managed", "clean pool, MiB"
    );
    let mut columns: [Vec<f64>; 5] = Default::default();
    for pair in 1..=pairs {
        let before = clean_pool(&managed.engine);
        let (plain, volume);
        if pair % 2 == 1 {
            plain = raw.turn(seconds)?;
            volume = managed.turn(seconds)?;
        } else {
            volume = managed.turn(seconds)?;
            plain = raw.turn(seconds)?;
        }
        let row = [plain.0, volume.0, volume.0 / plain.0, plain.1, volume.1];
        let pool = format!("{before} to {}", clean_pool(&managed.engine));
        print_row(&pair.to_string(), row, &pool);
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    print_row("median", std::array::from_fn(|column| median(&columns[column])), "");
    println!("\nLoad {}", machine::load());
    managed.engine.stop().map_err(|error| anyhow::anyhow!("the volume's drive: {error:?}"))
}

fn print_row(name: &str, [plain, managed, ratio, plain_ns, managed_ns]: [f64; 5], pool: &str) {
    println!(
        "{name:<8}{plain:>10.0}{managed:>12.0}{ratio:>8.2}{plain_ns:>14.0}{managed_ns:>14.0}{pool:>18}"
    );
}

/// A new volume with the usual spare and checksums on read.
fn volume(drive: HeldDrive) -> Result<ManagedVolume> {
    let below = drive.engine.geometry(Drive(0));
    ensure!(below.capacity_bytes == DRIVE_BYTES, "the file has another size");
    let topology = Topology {
        device_bytes: DRIVE_BYTES,
        transfer_bytes_max: u64::from(below.transfer_bytes_max),
        stripe_bytes: BLOCK_BYTES,
        erase_unit_bytes: BLOCK_BYTES,
        parity: Parity::None,
    };
    let wishes = Wishes {
        size: Size::Spare(280),
        segment_bytes: None,
        chunk_bytes: None,
        ring_bytes: None,
        checksums: Checksums::OnRead,
        classes: Classes::SEPBIT,
    };
    let shape = Shape::propose(&topology, &wishes)?;
    Ok(ManagedVolume::create(drive, shape, VolumeId([7; 16]))?)
}

/// What the host may still write before cleaning has to begin, MiB.
fn clean_pool(volume: &ManagedVolume) -> u64 {
    let counters = volume.volume().counters().expect("it is open");
    counters.clean_pool_bytes >> 20
}

/// What is measured, and its worker.
struct Side<E> {
    engine: E,
    worker: Counted,
}

const SPAN: Area = Area { offset: 0, bytes: SPAN_BYTES };
const SEED: u64 = 1;

impl<E: Engine> Side<E> {
    fn new(mut engine: E, stream: &Stream) -> Self {
        let worker = Counted::new(&mut engine, stream, SPAN, SEED);
        Self { engine, worker }
    }

    /// Writes the span once, front to back.
    fn fill(&mut self, count: u64) -> Result<()> {
        self.worker.turn_to(Op::Write, Pattern::Sequential, SPAN, SEED);
        self.worker.run(&mut self.engine, Length::of(count)).map_err(failed)?;
        self.worker.turn_to(Op::Write, Pattern::Random, SPAN, SEED);
        Ok(())
    }

    /// Writes for so long: writes a second, the flush included, and this process' processor time
    /// for each, ns.
    fn turn(&mut self, seconds: u64) -> Result<(f64, f64)> {
        child::go_on()?;
        let (start, cpu_ns) = (Instant::now(), processor_ns());
        let until = self.engine.now().after(seconds * 1_000_000_000);
        let length = Length { until, ..Length::of(u64::MAX) };
        let count = self.worker.run(&mut self.engine, length).map_err(failed)?.operations;
        once(&mut self.engine, Command::Flush)
            .map_err(|error| anyhow!("a flush failed: {error:?}"))?;
        let cpu_ns = (processor_ns() - cpu_ns) as f64;
        Ok((count as f64 / start.elapsed().as_secs_f64(), cpu_ns / count as f64))
    }
}

/// Processor time of this process: the kernel may write by threads of its own, which count as ours.
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
