//! Searches for a rate: the cells of one by rate, and in words what it found.

use crate::number;
use record::{Cell, Knee, KneeOutcome};

/// The cells of a search by rate, the closed loop, whose rate is 0, last.
pub(crate) fn curve<'c>(knee: &Knee, cells: &[&'c Cell]) -> Vec<(f64, &'c Cell)> {
    let mut rates: Vec<f64> = knee.probes.iter().map(|probe| probe.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let named = |name: String| {
        let is_it = move |cell: &&&Cell| cell.name == name && cell.target == knee.target;
        cells.iter().find(is_it).copied()
    };
    let of_rate = |rate: f64| Some((rate, named(format!("{}@{rate}", knee.cell))?));
    let closed = named(knee.cell.clone()).map(|cell| (0.0, cell));
    rates.into_iter().filter_map(of_rate).chain(closed).collect()
}

/// What was found.
pub(crate) fn sentence(knee: &Knee) -> String {
    let condition = condition(knee);
    let rate = knee.iops.map(|iops| format!("{} IOPS", number::iops(iops)));
    let Some(outcome) = knee.outcome else {
        return match rate {
            Some(rate) => format!("{condition} holds up to {rate} so far; the search goes on"),
            None => format!("the search for the highest rate with {condition} has not ended"),
        };
    };
    let between = knee.iops_ci95.map_or_else(
        || ", without an interval: passes near it came out either way".to_owned(),
        |[low, high]| format!(" (95 %: {} to {})", number::iops(low), number::iops(high)),
    );
    match (outcome, rate) {
        (KneeOutcome::Latency, Some(rate)) => format!("{condition} holds up to {rate}{between}"),
        (KneeOutcome::Capacity, Some(rate)) => format!(
            "{condition} holds up to {rate}{between}: at every rate that the target keeps up with"
        ),
        (KneeOutcome::AllHold, Some(rate)) => {
            format!("{condition} holds at every rate that was tried, up to {rate}: no knee was met")
        }
        _ => {
            let least = knee.probes.iter().min_by(|a, b| a.rate.total_cmp(&b.rate));
            let seen = least.map_or_else(String::new, |probe| {
                let rate = number::iops(probe.rate);
                match probe.latency_ns {
                    Some(ns) => {
                        let (what, ns) = (limited(knee), number::duration_ns(ns));
                        format!(": at {rate} IOPS, the lowest tried, {what} is {ns}")
                    }
                    None => format!(", down to {rate} IOPS"),
                }
            });
            format!("no rate holds {condition}{seen}{}", cut_short(knee))
        }
    }
}

/// Why no lower rate was tried, where the time forbade it: a search goes down to a 4,096th of the
/// closed loop.
fn cut_short(knee: &Knee) -> &'static str {
    let lowest = knee.probes.iter().map(|probe| probe.rate).fold(f64::INFINITY, f64::min);
    match knee.closed_loop_iops {
        Some(closed_loop) if lowest > closed_loop / 2048.0 => {
            "; lower rates have too few operations in the time that a pass may take"
        }
        _ => "",
    }
}

/// `p99 < 1 ms`.
pub(crate) fn condition(knee: &Knee) -> String {
    format!("{} < {}", limited(knee), limit(knee.limit_ns as f64))
}

/// As short as it was typed.
fn limit(ns: f64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, factor) = units.into_iter().find(|it| ns >= it.1).unwrap_or(("ns", 1.0));
    format!("{} {unit}", ns / factor)
}

/// `p99`, `mean`.
pub(crate) fn limited(knee: &Knee) -> String {
    knee.percent.map_or_else(|| "mean".to_owned(), |percent| format!("p{percent}"))
}
