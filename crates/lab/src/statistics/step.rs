//! Two levels in one series, or a line through it: how large the change is, and whether it is more
//! than noise.
//!
//! The noise of a mean is *long-run* noise: the variance of the residuals times their inefficiency
//! ([`moments::inefficiency`]), so that ticks that resemble their neighbours are not taken for a
//! change. All scores are in units of the change's own standard error.

use super::moments;

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
        let (first, second) = values.split_at(at);
        let (before, after) = (moments::mean(first), moments::mean(second));
        let (n1, n2) = (first.len() as f64, second.len() as f64);
        let explained = n1 * n2 / (n1 + n2) * (before - after).powi(2);
        let residuals = first.iter().map(|v| v - before).chain(second.iter().map(|v| v - after));
        let noise = long_run_variance(&residuals.collect::<Vec<_>>()).sqrt();
        // Rounding alone leaves about 1e-16 of noise in an exact step.
        let floor = 1e-9 * before.abs().max(after.abs());
        let score = explained.sqrt() / noise.max(floor).max(f64::MIN_POSITIVE);
        Self { at, before, after, score, explained }
    }

    /// The least-squares fit of two constants, each at least `part_min` long: the best split
    /// maximises `n1 n2 / n (m1 - m2)^2`, what the step explains of the sum of squares.
    pub fn best(values: &[f64], part_min: usize) -> Option<Self> {
        let n = values.len();
        let total: f64 = values.iter().sum();
        let mut sum = 0.0;
        let mut best: Option<(f64, usize)> = None;
        for (index, value) in values.iter().enumerate() {
            let (n1, n2) = (index, n - index);
            if n1 >= part_min.max(1) && n2 >= part_min {
                let (before, after) = (sum / n1 as f64, (total - sum) / n2 as f64);
                let explained = n1 as f64 * n2 as f64 / n as f64 * (before - after).powi(2);
                if best.is_none_or(|(most, _)| explained > most) {
                    best = Some((explained, index));
                }
            }
            sum += value;
        }
        best.map(|(_, at)| Self::at(values, at))
    }

    /// Whether the medians of both parts differ the same way, and by half as much at least: a few
    /// stalled samples move a mean, not a median.
    pub fn is_of_most_samples(self, values: &[f64]) -> bool {
        let (first, second) = values.split_at(self.at);
        let medians = moments::median(second) - moments::median(first);
        let means = self.after - self.before;
        medians * means >= 0.5 * means * means
    }

    /// Whether either level is more than `factor` times the other.
    pub fn exceeds(self, factor: f64) -> bool {
        self.before.max(self.after) > factor * self.before.min(self.after)
    }
}

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
