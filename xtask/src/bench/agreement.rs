//! Do drivelab and fio measure the same? Pairs on the same drive, alternated, so that what drifts
//! hits both; then the interval of the logarithm of their ratio.

use super::{
    contender::{Bench, Caching, Contender, FILE_BYTES, Load, Op, Reading, Way},
    sample::{Ratio, median},
    scratch::{drop_from_cache, write_file},
};
use anyhow::Result;
use std::io::{Write, stdout};

/// Half-width of the log-ratio that is good enough.
const HALF_WIDTH_MAX: f64 = 0.10;

/// Reads and writes at depth 1 and 32, `pairs` pairs of `seconds` each.
pub fn run(bench: &Bench, seconds: u64, pairs: usize) -> Result<()> {
    if bench.fio.is_none() {
        println!("\nAgreement with fio: fio is not installed (`apt-get install fio`)");
        return Ok(());
    }
    println!(
        "\nAgreement with fio, O_DIRECT, random 4 KiB; {pairs} alternated pairs of {seconds} s"
    );
    println!(
        "Reads: both on the same file. Writes: each on a file of its own of {} MiB in the same \
         directory,\nwritten anew before each measurement, since drivelab never writes to a file that \
         exists.",
        FILE_BYTES >> 20
    );
    drop_from_cache(&bench.file)?;
    for op in [Op::Read, Op::Write] {
        for (way, depth) in [(Way::Sync, 1), (Way::Uring, 32)] {
            let load = Load { way, caching: Caching::Direct, op, depth };
            compare(bench, load, seconds, pairs)?;
        }
    }
    Ok(())
}

fn compare(bench: &Bench, load: Load, seconds: u64, pairs: usize) -> Result<()> {
    let what = if load.op == Op::Write { "writes" } else { "reads" };
    println!("\n{what}, depth {}", load.depth);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first pair warms up.
    for pair in 0..=pairs {
        let drivelab_first = pair % 2 == 0;
        let mut both = [None, None];
        for turn in 0..2 {
            let is_fio = (turn == 0) != drivelab_first;
            both[usize::from(is_fio)] = Some(measure(bench, is_fio, load, seconds)?);
        }
        if let ([Some(our), Some(their)], 1..) = (both, pair) {
            ours.push(our);
            theirs.push(their);
        }
        print!(".");
        stdout().flush()?;
    }
    println!();
    print(&ours, &theirs);
    Ok(())
}

fn measure(bench: &Bench, is_fio: bool, load: Load, seconds: u64) -> Result<Reading> {
    if !is_fio {
        return bench.measure(Contender::Drivelab, load, seconds);
    }
    let own = bench.fio_file();
    if load.op == Op::Write {
        write_file(&own, FILE_BYTES)?;
        drop_from_cache(&own)?;
    }
    let reading = bench.measure(Contender::Fio, load, seconds);
    if load.op == Op::Write {
        std::fs::remove_file(&own)?;
    }
    reading
}

fn print(ours: &[Reading], theirs: &[Reading]) {
    let iops = |readings: &[Reading]| readings.iter().map(|r| r.iops).collect::<Vec<_>>();
    let p50_us = |readings: &[Reading]| {
        median(&readings.iter().map(|r| r.p50_ns / 1000.0).collect::<Vec<_>>())
    };
    let ratio = Ratio::of(&iops(ours), &iops(theirs));
    println!("  pair   drivelab        fio  ratio");
    for (number, (our, their)) in (1..).zip(ours.iter().zip(theirs)) {
        let ratio = our.iops / their.iops;
        println!("  {number:>4} {:>10.0} {:>10.0}  {ratio:.3}", our.iops, their.iops);
    }
    println!("  geometric mean of the ratios {:.3}", ratio.mean);
    println!(
        "  95 % interval of the log-ratio {:+.3} to {:+.3}: {} 0, {} than +-{HALF_WIDTH_MAX}",
        ratio.low.ln(),
        ratio.high.ln(),
        if ratio.contains_one() { "contains" } else { "does not contain" },
        if ratio.half_width_log() < HALF_WIDTH_MAX { "narrower" } else { "not narrower" }
    );
    println!("  p50: drivelab {:.1} us, fio {:.1} us", p50_us(ours), p50_us(theirs));
}
