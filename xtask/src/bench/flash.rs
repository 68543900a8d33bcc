//! `cargo xtask bench flash`: what a managed flash volume costs the processor, in process, on a
//! drive of RAM. One thread, the closed loop of a worker, beside the same loop on the drive alone.

use super::{machine, sample::median};
use crate::flash::failed;
use anyhow::Result;
use block::{Data, Drive, Durability, Engine, Geometry, Stack};
use engine::{Clock, Memory};
use flash::{BLOCK_BYTES, Checksums, Classes, Parity, Settings, Shape, Volume, VolumeId};
use lab::workload::{Area, Counted, Length, Op, Pattern, Stream};
use rustix::time::{ClockId, clock_gettime};

/// Requests outstanding.
const DEPTH: u32 = 32;
const DEVICE_BYTES: u64 = 1 << 30;
/// Half of it stays spare: writing at random costs no cleaning until that is used up.
const EXPORTED_BYTES: u64 = 512 << 20;

/// A measurement: its name, what is asked, how often before it is timed and then, and what it
/// should cost on top of the drive, ns.
struct Row {
    name: &'static str,
    op: Op,
    durability: Durability,
    before: u64,
    timed: u64,
    aim_ns: f64,
}

/// In their order: each finds the volume as the one before has left it.
const ROWS: [Row; 4] = [
    Row {
        name: "random write, clean pool",
        op: Op::Write,
        durability: Durability::Cached,
        before: 0,
        timed: 80_000,
        aim_ns: 1_500.0,
    },
    Row {
        name: "random read",
        op: Op::Read,
        durability: Durability::Cached,
        before: 1_000,
        timed: 400_000,
        aim_ns: 700.0,
    },
    Row {
        name: "random write, cleaning",
        op: Op::Write,
        durability: Durability::Cached,
        before: 400_000,
        timed: 200_000,
        aim_ns: 3_000.0,
    },
    Row {
        name: "random write with FUA",
        op: Op::Write,
        durability: Durability::Fua,
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
    let mut memory = memory();
    filler(&mut memory, DEVICE_BYTES)?;
    let settings = Settings { queue_depth: DEPTH, ..Settings::default() };
    let volume = Volume::create(memory.geometry(Drive(0)), shape, VolumeId([1; 16]), settings)?;
    Ok(Stack::new(volume, memory))
}

/// A worker that has written so many bytes of the engine, front to back.
fn filler(engine: &mut impl Engine, bytes: u64) -> Result<Counted> {
    let stream = Stream::new(Op::Write, Pattern::Sequential, BLOCK_BYTES as u32);
    let stream = Stream { queue_depth: DEPTH, ..stream };
    let mut worker = Counted::new(engine, &stream, Area { offset: 0, bytes }, 1);
    worker.run(engine, Length::of(bytes / BLOCK_BYTES)).map_err(failed)?;
    Ok(worker)
}

fn measure(mut engine: impl Engine) -> Result<Vec<f64>> {
    let mut worker = filler(&mut engine, EXPORTED_BYTES)?;
    let area = Area { offset: 0, bytes: EXPORTED_BYTES };
    let timed = |(seed, row): (u64, &Row)| {
        worker.turn_to(row.op, Pattern::Random, area, seed);
        if row.durability == Durability::Fua {
            worker.write_durably();
        }
        worker.run(&mut engine, Length::of(row.before)).map_err(failed)?;
        let before_ns = processor_ns();
        worker.run(&mut engine, Length::of(row.timed)).map_err(failed)?;
        Ok((processor_ns() - before_ns) as f64 / row.timed as f64)
    };
    (1..).zip(&ROWS).map(timed).collect()
}

/// Processor time of this thread, ns.
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
