//! What a cell says about a metric, with an interval.

use super::{Entry, Metric};
use crate::terminal::words::half_width;
use record::{Cell, Latency};

/// The 97.5 % quantile of the normal distribution.
const Z_975: f64 = 1.959_964;

/// A measured value in the metric's unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// The figure to print.
    pub value: f64,
    /// 95 % interval; the value itself twice where it is exact, none where one short pass gave
    /// none.
    pub ci95: Option<[f64; 2]>,
}

impl Reading {
    /// What was counted, not measured.
    pub fn exact(value: f64) -> Self {
        Self { value, ci95: Some([value, value]) }
    }
}

/// The cell's value of the entry's metric; none where the cell cannot give it.
pub(super) fn of_cell(entry: &Entry, cell: &Cell) -> Option<Reading> {
    match entry.metric {
        Metric::Iops => Some(Reading { value: cell.iops, ci95: cell.iops_ci95 }),
        Metric::Bandwidth => Some(Reading { value: cell.bytes_per_s, ci95: cell.bytes_per_s_ci95 }),
        Metric::Latency | Metric::AccessTime => {
            let latency = cell.latency.as_ref()?;
            match entry.percentile {
                None => Some(mean(cell, latency)),
                Some(percent) => percentile(cell, latency, percent),
            }
        }
        Metric::Capacity | Metric::Power | Metric::Endurance => None,
    }
}

/// In a closed loop the mean latency is the depth over the rate: both are known equally well.
fn mean(cell: &Cell, latency: &Latency) -> Reading {
    let ends =
        |half: f64| [latency.mean_ns * (1.0 - half).max(0.0), latency.mean_ns * (1.0 + half)];
    Reading { value: latency.mean_ns, ci95: half_width(cell).map(ends) }
}

/// The values at the ranks between which the percentile lies in 95 of 100 samples, by the binomial
/// distribution's normal approximation, which asks for ten operations on either side. It takes
/// operations for independent, which neighbours are not: the cell's own half-width, which knows of
/// that, is added at both ends.
fn percentile(cell: &Cell, latency: &Latency, percent: f64) -> Option<Reading> {
    let share = percent / 100.0;
    let n = latency.histogram.iter().map(|[_, count]| count).sum::<u64>() as f64;
    if n * share.min(1.0 - share) < 10.0 {
        return None;
    }
    let spread = Z_975 * (n * share * (1.0 - share)).sqrt();
    let value =
        latency.percentile(percent).map_or_else(|| at_rank(latency, n * share), |ns| ns as f64);
    let ci95 = half_width(cell).map(|half| {
        [
            at_rank(latency, n * share - spread).min(value) * (1.0 - half).max(0.0),
            at_rank(latency, n * share + spread).max(value) * (1.0 + half),
        ]
    });
    Some(Reading { value, ci95 })
}

/// The middle of the bucket that holds the operation of this rank, counted from the fastest.
fn at_rank(latency: &Latency, rank: f64) -> f64 {
    let mut below = 0.0;
    for [lower_ns, count] in &latency.histogram {
        below += *count as f64;
        if below >= rank {
            return *lower_ns as f64 + bucket_ns(*lower_ns) / 2.0;
        }
    }
    latency.max_ns as f64
}

/// Width of the bucket that begins there: 64 to a power of two, one nanosecond each below 128 ns.
fn bucket_ns(lower_ns: u64) -> f64 {
    2f64.powi((lower_ns.max(64).ilog2() as i32) - 6)
}
