//! Latency over time, from the histogram of every tick.

use record::LatencySeries;
use stats::{Delta, Histogram};

/// Stretches of a pass, at most: more than a picture has columns says nothing more.
const STRETCHES_MAX: usize = 600;
/// Stretches of a slow pass, at least, before they are lengthened for the sake of a percentile.
const STRETCHES_MIN: usize = 20;
/// Operations of a stretch that has a 99th percentile.
const OPERATIONS_MIN: u64 = 1000;
/// Ticks of a stretch.
const LENGTHS: [usize; 3] = [1, 2, 5];

/// Percentiles of stretches of these latencies, which ended in ticks below `ticks`. `None` without
/// a whole tick.
pub(super) fn over_time(latencies: &[(usize, Delta)], ticks: usize) -> Option<LatencySeries> {
    if ticks == 0 {
        return None;
    }
    let counted = latencies.iter().filter(|(tick, _)| *tick < ticks);
    let operations: u64 = counted.map(|(_, delta)| delta.count()).sum();
    let length = length(ticks, operations);
    let stretches = ticks.div_ceil(length);
    let mut of_stretch: Vec<Vec<&Delta>> = vec![Vec::new(); stretches];
    for (tick, delta) in latencies.iter().filter(|(tick, _)| *tick < ticks) {
        of_stretch[tick / length].push(delta);
    }
    let mut series = LatencySeries { ticks: length as u32, ..LatencySeries::default() };
    let mut histogram = Histogram::new();
    for deltas in of_stretch {
        histogram.clear();
        deltas.into_iter().for_each(|delta| histogram.add_delta(delta));
        series.p50_ns.push(histogram.percentile(0.5));
        series.p99_ns.push(histogram.percentile(0.99));
        series.max_ns.push(histogram.max());
    }
    Some(series)
}

/// The least length that leaves no more stretches than a picture shows, each with operations enough
/// for a percentile where there are some stretches nevertheless.
fn length(ticks: usize, operations: u64) -> usize {
    let lengths = (0..).flat_map(|power| LENGTHS.map(|digit| digit * 10usize.pow(power)));
    let mut last = 1;
    for length in lengths {
        let stretches = ticks.div_ceil(length);
        if stretches < STRETCHES_MIN && ticks.div_ceil(last) <= STRETCHES_MAX {
            return last;
        }
        let enough = operations / stretches as u64 >= OPERATIONS_MIN;
        if stretches <= STRETCHES_MAX && enough {
            return length;
        }
        last = length;
    }
    unreachable!("some power of ten is as long as any pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(count: usize, operations: u64, ns: impl Fn(usize) -> u64) -> Vec<(usize, Delta)> {
        let mut histogram = Histogram::new();
        let tick = |tick| {
            (0..operations).for_each(|_| histogram.record(ns(tick)));
            let mut delta = Delta::new();
            histogram.drain_delta(&mut delta);
            (tick, delta)
        };
        (0..count).map(tick).collect()
    }

    /// A p99 of the whole pass said nothing of when it was bad.
    #[test]
    fn every_tick_of_a_fast_pass_has_its_own_percentiles() {
        let slow_in_the_middle = |tick| if tick == 25 { 9_000_000 } else { 100_000 };
        let seen = over_time(&ticks(50, 2000, slow_in_the_middle), 50).expect("ticks");
        assert_eq!((seen.ticks, seen.p99_ns.len()), (1, 50));
        let p99 = |at: usize| seen.p99_ns[at].expect("2,000 operations") as f64;
        assert!((p99(25) / 9e6 - 1.0).abs() < 0.01 && (p99(24) / 1e5 - 1.0).abs() < 0.01);
        assert_eq!(seen.max_ns[25], Some(9_000_000));
    }

    #[test]
    fn a_long_pass_and_a_slow_one_have_longer_stretches() {
        let long = over_time(&ticks(18_000, 10, |_| 5000), 18_000).expect("ticks");
        assert_eq!((long.ticks, long.p50_ns.len()), (100, 180));
        assert!(long.p99_ns.iter().all(Option::is_some));
        let slow = over_time(&ticks(100, 3, |_| 5000), 100).expect("ticks");
        assert_eq!((slow.ticks, slow.p50_ns.len()), (5, 20));
        assert_eq!((slow.p99_ns[3], slow.p50_ns[3], slow.max_ns[3]), (None, None, Some(5000)));
    }

    #[test]
    fn a_tick_without_an_answer_has_no_latency_and_what_came_late_is_left_out() {
        let mut seen = ticks(30, 1000, |_| 700);
        seen.retain(|(tick, _)| *tick != 7);
        let series = over_time(&seen, 29).expect("ticks");
        assert_eq!(
            (series.max_ns[7], series.max_ns[6], series.max_ns.len()),
            (None, Some(700), 29)
        );
        assert_eq!(over_time(&seen, 0), None);
    }

    #[test]
    fn a_length_exists_for_every_pass() {
        for (count, operations) in [(1, 0), (1, u64::MAX), (864_000, 3), (864_000, u64::MAX)] {
            let length = length(count, operations);
            assert!(count.div_ceil(length) <= STRETCHES_MAX, "{count} ticks: {length}");
        }
    }
}
