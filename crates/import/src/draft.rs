//! A run in the making: what a reader found, before it is a record.

use crate::ImportError;
use record::{
    Bound, Cell, Environment, FORMAT, HostFacts, Latency, LeftOut, MethodInfo, Operations, Pass,
    Percentile, Record, Series, State, TargetInfo, TargetKind, Tool, VERSION, Warning,
};
use serde_json::Value;
use stats::{Host, PassRate, headline};
use std::collections::BTreeMap;

/// Operations that must lie above a percentile for it to be kept, as in runs of our own.
const ABOVE_MIN: f64 = 10.0;
/// Two of the program's own figures for one thing may differ by so much: rounding.
pub(crate) const ROUNDING: f64 = 0.01;

/// What a program measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Draft {
    /// The program, as in its package.
    pub tool: &'static str,
    /// Its version, where it tells.
    pub version: String,
    /// RFC 3339, where it tells.
    pub started: Option<String>,
    /// The machine's name, where it tells.
    pub host: String,
    /// Its operating system, where it tells.
    pub distribution: Option<String>,
    /// Which table shows it best.
    pub layout: &'static str,
    /// Its command line, where it tells.
    pub command: Vec<String>,
    /// What was measured, in its words.
    pub targets: Vec<String>,
    pub cells: Vec<CellDraft>,
    pub left_out: Vec<LeftOut>,
    /// What holds for all cells.
    pub notes: Vec<String>,
}

/// One result. What is not known is 0 or empty.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct CellDraft {
    pub name: String,
    /// `name` where empty.
    pub group: String,
    pub target: usize,
    pub op: &'static str,
    pub pattern: String,
    pub block_bytes: u64,
    pub threads: u32,
    pub depth: u32,
    pub engine: String,
    pub io: String,
    pub coordinates: BTreeMap<String, Value>,
    pub bounded_by_bytes: bool,
    pub passes: Vec<PassDraft>,
    pub flush_latency: Option<Latency>,
    pub notes: Vec<String>,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct PassDraft {
    pub iops: f64,
    pub bytes_per_s: f64,
    pub operations: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub errors: u64,
    pub latency: Option<Latency>,
}

impl Draft {
    pub fn new(tool: &'static str) -> Self {
        Self { tool, layout: "list", ..Self::default() }
    }

    /// The number of a target by its name.
    pub fn target(&mut self, name: &str) -> usize {
        let found = self.targets.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            self.targets.push(name.to_owned());
            self.targets.len() - 1
        })
    }

    /// Takes in a cell. One that repeats another is a further pass of it; one that only has its
    /// name gets another name.
    pub fn add(&mut self, mut cell: CellDraft) {
        if let Some(known) = self.cells.iter_mut().find(|known| known.is_like(&cell)) {
            known.passes.append(&mut cell.passes);
            known.notes.append(&mut cell.notes);
            known.notes.dedup();
            return;
        }
        let plain = cell.name.clone();
        for number in 2.. {
            if self.cells.iter().all(|known| known.name != cell.name) {
                break;
            }
            cell.name = format!("{plain}.{number}");
        }
        self.cells.push(cell);
    }

    pub fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.push(LeftOut { name: name.to_owned(), reason: reason.to_owned() });
    }

    pub fn note(&mut self, text: &str) {
        if self.notes.iter().all(|known| known != text) {
            self.notes.push(text.to_owned());
        }
    }

    /// The record of it.
    pub fn record(mut self, name: &str, bytes: &[u8], now: &str) -> Result<Record, ImportError> {
        if self.cells.is_empty() {
            let mut why = format!("{} measured nothing that is in it", self.tool);
            if let Some(left) = self.left_out.first() {
                why += &format!("; {}: {}", left.name, left.reason);
            }
            return Err(ImportError::Nothing(why));
        }
        if self.targets.is_empty() {
            self.targets.push(name.to_owned());
        }
        if self.started.is_none() {
            self.note("the file does not say when it was measured: the time is that of the import");
        }
        let mut warnings = vec![warning(&format!(
            "imported from {name}, which {} wrote: conditions, intervals and traps that drivelab \
             looks for are not known",
            self.tool
        ))];
        warnings.extend(self.notes.iter().map(|note| warning(note)));
        let cells: Vec<Cell> = self.cells.into_iter().map(CellDraft::cell).collect();
        Ok(Record {
            format: FORMAT.to_owned(),
            version: VERSION,
            id: id(bytes),
            state: State::Complete,
            error: None,
            tool: Tool { name: self.tool.to_owned(), version: self.version },
            command_line: self.command,
            labels: BTreeMap::new(),
            campaign: None,
            started: self.started.clone().unwrap_or_else(|| now.to_owned()),
            finished: None,
            time: "wall".to_owned(),
            seed: 0,
            targets: self.targets.iter().map(|text| target(text)).collect(),
            environment: Environment {
                host: HostFacts {
                    name: self.host,
                    distribution: self.distribution,
                    ..HostFacts::default()
                },
                ..Environment::default()
            },
            expectations: Vec::new(),
            knees: Vec::new(),
            power_cuts: None,
            method: MethodInfo {
                name: self.tool.to_owned(),
                title: None,
                layout: self.layout.to_owned(),
                grade: "imported".to_owned(),
                text: String::from_utf8_lossy(bytes).into_owned(),
                options: BTreeMap::new(),
                span_bytes: 0,
                passes: cells.iter().map(|cell| cell.passes.len()).max().unwrap_or(1) as u32,
                not_measured: None,
            },
            calibration: Vec::new(),
            cells,
            left_out: self.left_out,
            failed: Vec::new(),
            paired: Vec::new(),
            rounds: None,
            flags: Vec::new(),
            warnings,
        })
    }
}

impl CellDraft {
    /// Whether it is the same measurement, made again.
    fn is_like(&self, other: &Self) -> bool {
        let shape = |cell: &Self| {
            let texts = (cell.name.clone(), cell.group.clone(), cell.op, cell.pattern.clone());
            let counts = (cell.target, cell.block_bytes, cell.threads, cell.depth);
            (texts, counts, cell.engine.clone(), cell.io.clone(), cell.coordinates.clone())
        };
        shape(self) == shape(other)
    }

    /// Says so where the program's figures for one thing differ.
    pub fn check(&mut self, what: &str, a: f64, b: f64) {
        if crate::number::differ(a, b, ROUNDING) {
            let digits = |value: f64| format!("{value:.4e}");
            let (a, b) = (digits(a), digits(b));
            self.notes.push(format!(
                "the file contradicts itself, {what}: {a} and {b}; look at it before you use this"
            ));
        }
    }

    /// Of rate, block and bandwidth each says what the two others do.
    pub fn check_block(&mut self) {
        if self.block_bytes == 0 {
            return;
        }
        let rates: Vec<_> = self.passes.iter().map(|pass| (pass.iops, pass.bytes_per_s)).collect();
        for (iops, bytes_per_s) in rates {
            let block = self.block_bytes as f64;
            self.check("bytes a second against operations of this size", bytes_per_s, iops * block);
        }
    }

    fn cell(self) -> Cell {
        let total = |count: fn(&PassDraft) -> u64| sum(self.passes.iter().map(count));
        let seconds = |pass: &PassDraft| pass.seconds;
        let of = |rate: fn(&PassDraft) -> f64| {
            let mut at_seconds = 0.0;
            let rates = self.passes.iter().map(|pass| {
                at_seconds += pass.seconds;
                PassRate { rate: rate(pass), half_width_relative: None, at_seconds }
            });
            headline(&rates.collect::<Vec<_>>(), Host::Real)
        };
        let (iops, bytes) = (of(|pass| pass.iops), of(|pass| pass.bytes_per_s));
        let half = |value: &stats::Headline| {
            let [low, high] = value.ci95?;
            (value.median > 0.0).then(|| (high - low) / 2.0 / value.median)
        };
        let bound = if self.bounded_by_bytes { Bound::Bytes } else { Bound::Time };
        let mut started_s = 0.0;
        let passes = self.passes.iter().enumerate().map(|(at, pass)| {
            let started = started_s;
            started_s += pass.seconds;
            pass.pass(at as u32, started)
        });
        let passes: Vec<Pass> = passes.collect();
        let group = if self.group.is_empty() { self.name.clone() } else { self.group.clone() };
        Cell {
            title: None,
            replay: None,
            target: self.target,
            group,
            op: self.op.to_owned(),
            pattern: self.pattern.clone(),
            block_bytes: self.block_bytes,
            threads: self.threads,
            queue_depth: self.depth,
            engine: self.engine.clone(),
            io: self.io.clone(),
            iops: iops.median,
            iops_ci95: iops.ci95,
            bytes_per_s: bytes.median,
            bytes_per_s_ci95: bytes.ci95,
            half_width_relative: half(&iops).or_else(|| half(&bytes)),
            iops_mean: iops.mean,
            iops_stddev: iops.standard_deviation,
            total: Operations {
                operations: total(|pass| pass.operations),
                bytes: total(|pass| pass.bytes),
                errors: total(|pass| pass.errors),
                seconds: self.passes.iter().map(seconds).sum(),
            },
            latency: latency_of(&self.passes).map(named),
            errors: None,
            depth_achieved: None,
            cpu: None,
            means: None,
            bound,
            flags: Vec::new(),
            warnings: self.notes.iter().map(|note| warning(note)).collect(),
            passes,
            flush_latency: self.flush_latency.map(named),
            coordinates: self.coordinates,
            name: self.name,
        }
    }
}

impl PassDraft {
    fn pass(&self, at: u32, started_s: f64) -> Pass {
        Pass {
            pass: at,
            order: at,
            started_s,
            iops: self.iops,
            bytes_per_s: self.bytes_per_s,
            half_width_relative: None,
            warm_up_s: 0.0,
            steady: false,
            total: Operations {
                operations: self.operations,
                bytes: self.bytes,
                errors: self.errors,
                seconds: self.seconds,
            },
            flush_s: None,
            series: Series::default(),
            stall: None,
            transitions: Vec::new(),
            managed_flash: None,
            ssd_cache: None,
            page_cache: None,
            fast_caches: Vec::new(),
            burst: None,
        }
    }
}

/// With the two percentiles that programs ask for by name.
fn named(latency: Latency) -> Latency {
    let at = |percent| latency.percentile(percent);
    Latency { p50_ns: at(50.0), p99_ns: at(99.0), ..latency }
}

/// Of one pass its own; of several what adds up exactly, and percentiles of the common histogram
/// where every pass has one.
fn latency_of(passes: &[PassDraft]) -> Option<Latency> {
    if let [pass] = passes {
        return pass.latency.clone();
    }
    let each: Vec<&Latency> =
        passes.iter().map(|pass| pass.latency.as_ref()).collect::<Option<_>>()?;
    let n = sum(each.iter().map(|latency| latency.n));
    let weighted = each.iter().map(|latency| latency.mean_ns * latency.n as f64).sum::<f64>();
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    let whole = each.iter().all(|latency| !latency.histogram.is_empty());
    for [ns, count] in each.iter().flat_map(|latency| &latency.histogram).filter(|_| whole) {
        let all = buckets.entry(*ns).or_default();
        *all = all.saturating_add(*count);
    }
    let histogram: Vec<[u64; 2]> = buckets.into_iter().map(|(ns, count)| [ns, count]).collect();
    let percents = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];
    let percentiles = percents.iter().filter_map(|&percent| at(&histogram, percent));
    Some(Latency {
        n,
        mean_ns: if n > 0 { weighted / n as f64 } else { 0.0 },
        min_ns: each.iter().map(|latency| latency.min_ns).min().unwrap_or(0),
        max_ns: each.iter().map(|latency| latency.max_ns).max().unwrap_or(0),
        percentiles: kept(n, percentiles.collect()),
        histogram,
        ..Latency::default()
    })
}

/// What a file says may be more than a count can hold.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The middle of the bucket in which a percentile lies.
fn at(histogram: &[[u64; 2]], percent: f64) -> Option<Percentile> {
    let all = sum(histogram.iter().map(|[_, count]| *count));
    let wanted = (all as f64 * percent / 100.0).ceil() as u64;
    let mut seen = 0_u64;
    let bucket = histogram.iter().find(|[_, count]| {
        seen = seen.saturating_add(*count);
        seen >= wanted
    })?;
    Some(Percentile { percent, ns: bucket[0] + width(bucket[0]) / 2 })
}

/// Width of the bucket that begins at `ns`: 64 to a power of two.
pub(crate) fn width(ns: u64) -> u64 {
    1 << ns.checked_ilog2().unwrap_or(0).saturating_sub(6)
}

/// The percentiles that so many operations allow.
pub(crate) fn kept(n: u64, percentiles: Vec<Percentile>) -> Vec<Percentile> {
    let mut percentiles = percentiles;
    percentiles.retain(|at| n as f64 * (1.0 - at.percent / 100.0) >= ABOVE_MIN - 1e-9);
    percentiles
}

fn warning(text: &str) -> Warning {
    Warning { flag: None, text: text.to_owned() }
}

fn target(text: &str) -> TargetInfo {
    let is_path = text.starts_with('/');
    TargetInfo {
        path: is_path.then(|| text.to_owned()),
        ..TargetInfo::of(text, TargetKind::Imported, 0)
    }
}

/// The same content has the same id: FNV-1a, 64 bits.
fn id(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    format!("{hash:016x}")
}
