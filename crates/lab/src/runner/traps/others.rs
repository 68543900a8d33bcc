//! Others at work: members that were copied or missing, room that was allocated, traffic and
//! processor time that were not ours.

use super::{Scene, of_pass, warn};
use crate::workload::{Caching, Op, Syncing};
use block::{counted, display_bytes};
use record::{Condition, DeviceState, Flag, TargetKind, Warning};

/// Share of sectors or processor time that others may take.
const FOREIGN_MAX: f64 = 0.02;

/// Less than this of foreign traffic is noise.
const FOREIGN_BYTES_MIN: u64 = 4 << 20;

/// Members that were copied or compared, at the beginning or at the end.
pub(super) fn resync(scene: &Scene<'_>) -> Option<Warning> {
    let mut seen: Vec<(&str, &str, Vec<u8>)> = Vec::new();
    for Condition { device, state } in scene.conditions.iter().flatten() {
        let DeviceState::Syncing { action, percent } = state else { continue };
        match seen.iter_mut().find(|(known, of, _)| (*known, *of) == (device, action)) {
            Some((.., at)) => at.extend(percent),
            None => seen.push((device, action, percent.iter().copied().collect())),
        }
    }
    let words = seen.iter().map(|(device, action, at)| match at[..] {
        [from, .., to] if from != to => format!("{device}: {action}, {from} to {to} % done"),
        [from, ..] => format!("{device}: {action}, {from} % done"),
        [] => format!("{device}: {action}"),
    });
    let words = words.collect::<Vec<_>>().join("; ");
    (!seen.is_empty()).then(|| warn(Flag::Resync, format!("{words}{}", of_pass(scene))))?
}

/// Members that were missing, at the beginning or at the end.
pub(super) fn degraded(scene: &Scene<'_>) -> Option<Warning> {
    let mut seen: Vec<String> = Vec::new();
    for Condition { device, state } in scene.conditions.iter().flatten() {
        let DeviceState::Degraded(missing) = state else { continue };
        let words = format!("{device} ran without {}", counted(*missing, "member"));
        if !seen.contains(&words) {
            seen.push(words);
        }
    }
    let words = seen.join("; ");
    (!seen.is_empty()).then(|| warn(Flag::Degraded, format!("{words}{}", of_pass(scene))))?
}

/// Less than this of the bytes written may be a volume's own bookkeeping.
const ALLOCATED_MIN: f64 = 0.01;

/// A thin volume that grew while it was written.
pub(super) fn allocating(scene: &Scene<'_>) -> Option<Warning> {
    if !scene.stream.op.stores() {
        return None;
    }
    let [before, after] = scene.conditions;
    let grown = after.iter().find_map(|Condition { device, state }| {
        let DeviceState::Allocated(now) = state else { return None };
        let was = before.iter().find_map(|known| match known.state {
            DeviceState::Allocated(bytes) if known.device == *device => Some(bytes),
            _ => None,
        })?;
        let bytes = now.saturating_sub(was);
        (bytes as f64 > ALLOCATED_MIN * scene.moved.1 as f64).then_some((device, bytes))
    });
    let (device, bytes) = grown?;
    let bytes = display_bytes(bytes);
    warn(
        Flag::Allocating,
        format!("{bytes} were allocated to {device} while it was written{}", of_pass(scene)),
    )
}

/// Sectors beyond ours. A write through a file system brings metadata along, so only what cannot be
/// ours counts: reads while we write, writes while we read, and an excess in the direction that
/// nothing explains.
pub(super) fn foreign_io(scene: &Scene<'_>) -> Option<Warning> {
    // Nobody else knows of a model's drives; an array's own reads for its parity are its own, and
    // so are the copies and the map of a managed volume.
    if matches!(scene.target.kind, TargetKind::Model | TargetKind::Flash) {
        return None;
    }
    let read = scene.after.grown_since(&scene.before, |seen| seen.drive_read_bytes)?;
    let written = scene.after.grown_since(&scene.before, |seen| seen.drive_written_bytes)?;
    let buffered = scene.cell.streams.iter().any(|s| s.io.caching == Caching::Buffered);
    let journals = scene.cell.streams.iter().any(|stream| {
        // What a file system notes of holes and zeroes is more than they carry.
        stream.op.carries_nothing()
            || stream.io.syncing != Syncing::None
            || stream.flush_every > 0
            || stream.op == Op::Commit
    });
    let (our_reads, our_writes) = scene.moved;
    // Read-ahead and write-back move buffered bytes outside the cell's time.
    let foreign_reads = if buffered { 0 } else { read.saturating_sub(our_reads) };
    let foreign_writes = if buffered || journals { 0 } else { written.saturating_sub(our_writes) };
    let foreign = foreign_reads + foreign_writes;
    let share = foreign as f64 / (read + written).max(1) as f64;
    (share > FOREIGN_MAX && foreign >= FOREIGN_BYTES_MIN).then(|| {
        let (percent, bytes) = (share * 100.0, display_bytes(foreign));
        warn(
            Flag::ForeignIo,
            format!("{percent:.0} % of the drives' traffic ({bytes}) was not ours"),
        )
    })?
}

pub(super) fn steal(scene: &Scene<'_>) -> Option<Warning> {
    let total = scene.after.cpu_total.saturating_sub(scene.before.cpu_total);
    let stolen = scene.after.cpu_steal.saturating_sub(scene.before.cpu_steal);
    let share = stolen as f64 / total.max(1) as f64;
    (total > 0 && share > FOREIGN_MAX).then(|| {
        warn(
            Flag::Steal,
            format!("the hypervisor took {:.1} % of the processor time", share * 100.0),
        )
    })?
}
