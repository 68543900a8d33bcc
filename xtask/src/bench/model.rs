//! `cargo xtask bench model`: how fast a modelled drive is, and what it takes up. One thread,
//! through `Sim` and the `Engine` trait, in the closed loop of a worker at depth 32. Then a whole
//! method on an array, through the release binary, as users run it.

use super::{
    build,
    child::{self, cpu_ns, wait_for},
    machine,
    sample::median,
    scratch::Scratch,
};
use anyhow::{Context, Result, ensure};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use model::{
    PageMapped, PageMappedParams, Sim, WriteCaching,
    flash::page_mapped::{
        Cleaning, PowerLoss, ReadRetry, SlcCache, State, Suspend, Transfer, UNIT_BYTES,
    },
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    fs::{self, File},
    path::Path,
    process, time,
};

const CAPACITY_GIB: u64 = 16;
const USED_PER_MILLE: u32 = 750;
const DEPTH: u64 = 32;
/// Operations of one measurement.
const READS: u64 = 4_000_000;
const WRITES: u64 = 3_000_000;
/// Writes before the first measurement: the drive's buffer is full, and its cleaner at work.
const WARM_UP: u64 = 200_000;

/// One thing that is measured, what it should be, and what MQSim (C++, the same drive on such a
/// machine) was seen to do.
struct Figure {
    name: &'static str,
    unit: &'static str,
    limit: f64,
    mqsim: f64,
    better: Better,
    decimals: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

const FIGURES: [Figure; 4] = [
    Figure {
        name: "random reads",
        unit: "M/s",
        limit: 8.0,
        mqsim: 0.15,
        better: Better::More,
        decimals: 2,
    },
    Figure {
        name: "random writes, cleaning",
        unit: "M/s",
        limit: 4.0,
        mqsim: 0.06,
        better: Better::More,
        decimals: 2,
    },
    Figure {
        name: "set-up",
        unit: "s",
        limit: 1.0,
        mqsim: 24.0, // 23 to 25.
        better: Better::Less,
        decimals: 3,
    },
    Figure {
        name: "memory a modelled GiB",
        unit: "MiB",
        limit: 2.5,
        mqsim: 32.6,
        better: Better::Less,
        decimals: 2,
    },
];

/// What one round saw, in the order and units of [`FIGURES`], and the same by processor time where
/// that makes sense.
struct Round {
    elapsed: [f64; 4],
    processor: [f64; 4],
    write_amplification: f64,
    /// Reads and writes of a drive with every mechanism on, M/s of processor time.
    with_mechanisms: [f64; 2],
}

/// How long it measures.
#[derive(clap::Args)]
pub struct Options {
    /// Measurements of each.
    #[arg(long, value_name = "N", default_value_t = 7)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
}

/// Measures, prints, asserts nothing.
pub fn run(options: &Options) -> Result<()> {
    let rounds = usize::from(options.rounds);
    println!(
        "Page-mapped flash: {CAPACITY_GIB} GiB, 64 planes, {} % used, 7 % over-provisioned, 4 KiB, \
         depth {DEPTH}; {rounds} rounds",
        USED_PER_MILLE / 10
    );
    println!("Load {}", machine::load());
    let rounds = (0..rounds).map(|_| round()).collect::<Result<Vec<_>>>()?;
    println!(
        "\n{:<24}{:>8}{:>12}{:>10}{:>10}{:>8}{:>9}",
        "median", "", "CPU time", "wall", "limit", "ratio", "x MQSim"
    );
    for (number, figure) in FIGURES.iter().enumerate() {
        let of = |pick: fn(&Round) -> &[f64; 4]| {
            median(&rounds.iter().map(|round| pick(round)[number]).collect::<Vec<_>>())
        };
        figure.print(of(|round| &round.processor), of(|round| &round.elapsed));
    }
    let amplification: Vec<f64> = rounds.iter().map(|round| round.write_amplification).collect();
    println!("\nWrite amplification {:.3}", median(&amplification));
    let with = |number: usize| {
        median(&rounds.iter().map(|round| round.with_mechanisms[number]).collect::<Vec<_>>())
    };
    println!(
        "Spread, retries, suspends, a cache at one bit a cell: {:.2} M reads/s, {:.2} M writes/s \
         of CPU time",
        with(0),
        with(1)
    );
    large_drives()?;
    whole_method(rounds.len())?;
    println!("Load {}", machine::load());
    Ok(())
}

impl Figure {
    /// The ratio is above 1 where the limit is kept: by processor time, since the model asks for
    /// one core.
    fn print(&self, processor: f64, elapsed: f64) {
        let ratio = |to: f64| match self.better {
            Better::More => processor / to,
            Better::Less => to / processor,
        };
        println!(
            "{:<24}{:>8}{processor:>12.decimals$}{elapsed:>10.decimals$}{:>10}{:>8.2}{:>9.1}",
            self.name,
            self.unit,
            self.limit,
            ratio(self.limit),
            ratio(self.mqsim),
            decimals = self.decimals,
        );
    }
}

fn params() -> PageMappedParams {
    PageMappedParams {
        read_spread_per_mille: 0,
        read_retry: None,
        suspend: None,
        pause: None,
        throttle: None,
        read_latency_ns: 0,
        write_latency_ns: 0,
        latency_tail_ns: 0,
        write_queues: 1,
        capacity_bytes: CAPACITY_GIB << 30,
        over_provisioning_per_mille: 70,
        channels: 8,
        dies_per_channel: 4,
        planes_per_die: 2,
        nand_page_bytes: UNIT_BYTES,
        pages_per_block: 256,
        read_ns: 50_000,
        program_ns: 500_000,
        erase_ns: 3_000_000,
        erase_group: 1,
        channel_bytes_per_s: 400_000_000,
        read_command_ns: 2_000,
        write_command_ns: 2_000,
        link_bytes_per_s: 3_000_000_000,
        transfer: Transfer::Serial,
        stream_read_bytes_per_s: None,
        stream_write_bytes_per_s: None,
        random_write_bytes_per_s: None,
        command_queue: DEPTH as u32,
        map_memory_bytes: None,
        write_cache: WriteCaching::On,
        write_buffer_bytes: 16 << 20,
        power_loss: PowerLoss::Volatile,
        flush_ns: 100_000,
        write_through_ns: 0,
        cleaning: Cleaning::Greedy,
        reserve_superblocks: 2,
        slc_cache: None,
        endurance_cycles: 3_000,
        wear_leveling_threshold: 1_000,
        state: State::Steady { used_per_mille: USED_PER_MILLE },
    }
}

fn round() -> Result<Round> {
    let params = params();
    let before = resident_bytes()?;
    let stopwatch = Stopwatch::start();
    let mut drive = PageMapped::new(&params, DEPTH as u32, 1)?;
    let mapped_bytes = drive.mapped_bytes(); // Which plants it.
    let (set_up_processor, set_up) = stopwatch.stop();
    let mut engine = Sim::new(drive);
    let [reads, writes] = reads_and_writes(&mut engine, mapped_bytes);
    let resident = resident_bytes()?.saturating_sub(before);
    let memory = resident as f64 / (CAPACITY_GIB << 20) as f64;
    let write_amplification = engine.machine.counters().write_amplification();
    let mut other = Sim::new(PageMapped::new(&with_mechanisms(params), DEPTH as u32, 1)?);
    Ok(Round {
        elapsed: [reads.1, writes.1, set_up, memory],
        processor: [reads.0, writes.0, set_up_processor, memory],
        write_amplification,
        with_mechanisms: reads_and_writes(&mut other, mapped_bytes).map(|rates| rates.0),
    })
}

/// The same drive with what some drives of the catalog have.
fn with_mechanisms(params: PageMappedParams) -> PageMappedParams {
    PageMappedParams {
        read_spread_per_mille: 300,
        latency_tail_ns: 1_000,
        read_retry: Some(ReadRetry { per_million: 10_000, ns: 60_000, spread_per_mille: 500 }),
        suspend: Some(Suspend { per_mille: 500, ns: 20_000, spread_per_mille: 500 }),
        slc_cache: Some(SlcCache {
            bytes: 1 << 30,
            dynamic_bytes: 4 << 30,
            bits_per_cell: 3,
            program_ns: 100_000,
            fold_ns: None,
        }),
        ..params
    }
}

/// Millions of random reads, then of writes, a second: of processor time and of wall time.
fn reads_and_writes(engine: &mut Sim<PageMapped>, used_bytes: u64) -> [(f64, f64); 2] {
    let mut rng = Rng::new(1, 0);
    let mut at = || Extent { offset: rng.below(used_bytes / 4096) * 4096, bytes: 4096 };
    let mut read = || Command::Read { at: at(), into: Payload::None };
    let reads = rate(engine, READS, &mut read);
    let mut write =
        || Command::Write { at: at(), from: Payload::None, durability: Durability::Cached };
    rate(engine, WARM_UP, &mut write);
    [reads, rate(engine, WRITES, &mut write)].map(|(cpu, wall)| (cpu / 1e6, wall / 1e6))
}

/// Operations per second of processor time and of wall time, in a closed loop.
fn rate(engine: &mut impl Engine, count: u64, next: &mut impl FnMut() -> Command) -> (f64, f64) {
    let stopwatch = Stopwatch::start();
    let mut done: Vec<Completion> = Vec::with_capacity(DEPTH as usize);
    let mut left = count;
    for slot in 0..DEPTH {
        engine.submit(request(slot, next()));
    }
    while left > 0 {
        engine.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            left -= 1;
            if left >= DEPTH {
                engine.submit(request(completion.tag.0, next()));
            }
        }
    }
    let (processor, elapsed) = stopwatch.stop();
    (count as f64 / processor, count as f64 / elapsed)
}

fn request(slot: u64, command: Command) -> Request {
    Request { tag: Tag(slot), actor: Actor(0), drive: Drive(0), command }
}

/// A drive that is set up, and what it holds then.
struct Large {
    what: &'static str,
    capacity_bytes: u64,
    state: State,
    /// Where it is written in order, and how much.
    fill: (u64, u64),
    mapped_bytes: u64,
}

/// Capacities as such drives are sold.
const TB: u64 = 1_000_204_886_016;

const LARGE: [Large; 3] = [
    Large {
        what: "4 TB, 1 GiB written",
        capacity_bytes: 4 * TB,
        state: State::Fresh,
        fill: (1 << 40, 1 << 30),
        mapped_bytes: 1 << 30,
    },
    Large {
        what: "8 TB, all written in order",
        capacity_bytes: 8 * TB,
        state: State::Fresh,
        fill: (0, 8 * TB),
        mapped_bytes: 8 * TB,
    },
    Large {
        what: "1 TB, all of it steady",
        capacity_bytes: TB,
        state: State::Steady { used_per_mille: 1000 },
        fill: (0, 0),
        mapped_bytes: TB,
    },
];

/// How long large drives take to set up, and what they take up then.
fn large_drives() -> Result<()> {
    for large in LARGE {
        let before = resident_bytes()?;
        let stopwatch = Stopwatch::start();
        let params = PageMappedParams {
            capacity_bytes: large.capacity_bytes,
            pages_per_block: 2048,
            state: large.state,
            ..params()
        };
        let mut drive = PageMapped::new(&params, DEPTH as u32, 1)?;
        drive.fill(large.fill.0, large.fill.1);
        let mapped_bytes = drive.mapped_bytes();
        let (processor, _) = stopwatch.stop();
        let mib = resident_bytes()?.saturating_sub(before) as f64 / f64::from(1 << 20);
        println!("{:<28}{processor:>8.3} s of CPU time, {mib:>8.1} MiB", large.what);
        ensure!(mapped_bytes == large.mapped_bytes, "the drive holds something else");
    }
    Ok(())
}

/// The array that a whole method is run on, the method, and how long it may take, s of wall time.
const ARRAY: &str = "model:4xmtron-pro-32+4xmtron-mobi-32/raid5:chunk=64K,driver=md";
const METHOD: &str = "bm-flash";
const METHOD_SECONDS: f64 = 10.0;

/// Times all of bm-flash on eight drives, start, record and store included.
fn whole_method(rounds: usize) -> Result<()> {
    child::catch_signals()?;
    let drivelab = build()?;
    let parent = drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(parent)?;
    let (mut processor, mut elapsed) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut command = process::Command::new(&drivelab);
        command.args(["run", ARRAY, "--method", METHOD, "--quiet", "--yes", "--json", "-"]);
        command.arg("--store").arg(scratch.path().join("history.db"));
        command.stdout(File::create(scratch.path().join("record.json"))?);
        let (before_ns, wall) = (cpu_ns(), time::Instant::now());
        let status = wait_for(&mut command)?;
        ensure!(status.success(), "{METHOD} ended with {status}");
        elapsed.push(wall.elapsed().as_secs_f64());
        processor.push((cpu_ns() - before_ns) as f64 / 1e9);
    }
    let (processor, elapsed) = (median(&processor), median(&elapsed));
    println!("\n{METHOD} on {ARRAY}");
    println!(
        "  {processor:.2} s of CPU time, {elapsed:.2} s of wall time, limit {METHOD_SECONDS:.0} s: ratio {:.2}",
        METHOD_SECONDS / elapsed
    );
    Ok(())
}

/// Memory of this process that is backed by pages, bytes.
fn resident_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/statm").context("/proc/self/statm")?;
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    Ok(pages.context("/proc/self/statm")? * rustix::param::page_size() as u64)
}

struct Stopwatch {
    wall: time::Instant,
    processor_ns: u64,
}

impl Stopwatch {
    fn start() -> Self {
        Self { wall: time::Instant::now(), processor_ns: processor_ns() }
    }

    /// Seconds of processor time and of wall time.
    fn stop(self) -> (f64, f64) {
        let processor = (processor_ns() - self.processor_ns) as f64 / 1e9;
        (processor, self.wall.elapsed().as_secs_f64())
    }
}

/// Processor time of this thread, ns.
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_of_the_benchmark_can_be_built() {
        let params = params();
        assert_eq!((params.planes(), params.units_per_superblock()), (64, 16_384));
        assert!(PageMapped::new(&params, DEPTH as u32, 1).is_ok());
    }
}
