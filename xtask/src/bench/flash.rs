//! `cargo xtask bench flash`: what a managed flash volume costs the processor, in process, on a
//! drive of RAM. One thread, the closed loop of a worker, beside the same loop on the drive alone.

use super::{
    closed_loop::{CACHED, ClosedLoop, DEPTH, Kind},
    machine,
    sample::median,
};
use anyhow::Result;
use block::{Data, Drive, Durability, Engine, Geometry, Rng, Stack};
use engine::{Clock, Memory};
use flash::{BLOCK_BYTES, Checksums, Classes, Parity, Settings, Shape, Volume, VolumeId};
use rustix::time::{ClockId, clock_gettime};

const DEVICE_BYTES: u64 = 1 << 30;
/// Half of it stays spare: writing at random costs no cleaning until that is used up.
const EXPORTED_BYTES: u64 = 512 << 20;
const BLOCKS: u64 = EXPORTED_BYTES / BLOCK_BYTES;

/// A measurement: its name, what is asked, how often before it is timed and then, and what it
/// should cost on top of the drive, ns.
struct Row {
    name: &'static str,
    kind: Kind,
    before: u64,
    timed: u64,
    aim_ns: f64,
}

/// In their order: each finds the volume as the one before has left it.
const ROWS: [Row; 4] = [
    Row {
        name: "random write, clean pool",
        kind: CACHED,
        before: 0,
        timed: 80_000,
        aim_ns: 1_500.0,
    },
    Row { name: "random read", kind: Kind::Read, before: 1_000, timed: 400_000, aim_ns: 700.0 },
    Row {
        name: "random write, cleaning",
        kind: CACHED,
        before: 400_000,
        timed: 200_000,
        aim_ns: 3_000.0,
    },
    Row {
        name: "random write with FUA",
        kind: Kind::Write(Durability::Fua),
        before: 1_000,
        timed: 50_000,
        aim_ns: 3_000.0,
    },
];

/// How long it measures.
#[derive(clap::Args)]
pub struct Options {
    /// Measurements of each.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

/// Runs it `--rounds` times and prints the medians.
pub fn run(options: &Options) -> Result<()> {
    let rounds = usize::from(options.rounds);
    println!(
        "4 KiB at depth {DEPTH}, ns of processor time each, medians of {rounds}. {} MiB of RAM, {} MiB exported.",
        DEVICE_BYTES >> 20,
        EXPORTED_BYTES >> 20
    );
    let measured: Vec<_> = (0..rounds).map(|_| round()).collect::<Result<_>>()?;
    println!("{:<28}{:>8}{:>8}{:>7}{:>8}{:>7}", "", "drive", "volume", "ratio", "on top", "aim");
    for (number, row) in ROWS.iter().enumerate() {
        let of = |side: usize| {
            median(
                &measured
                    .iter()
                    .map(|round: &[Vec<f64>; 2]| round[side][number])
                    .collect::<Vec<_>>(),
            )
        };
        let (drive, volume) = (of(0), of(1));
        println!(
            "{:<28}{drive:>8.0}{volume:>8.0}{:>7.2}{:>8.0}{:>7.0}",
            row.name,
            volume / drive,
            volume - drive,
            row.aim_ns
        );
    }
    println!("Load {}", machine::load());
    Ok(())
}

/// What each row costs on the drive and on the volume.
fn round() -> Result<[Vec<f64>; 2]> {
    Ok([measure(memory())?, measure(volume()?)?])
}

fn memory() -> Memory {
    let geometry = Geometry {
        capacity_bytes: DEVICE_BYTES,
        block_bytes: 4096,
        transfer_bytes_max: 1 << 20,
        queue_depth: 64,
        data: Data::Stored,
    };
    Memory::new(Clock::start(), geometry)
}

/// On memory that was written before: what the kernel does for a first write is not measured.
fn volume() -> Result<Stack<Volume, Memory>> {
    let shape = Shape {
        device_bytes: DEVICE_BYTES,
        exported_bytes: EXPORTED_BYTES,
        stripe_bytes: 4096,
        erase_unit_bytes: 4096,
        segment_bytes: 4 << 20,
        chunk_bytes: 512 << 10,
        ring_bytes: 0,
        parity: Parity::None,
        checksums: Checksums::OnRead,
        classes: Classes::SEPBIT,
    };
    let mut worker = ClosedLoop::new(memory(), BLOCK_BYTES as u32);
    let mut at = 0;
    worker.run(DEVICE_BYTES / BLOCK_BYTES, || {
        at += 1;
        (at - 1, CACHED)
    })?;
    let memory = worker.engine;
    let settings = Settings { queue_depth: DEPTH as u32, ..Settings::default() };
    let volume = Volume::create(memory.geometry(Drive(0)), shape, VolumeId([1; 16]), settings)?;
    Ok(Stack::new(volume, memory))
}

fn measure(engine: impl Engine) -> Result<Vec<f64>> {
    let mut worker = ClosedLoop::new(engine, BLOCK_BYTES as u32);
    let mut at = 0;
    worker.run(BLOCKS, || {
        at += 1;
        (at - 1, CACHED)
    })?;
    let mut rng = Rng::new(1, 2);
    let timed = |row: &Row| {
        worker.run(row.before, || (rng.below(BLOCKS), row.kind))?;
        let before_ns = processor_ns();
        worker.run(row.timed, || (rng.below(BLOCKS), row.kind))?;
        Ok((processor_ns() - before_ns) as f64 / row.timed as f64)
    };
    ROWS.iter().map(timed).collect()
}

/// Processor time of this thread, ns.
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
