//! One verdict on one series: how fast, how sure, how steady.
//!
//! ```text
//!   ticks | coalesced | warm-up cut | five to ten batches          |
//!         |           |   dropped   | mean, half-width, slope, ... |
//! ```
//!
//! Ticks of a real drive are not independent, so the textbook interval over ticks is far too
//! narrow. Two estimates of the half-width know this, and each cures the other's weakness:
//!
//! 1. *Batch means* (Law, Simulation Modeling and Analysis, ch. 9):
//!    `t(0.975, k-1) * sqrt(s2 / k * (1 + r) / (1 - r))` over k batches, `r` their lag-1
//!    autocorrelation. Sees waves of any shape, but five to ten batches know their own spread only
//!    within a quarter, and a cell that is looked at again and again stops just when they happen to
//!    agree.
//! 2. *Autoregression of the samples* (Fishman, Management Science 18, 1971): the variance of all n
//!    samples times their own inefficiency, with Student's t for as many degrees of freedom as
//!    there are effectively independent samples. Steady, but blind to what one lag does not show.
//!
//! The half-width is the second, or their root mean square with weights 2 to 1 if that is wider. A
//! slow wave of which one crest was seen looks flat: on n < 20 effectively independent samples the
//! interval is `20 / n` times as wide, but never wider than 1.5 standard deviations of the samples,
//! since however the waves stand the mean is hardly further away than they are high. Simulated in
//! `tests/all/cells.rs`, 600 cells each:
//!
//! | ticks: autocorrelation, variation | converged | of these covered |
//! |---|---|---|
//! | normal grade: 0.5, 5-15 % | 75 % | 95 % |
//! | normal grade: 0.9, 1-5 % | 88 % | 91 % |
//! | normal grade: 0.9, 5-15 % | 6 % | 86 % |
//! | quick grade, 12 s: 0 or 0.5, 1-3 % | 100 % | 97 % |
//! | quick grade, 12 s: 0.9, 1-3 % | 87 % | 90 % |
//!
//! What it cannot see is a wave longer than the run. With a sixth of the variance in waves of 7 s,
//! covered falls to 76 %: several passes exist for that.

use super::{
    distribution::student_t_975,
    moments,
    rule::StopRule,
    steady::Steadiness,
    tick::{Tick, coalesce, warm_up},
};

const BATCHES_MAX: usize = 10;
/// Fewer batches than this say nothing of their own spread.
const BATCHES_MIN: usize = 5;
/// A batch should last this long, unless the window is too short for five of them.
const BATCH_NS_MIN: u64 = 1_000_000_000;
/// A batch should hold this many samples, with the same exception.
const BATCH_SAMPLES_MIN: usize = 5;
/// Two samples a batch is the least that is called a batch at all.
const BATCH_SAMPLES_LEAST: usize = 2;
/// Autocorrelation of batch means beyond this cannot be told from drift.
const LAG1_MAX: f64 = 0.8;
/// On fewer effectively independent samples than this an interval is made wider, by their ratio ...
const EFFECTIVE_SAMPLES: f64 = 20.0;
/// ... but to no more than so many standard deviations of the samples.
const DEVIATIONS_MAX: f64 = 1.5;

/// What a series of ticks says about a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Assessment {
    /// Operations a second over the window that was judged (all ticks if there is none).
    pub operations_per_second: f64,
    /// Bytes a second over the same window.
    pub bytes_per_second: f64,
    /// Half of the 95 % interval of `operations_per_second`, as a share of it; `None` where the
    /// window is too short for five batches or nothing completed.
    pub half_width_relative: Option<f64>,
    /// The minimum time has passed, the minimum of completions is reached, and the window was long
    /// enough to be judged. Otherwise the verdict is "insufficient", not "not converged".
    pub sufficient: bool,
    /// Level: no lasting change, no slope and no spread in the window that is more than its noise.
    pub steady: bool,
    /// Ticks at the start that were left out as warm-up.
    pub warm_up_ticks: usize,
    /// What was left out against the window, if anything was.
    pub warm_up: Option<Levels>,
    /// Where the line through the window comes from and goes to, if it moves and noise does not
    /// explain it.
    pub drift: Option<Levels>,
    /// Ticks gathered into one sample.
    pub ticks_per_sample: usize,
    /// Samples in the window.
    pub samples: usize,
    /// As many independent samples would know the mean as well, judging by their autocorrelation.
    pub effective_samples: f64,
    /// Batches in the window, 5 to 10, or 0 if it is too short.
    pub batches: usize,
    /// Lag-1 autocorrelation of the batch means, clamped to 0..=0.8.
    pub lag1: f64,
    /// Change of the fitted line over the window as a share of the mean; infinite if nothing
    /// completed.
    pub trend_relative: f64,
    /// Largest minus smallest mean of five sub-windows, as a share of the mean; infinite likewise.
    pub spread_relative: f64,
}

/// A rate that was one thing before a moment and another after it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Levels {
    /// Seconds from the first tick.
    pub at_seconds: f64,
    /// Operations a second before.
    pub before: f64,
    /// Operations a second after.
    pub after: f64,
}

/// What a cell must pass to count as measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Enough time and completions to judge at all.
    Amount,
    /// A narrow interval.
    Precision,
    /// A level rate.
    Steadiness,
}

impl Test {
    /// The word in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amount => "too few operations",
            Self::Precision => "precision",
            Self::Steadiness => "steadiness",
        }
    }
}

impl Assessment {
    /// Whether the cell is measured as well as `rule` asks.
    pub fn satisfies(&self, rule: &StopRule) -> bool {
        self.failed(rule).is_none()
    }

    /// The first test that the cell has not passed.
    pub fn failed(&self, rule: &StopRule) -> Option<Test> {
        if !self.sufficient {
            Some(Test::Amount)
        } else if !self.steady {
            Some(Test::Steadiness)
        } else if self.half_width_relative.is_none_or(|width| width > rule.half_width_max) {
            Some(Test::Precision)
        } else {
            None
        }
    }
}

/// Judges a series of ticks of `tick_ns` each, from the start of the cell until now.
pub fn assess(ticks: &[Tick], tick_ns: u64, rule: &StopRule) -> Assessment {
    let (samples, ticks_per_sample) = coalesce(ticks, tick_ns);
    let rates: Vec<f64> = samples.iter().map(|sample| sample.operations as f64).collect();
    let sample_ns = tick_ns * ticks_per_sample as u64;
    let cut = warm_up(&rates);
    let batching = Batching::of(rates.len() - cut, sample_ns);
    let start = if batching.is_some() { cut } else { 0 };
    let window = &rates[start..];
    let judged = match batching {
        Some(_) => &ticks[start * ticks_per_sample..],
        None => ticks,
    };
    let per_second = 1e9 / (tick_ns as f64 * judged.len().max(1) as f64);

    let centre = moments::mean(window);
    let share = |value: f64| if centre > 0.0 { value / centre } else { f64::INFINITY };
    let half_width = batching.map(|batching| half_width(window, batching));
    let seen = Steadiness::of(window, sample_ns);
    let seconds_of = |ticks: usize| ticks as f64 * tick_ns as f64 / 1e9;
    let rate_of = |samples: f64| samples * 1e9 / sample_ns as f64;
    let seconds = seconds_of(ticks.len());
    let completions: u64 = ticks.iter().map(|tick| tick.operations).sum();
    let long_enough = seconds + 1e-9 >= rule.seconds_min && completions >= rule.completions_min;
    let operations_per_second =
        judged.iter().map(|tick| tick.operations).sum::<u64>() as f64 * per_second;
    Assessment {
        operations_per_second,
        bytes_per_second: judged.iter().map(|tick| tick.bytes).sum::<u64>() as f64 * per_second,
        half_width_relative: half_width.map(share).filter(|width| width.is_finite()),
        sufficient: long_enough && batching.is_some(),
        steady: seen.is_steady,
        warm_up_ticks: start * ticks_per_sample,
        warm_up: (start > 0).then(|| Levels {
            at_seconds: seconds_of(start * ticks_per_sample),
            before: rate_of(moments::mean(&rates[..start])),
            after: operations_per_second,
        }),
        drift: seen.drift.map(|[from, to]| Levels {
            at_seconds: seconds_of(start * ticks_per_sample),
            before: rate_of(from),
            after: rate_of(to),
        }),
        ticks_per_sample,
        samples: window.len(),
        effective_samples: effective_samples(window),
        batches: batching.map_or(0, |batching| batching.count),
        lag1: batching.map_or(0.0, |batching| batch_lag1(&batching.means(window))),
        trend_relative: seen.trend_relative,
        spread_relative: seen.spread_relative,
    }
}

/// How a window is cut into batches.
#[derive(Clone, Copy)]
struct Batching {
    count: usize,
    samples_each: usize,
}

impl Batching {
    /// Ten batches of at least 1 s and five samples; fewer, but never under five, in a shorter
    /// window; and where not even five such batches fit (the first looks of a quick run), five
    /// shorter ones. What that costs is paid in width: t(0.975, 4) is 2.78 against 2.26.
    fn of(samples: usize, sample_ns: u64) -> Option<Self> {
        let preferred = (BATCH_NS_MIN.div_ceil(sample_ns) as usize).max(BATCH_SAMPLES_MIN);
        let count = (samples / preferred).clamp(BATCHES_MIN, BATCHES_MAX);
        let samples_each = samples / count;
        (samples_each >= BATCH_SAMPLES_LEAST).then_some(Self { count, samples_each })
    }

    fn samples(self) -> usize {
        self.count * self.samples_each
    }

    /// Means of the batches; what does not fill one is left out at the start.
    fn means(self, window: &[f64]) -> Vec<f64> {
        let whole = &window[window.len() - self.samples()..];
        whole.chunks_exact(self.samples_each).map(moments::mean).collect()
    }
}

fn batch_lag1(means: &[f64]) -> f64 {
    moments::lag1(means).clamp(0.0, LAG1_MAX)
}

fn effective_samples(window: &[f64]) -> f64 {
    window.len() as f64 / moments::inefficiency(window)
}

/// Half of the 95 % interval of the window's mean, from both estimates of the module's head.
fn half_width(window: &[f64], batching: Batching) -> f64 {
    let means = batching.means(window);
    let (k, r) = (means.len() as f64, batch_lag1(&means));
    let error = (moments::variance(&means) / k * (1.0 + r) / (1.0 - r)).sqrt();
    let of_batches = student_t_975(means.len() - 1) * error;
    // At least two, or there would be no degree of freedom left.
    let effective = effective_samples(window).max(2.0);
    // The sample variance of correlated values is too small by (effective - 1) / effective.
    let error = (moments::variance(window) / (effective - 1.0)).sqrt();
    let of_samples = student_t_975(effective as usize - 1) * error;
    let width = of_samples.max(((2.0 * of_samples.powi(2) + of_batches.powi(2)) / 3.0).sqrt());
    let few = (EFFECTIVE_SAMPLES / effective).max(1.0);
    // Wherever the waves stand, the mean is no further away than they are high.
    let deviation = moments::variance(window).sqrt();
    (few * width).min(DEVIATIONS_MAX * deviation).max(width.min(2.0 * DEVIATIONS_MAX * deviation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grade, TICK_NS};

    fn judge(ticks: &[Tick]) -> Assessment {
        assess(ticks, TICK_NS, &StopRule::for_grade(Grade::Quick))
    }

    fn series(count: u64, operations: impl Fn(u64) -> u64) -> Vec<Tick> {
        (0..count).map(|i| Tick { operations: operations(i), bytes: 512 * operations(i) }).collect()
    }

    #[test]
    fn half_widths_of_white_ripple_are_those_worked_out_by_hand() {
        // 900 and 1100 by turns in blocks: 0.9, 1.1, 1.1, 0.9 repeated. Every batch of 20 has mean
        // 1000, the lag-1 autocorrelation is 0, so only the samples' own spread counts.
        let seen = judge(&series(200, |i| if i % 4 == 0 || i % 4 == 3 { 900 } else { 1100 }));
        assert_eq!((seen.batches, seen.samples, seen.lag1), (10, 200, 0.0));
        assert_eq!(seen.operations_per_second, 10_000.0);
        // r = -0.005..0.005 plus 1/200: inefficiency 1.01, then 1.96-1.98 * 100 / sqrt(197) / 1000,
        // of which the quiet batches leave all.
        let width = seen.half_width_relative.expect("ten batches");
        assert!((width - 0.0141).abs() < 0.0003, "{width}");
    }

    #[test]
    fn batches_grow_with_the_window_and_are_never_fewer_than_five() {
        let batches = |samples, sample_ns| {
            Batching::of(samples, sample_ns).map(|batching| (batching.count, batching.samples_each))
        };
        assert_eq!(batches(30, TICK_NS), Some((5, 6)), "3 s: five short ones");
        assert_eq!(batches(70, TICK_NS), Some((7, 10)), "7 s: as many as last 1 s");
        assert_eq!(batches(600, TICK_NS), Some((10, 60)));
        assert_eq!(
            batches(60, 10 * TICK_NS),
            Some((10, 6)),
            "samples of 1 s: five in each at least"
        );
        assert_eq!(batches(9, TICK_NS), None);
    }

    #[test]
    fn a_cell_too_short_to_judge_still_tells_its_rate() {
        let seen = judge(&series(5, |_| 3));
        assert_eq!((seen.operations_per_second, seen.half_width_relative), (30.0, None));
        assert!(!seen.sufficient && !seen.steady);
        let empty = judge(&[]);
        assert_eq!((empty.operations_per_second, empty.sufficient), (0.0, false));
        let dead = judge(&series(100, |_| 0));
        assert_eq!((dead.operations_per_second, dead.half_width_relative), (0.0, None));
        assert!(!dead.steady);
    }

    #[test]
    fn the_warm_up_is_counted_in_ticks_and_left_out_of_the_rate() {
        let seen = judge(&series(200, |i| if i < 40 { 10 } else { 19 + i % 3 }));
        assert_eq!(seen.ticks_per_sample, 3);
        assert!((40..=60).contains(&seen.warm_up_ticks), "{seen:?}");
        assert!((seen.operations_per_second - 200.0).abs() < 1.0, "{seen:?}");
        assert_eq!(seen.bytes_per_second, 512.0 * seen.operations_per_second);
    }
}
