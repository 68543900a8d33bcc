//! The traps of measuring, noticed after each pass: every check is a pure function of what was
//! seen.

use super::{
    durable::{is_durable, is_mix},
    flush::FlushCost,
    fold,
    pass::StreamPass,
    remedy::{Remedy, rate},
    stall::stall,
};
use crate::{
    method::{CellSpec, FinalFlush},
    target::Observation,
    workload::{
        Area, Caching, Op, Pattern, Stream, Syncing,
        tree::{TreeCell, TreeSync},
    },
};
use block::{counted, display_bytes, one_or};
use record::{Burst, CachePass, Condition, DeviceState, Flag, TargetInfo, TargetKind, Warning};
use stats::{
    Cause, Change, Levels, TICK_NS, Temperatures, burst_credit, falling_slope, held_rate,
    is_spindle_rate, little,
};

/// Worker's processor time over wall time above which the host is the limit.
const BUSY_MAX: f64 = 0.9;
/// The device should take at least this many times the engine's own cost.
const ENGINE_COSTS_MIN: f64 = 5.0;
/// Share of a link's rate that counts as full.
const LINK_FULL: f64 = 0.95;
/// What is faster than this share of the link did not come over it.
const LINK_EXCEEDED: f64 = 1.05;
/// Share of sectors or processor time that others may take.
const FOREIGN_MAX: f64 = 0.02;
/// Less than this of foreign traffic is noise.
const FOREIGN_BYTES_MIN: u64 = 4 << 20;
/// A durable write of a drive without power-loss protection takes longer than this.
const FLUSH_NS_MIN: u64 = 20_000;
/// Share of the asked-for depth that counts as reached.
const DEPTH_REACHED: f64 = 0.8;
/// Latency from the intended start over latency from submission at p99.
const OMISSION_MAX: f64 = 3.0;
/// A disk's seek and half a revolution take longer than this.
const SEEK_NS_MIN: f64 = 1_000_000.0;
/// The area over which a seek is a seek.
const SEEK_AREA_BYTES: u64 = 512 << 20;

/// What only a rate shows that the target decides on.
const OF_RATES: [Flag; 6] = [
    Flag::Drifting,
    Flag::LeftSteadyState,
    Flag::DepthNotReached,
    Flag::EngineLimited,
    Flag::Stalled,
    Flag::Insufficient,
];

/// What a check may look at.
pub(super) struct Scene<'a> {
    pub target: &'a TargetInfo,
    pub cell: &'a CellSpec,
    pub stream: &'a Stream,
    pub area: Area,
    pub pass: &'a StreamPass,
    pub before: Observation,
    pub after: Observation,
    /// What the devices under the target were about before and after.
    pub conditions: &'a [Vec<Condition>; 2],
    /// Bytes that all streams of the cell read and wrote.
    pub moved: (u64, u64),
    /// What the page cache had to do with it, where that could be seen.
    pub page_cache: Option<CachePass>,
    pub busy: f64,
    /// The engine's own cost of an operation, ns; 0 where its seconds are not the target's.
    pub engine_ns: f64,
    pub memory_bytes: u64,
    /// What flushes of the target cost, where that was asked.
    pub flush_cost: Option<FlushCost>,
    /// Which pass this was, in words, where there are several: `in pass 2 of 3`.
    pub pass_name: Option<String>,
    pub remedy: Remedy<'a>,
}

/// Every flag that one pass of one stream earned, with its sentence.
pub(super) fn find(scene: &Scene<'_>) -> Vec<Warning> {
    let checks: [fn(&Scene<'_>) -> Option<Warning>; 27] = [
        |scene| scene.remedy.warning(scene.stream, scene.pass),
        io_errors,
        stalled,
        resync,
        degraded,
        allocating,
        too_short,
        warm_up,
        drifting,
        left_steady_state,
        cpu_limited,
        engine_limited,
        link_limited,
        cache_served,
        fits_in_memory,
        not_durable,
        foreign_io,
        steal,
        compressible_data,
        volatile_cache,
        lying_flush,
        burst,
        spent_credit,
        throttling,
        depth_not_reached,
        coordinated_omission,
        rotational_mismatch,
    ];
    let mut found: Vec<Warning> = checks.iter().filter_map(|check| check(scene)).collect();
    if scene.cell.replay.is_some() {
        // Its rate is the trace's: that it changes says nothing of the target.
        found.retain(|warning| warning.flag.is_none_or(|flag| !OF_RATES.contains(&flag)));
    }
    found.extend(rate_not_reached(scene));
    found.extend(inherited(scene));
    found
}

fn warn(flag: Flag, seen: String) -> Option<Warning> {
    Some(Warning { flag: Some(flag), text: format!("{seen}: {}", flag.cure()) })
}

/// Requests that failed, and did not end the cell.
fn io_errors(scene: &Scene<'_>) -> Option<Warning> {
    let seen = fold::errors(&scene.pass.errors, &scene.pass.failed);
    (seen.count > 0).then(|| {
        let (words, of_pass) = (seen.words(), of_pass(scene));
        warn(Flag::IoErrors, format!("{words}{of_pass}"))
    })?
}

/// A wait that is no wait like the others.
fn stalled(scene: &Scene<'_>) -> Option<Warning> {
    let found = stall(scene.pass)?;
    let (waited_s, at_s) = (found.seconds, found.at_s);
    let (of_pass, without) = (of_pass(scene), rate(scene.stream, scene.pass, found.iops_without));
    warn(
        Flag::Stalled,
        format!(
            "no answer for {waited_s:.1} s, {at_s:.1} s into it{of_pass}; {without} without it"
        ),
    )
}

/// Members that were copied or compared, at the beginning or at the end.
fn resync(scene: &Scene<'_>) -> Option<Warning> {
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
fn degraded(scene: &Scene<'_>) -> Option<Warning> {
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
fn allocating(scene: &Scene<'_>) -> Option<Warning> {
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

/// A pass that its bytes end has no stop rule. Bonnie++ prints nothing under half a second.
fn too_short(scene: &Scene<'_>) -> Option<Warning> {
    let pass = scene.pass;
    let short = pass.stop.is_none() && pass.seconds < 0.5 && pass.operations < 1000;
    short.then(|| {
        let (count, ms) = (pass.operations, pass.seconds * 1e3);
        let are = one_or(&count, "is", "are");
        let count = counted(count, "operation");
        warn(Flag::Insufficient, format!("{count} in {ms:.1} ms {are} too few to say"))
    })?
}

/// `from 470 IOPS to 240 IOPS`, as the cell's rate is read.
fn from_to(scene: &Scene<'_>, before: f64, after: f64) -> String {
    let words = |operations_per_second| rate(scene.stream, scene.pass, operations_per_second);
    format!("from {} to {}", words(before), words(after))
}

/// ` in pass 2 of 3`, or nothing where there is one.
fn of_pass(scene: &Scene<'_>) -> String {
    scene.pass_name.as_ref().map_or_else(String::new, |name| format!(" {name}"))
}

/// A rate that moved, unless heat explains it.
fn drifting(scene: &Scene<'_>) -> Option<Warning> {
    scene.pass.stop?;
    let Levels { before, after, .. } = scene.pass.assessment.drift?;
    if throttling(scene).is_some() {
        return None;
    }
    let (levels, of_pass) = (from_to(scene, before, after), of_pass(scene));
    warn(Flag::Drifting, format!("the rate moved {levels} while it was judged{of_pass}"))
}

/// Levels differ by more than this factor before a warm-up is worth a word.
const WARM_UP_FACTOR: f64 = 1.10;
/// A first level that lasted this long is a state of its own, not a warm-up: 2 s.
const STATE_TICKS_MIN: usize = 20;

/// Lasting changes that no other flag explains, and that are no warm-up.
fn changes<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = &'a Change> {
    let timed = scene.pass.stop.is_some();
    let ends_burst = |change: &Change| scene.stream.op.stores() && change.ends_burst();
    let of_state = |change: &Change| change.at_tick >= STATE_TICKS_MIN;
    let changes = scene.pass.changes.iter().filter(move |change| timed && of_state(change));
    changes.filter(move |change| !ends_burst(change))
}

/// A lasting change of the rate in either direction, wherever it lies: what was before it may have
/// been cut off as warm-up, and must not be lost.
fn left_steady_state(scene: &Scene<'_>) -> Option<Warning> {
    if credit(scene).is_some_and(|(_, stepped)| stepped) {
        return None;
    }
    let change = changes(scene).next()?;
    let per_second = 1e9 / TICK_NS as f64;
    let levels = from_to(
        scene,
        change.operations_per_tick_before * per_second,
        change.operations_per_tick_after * per_second,
    );
    let at_s = change.at_tick as f64 / per_second;
    let is_cut = change.at_tick <= scene.pass.assessment.warm_up_ticks + STATE_TICKS_MIN / 2;
    let of = if is_cut && scene.pass.assessment.warm_up.is_some() { "the second" } else { "both" };
    let of_pass = of_pass(scene);
    warn(
        Flag::LeftSteadyState,
        format!("the rate went {levels} after {at_s:.1} s{of_pass}, and the headline is of {of}"),
    )
}

/// What was cut off, if it was another rate and nothing else says so.
fn warm_up(scene: &Scene<'_>) -> Option<Warning> {
    scene.pass.stop?;
    let Levels { at_seconds, before, after } = scene.pass.assessment.warm_up?;
    let differs = before.max(after) > WARM_UP_FACTOR * before.min(after);
    let cut_ticks = scene.pass.assessment.warm_up_ticks;
    let is_said = |change: &Change| change.at_tick <= cut_ticks + STATE_TICKS_MIN / 2;
    let is_burst = scene.stream.op.stores() && before > after;
    let said = is_burst
        || credit(scene).is_some_and(|(_, stepped)| stepped)
        || changes(scene).any(is_said);
    (differs && !said).then(|| {
        let [first, rest] = [before, after].map(|level| rate(scene.stream, scene.pass, level));
        let of_pass = of_pass(scene);
        warn(
            Flag::WarmUp,
            format!("the first {at_seconds:.1} s{of_pass} ran at {first}, the rest at {rest}"),
        )
    })?
}

fn cpu_limited(scene: &Scene<'_>) -> Option<Warning> {
    let percent = scene.busy * 100.0;
    (scene.busy > BUSY_MAX)
        .then(|| warn(Flag::CpuLimited, format!("a worker's processor was {percent:.0} % busy")))?
}

fn engine_limited(scene: &Scene<'_>) -> Option<Warning> {
    if scene.target.kind == TargetKind::Null || scene.engine_ns <= 0.0 || scene.pass.operations == 0
    {
        return None;
    }
    let workers = f64::from(scene.stream.threads);
    let each_ns = scene.pass.seconds * 1e9 * workers / scene.pass.operations as f64;
    let costs = each_ns / scene.engine_ns;
    (costs < ENGINE_COSTS_MIN).then(|| {
        let cost = scene.engine_ns;
        warn(
            Flag::EngineLimited,
            format!("{each_ns:.0} ns an operation against {cost:.0} ns of the engine's own"),
        )
    })?
}

/// Only where one drive's link carries everything: what several carry together depends on their
/// layout.
fn link_limited(scene: &Scene<'_>) -> Option<Warning> {
    let mut drives = scene.target.stack.iter().filter_map(|layer| layer.drive.as_ref());
    let (Some(drive), None) = (drives.next(), drives.next()) else { return None };
    let link = drive.link.as_ref()?;
    let full = link.bytes_per_s? as f64;
    let rate = scene.pass.assessment.bytes_per_second;
    (LINK_FULL * full..=LINK_EXCEEDED * full).contains(&rate).then(|| {
        let (rate, full) = (rate / 1e6, full / 1e6);
        warn(
            Flag::LinkLimited,
            format!("{rate:.0} MB/s of the {full:.0} MB/s that {} carries", link.negotiated),
        )
    })?
}

/// Share of the bytes read that memory may answer before the number is no longer the drive's.
const CACHED_MAX: f64 = 0.1;

/// Reads that the page cache answered; where nobody can look into it, reads that the drives did not
/// see.
fn cache_served(scene: &Scene<'_>) -> Option<Warning> {
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
    let seen = scene.after.drive_read_bytes?.saturating_sub(scene.before.drive_read_bytes?);
    (issued > 0 && (seen as f64) < (1.0 - CACHED_MAX) * issued as f64).then(|| {
        let (seen, issued) = (display_bytes(seen), display_bytes(issued));
        warn(Flag::CacheServed, format!("the drives saw {seen} of the {issued} read"))
    })?
}

/// A look into the page cache knows better than sizes do.
fn fits_in_memory(scene: &Scene<'_>) -> Option<Warning> {
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
fn not_durable(scene: &Scene<'_>) -> Option<Warning> {
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

/// Sectors beyond ours. A write through a file system brings metadata along, so only what cannot be
/// ours counts: reads while we write, writes while we read, and an excess in the direction that
/// nothing explains.
fn foreign_io(scene: &Scene<'_>) -> Option<Warning> {
    // Nobody else knows of a model's drives; an array's own reads for its parity are its own, and
    // so are the copies and the map of a managed volume.
    if matches!(scene.target.kind, TargetKind::Model | TargetKind::Flash) {
        return None;
    }
    let delta = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
    let read = delta(scene.after.drive_read_bytes, scene.before.drive_read_bytes)?;
    let written = delta(scene.after.drive_written_bytes, scene.before.drive_written_bytes)?;
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

fn steal(scene: &Scene<'_>) -> Option<Warning> {
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

fn compressible_data(scene: &Scene<'_>) -> Option<Warning> {
    // To a model all bytes are alike: it carries none.
    let carried = scene.target.kind != TargetKind::Model;
    let soft = carried && scene.stream.contents.is_compressible() && scene.stream.op.stores();
    soft.then(|| warn(Flag::CompressibleData, format!("the data was `{}`", scene.stream.contents)))?
}

fn has_power_loss_protection(target: &TargetInfo) -> bool {
    let mut drives = target.stack.iter().filter_map(|layer| layer.drive.as_ref());
    drives.any(|drive| drive.power_loss_protection == Some(true))
}

fn volatile_cache(scene: &Scene<'_>) -> Option<Warning> {
    let on = scene.target.flags.contains(&Flag::VolatileCache);
    let synced = |tree: &TreeCell| tree.sync != TreeSync::None;
    let durable = is_durable(scene.stream) || scene.cell.tree.as_ref().is_some_and(synced);
    (on && scene.stream.op.stores() && !durable)
        .then(|| warn(Flag::VolatileCache, "the drive's volatile write cache was on".into()))?
}

fn lying_flush(scene: &Scene<'_>) -> Option<Warning> {
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

/// Writes that a cache took, or that one took until it was full.
fn burst(scene: &Scene<'_>) -> Option<Warning> {
    let Burst { cache, share, lasting_iops, .. } = scene.pass.burst?;
    let name = cache.name();
    let of_pass = of_pass(scene);
    let fall = scene.pass.changes.iter().find(|change| change.ends_burst());
    let seen = match (fall.filter(|_| lasting_iops.is_some()), share) {
        (Some(fall), _) => {
            let per_second = 1e9 / TICK_NS as f64;
            let levels = from_to(
                scene,
                fall.operations_per_tick_before * per_second,
                fall.operations_per_tick_after * per_second,
            );
            let bytes = display_bytes(fall.bytes_until);
            format!("after {bytes} the rate fell {levels}{of_pass}: the {name} was full")
        }
        (None, share) => {
            let percent = share.unwrap_or(1.0) * 100.0;
            let bytes = display_bytes(scene.moved.1);
            format!(
                "{percent:.0} % of the {bytes} written{of_pass} stayed in the {name}, and the rate \
                 that lasts was not seen"
            )
        }
    };
    warn(Flag::Burst, seen)
}

/// What a limiter was seen to do, and whether the rate stepped down to it.
fn credit(scene: &Scene<'_>) -> Option<(String, bool)> {
    // Nobody sells credit for a model's time, and its rate may well sit still.
    let unlimited =
        matches!(scene.target.kind, TargetKind::Null | TargetKind::Model | TargetKind::Memory);
    if scene.stream.is_paced() || unlimited {
        return None;
    }
    let Some(found) = burst_credit(&scene.pass.ticks, TICK_NS) else {
        return held(scene).map(|seen| (seen, false));
    };
    let in_turn = scene.stream.threads == 1 && scene.stream.queue_depth == 1;
    if in_turn && is_spindle_rate(found.plateau.iops) {
        return None;
    }
    let (rate, even) = (found.plateau.iops, found.plateau.variation * 100.0);
    Some(match found.before {
        None => (format!("the rate sat at {rate:.0} IOPS within {even:.1} %, like a quota"), false),
        Some(before) => {
            let (from, at_s) = (before.iops, found.from_tick as f64 * TICK_NS as f64 / 1e9);
            let seen =
                format!("the rate stepped from {from:.0} to {rate:.0} IOPS after {at_s:.1} s");
            (seen + ", like spent credit", true)
        }
    })
}

/// More in flight than this may share a bottleneck that serves them unfairly and evenly.
const HELD_DEPTH_MAX: u32 = 8;
/// Larger blocks may be held by a link.
const HELD_BLOCK_BYTES_MAX: u32 = 16 << 10;

/// Reads that wait for one another and yet come at a rate that is held: a bucket pays for them.
/// Writes may have a beat of their own, such as a page that is full.
fn held(scene: &Scene<'_>) -> Option<String> {
    let (stream, pass) = (scene.stream, scene.pass);
    let in_flight = u32::from(stream.threads) * stream.queue_depth;
    let is_small = in_flight <= HELD_DEPTH_MAX && stream.block_bytes <= HELD_BLOCK_BYTES_MAX;
    let timed = pass.stop.is_some() && scene.cell.streams.len() == 1;
    if stream.op != Op::Read || !is_small || !timed {
        return None;
    }
    let warm_up = pass.assessment.warm_up_ticks;
    let held = held_rate(&pass.ticks, warm_up, TICK_NS, &pass.latencies)?;
    let varies = pass.latencies.variation()? * 100.0;
    let seen = format!(
        "the rate was held at {:.0} IOPS while latencies varied by {varies:.0} %, like a quota",
        held.iops
    );
    Some(seen)
}

fn spent_credit(scene: &Scene<'_>) -> Option<Warning> {
    let (seen, _) = credit(scene)?;
    warn(Flag::BurstCredit, seen)
}

fn throttling(scene: &Scene<'_>) -> Option<Warning> {
    let (before_c, after_c) =
        scene.before.temperature_celsius.zip(scene.after.temperature_celsius)?;
    let temperatures = Temperatures { before_c, after_c };
    let found = falling_slope(&scene.pass.ticks, Some(temperatures))?;
    (found.cause == Cause::Throttling).then(|| {
        let percent = found.fall_relative * 100.0;
        warn(
            Flag::ThermalThrottling,
            format!("the rate fell by {percent:.0} % while the drive went from {before_c:.0} to {after_c:.0} °C"),
        )
    })?
}

fn depth_not_reached(scene: &Scene<'_>) -> Option<Warning> {
    if scene.stream.is_paced() || scene.cell.streams.len() > 1 {
        return None;
    }
    let pass = scene.pass;
    let asked = f64::from(scene.stream.threads) * f64::from(scene.stream.queue_depth);
    // Latencies leave the warm-up out; then the rate must, too.
    let rate = match pass.assessment.operations_per_second {
        judged if pass.stop.is_some() && judged > 0.0 => judged,
        _ => pass.operations as f64 / pass.seconds,
    };
    // A slot that flushes is not idle.
    let flushes = pass.flushes.count() as f64 / pass.seconds;
    let flushing = little(flushes, pass.flushes.mean().unwrap_or(0.0) / 1e9);
    let failing =
        little(pass.errors.count as f64 / pass.seconds, pass.failed.mean().unwrap_or(0.0) / 1e9);
    let reached = little(rate, pass.latencies.mean()? / 1e9) + flushing + failing;
    (asked > 1.0 && reached < DEPTH_REACHED * asked).then(|| {
        warn(Flag::DepthNotReached, format!("{reached:.1} of {asked:.0} operations were in flight"))
    })?
}

fn coordinated_omission(scene: &Scene<'_>) -> Option<Warning> {
    let intended = scene.pass.latencies.percentile(0.99)? as f64;
    let service = scene.pass.services.percentile(0.99)? as f64;
    (intended > OMISSION_MAX * service).then(|| {
        warn(
            Flag::CoordinatedOmission,
            format!(
                "p99 is {:.0} us from the intended start, {:.0} us from submission",
                intended / 1e3,
                service / 1e3
            ),
        )
    })?
}

fn rate_not_reached(scene: &Scene<'_>) -> Option<Warning> {
    let rate = scene.stream.rate?;
    let asked = rate.mean();
    let reached = match rate.is_ramp() {
        true => scene.pass.operations as f64 / scene.pass.seconds,
        false => scene.pass.assessment.operations_per_second,
    };
    (reached < 0.95 * asked)
        .then(|| warn(Flag::RateNotReached, format!("{reached:.0} of {asked:.0} IOPS were kept")))?
}

/// Random reads at depth 1 over a large area are a seek probe.
fn rotational_mismatch(scene: &Scene<'_>) -> Option<Warning> {
    let says_rotational = scene
        .target
        .stack
        .last()
        .and_then(|layer| layer.queue.as_ref())
        .is_some_and(|queue| queue.rotational == Some(true));
    let stream = scene.stream;
    let is_probe = stream.op == Op::Read
        && matches!(stream.pattern, Pattern::Random | Pattern::Permutation)
        && stream.io.caching == Caching::Direct
        && (stream.threads, stream.queue_depth) == (1, 1)
        && scene.area.bytes >= SEEK_AREA_BYTES;
    let mean_ns = scene.pass.latencies.mean()?;
    (says_rotational && is_probe && mean_ns < SEEK_NS_MIN).then(|| {
        let us = mean_ns / 1e3;
        warn(
            Flag::RotationalMismatch,
            format!("the system says rotational, a random read takes {us:.0} us"),
        )
    })?
}

/// What holds for every cell on the target.
fn inherited(scene: &Scene<'_>) -> Vec<Warning> {
    let own = |warning: &&Warning| warning.flag.is_some_and(|flag| flag != Flag::VolatileCache);
    scene.target.warnings.iter().filter(own).cloned().collect()
}
