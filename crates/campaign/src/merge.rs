//! Tasks that ran at the same time as one load: rates are added, histograms merged, and percentiles
//! are those of all operations together.
//!
//! The mean of percentiles, which others print, stands beside them: it is no percentile of
//! anything, and hides the host that was slow.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use record::{Cell, Latency};
use stats::Histogram;

/// The percentiles that are told, in percent, where there are operations enough for them.
const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// One cell on all targets at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Merged {
    /// The cell in words.
    pub cell: String,
    /// How many were put together.
    pub n: usize,
    /// Operations per second, all together.
    pub iops: f64,
    /// Bytes per second, all together.
    pub bytes_per_s: f64,
    /// Whether the rate is told as bandwidth.
    pub is_large_block: bool,
    /// Operations whose latency is known.
    pub operations: u64,
    /// Of all operations.
    pub percentiles: Vec<MergedPercentile>,
}

/// A percentile of all operations, and what averaging would have made of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MergedPercentile {
    /// In percent.
    pub percent: f64,
    /// Of the merged histogram, ns.
    pub ns: u64,
    /// The mean of the parts' own percentiles, ns; none where a part has none.
    pub averaged_ns: Option<f64>,
}

/// Adds a latency of a record to a histogram.
fn add(histogram: &mut Histogram, latency: &Latency) {
    let sum_ns = (latency.mean_ns * latency.n as f64).round().max(0.0) as u128;
    histogram.add_buckets(&latency.histogram, sum_ns, latency.min_ns, latency.max_ns);
}

/// Puts cells of one name together.
///
/// # Panics
/// Without cells.
pub fn merged(cells: &[&Cell]) -> Merged {
    let first = cells.first().expect("a cell to be merged");
    let latencies: Vec<&Latency> =
        cells.iter().filter_map(|cell| cell.latency.as_ref()).filter(|it| it.n > 0).collect();
    let mut all = Histogram::new();
    latencies.iter().for_each(|latency| add(&mut all, latency));
    let percentile = |percent: f64| {
        let parts: Option<Vec<u64>> =
            latencies.iter().map(|latency| part(latency).percentile(percent / 100.0)).collect();
        let mean =
            |parts: Vec<u64>| parts.iter().map(|&ns| ns as f64).sum::<f64>() / parts.len() as f64;
        Some(MergedPercentile {
            percent,
            ns: all.percentile(percent / 100.0)?,
            averaged_ns: parts.map(mean),
        })
    };
    Merged {
        cell: first.title.clone().unwrap_or_else(|| first.name.clone()),
        n: cells.len(),
        iops: cells.iter().map(|cell| cell.iops).sum(),
        bytes_per_s: cells.iter().map(|cell| cell.bytes_per_s).sum(),
        is_large_block: first.is_large_block(),
        operations: all.count(),
        percentiles: PERCENTS.into_iter().filter_map(percentile).collect(),
    }
}

fn part(latency: &Latency) -> Histogram {
    let mut histogram = Histogram::new();
    add(&mut histogram, latency);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;
    use proptest::prelude::*;

    /// As a record keeps it.
    fn latency(values: &[u64]) -> Latency {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&ns| histogram.record(ns));
        let sparse = histogram.to_sparse();
        Latency {
            n: values.len() as u64,
            mean_ns: histogram.mean().unwrap_or(0.0),
            min_ns: sparse.min_ns,
            max_ns: sparse.max_ns,
            histogram: sparse.buckets.iter().map(|it| [it.lower_ns, it.count]).collect(),
            ..Latency::default()
        }
    }

    fn cell(values: &[u64], iops: f64) -> Cell {
        let mut cell: Cell = serde_json::from_value(serde_json::json!({
            "target": 0, "name": "reads", "group": "reads", "op": "read", "pattern": "random",
            "block_bytes": 4096, "threads": 1, "queue_depth": 1, "coordinates": {},
            "engine": "sync", "io": "direct", "iops": iops, "iops_ci95": null,
            "bytes_per_s": iops * 4096.0, "bytes_per_s_ci95": null, "half_width_relative": null,
            "iops_mean": iops, "iops_stddev": null,
            "total": {"operations": 0, "bytes": 0, "errors": 0, "seconds": 0.0},
            "latency": null, "flush_latency": null, "depth_achieved": null, "cpu": null,
            "bound": "time", "flags": [], "warnings": [], "passes": [],
        }))
        .expect("a cell");
        cell.latency = Some(latency(values));
        cell
    }

    /// Fifteen hosts answer in 100 us, one in 10 ms: of all operations, a sixteenth is slow, so the
    /// 99th percentile is 10 ms. The mean of the hosts' own is 0.7 ms, which nobody saw.
    #[test]
    fn one_slow_host_of_sixteen_is_in_the_merged_percentile_and_hidden_by_the_mean() {
        let fast = cell(&[100_000; 2_000], 10_000.0);
        let slow = cell(&[10_000_000; 2_000], 100.0);
        let mut cells = vec![&fast; 15];
        cells.push(&slow);
        let merged = merged(&cells);
        assert_eq!((merged.n, merged.iops, merged.operations), (16, 150_100.0, 32_000));
        let p99 = merged.percentiles.iter().find(|it| it.percent == 99.0).expect("enough of them");
        assert_eq!(p99.ns, 10_000_000);
        let averaged = p99.averaged_ns.expect("each has its own");
        assert!((averaged - 718_750.0).abs() < 10_000.0, "{averaged}");
    }

    proptest! {
        /// Sixteen hosts' histograms, kept in records and merged, have the percentiles of one
        /// histogram into which every value went.
        #[test]
        fn merged_percentiles_are_those_of_all_values_in_one_histogram(
            seed in any::<u64>(), counts in prop::array::uniform16(0usize..800),
        ) {
            let mut rng = Rng::new(seed, 1);
            let mut all = Histogram::new();
            let mut host = |count: usize| -> Cell {
                let typical = 1_000 << rng.below(14);
                let values: Vec<u64> = (0..count)
                    .map(|_| {
                        let spread = typical << rng.below(6);
                        typical + rng.below(spread)
                    })
                    .collect();
                values.iter().for_each(|&ns| all.record(ns));
                cell(&values, 1.0)
            };
            let cells: Vec<Cell> = counts.into_iter().map(&mut host).collect();
            let merged = merged(&cells.iter().collect::<Vec<_>>());
            prop_assert_eq!(merged.operations, all.count());
            for percent in PERCENTS {
                let found = merged.percentiles.iter().find(|it| it.percent == percent);
                prop_assert_eq!(found.map(|it| it.ns), all.percentile(percent / 100.0));
            }
        }
    }
}
