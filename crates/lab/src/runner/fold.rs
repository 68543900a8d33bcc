//! Passes become cells: headline, interval, latency, and the flags with their sentences.

use super::{
    cause::cause,
    over_time::over_time,
    pass::{PassDone, StreamPass, is_timed},
    stall::stall,
};
use crate::{
    method::{CellSpec, FinalFlush},
    plan,
    workload::{ErrorLog, Op, Rate, Stream, replay::Speed, tree::TreeCell},
};
use record::{
    Bound, CachePass, Cell, CpuCost, IoErrors, IoFailure, Latency, ManagedPass, Operations, Pass,
    Percentile, Series, SsdCachePass, Transition, Warning,
};
use stats::{Change, Histogram, Host, PassRate, TICK_NS, headline};
use std::collections::BTreeMap;

/// Percentiles that are printed and stored, where the sample allows.
const PERCENTS: [f64; 8] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Where a pass stands in the run.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub target: usize,
    pub pass: u32,
    pub order: u32,
    pub started_s: f64,
    /// How many passes, the last ones, make the headline.
    pub window: usize,
    pub host: Host,
    /// What a managed flash volume below did meanwhile.
    pub managed_flash: Option<ManagedPass>,
    /// What a cache on flash did meanwhile.
    pub ssd_cache: Option<SsdCachePass>,
}

/// Adds one pass to the cell of each stream, making it when it is the first.
pub(super) fn add_pass(
    cells: &mut Vec<Cell>,
    spec: &CellSpec,
    place: Place,
    done: &PassDone,
    found: Vec<Vec<Warning>>,
    page_cache: &[Option<CachePass>],
) {
    for (index, ((stream, pass), warnings)) in
        spec.streams.iter().zip(&done.streams).zip(found).enumerate()
    {
        let name = stream_name(spec, stream);
        let known = cells.iter().position(|cell| cell.name == name && cell.target == place.target);
        let at = known.unwrap_or_else(|| {
            cells.push(fresh(spec, stream, place.target, &name));
            cells.len() - 1
        });
        let cell = &mut cells[at];
        cell.engine.clone_from(&done.engines[index].0);
        cell.passes.push(Pass {
            page_cache: page_cache[index],
            fast_caches: done.fast_caches.clone(),
            ..one_pass(spec, place, pass)
        });
        cell.passes.sort_by_key(|pass| pass.pass);
        add_latency(&mut cell.latency, &pass.latencies);
        add_latency(&mut cell.flush_latency, &pass.flushes);
        add_errors(&mut cell.errors, pass);
        add_replay(cell, spec, pass);
        cell.total = total(&cell.passes);
        cell.means = cell.meaning().map(|meaning| meaning.to_string());
        add_cpu(cell, pass, done.busy);
        for warning in warnings {
            if !cell.warnings.iter().any(|known| known.flag == warning.flag) {
                cell.warnings.push(warning);
            }
        }
        cell.flags = cell.warnings.iter().filter_map(|warning| warning.flag).collect();
        cell.flags.sort();
        cell.flags.dedup();
        sum_up(cell, stream, place);
    }
}

/// A stream's name in the record: the cell's, with the stream's own where there are several.
pub(super) fn stream_name(spec: &CellSpec, stream: &Stream) -> String {
    match (spec.streams.len(), stream.name.as_str()) {
        (1, _) => spec.name.clone(),
        (_, own) => format!("{}/{own}", spec.name),
    }
}

/// A cell that holds no pass yet.
pub(super) fn fresh(spec: &CellSpec, stream: &Stream, target: usize, name: &str) -> Cell {
    let mut coordinates: BTreeMap<String, serde_json::Value> =
        spec.coordinates.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    if let Some(bytes) = spec.file_bytes {
        coordinates.insert("file_bytes".to_owned(), bytes.into());
    }
    if let Op::Mixed { read_percent } = stream.op {
        coordinates.insert("read_percent".to_owned(), read_percent.into());
    }
    if let Op::ReadDirty { dirty_percent } = stream.op {
        coordinates.insert("dirty_percent".to_owned(), dirty_percent.into());
    }
    if let Some(tree) = &spec.tree {
        coordinates.extend(of_tree(tree));
    }
    coordinates.extend(of_pacing(stream));
    if stream.contents.is_compressible() {
        coordinates.insert("data".to_owned(), stream.contents.to_string().into());
    }
    if spec.flush == FinalFlush::Timed {
        coordinates.insert("flush".to_owned(), "timed".into());
    }
    Cell {
        target,
        name: name.to_owned(),
        title: Some(plan::stream_of(spec, stream)),
        group: spec.name.clone(),
        op: match &spec.replay {
            Some(_) => stream.name.clone(),
            None => stream.op.name().to_owned(),
        },
        pattern: match (&spec.tree, &spec.replay) {
            (Some(tree), _) => tree.order.name().to_owned(),
            (None, Some(_)) => "trace".to_owned(),
            (None, None) => stream.pattern.name().to_owned(),
        },
        block_bytes: match &spec.replay {
            Some(replay) => replay.mean_bytes(&stream.name),
            None => stream.block_bytes_mean().round() as u64,
        },
        threads: u32::from(stream.threads),
        queue_depth: stream.queue_depth,
        coordinates,
        engine: String::new(),
        io: stream.io.to_string(),
        iops: 0.0,
        iops_ci95: None,
        bytes_per_s: 0.0,
        bytes_per_s_ci95: None,
        half_width_relative: None,
        iops_mean: 0.0,
        iops_stddev: None,
        total: Operations::default(),
        latency: None,
        errors: None,
        flush_latency: None,
        depth_achieved: None,
        cpu: None,
        means: None,
        replay: None,
        bound: if is_timed(spec) { Bound::Time } else { Bound::Bytes },
        flags: Vec::new(),
        warnings: Vec::new(),
        passes: Vec::new(),
    }
}

/// What tells apart streams that ask at other times, or elsewhere, than their pattern alone says.
fn of_pacing(stream: &Stream) -> Vec<(String, serde_json::Value)> {
    let mut words: Vec<(&str, serde_json::Value)> = Vec::new();
    words.extend(stream.mix.as_ref().map(|mix| ("block_mix", mix.to_string().into())));
    words.extend(stream.rate.map(|rate| match rate {
        Rate::Constant(rate) => ("rate", rate.into()),
        Rate::Poisson(_) | Rate::Ramp { .. } => ("rate", rate.to_string().into()),
    }));
    if let Some(think) = stream.think {
        words.push(("think_time_us", (think.time_ns / 1000).into()));
        words.push(("think_every", think.every.into()));
    }
    if stream.start_after_s > 0.0 {
        words.push(("start_after", stream.start_after_s.into()));
    }
    if stream.sequential_percent > 0.0 {
        words.push(("sequential_share", stream.sequential_percent.into()));
    }
    if stream.offset_increment_bytes > 0 {
        words.push(("offset_increment_bytes", stream.offset_increment_bytes.into()));
    }
    words.extend(stream.moves.map(|moves| ("moves_every", moves.to_string().into())));
    words.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What tells one tree from another.
fn of_tree(tree: &TreeCell) -> Vec<(String, serde_json::Value)> {
    let layout = &tree.layout;
    let mut words: Vec<(&str, serde_json::Value)> = vec![("files", layout.files.into())];
    if tree.op.moves_bytes() {
        words.push(("file_size", layout.size.to_string().into()));
    }
    words.push(("directories", layout.directories.into()));
    words.push(("levels", layout.depth.into()));
    words.push(("names", layout.naming.to_string().into()));
    if tree.op.writes() {
        words.push(("sync", tree.sync.to_string().into()));
    }
    words.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn one_pass(spec: &CellSpec, place: Place, pass: &StreamPass) -> Pass {
    let timed_flush = if spec.flush == FinalFlush::Timed { pass.flush_seconds } else { None };
    let seconds = pass.seconds + timed_flush.unwrap_or(0.0);
    // A flush that counts as the cell's is not in the ticks.
    let judged =
        pass.stop.is_some() && timed_flush.is_none() && pass.assessment.operations_per_second > 0.0;
    let (iops, bytes_per_s) = if judged {
        (pass.assessment.operations_per_second, pass.assessment.bytes_per_second)
    } else {
        (pass.operations as f64 / seconds, pass.bytes as f64 / seconds)
    };
    Pass {
        pass: place.pass,
        order: place.order,
        started_s: place.started_s,
        iops,
        bytes_per_s,
        // A byte-bounded pass counts everything, its flush too: the ticks' interval is not about
        // that.
        half_width_relative: if judged { pass.assessment.half_width_relative } else { None },
        warm_up_s: if judged {
            pass.assessment.warm_up_ticks as f64 * TICK_NS as f64 / 1e9
        } else {
            0.0
        },
        steady: pass.assessment.steady,
        total: Operations {
            operations: pass.operations,
            bytes: pass.bytes,
            errors: pass.errors.count,
            seconds: pass.seconds,
        },
        flush_s: pass.flush_seconds,
        series: Series {
            tick_ns: TICK_NS,
            operations: pass.ticks.iter().map(|tick| tick.operations).collect(),
            latency: over_time(&pass.by_tick, pass.ticks.len()),
        },
        stall: stall(pass),
        transitions: pass.changes.iter().map(transition).collect(),
        managed_flash: place.managed_flash,
        ssd_cache: place.ssd_cache,
        page_cache: None,
        fast_caches: Vec::new(),
        burst: pass.burst,
    }
}

fn transition(change: &Change) -> Transition {
    Transition {
        at_s: change.at_tick as f64 * TICK_NS as f64 / 1e9,
        at_bytes: change.bytes_until,
        before_bytes_per_s: change.bytes_per_tick_before * 1e9 / TICK_NS as f64,
        after_bytes_per_s: change.bytes_per_tick_after * 1e9 / TICK_NS as f64,
    }
}

fn total(passes: &[Pass]) -> Operations {
    passes.iter().fold(Operations::default(), |sum, pass| Operations {
        operations: sum.operations + pass.total.operations,
        bytes: sum.bytes + pass.total.bytes,
        errors: sum.errors + pass.total.errors,
        seconds: sum.seconds + pass.total.seconds,
    })
}

/// Merges a pass's histogram into the record's, exactly, bucket by bucket.
fn add_latency(into: &mut Option<Latency>, histogram: &Histogram) {
    if histogram.is_empty() {
        return;
    }
    let mut all = histogram.clone();
    if let Some(before) = into {
        let sum_ns = (before.mean_ns * before.n as f64).round() as u128;
        all.add_buckets(&before.histogram, sum_ns, before.min_ns, before.max_ns);
    }
    *into = Some(latency(&all));
}

fn latency(histogram: &Histogram) -> Latency {
    let sparse = histogram.to_sparse();
    let at = |percent: f64| {
        let ns = histogram.percentile(percent / 100.0)?;
        Some(Percentile { percent, ns })
    };
    Latency {
        n: histogram.count(),
        mean_ns: histogram.mean().unwrap_or(0.0),
        min_ns: sparse.min_ns,
        max_ns: sparse.max_ns,
        p50_ns: histogram.percentile(0.5),
        p99_ns: histogram.percentile(0.99),
        percentiles: PERCENTS.into_iter().filter_map(at).collect(),
        histogram: sparse.buckets.iter().map(|bucket| [bucket.lower_ns, bucket.count]).collect(),
    }
}

/// Failed operations for the record.
pub(super) fn errors(log: &ErrorLog, latencies: &Histogram) -> IoErrors {
    let failure = |failure: &crate::workload::Failure| IoFailure {
        operation: failure.operation.to_owned(),
        offset: failure.offset,
        bytes: u64::from(failure.bytes),
        reason: cause(failure.error),
    };
    let mut errors = IoErrors {
        count: log.count,
        first: log.first.iter().map(failure).collect(),
        latency: None,
    };
    add_latency(&mut errors.latency, latencies);
    errors
}

fn add_errors(into: &mut Option<IoErrors>, pass: &StreamPass) {
    if pass.errors.count > 0 {
        let known = into.get_or_insert_default();
        known.add(&errors(&pass.errors, &Histogram::new()));
        add_latency(&mut known.latency, &pass.failed);
    }
}

fn add_replay(cell: &mut Cell, spec: &CellSpec, pass: &StreamPass) {
    let (Some(replay), Some(replayed)) = (&spec.replay, &pass.replayed) else { return };
    let survey = &replay.survey;
    let known = cell.replay.get_or_insert_with(|| record::Replay {
        trace: survey.name.clone(),
        format: survey.format.clone(),
        volume: survey.volume.clone(),
        speed: match replay.speed {
            Speed::Times(times) => Some(times),
            Speed::Max => None,
        },
        remarks: survey.remarks.clone(),
        ..record::Replay::default()
    });
    add_latency(&mut known.lateness, &replayed.lateness);
    add_latency(&mut known.service, &pass.services);
    known.wrapped += replayed.wrapped;
    known.aligned += replayed.aligned;
}

fn add_cpu(cell: &mut Cell, pass: &StreamPass, busy: f64) {
    if pass.cpu_ns == 0 || pass.operations == 0 {
        return;
    }
    let before = cell.total.operations - pass.operations;
    let earlier = cell.cpu.map_or(0.0, |cpu| cpu.ns_per_operation * before as f64);
    cell.cpu = Some(CpuCost {
        ns_per_operation: (earlier + pass.cpu_ns as f64) / cell.total.operations as f64,
        busy: cell.cpu.map_or(busy, |cpu| cpu.busy.max(busy)),
    });
}

/// The headline over the last `window` passes so far.
fn sum_up(cell: &mut Cell, stream: &Stream, place: Place) {
    let judged = &cell.passes[cell.passes.len().saturating_sub(place.window)..];
    let pass_rate = |pass: &Pass| PassRate {
        rate: pass.iops,
        half_width_relative: pass.half_width_relative,
        at_seconds: pass.started_s + pass.total.seconds / 2.0,
    };
    let rates = headline(&judged.iter().map(pass_rate).collect::<Vec<_>>(), place.host);
    // Files of a tree differ in size, as do blocks of a mix.
    let block = match stream.op {
        _ if stream.mix.is_some() => cell.total.bytes as f64 / cell.total.operations.max(1) as f64,
        _ if cell.replay.is_some() => cell.total.bytes as f64 / cell.total.operations.max(1) as f64,
        Op::Tree(_) => cell.total.bytes as f64 / cell.total.operations.max(1) as f64,
        _ => cell.block_bytes as f64,
    };
    cell.iops = rates.median;
    cell.iops_ci95 = rates.ci95;
    cell.bytes_per_s = rates.median * block;
    cell.bytes_per_s_ci95 = rates.ci95.map(|[low, high]| [low * block, high * block]);
    cell.half_width_relative = rates
        .ci95
        .filter(|_| rates.median > 0.0)
        .map(|[low, high]| (high - low) / 2.0 / rates.median);
    cell.iops_mean = rates.mean;
    cell.iops_stddev = rates.standard_deviation;
    let timed = cell.replay.as_ref().is_some_and(|replay| replay.speed.is_some());
    let closed = stream.rate.is_none() && !timed;
    cell.depth_achieved = cell
        .latency
        .as_ref()
        .filter(|_| closed)
        .map(|latency| stats::little(cell.iops, latency.mean_ns / 1e9));
}
