//! Two levels in one series, or a line through it: how large the change is, and whether it is more
//! than noise.
//!
//! The noise of a mean is *long-run* noise: the variance of the residuals times their inefficiency
//! ([`moments::inefficiency`]), so that ticks that resemble their neighbours are not taken for a
//! change. All scores are in units of the change's own standard error.

use super::moments;
use std::ops::RangeInclusive;

/// A series in two level parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// First index of the second part.
    pub at: usize,
    /// Mean of the first part.
    pub before: f64,
    /// Mean of the second part.
    pub after: f64,
    /// The difference in units of its own standard error.
    pub score: f64,
    /// What the step explains of the sum of squares.
    pub explained: f64,
}

impl Step {
    /// The step at `at`, which leaves something on both sides.
    pub fn at(values: &[f64], at: usize) -> Self {
        Self::judged(values, at, moments::inefficiency)
    }

    fn judged(values: &[f64], at: usize, inefficiency: impl Fn(&[f64]) -> f64) -> Self {
        let (first, second) = values.split_at(at);
        let (before, after) = (moments::mean(first), moments::mean(second));
        let (n1, n2) = (first.len() as f64, second.len() as f64);
        let explained = n1 * n2 / (n1 + n2) * (before - after).powi(2);
        let residuals = first.iter().map(|v| v - before).chain(second.iter().map(|v| v - after));
        let residuals: Vec<f64> = residuals.collect();
        let noise = (moments::variance(&residuals) * inefficiency(&residuals)).sqrt();
        // Rounding alone leaves about 1e-16 of noise in an exact step.
        let floor = 1e-9 * before.abs().max(after.abs());
        let score = explained.sqrt() / noise.max(floor).max(f64::MIN_POSITIVE);
        Self { at, before, after, score, explained }
    }

    /// The least-squares fit of two constants, each at least `part_min` long.
    pub fn best(values: &[f64], part_min: usize) -> Option<Self> {
        let last = values.len().checked_sub(part_min)?;
        Some(Self::at(values, best_split(values, part_min.max(1)..=last)?))
    }

    /// The same for a first part that may be on its way to the second and is no longer than `end`:
    /// how much neighbours resemble each other is learnt from the second part alone.
    pub fn out_of_start(values: &[f64], end: usize) -> Option<Self> {
        let at = best_split(values, 1..=end)?;
        Some(Self::judged(values, at, |residuals| moments::inefficiency(&residuals[at..])))
    }

    /// Whether the step is no noise: `score_min` standard errors high, more in a short series, and
    /// of most samples.
    pub fn stands_out(self, samples: &[f64], score_min: f64) -> bool {
        let score_min = score_min + SCORE_SHORT / samples.len() as f64;
        self.score >= score_min && self.is_of_most_samples(samples)
    }

    /// Whether the medians of both parts differ the same way, and by half as much at least: a few
    /// stalled samples move a mean, not a median.
    fn is_of_most_samples(self, samples: &[f64]) -> bool {
        let (first, second) = samples.split_at(self.at);
        let medians = moments::median(second) - moments::median(first);
        let means = self.after - self.before;
        medians * means >= 0.5 * means * means
    }

    /// Whether either level is more than `factor` times the other.
    pub fn exceeds(self, factor: f64) -> bool {
        self.before.max(self.after) > factor * self.before.min(self.after)
    }
}

/// Where in `places` a series falls best into two levels: the split that maximises
/// `n1 n2 / n (m1 - m2)^2`, what the step explains of the sum of squares.
fn best_split(values: &[f64], places: RangeInclusive<usize>) -> Option<usize> {
    let n = values.len();
    let total: f64 = values.iter().sum();
    let mut sum = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (index, value) in values.iter().enumerate() {
        if places.contains(&index) && index > 0 {
            let (n1, n2) = (index as f64, (n - index) as f64);
            let explained = n1 * n2 / n as f64 * (sum / n1 - (total - sum) / n2).powi(2);
            if best.is_none_or(|(most, _)| explained > most) {
                best = Some((explained, index));
            }
        }
        sum += value;
    }
    best.map(|(_, at)| at)
}

/// Over the number of samples: how many standard errors more a change in a short series needs,
/// which does not know its own noise.
pub(super) const SCORE_SHORT: f64 = 30.0;

/// The least-squares line through a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trend {
    /// What the line changes by over the whole series.
    pub change: f64,
    /// That in units of its own standard error.
    pub score: f64,
    /// What the line explains of the sum of squares.
    pub explained: f64,
}

impl Trend {
    /// The slope of n values has the variance `12 s2 / n^3`; over the whole series that is
    /// `12 s2 / n`, with the long-run variance of the residuals for `s2`.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let (centre, slope) = (moments::mean(values), moments::slope(values));
        let middle = (n - 1.0) / 2.0;
        let line = |index: usize| centre + slope * (index as f64 - middle);
        let residuals: Vec<f64> =
            values.iter().enumerate().map(|(index, value)| value - line(index)).collect();
        let error = (12.0 * long_run_variance(&residuals) / n.max(1.0)).sqrt();
        let change = slope * n;
        let floor = 1e-9 * centre.abs();
        let score = change.abs() / error.max(floor).max(f64::MIN_POSITIVE);
        Self { change, score, explained: change * change * n / 12.0 }
    }
}

/// The variance that a mean of n values has n-fold: that of independent values, times the
/// inefficiency.
pub(super) fn long_run_variance(residuals: &[f64]) -> f64 {
    moments::variance(residuals) * moments::inefficiency(residuals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_step_is_at_the_step() {
        let values: Vec<f64> =
            (0..100).map(|i| if i < 37 { 200.0 } else { 100.0 } + f64::from(i * 7 % 5)).collect();
        let step = Step::best(&values, 10).expect("long enough");
        assert_eq!(step.at, 37);
        assert!((step.before - 202.0).abs() < 0.5 && (step.after - 102.0).abs() < 0.5);
        assert!(step.score > 100.0 && step.exceeds(1.9) && !step.exceeds(2.1));
        assert!(step.is_of_most_samples(&values));
        assert!(Step::best(&values[..19], 10).is_none());
    }

    #[test]
    fn a_stall_moves_a_mean_and_no_median() {
        let values: Vec<f64> =
            (0..100).map(|i| if (60..66).contains(&i) { 0.0 } else { 100.0 }).collect();
        let step = Step::at(&values, 55);
        assert!(step.before - step.after > 10.0 && !step.is_of_most_samples(&values));
    }

    #[test]
    fn a_line_is_a_trend_and_a_level_is_none() {
        let line: Vec<f64> =
            (0..100).map(|i| 1000.0 + f64::from(i) + f64::from(i * 7 % 5)).collect();
        let trend = Trend::of(&line);
        assert!((trend.change - 100.0).abs() < 2.0 && trend.score > 50.0, "{trend:?}");
        // A step explains less of a line than a line does, and the other way round.
        assert!(Step::best(&line, 10).expect("long enough").explained < trend.explained);
        let level: Vec<f64> = (0..100).map(|i| 1000.0 + f64::from(i * 7 % 5)).collect();
        assert!(Trend::of(&level).score < 3.0);
    }
}
