//! The traps of measuring, noticed after each pass: every check is a pure function of what was
//! seen.

mod memory;
mod others;
mod rates;

use super::{
    flush::FlushCost,
    fold,
    pass::StreamPass,
    remedy::{Remedy, rate},
    stall::stall,
};
use crate::{
    method::CellSpec,
    target::Observation,
    workload::{Area, Caching, Op, Pages, Pattern, Stream},
};
use block::{PAGE_BYTES, counted, display_bytes, one_or};
use memory::{cache_served, fits_in_memory, lying_flush, not_durable, volatile_cache};
use others::{allocating, degraded, foreign_io, resync, steal};
use rates::{burst, drifting, left_steady_state, spent_credit, throttling, warm_up};
use record::{CachePass, Condition, Flag, TargetInfo, TargetKind, Warning};
use stats::little;

/// Worker's processor time over wall time above which the host is the limit.
const BUSY_MAX: f64 = 0.9;
/// The device should take at least this many times the engine's own cost.
const ENGINE_COSTS_MIN: f64 = 5.0;
/// Share of a link's rate that counts as full.
const LINK_FULL: f64 = 0.95;
/// What is faster than this share of the link did not come over it.
const LINK_EXCEEDED: f64 = 1.05;
/// Blocks are cut if requests are so many times smaller than they could be.
const CUT_MIN: f64 = 1.5;
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
    let checks: [fn(&Scene<'_>) -> Option<Warning>; 28] = [
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
        cut_transfers,
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

/// ` in pass 2 of 3`, or nothing where there is one.
fn of_pass(scene: &Scene<'_>) -> String {
    scene.pass_name.as_ref().map_or_else(String::new, |name| format!(" {name}"))
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

/// Blocks in more pages than the drive takes in a command, where its counters say that it got them
/// in pieces: pages may lie side by side, and then do not count each.
fn cut_transfers(scene: &Scene<'_>) -> Option<Warning> {
    let stream = scene.stream;
    let in_pages = stream.io.caching == Caching::Direct && stream.io.pages == Pages::Usual;
    if !in_pages || stream.op.carries_nothing() || scene.cell.streams.len() > 1 {
        return None;
    }
    let queues = || scene.target.stack.iter().filter_map(|layer| layer.queue.as_ref());
    let segments = queues().filter_map(|queue| queue.segments_max).min()?;
    // What is too long for one command is cut in any pages.
    let transfer = queues().filter_map(|queue| queue.transfer_bytes_max).min()?;
    let whole = transfer.min(stream.block_bytes.into());
    if whole.div_ceil(PAGE_BYTES as u64) <= segments {
        return None;
    }
    let grown = |of| scene.after.grown_since(&scene.before, of);
    let bytes = grown(|seen| seen.drive_read_bytes)? + grown(|seen| seen.drive_written_bytes)?;
    let each = bytes.checked_div(grown(|seen| seen.drive_requests)?)?;
    (each as f64 * CUT_MIN <= whole as f64).then(|| {
        let (block, each) = (display_bytes(stream.block_bytes.into()), display_bytes(each));
        let seen = format!(
            "blocks of {block} came to the drive in requests of {each}, for it takes {segments} \
             pages of memory in one"
        );
        warn(Flag::CutTransfers, seen)
    })?
}

fn compressible_data(scene: &Scene<'_>) -> Option<Warning> {
    // To a model all bytes are alike: it carries none.
    let carried = scene.target.kind != TargetKind::Model;
    let soft = carried && scene.stream.contents.is_compressible() && scene.stream.op.stores();
    soft.then(|| warn(Flag::CompressibleData, format!("the data was `{}`", scene.stream.contents)))?
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
