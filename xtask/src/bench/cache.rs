//! `cargo xtask bench cache`: accesses a second of the replacement policies on one core, without
//! devices, and of the bound and a sampled curve.

use super::{machine, sample::median};
use anyhow::Result;
use block::Rng;
use cache::{Access, Miniature, Policy, misses_min};
use rustix::time::{ClockId, clock_gettime};

const BLOCKS: u64 = 1_000_000;
const ACCESSES: usize = 10_000_000;
/// 10 % of the blocks, and 1 %.
const CAPACITIES: [usize; 2] = [100_000, 10_000];
/// What LRU is to reach, M accesses a second.
const LRU_LIMIT: f64 = 10.0;

/// How long it measures.
#[derive(clap::Args)]
pub struct Options {
    /// Measurements of each.
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
}

/// Measures, prints, asserts nothing.
pub fn run(options: &Options) -> Result<()> {
    let blocks = blocks();
    println!(
        "Caches of blocks: {} M accesses, skewed, to {} M blocks; {} rounds. Load {}",
        ACCESSES / 1_000_000,
        BLOCKS / 1_000_000,
        options.rounds,
        machine::load()
    );
    println!("\n{:<10}{:>10}{:>10}{:>12}", "policy", "blocks", "misses %", "M/s of CPU");
    for policy in Policy::ALL {
        for capacity in CAPACITIES {
            let mut misses = 0;
            let mut round = || {
                let mut cache = policy.cache(capacity);
                let is_miss = |block: &&u64| cache.access(**block) != Access::Hit;
                seconds(|| misses = blocks.iter().filter(is_miss).count())
            };
            let taken: Vec<f64> = (0..options.rounds).map(|_| round()).collect();
            let percent = misses as f64 * 100.0 / ACCESSES as f64;
            let rate = ACCESSES as f64 / 1e6 / median(&taken);
            let limit = if policy == Policy::Lru { LRU_LIMIT.to_string() } else { String::new() };
            println!("{:<10}{capacity:>10}{percent:>10.2}{rate:>12.1}  {limit}", policy.name());
        }
    }
    let bound = seconds(|| {
        misses_min(&blocks, CAPACITIES[0]);
    });
    let sizes: Vec<usize> = (1..=12).map(|step| step * 50_000).collect();
    let curve = seconds(|| {
        let mut sample = Miniature::new(Policy::Lru, &sizes, 0.05);
        blocks.iter().for_each(|block| sample.access(*block));
        sample.curve();
    });
    println!("\nThe bound {bound:.2} s; a curve of 12 sizes on 5 % of the blocks {curve:.2} s");
    Ok(())
}

fn blocks() -> Vec<u64> {
    let mut rng = Rng::new(1, 0);
    let mut draw = || {
        let place = rng.below(BLOCKS);
        place * place / BLOCKS * place / BLOCKS
    };
    (0..ACCESSES).map(|_| draw()).collect()
}

/// Processor time of `what`.
fn seconds(what: impl FnOnce()) -> f64 {
    let begun = thread_seconds();
    what();
    thread_seconds() - begun
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
