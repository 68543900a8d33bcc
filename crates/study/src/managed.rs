//! Random writes to a managed volume that is full: a burst into what is free, and what lasts.

use crate::{
    Before, Op,
    pass::{SEED, TrialError, bm_flash},
};
use block::{Command, Drive, Engine};
use lab::{
    method::{CacheState, FileState},
    workload::{Counted, Length, Pattern, once},
};
use target::stack::Opened;

/// Windows that must agree before a rate is said to last, by which factor they may differ, and
/// after how many it is taken as it is: five times all blocks.
const LASTING: usize = 4;
/// See [`LASTING`].
const LASTING_SPREAD: f64 = 1.03;
/// See [`LASTING`].
const LASTING_WINDOWS_MAX: usize = 20;

/// Random writes to the managed volume of a stack that was filled; a second.
pub(crate) fn overwrite(
    opened: &mut Opened,
    block_bytes: u32,
    threads: u16,
    before: Before,
) -> Result<f64, TrialError> {
    let counters = opened.managed().and_then(|volume| volume.counters());
    let pool_bytes = counters.map(|all| all.clean_pool_bytes);
    overwrite_from(opened.as_engine(), pool_bytes, block_bytes, threads, before)
}

/// The same of a volume whose clean pool has so many bytes.
pub(crate) fn overwrite_from(
    volume: &mut dyn Engine,
    pool_bytes: Option<u64>,
    block_bytes: u32,
    threads: u16,
    before: Before,
) -> Result<f64, TrialError> {
    let pool_bytes = pool_bytes.expect("a managed volume that is open");
    match before {
        Before::Filled => burst(volume, pool_bytes, block_bytes, threads),
        Before::Overwritten => sustained(volume, block_bytes, threads),
    }
}

/// Workers of bm-flash's random writes over the first `span_bytes`, which go on from run to run:
/// what ends them is no number of operations that is known before.
pub(crate) fn random_writers(
    engine: &mut dyn Engine,
    block_bytes: u32,
    threads: u16,
    span_bytes: u64,
) -> Counted {
    let cell = bm_flash(Op::Write, Pattern::Random, block_bytes, threads);
    let is_ready = cell.file == FileState::AsIs && cell.cache == CacheState::AsIs;
    assert!(is_ready, "bm-flash writes to what it finds");
    lab::trial::workers(engine, &cell, span_bytes, SEED)
}

/// Random writes into half of a managed volume's free space; a second. What is in memory or in a
/// drive's buffer is not done: the clock stops after a flush.
fn burst(
    volume: &mut dyn Engine,
    pool_bytes: u64,
    block_bytes: u32,
    threads: u16,
) -> Result<f64, TrialError> {
    let counted = (pool_bytes / 2 / u64::from(block_bytes)).max(1);
    let span_bytes = volume.geometry(Drive(0)).capacity_bytes;
    let mut writers = random_writers(volume, block_bytes, threads, span_bytes);
    let pace = writers.run(volume, Length::of(counted))?;
    let flush_ns = once(volume, Command::Flush)?;
    Ok(counted as f64 / (pace.seconds + flush_ns as f64 / 1e9))
}

/// Random writes until their rate lasts; a second. It does when [`LASTING`] windows in a row, each
/// of a quarter of the blocks, differ by no more than [`LASTING_SPREAD`]; their mean is the rate.
/// The SNIA's test specification asks as much of a steady state, but less closely.
fn sustained(volume: &mut dyn Engine, block_bytes: u32, threads: u16) -> Result<f64, TrialError> {
    let span_bytes = volume.geometry(Drive(0)).capacity_bytes;
    let length = Length::of((span_bytes / u64::from(block_bytes)).div_ceil(4));
    let mut writers = random_writers(volume, block_bytes, threads, span_bytes);
    let mut windows = Vec::with_capacity(LASTING_WINDOWS_MAX);
    loop {
        windows.push(writers.run(volume, length)?.seconds);
        // The first window writes into what was free.
        let Some(last) = windows[1..].last_chunk::<LASTING>() else { continue };
        let [least, most] = [f64::min, f64::max].map(|of| last.iter().copied().reduce(of));
        let lasts = most.zip(least).is_some_and(|(most, least)| most <= LASTING_SPREAD * least);
        if lasts || windows.len() == LASTING_WINDOWS_MAX {
            let seconds: f64 = last.iter().sum();
            return Ok((LASTING as u64 * length.counted) as f64 / seconds);
        }
    }
}
