//! `cargo xtask bench paced`: by how much modelled drives answer late on the real clock.

use super::machine;
use anyhow::{Context, Result};
use block::{
    Actor, Command, Completion, Drive, Engine, Extent, Instant, Machine, Payload, Request, Rng, Tag,
};
use model::{Lateness, Paced};
use target::{
    Pace,
    catalog::{Catalog, DriveSettings},
};

/// Flash that answers in some 100 us and a disk that answers in some 10 ms: waits that are spun
/// through in large part, and waits that are slept.
const DRIVES: [&str; 2] = ["intel-x25m-80", "hdd-7200-cmr"];
const DEPTHS: [u32; 2] = [1, 8];
const SECONDS: u64 = 5;
const BLOCK_BYTES: u32 = 4096;
/// The median lateness that is wanted, us.
const MEDIAN_US: u32 = 20;

/// How long it measures.
#[derive(clap::Args)]
pub struct Options {
    /// How long a measurement takes, seconds.
    #[arg(long, value_name = "N", default_value_t = SECONDS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
}

/// Measures, prints, asserts nothing.
pub fn run(options: &Options) -> Result<()> {
    let seconds = options.seconds;
    let catalog = Catalog::built_in()?;
    println!(
        "Modelled drives on the real clock: how late answers to random 4 KiB reads are handed out; wanted: a \
         median under {MEDIAN_US} us"
    );
    println!("Load {}", machine::load());
    println!(
        "\n{:<16}{:>6}{:>9}{:>13}{:>10}{:>10}{:>12}{:>14}",
        "drive", "depth", "answers", "median us", "p99 us", "max us", "over 1 ms", "stolen ms"
    );
    for name in DRIVES {
        let drive = catalog.drive(name).with_context(|| format!("the catalog has no {name}"))?;
        for depth in DEPTHS {
            let machine = drive.build(&DriveSettings::default(), depth)?;
            let before_ms = machine::stolen_ms();
            let lateness = pace(machine, depth, seconds);
            let stolen_ms =
                machine::stolen_ms().zip(before_ms).map(|(after, before)| after - before);
            print(name, depth, &lateness, stolen_ms);
        }
    }
    println!("\nLoad {}", machine::load());
    Ok(())
}

/// Reads at random for so long, `depth` at a time.
fn pace(machine: Box<dyn Machine>, depth: u32, seconds: u64) -> Lateness {
    let blocks = machine.geometry(Drive(0)).capacity_bytes / u64::from(BLOCK_BYTES);
    let mut paced = Paced::new(machine, Pace::real(engine::Clock::start()));
    let mut rng = Rng::new(1, 0);
    let mut read = |tag: u64| {
        let at = Extent { offset: rng.below(blocks) * u64::from(BLOCK_BYTES), bytes: BLOCK_BYTES };
        let command = Command::Read { at, into: Payload::None };
        Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command }
    };
    (0..u64::from(depth)).for_each(|tag| paced.submit(read(tag)));
    let end = paced.now().after(seconds * 1_000_000_000);
    let mut done: Vec<Completion> = Vec::with_capacity(depth as usize);
    while paced.now() < end {
        paced.wait(Instant::NEVER, &mut done);
        done.drain(..).for_each(|answer| paced.submit(read(answer.tag.0)));
    }
    paced.lateness().clone()
}

fn print(name: &str, depth: u32, lateness: &Lateness, stolen_ms: Option<u64>) {
    let us = |ns: u64| ns as f64 / 1e3;
    println!(
        "{name:<16}{depth:>6}{:>9}{:>13.2}{:>10.1}{:>10.0}{:>12}{:>14}",
        lateness.count(),
        us(lateness.quantile_ns(500)),
        us(lateness.quantile_ns(990)),
        us(lateness.ns_max()),
        lateness.stalls(),
        stolen_ms.map_or("unknown".to_owned(), |ms| ms.to_string()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drives_are_in_the_catalog() {
        let catalog = Catalog::built_in().expect("the catalog");
        assert!(DRIVES.iter().all(|name| catalog.drive(name).is_some()));
    }
}
