//! The base series: what completed in each tick, made coarser where ticks are too empty, and cut where
//! the warm-up ends.

use super::moments;

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

/// Gathers ticks into samples: the smallest whole number of ticks a sample that makes the average sample
/// hold 50 completions, and at most 1 s. Returns the samples and the number of ticks in each.
///
/// A last, incomplete sample is left out. Ticks without completions stay in: a stall is part of the truth.
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

/// Where the warm-up ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarmUp {
    /// How many samples to leave out at the start: the best cut in the first half.
    pub cut: usize,
    /// The best cut of all lies in the last half: the series is still on its way somewhere.
    pub drifting: bool,
}

/// Cuts the warm-up by MSER-5 (White, An effective truncation heuristic for bias reduction in simulation
/// output, Simulation 69, 1997; groups of five: White, Cobb and Spratt, WSC 2000).
///
/// Groups of five samples are averaged, and the cut is where the squared standard error of what remains,
/// `sum (z - mean)^2 / (n - d)^2`, is least. The last five groups are no candidates: so few agree by
/// chance. A series under 50 samples is grouped by fewer, so that ten groups remain to choose from.
///
/// A cut must pay: unless it lowers that error by 30 %, nothing is cut. In a level series the least error
/// lies somewhere by chance, and to keep just the part that agrees best with itself makes the
/// interval too narrow; a warm-up worth the name pays many times over.
pub fn warm_up(samples: &[f64]) -> WarmUp {
    const GROUP: usize = 5;
    const CUT_PAYS: f64 = 0.7;
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
    // The earliest of equal cuts; what remains of an exact plateau is rounding, and equal.
    let least = |candidates: &[f64]| {
        let least = candidates.iter().copied().fold(f64::INFINITY, f64::min);
        let pays =
            |&error: &f64| error <= least + 1e-9 * errors[0] && least <= CUT_PAYS * errors[0];
        candidates.iter().position(pays).unwrap_or(0)
    };
    let candidates = &errors[..(errors.len() + 1).saturating_sub(GROUP)];
    let half = groups.len() / 2;
    let cut = least(&candidates[..candidates.len().min(half + 1)]) * group;
    WarmUp { cut, drifting: least(candidates) > half }
}

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
        let found = warm_up(&series);
        assert!((30..=45).contains(&found.cut) && !found.drifting, "{found:?}");
    }

    #[test]
    fn a_series_that_settles_only_at_its_end_is_drifting() {
        let series: Vec<f64> = (0..200)
            .map(|i| if i < 150 { f64::from(i) * 10.0 } else { 3000.0 } + f64::from(i % 7))
            .collect();
        assert!(warm_up(&series).drifting);
    }

    #[test]
    fn an_exact_plateau_after_the_warm_up_is_kept_whole() {
        let series: Vec<f64> = (0..200).map(|i| if i < 25 { 123.4 } else { 777.7 }).collect();
        assert_eq!(warm_up(&series), WarmUp { cut: 25, drifting: false });
    }

    #[test]
    fn nothing_is_cut_from_a_constant_or_from_nothing() {
        assert_eq!(warm_up(&[7.5; 100]), WarmUp { cut: 0, drifting: false });
        assert_eq!(warm_up(&[]), WarmUp { cut: 0, drifting: false });
    }
}
