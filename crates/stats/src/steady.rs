//! Whether a window is level: what moves in it is either small or no more than its noise.

use super::{
    moments,
    shapes::lasting_step,
    step::{SCORE_SHORT, Trend, long_run_variance},
};

/// Steady: the fitted line changes by no more than this share of the mean over the window, or by no
/// more than its noise explains.
const TREND_MAX: f64 = 0.05;
/// A line this many of its standard errors long is no noise as far as steadiness goes ...
const TREND_SCORE_MAX: f64 = 3.0;
/// ... and one this long is said to drift.
const DRIFT_SCORE_MIN: f64 = 4.0;
/// Steady: the means of five sub-windows differ by no more than this share of the mean, or by no
/// more than their noise explains.
const SPREAD_MAX: f64 = 0.10;
const SUB_WINDOWS: usize = 5;
/// The range of five means of noise alone, in their standard errors: 99 of 100 lie below (the
/// studentized range, Pearson and Hartley, Biometrika Tables for Statisticians, table 29).
const SPREAD_SCORE_MAX: f64 = 4.6;

/// How level a window is.
pub(super) struct Steadiness {
    /// No lasting change, no slope and no spread that is more than noise.
    pub is_steady: bool,
    /// Where the fitted line begins and ends, in the samples' unit, if it says more than a step
    /// would.
    pub drift: Option<[f64; 2]>,
    /// Change of the fitted line as a share of the mean; infinite if the mean is 0.
    pub trend_relative: f64,
    /// Largest minus smallest mean of five sub-windows, as a share of the mean; infinite likewise.
    pub spread_relative: f64,
}

impl Steadiness {
    /// Looks at samples of `sample_ns` each.
    pub fn of(window: &[f64], sample_ns: u64) -> Self {
        let centre = moments::mean(window);
        let share = |value: f64| if centre > 0.0 { value / centre } else { f64::INFINITY };
        let (trend, spread) = (Trend::of(window), Spread::of(window));
        let trend_relative = share(trend.change.abs());
        let spread_relative = share(spread.range);
        let step = lasting_step(window, sample_ns);
        let is_level = trend_relative <= TREND_MAX || trend.score <= TREND_SCORE_MAX;
        let is_even = spread_relative <= SPREAD_MAX || spread.score <= SPREAD_SCORE_MAX;
        let score_min = DRIFT_SCORE_MIN + SCORE_SHORT / window.len().max(1) as f64;
        let drifts = (trend_relative > TREND_MAX && trend.score >= score_min)
            && step.is_none_or(|step| step.explained < trend.explained);
        let line = [-0.5, 0.5].map(|half| (centre + half * trend.change).max(0.0));
        Self {
            is_steady: centre > 0.0 && is_level && is_even && step.is_none(),
            drift: (centre > 0.0 && drifts).then_some(line),
            trend_relative,
            spread_relative,
        }
    }
}

/// How far the means of five sub-windows lie apart.
struct Spread {
    /// Largest minus smallest; infinite where there are no five.
    range: f64,
    /// The same in units of the standard error that one of the means has.
    score: f64,
}

impl Spread {
    fn of(window: &[f64]) -> Self {
        let length = window.len() / SUB_WINDOWS;
        if length == 0 {
            return Self { range: f64::INFINITY, score: f64::INFINITY };
        }
        let means = window.rchunks_exact(length).take(SUB_WINDOWS).map(moments::mean);
        let (low, high) = means.fold((f64::INFINITY, 0.0f64), |(l, h), m| (l.min(m), h.max(m)));
        let error = (long_run_variance(window) / length as f64).sqrt();
        let range = high - low;
        Self { range, score: if range > 0.0 { range / error } else { 0.0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_NS: u64 = 100_000_000;

    fn window(level: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..200).map(|i| level(i) * (0.97 + (i * 5 % 7) as f64 / 100.0)).collect()
    }

    #[test]
    fn a_level_window_is_steady_and_a_dead_one_is_not() {
        let seen = Steadiness::of(&window(|_| 1000.0), SAMPLE_NS);
        assert!(seen.is_steady && seen.drift.is_none());
        assert!(!Steadiness::of(&window(|_| 0.0), SAMPLE_NS).is_steady);
    }

    #[test]
    fn a_line_drifts_and_a_step_does_not() {
        let line = Steadiness::of(&window(|i| 1000.0 + i as f64), SAMPLE_NS);
        let [from, to] = line.drift.expect("18 %");
        assert!((from - 1000.0).abs() < 5.0 && (to - 1200.0).abs() < 5.0, "{from} {to}");
        let step = |i| if i < 120 { 1000.0 } else { 1200.0 };
        let step = Steadiness::of(&window(step), SAMPLE_NS);
        assert!(!line.is_steady && !step.is_steady && step.drift.is_none());
    }
}
