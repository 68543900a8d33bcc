//! Managed volumes on the model, measured beside the limit.

use super::{
    forecast::{no_volume, with_layer},
    rates::{BLOCK_BYTES, LINE_BYTES, Rates, stream},
};
use crate::{
    error::AdviceError,
    steady::{self, Shrunk},
};
use block::{Command, Instant};
use flash::predict::{limit, point};
use lab::workload::{Area, Counted, Length, Op, Pattern, once};
use study::TrialError;
use target::{
    catalog::Catalog,
    stack::{self, Opened, Stack},
};

/// Shares of the drive that are mapped, in thousandths, where none was named.
const FILLS: [u32; 3] = [250, 500, 720];
/// So much of the drive is enough: what counts are shares. On much less, checkpoints come so often
/// that what a drive takes to go there and back counts.
const PART: &str = "8G";
/// How often the mapped blocks are overwritten, and after how many of these times counting begins.
const ROUNDS: (u64, u64) = (10, 8);
const SEED: u64 = 2;

/// One fill.
pub struct Measured {
    /// Mapped share of the drive.
    pub live: f64,
    /// Writes a second of virtual time, of the blocks that the rates are of.
    pub writes_per_s: f64,
    /// What the limit says, with write amplification and metadata as they were counted.
    pub limit_writes_per_s: f64,
    /// Blocks written for each of the host's, metadata not counted, as counted.
    pub write_amplification: f64,
}

/// Overwrites volumes at random until they are steady. `fills` are in thousandths; where none is
/// named, a few are chosen. `progress` hears which is measured.
///
/// # Errors
/// A stack without a managed volume.
pub fn measure(
    stack: &Stack,
    rates: &Rates,
    fills: &[u32],
    skew: Pattern,
    progress: &dyn Fn(f64),
) -> Result<Vec<Measured>, AdviceError> {
    let mut measured = Vec::new();
    let catalog = Catalog::load()?;
    let ages = steady::ages(stack, &catalog);
    for &fill in if fills.is_empty() { &FILLS } else { fills } {
        let live = f64::from(fill) / 1000.0;
        progress(live);
        // A hundredth more than is mapped, for whole segments; a volume that is full.
        let spare = format!("{}%", (99.0 - live * 100.0).floor());
        let mut settings = vec![("spare", spare)];
        if !ages {
            settings.push(("drive-size", PART.to_owned()));
        }
        if skew != Pattern::Random {
            // As a volume on a real drive chooses.
            settings.push(("cleaning", "auto".to_owned()));
        }
        let stack = with_layer(stack, &settings);
        // A part of a drive that maps pages would leave the rest to its cleaner as spare.
        let opened = match ages {
            true => {
                let shrunk = Shrunk::new(&stack, &catalog)?;
                steady::open_small(&shrunk.stack, &shrunk, SEED)?
            }
            false => stack::open(&stack, &catalog, SEED)?,
        };
        measured.extend(at(opened, &stack, live, rates, skew)?);
    }
    Ok(measured)
}

/// `None` where the volume cannot be so full.
fn at(
    mut opened: Opened,
    stack: &Stack,
    live: f64,
    rates: &Rates,
    skew: Pattern,
) -> Result<Option<Measured>, AdviceError> {
    let volume = opened.managed().and_then(flash::Volume::layout);
    let layout = *volume.ok_or_else(|| no_volume(stack))?;
    let blocks = (live * layout.shape.device_bytes as f64 / BLOCK_BYTES as f64) as u64;
    let blocks = blocks / (LINE_BYTES / BLOCK_BYTES) * (LINE_BYTES / BLOCK_BYTES);
    if blocks > u64::from(layout.mapped_max) {
        return Ok(None);
    }
    let lines = blocks * BLOCK_BYTES / LINE_BYTES;
    let area = Area { offset: 0, bytes: blocks * BLOCK_BYTES };
    let fill = stream(Op::Write, Pattern::Sequential, LINE_BYTES);
    let engine = opened.as_engine();
    let fill = Counted::new(engine, &fill, area, SEED).run(engine, Length::of(lines));
    fill.map_err(TrialError::from)?;
    let write_bytes = rates.blocks.write_bytes;
    let overwrites = stream(Op::Write, skew, write_bytes);
    let mut overwrites = Counted::new(opened.as_engine(), &overwrites, area, SEED);
    let (rounds, warm) = ROUNDS;
    let writes = (blocks * BLOCK_BYTES / write_bytes).max(1);
    let mut overwrite = |opened: &mut Opened, count| {
        overwrites.run(opened.as_engine(), Length::of(count)).map_err(TrialError::from)
    };
    overwrite(&mut opened, warm * writes)?;
    let (before, start) = (counters(&opened), opened_now(&opened));
    let counted = overwrite(&mut opened, (rounds - warm) * writes)?.operations;
    once(opened.as_engine(), Command::Flush).map_err(TrialError::from)?;
    let (after, end) = (counters(&opened), opened_now(&opened));
    let host = (after.host_blocks - before.host_blocks) as f64;
    let copied = (after.copied_blocks - before.copied_blocks) as f64;
    let rest = |of: fn(&flash::Counters) -> u64| (of(&after) - of(&before)) as f64;
    let metadata = rest(|c| c.page_blocks) + rest(|c| c.header_blocks) + rest(|c| c.padding_blocks);
    let write_amplification = (host + copied) / host;
    let share = limit(write_amplification, metadata / (host + copied), rates.write_over_read());
    Ok(Some(Measured {
        live: point(&layout, blocks, 0.0).live,
        writes_per_s: counted as f64 * 1e9 / end.since(start).max(1) as f64,
        limit_writes_per_s: rates.managed_writes_per_s(share),
        write_amplification,
    }))
}

fn counters(opened: &Opened) -> flash::Counters {
    opened.managed().and_then(flash::Volume::counters).expect("the volume is open")
}

fn opened_now(opened: &Opened) -> Instant {
    block::Engine::now(opened)
}
