//! A managed volume in memory, served, beside nbdkit's memory plugin: what the two servers
//! themselves cost.

use super::{Flushes, Job, Options, Server, fio};
use crate::bench::sample::median;
use anyhow::Result;
use std::{path::Path, process::Command};

/// What clients use of either export; all of it is written first.
const SPAN_BYTES: u64 = 512 << 20;
/// The drive of memory under the managed volume: so large that the span is a quarter of it, and the
/// limit is the server rather than the cleaner.
const DRIVE: &str = "memory:2G/flash";
/// How many spans the drive holds.
const DRIVE_SPANS: u64 = 4;
const PAIRS: usize = 9;
const SECONDS: u64 = 3;

/// What is asked for: load, bytes, depth, and what the ratios are wanted to be at least.
const LOADS: [(&str, u64, u32, f64); 6] = [
    ("randread", 4 << 10, 32, 1.3),
    ("randwrite", 4 << 10, 32, 0.95),
    ("randread", 64 << 10, 8, 1.0),
    ("randwrite", 64 << 10, 8, 1.0),
    ("randread", 1 << 20, 8, 1.0),
    ("randwrite", 1 << 20, 8, 1.0),
];

/// Measures and prints.
pub fn run(drivelab: &Path, sockets: &Path, order: &Options) -> Result<()> {
    let short = order.short;
    let seconds = order.seconds.unwrap_or(if short { 1 } else { SECONDS });
    let pairs = order.rounds.map(usize::from).unwrap_or(if short { 3 } else { PAIRS });
    let ours = Server::start(
        "drivelab",
        Command::new(drivelab).args(["serve", DRIVE, "--nbd"]),
        sockets.join("ours.sock"),
        "unix:",
    )?;
    let size = SPAN_BYTES.to_string();
    let theirs = Server::start(
        "nbdkit",
        Command::new("nbdkit").args(["--foreground", "memory", &size, "--unix"]),
        sockets.join("theirs.sock"),
        "",
    )?;
    let write = Job {
        load: "write",
        bytes: 1 << 20,
        depth: 32,
        flushes: Flushes::None,
        span_bytes: SPAN_BYTES,
        seconds: None,
    };
    for server in [&ours, &theirs] {
        // As often as the log needs to go once around its drive: memory touched for the first time
        // costs the kernel's time.
        for _ in 0..DRIVE_SPANS {
            fio(server, write)?;
        }
    }
    println!(
        "{DRIVE} served by drivelab, and nbdkit's memory plugin; fio's nbd engine over {} MiB that were \
         written before; {pairs} pairs of {seconds} s after one that warms up. Medians.\n",
        SPAN_BYTES >> 20
    );
    println!(
        "{:<10}{:>5}{:>6}{:>11}{:>11}{:>7}{:>12}{:>7}{:>9}{:>9}",
        "load",
        "KiB",
        "depth",
        "drivelab/s",
        "nbdkit/s",
        "ratio",
        "least-most",
        "wanted",
        "CPU ns",
        "nbdkit"
    );
    for (load, bytes, depth, wanted) in LOADS {
        let job = Job { load, bytes, depth, seconds: Some(seconds), ..write };
        compare(job, wanted, [&ours, &theirs], pairs)?;
    }
    println!("\n{}", ours.stop()?.lines().last().unwrap_or_default());
    theirs.stop()?;
    Ok(())
}

fn compare(job: Job<'_>, wanted: f64, servers: [&Server; 2], pairs: usize) -> Result<()> {
    let (mut rates, mut costs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut ratios = Vec::new();
    for pair in 0..=pairs {
        let mut seen = [super::Seen::default(); 2];
        for turn in 0..2 {
            let who = (pair + turn) % 2;
            seen[who] = fio(servers[who], job)?;
        }
        if pair == 0 {
            continue;
        }
        ratios.push(seen[0].rate / seen[1].rate);
        for who in 0..2 {
            rates[who].push(seen[who].rate);
            costs[who].push(seen[who].cpu_ns);
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{:<10}{:>5}{:>6}{:>11.0}{:>11.0}{:>7.2}{:>12}{wanted:>7}{:>9.0}{:>9.0}",
        job.load,
        job.bytes >> 10,
        job.depth,
        median(&rates[0]),
        median(&rates[1]),
        median(&ratios),
        format!("{:.2}-{:.2}", ratios[0], ratios[ratios.len() - 1]),
        median(&costs[0]),
        median(&costs[1]),
    );
    Ok(())
}
