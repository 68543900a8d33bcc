//! What writing costs a drive of its life.

use super::{
    Order, Workload,
    shrink::{divisor, shrink},
};
use block::Engine;
use lab::workload::{Area, Counted, Length, Op, Stream};
use model::{BlockMapped, PageMapped, Sim};
use report::specification::{Metric, Specification};
use study::TrialError;
use target::{
    catalog::{DriveEntry, DriveKind, DriveSettings, Origin, Past, Value},
    stack::BadStack,
};

/// A block-mapped drive of this size, bytes, tells what one of any size does.
const BYTES: u64 = 512 << 20;
const QUEUE_DEPTH: u32 = 64;

/// What a drive is rated for.
#[derive(Clone, PartialEq, Debug)]
pub enum Rating {
    /// Nobody says.
    Unknown,
    /// A disk: writing does not wear it.
    Unbounded,
    /// Its maker grants so many bytes of the host's, whatever becomes of them inside.
    Written {
        /// Bytes.
        bytes: f64,
    },
    /// Its flash takes so many erasures.
    Cycles {
        /// Of each block.
        cycles: f64,
        /// Whether somebody printed it of this drive, or it is only typical of its kind.
        is_assumed: bool,
    },
}

/// What the catalog knows of a drive's endurance: the data sheet's written bytes, else erase
/// cycles.
pub fn rating(drive: &DriveEntry) -> Rating {
    if matches!(drive.kind, DriveKind::Disk | DriveKind::Quota) {
        return Rating::Unbounded;
    }
    let sheet = Specification::of_catalog(&drive.entry.file, drive.entry.text()).ok().flatten();
    let mut entries = sheet.iter().flat_map(|sheet| &sheet.entries);
    if let Some(entry) = entries.find(|entry| entry.metric == Metric::Endurance) {
        return Rating::Written { bytes: entry.value };
    }
    if let Some(parameter) = drive.entry.parameters.get("endurance")
        && let Value::Number(cycles) = parameter.value
    {
        return Rating::Cycles { cycles, is_assumed: parameter.from == Origin::Assumed };
    }
    let lines = &drive.data_sheet.lines;
    let printed = lines.iter().find(|(key, _)| key == "erase_cycles");
    match printed.and_then(|(_, text)| text.replace(',', "").parse().ok()) {
        Some(cycles) => Rating::Cycles { cycles, is_assumed: false },
        None => Rating::Unknown,
    }
}

/// Bytes of flash that a drive erases or programs for each byte that it is sent, in the steady
/// state with `used` of it (0 to 1) holding data. None for a drive whose inside nothing wears.
///
/// # Errors
/// When its numbers contradict each other.
pub fn write_amplification(
    drive: &DriveEntry,
    workload: &Workload,
    used: f64,
    seed: u64,
) -> Result<Option<f64>, TrialError> {
    let refused = |bad| TrialError::Stack(BadStack::Catalog(bad));
    let mut small = drive.clone();
    let divisor = match drive.kind {
        DriveKind::BlockMapped => (drive.capacity_bytes as f64 / BYTES as f64).max(1.0),
        _ => divisor(drive),
    };
    shrink(&mut small, divisor).map_err(refused)?;
    let used_bytes = (small.capacity_bytes as f64 * used) as u64;
    match small.kind {
        DriveKind::Disk | DriveKind::Quota => Ok(None),
        DriveKind::BlockMapped => {
            let params = small.block_mapped(&DriveSettings::default()).map_err(refused)?;
            let unit_bytes = params.unit_bytes;
            let mut sim = Sim::new(BlockMapped::new(params, QUEUE_DEPTH));
            let erased = |sim: &Sim<BlockMapped>| -> u64 {
                sim.machine.erase_counts().iter().map(|count| u64::from(*count)).sum()
            };
            let written = overwrite(&mut sim, workload, used_bytes, seed)?;
            let before = erased(&sim);
            overwrite(&mut sim, workload, used_bytes, seed + 1)?;
            Ok(Some((erased(&sim) - before) as f64 * unit_bytes as f64 / written as f64))
        }
        DriveKind::PageMapped => {
            let past = match workload.order {
                Order::Random => Past::Steady,
                Order::Sequential => Past::Fresh,
            };
            let steady = past == Past::Steady;
            let used_per_mille = steady.then_some((used * 1000.0).ceil().min(1000.0) as u32);
            let settings =
                DriveSettings { past: Some(past), used_per_mille, seed, ..Default::default() };
            let params = small.page_mapped(&settings).map_err(refused)?;
            let drive = PageMapped::new(&params, QUEUE_DEPTH, seed)
                .map_err(|bad| TrialError::Stack(BadStack::Text(bad.to_string())))?;
            let mut sim = Sim::new(drive);
            overwrite(&mut sim, workload, used_bytes, seed)?;
            let before = sim.machine.counters();
            overwrite(&mut sim, workload, used_bytes, seed + 1)?;
            Ok(Some(sim.machine.counters().since(&before).write_amplification()))
        }
    }
}

/// Overwrites the used part once; how many bytes that were.
fn overwrite(
    engine: &mut dyn Engine,
    workload: &Workload,
    used_bytes: u64,
    seed: u64,
) -> Result<u64, TrialError> {
    let block_bytes = workload.written_block_bytes();
    let block = u64::from(block_bytes);
    let blocks = (used_bytes / block).max(1);
    let queue_depth = u32::from(workload.depth).min(QUEUE_DEPTH);
    let pattern = workload.order.pattern();
    let stream = Stream { queue_depth, ..Stream::new(Op::Write, pattern, block_bytes) };
    let area = Area { offset: 0, bytes: blocks * block };
    Counted::new(engine, &stream, area, seed).run(engine, Length::of(blocks))?;
    Ok(blocks * block)
}
