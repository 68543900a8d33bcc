//! Whether one pass of an open loop held a condition, and how sure that is.

use super::{Condition, Limited};
use record::{KneeProbe, KneeVerdict};
use stats::{Delta, Histogram, TICK_NS, ratio, trend};

/// What a pass of an open loop saw.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoop<'p> {
    /// Its number.
    pub pass: u32,
    /// Operations per second that were to be started.
    pub rate: f64,
    /// Latencies from the intended start, by the tick in which they ended.
    pub latencies: &'p [(usize, Delta)],
    /// Whole ticks of the pass.
    pub ticks: usize,
}

/// Of the pass, at its beginning: caches and queues come to what they will be.
const WARM_UP: f64 = 0.1;
/// Parts that the rest is cut into.
const BATCHES: usize = 10;
/// Latency that grows by more than this share of the time that passes: more comes than is done.
const GROWTH_MAX: f64 = 0.003;
/// Less of what was to come was done.
const DONE_MIN: f64 = 0.97;
/// 95 % of all Poisson counts lie within so many of their roots.
const Z: f64 = 1.96;
/// Where none of n operations was beyond, the share is below 3 / n in 95 of 100 cases.
const NONE_SEEN: f64 = 3.0;

/// Judges a pass by its batches of ticks.
pub fn judge(condition: &Condition, seen: OpenLoop<'_>) -> KneeProbe {
    let first = (seen.ticks as f64 * WARM_UP).ceil() as usize;
    let judged = seen.ticks.saturating_sub(first);
    let mut batches = vec![Batch::default(); BATCHES.min(judged.max(1))];
    let mut all = Histogram::new();
    let within = |tick: &usize| (first..seen.ticks).contains(tick);
    for (tick, delta) in seen.latencies.iter().filter(|(tick, _)| within(tick)) {
        let at = (tick - first) * batches.len() / judged;
        batches[at].add(condition, delta);
        all.add_delta(delta);
    }
    let operations: f64 = batches.iter().map(|batch| batch.operations).sum();
    let scale = condition.allowed_share().unwrap_or(condition.limit_ns as f64);
    let sums: Vec<(f64, f64)> =
        batches.iter().map(|batch| (batch.part, batch.operations)).collect();
    let part: f64 = batches.iter().map(|batch| batch.part).sum();
    let half_width = ratio(&sums).map(|seen| {
        // Batches that look alike by chance know no more than independent operations would.
        let counted = match condition.what {
            Limited::Percentile(_) if part == 0.0 => NONE_SEEN / operations,
            Limited::Percentile(_) => Z * part.sqrt() / operations,
            Limited::Mean => 0.0,
        };
        seen.half_width.max(counted) / scale
    });
    let value = if operations > 0.0 { part / operations / scale } else { f64::MAX };
    let wanted = seen.rate * judged as f64 * TICK_NS as f64 / 1e9;
    let overload = grows(&batches, judged) || operations < DONE_MIN * wanted;
    let enough = operations >= condition.operations_min() * (1.0 - 1e-9);
    // What fails may do so by few operations; that none of few was beyond says nothing.
    let verdict = match half_width {
        _ if overload && (enough || value > 1.0) => KneeVerdict::Fails,
        Some(half) if enough && value + half < 1.0 => KneeVerdict::Holds,
        Some(half) if value - half > 1.0 => KneeVerdict::Fails,
        _ => KneeVerdict::Open,
    };
    KneeProbe {
        pass: seen.pass,
        rate: seen.rate,
        operations: operations as u64,
        latency_ns: match condition.what {
            Limited::Percentile(percent) => all.percentile(percent / 100.0).map(|ns| ns as f64),
            Limited::Mean => all.mean(),
        },
        ratio: value,
        ratio_half_width: half_width,
        overload,
        verdict,
    }
}

/// What a part of a pass holds.
#[derive(Clone, Copy, Default)]
struct Batch {
    operations: f64,
    /// Operations beyond the limit; of a mean, the sum of latencies.
    part: f64,
    sum_ns: f64,
}

impl Batch {
    fn add(&mut self, condition: &Condition, delta: &Delta) {
        self.operations += delta.count() as f64;
        self.sum_ns += delta.sum() as f64;
        self.part += match condition.what {
            Limited::Percentile(_) => delta.above(condition.limit_ns),
            Limited::Mean => delta.sum() as f64,
        };
    }
}

/// Whether latencies grow with the time, as they do when more comes than is done.
fn grows(batches: &[Batch], ticks: usize) -> bool {
    let done: Vec<&Batch> = batches.iter().filter(|batch| batch.operations > 0.0).collect();
    let means: Vec<f64> = done.iter().map(|batch| batch.sum_ns / batch.operations).collect();
    let batch_ns = ticks as f64 / batches.len() as f64 * TICK_NS as f64;
    trend(&means).is_some_and(|trend| {
        trend.slope > GROWTH_MAX * batch_ns && trend.slope > 1.5 * trend.half_width
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ticks` ticks of `count` operations each, of these latencies in turn.
    fn pass(ticks: usize, count: u64, ns: impl Fn(usize, u64) -> u64) -> Vec<(usize, Delta)> {
        let mut histogram = Histogram::new();
        let tick = |tick| {
            (0..count).for_each(|at| histogram.record(ns(tick, at)));
            let mut delta = Delta::new();
            histogram.drain_delta(&mut delta);
            (tick, delta)
        };
        (0..ticks).map(tick).collect()
    }

    fn judged(condition: &str, rate: f64, latencies: &[(usize, Delta)]) -> KneeProbe {
        let condition = condition.parse().expect("a condition");
        judge(&condition, OpenLoop { pass: 1, rate, latencies, ticks: latencies.len() })
    }

    #[test]
    fn a_pass_holds_or_fails_by_the_share_beyond_the_limit() {
        // One of 200 operations is slow, or four of 200: one of 100 may be.
        let slow = |every: u64| {
            move |_, at: u64| if at.is_multiple_of(every) { 3_000_000 } else { 100_000 }
        };
        let holds = judged("p99<1ms", 10_000.0, &pass(50, 1000, slow(200)));
        assert_eq!(holds.verdict, KneeVerdict::Holds);
        assert!((holds.ratio - 0.5).abs() < 1e-9, "{holds:?}");
        let fails = judged("p99<1ms", 10_000.0, &pass(50, 1000, slow(50)));
        assert_eq!((fails.verdict, fails.overload), (KneeVerdict::Fails, false));
        assert!((fails.latency_ns.expect("enough") / 3e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn too_few_operations_leave_it_open() {
        let few = judged("p99<1ms", 100.0, &pass(50, 10, |_, _| 100_000));
        assert_eq!(few.verdict, KneeVerdict::Open, "{few:?}");
        assert_eq!(judged("mean<1ms", 100.0, &pass(50, 10, |_, _| 9)).verdict, KneeVerdict::Holds);
    }

    /// A stall that comes now and then is in few batches: the interval must know that it was few.
    #[test]
    fn stalls_in_one_batch_widen_the_interval() {
        let stalled = |tick, at| if tick == 30 && at < 700 { 5_000_000 } else { 100_000 };
        let seen = judged("p99<1ms", 10_000.0, &pass(50, 1000, stalled));
        assert!(seen.ratio > 1.0 && seen.verdict == KneeVerdict::Open, "{seen:?}");
    }

    /// More came than was done, yet within the pass no latency was beyond a long limit.
    #[test]
    fn a_queue_that_grows_fails_whatever_the_limit() {
        let growing = |tick: usize, _| 1_000_000 + tick as u64 * 2_000_000;
        let seen = judged("p99<1s", 10_000.0, &pass(50, 1000, growing));
        assert_eq!((seen.verdict, seen.overload), (KneeVerdict::Fails, true));
        let less = judged("p99<1s", 12_000.0, &pass(50, 1000, |_, _| 1_000_000));
        assert_eq!((less.verdict, less.overload), (KneeVerdict::Fails, true), "5/6 was done");
    }

    #[test]
    fn a_mean_is_judged_by_its_batches() {
        let ns = |_, at: u64| if at.is_multiple_of(2) { 500_000 } else { 900_000 };
        assert_eq!(judged("mean<1ms", 10_000.0, &pass(50, 1000, ns)).verdict, KneeVerdict::Holds);
        let seen = judged("mean<600us", 10_000.0, &pass(50, 1000, ns));
        assert_eq!((seen.verdict, seen.latency_ns), (KneeVerdict::Fails, Some(700_000.0)));
    }

    #[test]
    fn a_pass_in_which_nothing_was_done_fails_or_is_open() {
        let nothing = judged("p99<1ms", 100.0, &[]);
        assert_eq!((nothing.operations, nothing.latency_ns), (0, None));
        assert!(nothing.verdict != KneeVerdict::Holds && nothing.ratio.is_finite());
    }
}
