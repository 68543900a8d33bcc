//! One cell of a run: the headline numbers of one stream, and everything they were made of.

use crate::{
    Burst, CachePass, FastCachePass, Flag, IoErrors, ManagedFlash, Meaning, Replay, Warning,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One measured stream of one cell of the method, all passes together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Index into the record's `targets`.
    pub target: usize,
    /// Unique in the method, such as `random-read-4K-t1-q32`.
    pub name: String,
    /// What it does, in words: `random read 4 KiB, 32 deep`; absent in records before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The cell whose streams ran at the same time; equal to `name` for a cell of one stream.
    pub group: String,
    /// `read`, `write`, `mixed`, `read_modify_write`, `flush`...
    pub op: String,
    /// `seq`, `random`, `permutation`, `zipf`, `hot_cold`, `backward`, `strided`, `rewrite`.
    pub pattern: String,
    /// Bytes of one operation.
    pub block_bytes: u64,
    /// Workers that ran at once.
    pub threads: u32,
    /// Operations each worker kept outstanding.
    pub queue_depth: u32,
    /// Other coordinates of the method's table, such as `file_bytes` or `pass_of`.
    pub coordinates: BTreeMap<String, serde_json::Value>,
    /// `sync`, `uring`, `stdio`, `null`.
    pub engine: String,
    /// `buffered`, `direct`, `direct,sync`, `direct,dsync`...
    pub io: String,
    /// Operations per second: the median of the passes.
    pub iops: f64,
    /// 95 % interval of `iops`; absent when one pass was too short for any.
    pub iops_ci95: Option<[f64; 2]>,
    /// Bytes per second: the median of the passes.
    pub bytes_per_s: f64,
    /// 95 % interval of `bytes_per_s`.
    pub bytes_per_s_ci95: Option<[f64; 2]>,
    /// Half of the interval over the value.
    pub half_width_relative: Option<f64>,
    /// Mean of the passes, in operations per second.
    pub iops_mean: f64,
    /// Standard deviation over passes, in operations per second; absent with one pass.
    pub iops_stddev: Option<f64>,
    /// Counts over all passes, warm-up included.
    pub total: Operations,
    /// Latency of operations after the warm-up, over all passes.
    pub latency: Option<Latency>,
    /// Requests that failed, over all passes: none of them is in the rate or in `latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<IoErrors>,
    /// Latency of the stream's own flushes (fsync every n), over all passes.
    pub flush_latency: Option<Latency>,
    /// Little's law: mean operations in flight.
    pub depth_achieved: Option<f64>,
    /// Processor time per operation.
    pub cpu: Option<CpuCost>,
    /// What the rate is the rate of, where the page cache lies in between: `from the page cache`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// What a replay of a trace did besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// How the passes ended.
    pub bound: Bound,
    /// Verdict flags, sorted.
    pub flags: Vec<Flag>,
    /// Sentences that explain the flags.
    pub warnings: Vec<Warning>,
    /// Each pass by itself, in the order of passes.
    pub passes: Vec<Pass>,
}

impl Cell {
    /// Flags it, once, with what was seen and the cure.
    pub fn flag(&mut self, flag: Flag, seen: &str) {
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
            self.flags.sort_unstable();
            let text = format!("{seen}: {}", flag.cure());
            self.warnings.push(Warning { flag: Some(flag), text });
        }
    }

    /// What its rate is the rate of; `None` where no page cache was looked at.
    pub fn meaning(&self) -> Option<Meaning> {
        Meaning::of(&self.passes)
    }
}

/// How a cell's passes ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// By the stop rule or a time limit.
    Time,
    /// After a given number of bytes or operations.
    Bytes,
}

/// Plain counts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Operations {
    /// Completed operations.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Wall (or virtual) seconds.
    pub seconds: f64,
}

/// Latency from submission (closed loop) or intended start (open loop) to completion.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Operations counted.
    pub n: u64,
    /// Arithmetic mean, ns.
    pub mean_ns: f64,
    /// Smallest, ns.
    pub min_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
    /// The median, where the sample allows it; as in `percentiles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The 99th percentile, where the sample allows it; as in `percentiles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// Percentiles that the sample allows: `n(1-p) >= 10`.
    pub percentiles: Vec<Percentile>,
    /// The whole histogram: `[lower_ns, count]` of every bucket that is not empty, by `lower_ns`.
    /// Buckets are log-linear, 64 to a power of two.
    pub histogram: Vec<[u64; 2]>,
}

/// One percentile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Percentile {
    /// In percent: 50, 90, 99, 99.9...
    pub percent: f64,
    /// Nanoseconds, within 0.8 %.
    pub ns: u64,
}

impl Latency {
    /// The value at `percent`, if the sample allowed it.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles.iter().find(|at| at.percent == percent).map(|at| at.ns)
    }
}

/// What an operation cost the host.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CpuCost {
    /// Processor time of the workers per operation, ns.
    pub ns_per_operation: f64,
    /// Processor time over wall time of the busiest worker, 0 to 1.
    pub busy: f64,
}

/// One pass over the cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pass {
    /// Which pass, from 0.
    pub pass: u32,
    /// Position in the run's random order, from 0, over all cells and targets.
    pub order: u32,
    /// Seconds from the start of the run.
    pub started_s: f64,
    /// Operations per second after the warm-up (or over the whole, for a byte-bounded cell).
    pub iops: f64,
    /// Bytes per second, likewise.
    pub bytes_per_s: f64,
    /// Half of the within-pass 95 % interval over the value; absent if too short.
    pub half_width_relative: Option<f64>,
    /// Seconds cut off as warm-up.
    pub warm_up_s: f64,
    /// Whether both steadiness limits held.
    pub steady: bool,
    /// Counts, warm-up included.
    pub total: Operations,
    /// Seconds of the final flush, when the method times one.
    pub flush_s: Option<f64>,
    /// The rate over time.
    pub series: Series,
    /// The longest time without an answer, where it was out of all proportion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// Sudden lasting changes of the rate that were found.
    pub transitions: Vec<Transition>,
    /// What a managed flash volume below did meanwhile, for all streams of the cell together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_flash: Option<ManagedPass>,
    /// What a cache on flash in front of modelled disks did meanwhile, for all streams of the cell
    /// together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssd_cache: Option<SsdCachePass>,
    /// What the page cache had to do with it, where the file was opened to go through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<CachePass>,
    /// What the caches of modelled drives did meanwhile, for all streams of the cell together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fast_caches: Vec<FastCachePass>,
    /// Whether its writes, or the first of them, went into a cache that filled up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
}

/// What a managed flash volume did during a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ManagedPass {
    /// What could be written without cleaning when the pass began.
    pub clean_pool_before_bytes: u64,
    /// What could be when it had ended: as long as some is left, the pass was a burst.
    pub clean_pool_after_bytes: u64,
    /// Written by the host, zeroes not counted.
    pub host_bytes: u64,
    /// Copied by the cleaner.
    pub copied_bytes: u64,
    /// Map, headers, records and padding.
    pub metadata_bytes: u64,
}

impl ManagedPass {
    /// What happened between two looks at the same volume.
    pub fn between(before: &ManagedFlash, after: &ManagedFlash) -> Self {
        let metadata = |volume: &ManagedFlash| {
            volume.map_bytes + volume.header_bytes + volume.record_bytes + volume.padding_bytes
        };
        Self {
            clean_pool_before_bytes: before.clean_pool_bytes,
            clean_pool_after_bytes: after.clean_pool_bytes,
            host_bytes: after.host_bytes - before.host_bytes,
            copied_bytes: after.copied_bytes - before.copied_bytes,
            metadata_bytes: metadata(after) - metadata(before),
        }
    }
}

/// What a cache on flash in front of disks did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SsdCachePass {
    /// Bytes that were read of it.
    pub read_bytes: u64,
    /// Of them, what flash had.
    pub read_hit_bytes: u64,
    /// Bytes that were written to it.
    pub written_bytes: u64,
    /// Of them, to blocks of which flash had some.
    pub write_hit_bytes: u64,
    /// Bytes written to flash, fills and the map's among them.
    pub flash_written_bytes: u64,
    /// Bytes that were written back to the disks.
    pub written_back_bytes: u64,
}

impl SsdCachePass {
    /// What happened between two looks at the same cache.
    pub fn between(before: &Self, after: &Self) -> Self {
        Self {
            read_bytes: after.read_bytes - before.read_bytes,
            read_hit_bytes: after.read_hit_bytes - before.read_hit_bytes,
            written_bytes: after.written_bytes - before.written_bytes,
            write_hit_bytes: after.write_hit_bytes - before.write_hit_bytes,
            flash_written_bytes: after.flash_written_bytes - before.flash_written_bytes,
            written_back_bytes: after.written_back_bytes - before.written_back_bytes,
        }
    }
}

/// A rate over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Length of a tick, ns.
    pub tick_ns: u64,
    /// Operations completed in each tick.
    pub operations: Vec<u64>,
    /// Latency over the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencySeries>,
}

/// Latency over time: of stretches of ticks, each by itself. Where a stretch had too few operations
/// for a percentile (`n(1-p) >= 10`) it has none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LatencySeries {
    /// Ticks of a stretch: 1, unless the pass is long or slow. The last stretch may be shorter.
    pub ticks: u32,
    /// Half of the operations took no longer, ns.
    pub p50_ns: Vec<Option<u64>>,
    /// 99 % of the operations took no longer, ns.
    pub p99_ns: Vec<Option<u64>>,
    /// The longest, ns.
    pub max_ns: Vec<Option<u64>>,
}

/// A time in which nothing was answered, or one request was not.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stall {
    /// Seconds into the pass when it began.
    pub at_s: f64,
    /// How long it was.
    pub seconds: f64,
    /// Operations per second of the pass without that time.
    pub iops_without: f64,
}

/// A lasting change of the rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Transition {
    /// Seconds into the pass.
    pub at_s: f64,
    /// Bytes moved until then.
    pub at_bytes: u64,
    /// Bytes per second before.
    pub before_bytes_per_s: f64,
    /// Bytes per second after.
    pub after_bytes_per_s: f64,
}
