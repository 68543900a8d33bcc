//! Memory that stood for the drive: reads that it answered, writes that it kept.

use super::{Scene, warn};
use crate::{
    method::FinalFlush,
    runner::{
        durable::{is_durable, is_mix},
        flush::FlushCost,
    },
    workload::{
        Caching,
        tree::{TreeCell, TreeSync},
    },
};
use block::display_bytes;
use record::{CachePass, Flag, TargetInfo, TargetKind, Warning};

/// A durable write of a drive without power-loss protection takes longer than this.
const FLUSH_NS_MIN: u64 = 20_000;

/// Share of the bytes read that memory may answer before the number is no longer the drive's.
const CACHED_MAX: f64 = 0.1;

/// Reads that the page cache answered; where nobody can look into it, reads that the drives did not
/// see.
pub(super) fn cache_served(scene: &Scene<'_>) -> Option<Warning> {
    if let Some(seen) = scene.page_cache {
        let cached = seen.cached_share?;
        return (cached > CACHED_MAX).then(|| {
            let (resident, percent) =
                (display_bytes(seen.resident_before_bytes), cached * 100.0);
            let area = display_bytes(seen.area_bytes);
            let text = format!(
                "{resident} of {area} lay in the page cache before, which answered {percent:.0} % of the bytes"
            );
            warn(Flag::CacheServed, text)
        })?;
    }
    if scene.stream.op.writes() || scene.cell.streams.len() > 1 {
        return None;
    }
    let issued = scene.pass.bytes;
    let seen = scene.after.grown_since(&scene.before, |seen| seen.drive_read_bytes)?;
    (issued > 0 && (seen as f64) < (1.0 - CACHED_MAX) * issued as f64).then(|| {
        let (seen, issued) = (display_bytes(seen), display_bytes(issued));
        warn(Flag::CacheServed, format!("the drives saw {seen} of the {issued} read"))
    })?
}

/// A look into the page cache knows better than sizes do.
pub(super) fn fits_in_memory(scene: &Scene<'_>) -> Option<Warning> {
    let buffered = scene.stream.io.caching == Caching::Buffered;
    let was_the_drive = |seen: CachePass| {
        seen.cached_share.is_none_or(|share| share <= CACHED_MAX) && seen.durable != Some(false)
    };
    if scene.page_cache.is_some_and(was_the_drive) {
        return None;
    }
    let bytes = match &scene.cell.tree {
        // Names and attributes are kept apart from the page cache; how many fit nobody can ask.
        Some(tree) if !tree.op.moves_bytes() => return None,
        Some(_) => scene.pass.bytes,
        None => scene.area.bytes,
    };
    // Files without a byte, as Bonnie++ makes them, are names alone.
    (buffered && bytes > 0 && bytes < scene.memory_bytes).then(|| {
        let (area, memory) = (display_bytes(bytes), display_bytes(scene.memory_bytes));
        warn(Flag::FitsInMemory, format!("{area} fit into {memory} of memory"))
    })?
}

/// A flush that follows and is shown apart is not forgotten: then the table says what it took.
pub(super) fn not_durable(scene: &Scene<'_>) -> Option<Warning> {
    let seen = scene.page_cache?;
    let unwritten = seen.unwritten_share.unwrap_or(1.0);
    let forgotten = seen.durable == Some(false) && scene.cell.flush != FinalFlush::Untimed;
    // One page of a hundred may be the next writer's.
    (forgotten && unwritten > 0.01).then(|| {
        let percent = unwritten * 100.0;
        let text = match seen.unwritten_share {
            Some(_) => format!("{percent:.0} % of what was written lay in memory alone"),
            None => "nothing was flushed".to_owned(),
        };
        warn(Flag::NotDurable, text)
    })?
}

fn has_power_loss_protection(target: &TargetInfo) -> bool {
    let mut drives = target.stack.iter().filter_map(|layer| layer.drive.as_ref());
    drives.any(|drive| drive.power_loss_protection == Some(true))
}

pub(super) fn volatile_cache(scene: &Scene<'_>) -> Option<Warning> {
    let on = scene.target.flags.contains(&Flag::VolatileCache);
    let synced = |tree: &TreeCell| tree.sync != TreeSync::None;
    let durable = is_durable(scene.stream) || scene.cell.tree.as_ref().is_some_and(synced);
    (on && scene.stream.op.stores() && !durable)
        .then(|| warn(Flag::VolatileCache, "the drive's volatile write cache was on".into()))?
}

pub(super) fn lying_flush(scene: &Scene<'_>) -> Option<Warning> {
    // A model keeps what it acknowledges, unless it is told to lie.
    let excused =
        matches!(scene.target.kind, TargetKind::Null | TargetKind::Model | TargetKind::Memory)
            || has_power_loss_protection(scene.target)
            || scene.target.flags.contains(&Flag::MemoryBacked);
    let durable = is_durable(scene.stream) && !is_mix(scene.stream);
    let flushes = durable || scene.pass.flushes.count() > 0;
    if excused || !flushes {
        return None;
    }
    let latencies = durable.then_some(&scene.pass.latencies);
    let median = [latencies, Some(&scene.pass.flushes)]
        .into_iter()
        .flatten()
        .find_map(|latencies| latencies.percentile(0.5));
    // What lies below a loop device may be memory, and says so.
    let is_loop = scene.target.flags.contains(&Flag::LoopDevice);
    if let Some(median) = median.filter(|median| *median < FLUSH_NS_MIN && !is_loop) {
        let us = median as f64 / 1e3;
        return warn(Flag::LyingFlush, format!("half of the durable writes took under {us:.1} us"));
    }
    let cost = scene.flush_cost.filter(FlushCost::is_free)?;
    let [write, after_write, after_none] =
        [cost.write_ns, cost.after_write_ns, cost.after_none_ns].map(|ns| ns as f64 / 1e3);
    warn(
        Flag::LyingFlush,
        format!(
            "a flush took {after_write:.0} us after a write and {after_none:.0} us after none, a \
             write {write:.0} us: it had nothing to do"
        ),
    )
}
