//! The base series: what completed in each tick, made coarser where ticks are too empty, and cut
//! where the warm-up ends.

use super::{moments, step::Step};

/// The base tick: 100 ms.
pub const TICK_NS: u64 = 100_000_000;

/// The longest sample that ticks are gathered into: 1 s.
const SAMPLE_NS_MAX: u64 = 1_000_000_000;
/// How many completions a sample should hold, so that counting noise stays under 1/sqrt(50) = 14 %.
const COMPLETIONS_PER_SAMPLE: u64 = 50;

/// What completed within one tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tick {
    /// Operations completed.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
}

impl Tick {
    /// Both counts of two ticks together.
    fn plus(self, other: Self) -> Self {
        Self { operations: self.operations + other.operations, bytes: self.bytes + other.bytes }
    }
}

/// Gathers ticks into samples: the smallest whole number of ticks a sample that makes the average
/// sample hold 50 completions, and at most 1 s. Returns the samples and the number of ticks in
/// each.
///
/// A last, incomplete sample is left out. Ticks without completions stay in: a stall is part of the
/// truth.
pub fn coalesce(ticks: &[Tick], tick_ns: u64) -> (Vec<Tick>, usize) {
    assert!(tick_ns > 0, "a tick of no length");
    let operations: u64 = ticks.iter().map(|tick| tick.operations).sum();
    let wanted = (COMPLETIONS_PER_SAMPLE * ticks.len() as u64).div_ceil(operations.max(1));
    let ticks_per_sample = wanted.clamp(1, (SAMPLE_NS_MAX / tick_ns).max(1)) as usize;
    let samples = ticks.chunks_exact(ticks_per_sample);
    (
        samples.map(|part| part.iter().copied().fold(Tick::default(), Tick::plus)).collect(),
        ticks_per_sample,
    )
}

/// How many samples at the start are warm-up: where MSER-5 would cut, if a test says that what lies
/// before the cut is no noise.
///
/// MSER-5 (White, An effective truncation heuristic for bias reduction in simulation output,
/// Simulation 69, 1997; groups of five: White, Cobb and Spratt, WSC 2000): groups of five samples
/// are averaged, and the cut is where the squared standard error of what remains,
/// `sum (z - mean)^2 / (n - d)^2`, is least, in the first half. The last five groups are no
/// candidates: so few agree by chance. A series under 50 samples is grouped by fewer, so that ten
/// groups remain to choose from.
///
/// By itself it cuts a level series wherever its noise happens to be least: where noise is made of
/// pauses, it cuts off the pauses and prints too high a rate. So there must be a step on the way to
/// the cut, whose sides lie six of their own standard errors apart, in means and in medians.
pub fn warm_up(samples: &[f64]) -> usize {
    const GROUP: usize = 5;
    // A later cut must lower the error by 20 %, or it just keeps what agrees best with itself.
    const CUT_PAYS: f64 = 0.8;
    const NOTHING: f64 = 0.002;
    let group = (samples.len() / 10).clamp(1, GROUP);
    let groups: Vec<f64> = samples.chunks_exact(group).map(moments::mean).collect();
    // Backwards, so that every tail's sums are one addition away from the next's.
    let centre = moments::mean(&groups);
    let (mut sum, mut squares, mut errors) = (0.0, 0.0, Vec::with_capacity(groups.len()));
    for (kept, group_mean) in (1..).zip(groups.iter().rev()) {
        sum += group_mean - centre;
        squares += (group_mean - centre).powi(2);
        errors.push((squares - sum * sum / f64::from(kept)) / f64::from(kept).powi(2));
    }
    errors.reverse();
    let candidates = (groups.len() + 1).saturating_sub(GROUP).min(groups.len() / 2 + 1);
    let least =
        errors[..candidates.min(errors.len())].iter().copied().fold(f64::INFINITY, f64::min);
    // The earliest that is about as good, or leaves next to nothing of the error.
    let as_good = |&error: &f64| error <= least / CUT_PAYS + NOTHING * errors[0];
    let cut = errors.iter().position(as_good).unwrap_or(0) * group;
    let step = Step::out_of_start(samples, cut);
    step.filter(|step| step.stands_out(samples, CUT_SCORE_MIN)).map_or(0, |_| cut)
}

/// Of the best of many cuts through level noise, autocorrelated or not, under one in a hundred lies
/// so far out (simulated in `tests/all/cells.rs`).
const CUT_SCORE_MIN: f64 = 6.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(operations: u64, count: usize) -> Vec<Tick> {
        vec![Tick { operations, bytes: operations * 4096 }; count]
    }

    #[test]
    fn samples_grow_until_they_hold_fifty_completions_and_stop_at_a_second() {
        for (operations, expected) in
            [(100, 1), (50, 1), (49, 2), (20, 3), (10, 5), (3, 10), (0, 10)]
        {
            let (samples, ticks_per_sample) = coalesce(&ticks(operations, 60), TICK_NS);
            assert_eq!(ticks_per_sample, expected, "{operations} a tick");
            assert_eq!(samples.len(), 60 / expected);
            assert!(samples.iter().all(|sample| sample.operations == operations * expected as u64));
            assert!(samples.iter().all(|sample| sample.bytes == sample.operations * 4096));
        }
    }

    #[test]
    fn the_cut_falls_where_the_level_changes() {
        let series: Vec<f64> = (0..200)
            .map(|i| if i < 30 { 500.0 } else { 1000.0 } + f64::from(i % 7) * 3.0)
            .collect();
        let cut = warm_up(&series);
        assert!((30..=45).contains(&cut), "{cut}");
    }

    #[test]
    fn a_slow_start_is_cut_off_until_it_has_settled() {
        let missing = |i: i32| 400.0 * (-f64::from(i) / 10.0).exp();
        let series: Vec<f64> =
            (0..200).map(|i| 1000.0 - missing(i) + f64::from(i * 5 % 7) * 3.0).collect();
        let cut = warm_up(&series);
        assert!((15..=60).contains(&cut), "{cut}");
    }

    #[test]
    fn an_exact_plateau_after_the_warm_up_is_kept_whole() {
        let series: Vec<f64> = (0..200).map(|i| if i < 25 { 123.4 } else { 777.7 }).collect();
        assert_eq!(warm_up(&series), 25);
    }

    #[test]
    fn nothing_is_cut_from_a_constant_or_from_nothing() {
        assert_eq!(warm_up(&[7.5; 100]), 0);
        assert_eq!(warm_up(&[]), 0);
    }
}
