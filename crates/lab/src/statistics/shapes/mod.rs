//! The shapes that known traps leave in a series: a step, an exact plateau, a slow fall.
//!
//! Each finder asks for two things at once: an effect large enough to matter, and one that stands so
//! far out of the series' own noise that autocorrelation does not produce it. The noise of a sum is
//! measured as *long-run* noise: the variance of the residuals times their inefficiency, see
//! [`moments::inefficiency`].

mod change;
mod plateau;
mod throttle;

pub(super) use change::cusum_alarm;
pub use change::{Cliff, cliff};
pub use plateau::{BurstCredit, Plateau, burst_credit, is_spindle_rate};
pub use throttle::{Cause, FallingSlope, Temperatures, falling_slope};

use super::{moments, tick::Tick};

/// Little's law, L = X W (Little, Operations Research 9, 1961): the number of requests that were in flight
/// on average, from operations a second and their mean latency in seconds. The queue depth achieved,
/// whatever was asked for.
pub fn little(iops: f64, mean_latency_s: f64) -> f64 {
    iops * mean_latency_s
}

/// A series in two level parts.
#[derive(Clone, Copy)]
struct Step {
    /// First index of the second part.
    at: usize,
    before: f64,
    after: f64,
    /// The difference in units of its own standard error, long-run noise considered.
    score: f64,
}

/// The least-squares fit of two constants, each at least `part_min` long.
///
/// The best split maximises `n1 n2 / n (m1 - m2)^2`, what the step explains of the sum of squares.
fn best_step(values: &[f64], part_min: usize) -> Option<Step> {
    let n = values.len();
    let total: f64 = values.iter().sum();
    let mut sum = 0.0;
    let mut best: Option<(f64, Step)> = None;
    for (index, value) in values.iter().enumerate() {
        let (n1, n2) = (index, n - index);
        if n1 >= part_min && n2 >= part_min {
            let (before, after) = (sum / n1 as f64, (total - sum) / n2 as f64);
            let explained = n1 as f64 * n2 as f64 / n as f64 * (before - after).powi(2);
            if best.is_none_or(|(most, _)| explained > most) {
                best = Some((explained, Step { at: index, before, after, score: 0.0 }));
            }
        }
        sum += value;
    }
    let (explained, step) = best?;
    let (first, second) = values.split_at(step.at);
    let residuals =
        first.iter().map(|v| v - step.before).chain(second.iter().map(|v| v - step.after));
    let noise = long_run_variance(&residuals.collect::<Vec<_>>()).sqrt();
    // Rounding alone leaves about 1e-16 of noise in an exact step.
    let floor = 1e-9 * step.before.abs().max(step.after.abs());
    Some(Step { score: explained.sqrt() / noise.max(floor).max(f64::MIN_POSITIVE), ..step })
}

/// The variance that a mean of n values has n-fold: that of independent values, times the inefficiency.
fn long_run_variance(residuals: &[f64]) -> f64 {
    moments::variance(residuals) * moments::inefficiency(residuals)
}

fn operations(ticks: &[Tick]) -> Vec<f64> {
    ticks.iter().map(|tick| tick.operations as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn littles_law_gives_the_depth_that_kept_the_drive_busy() {
        assert!((little(80_000.0, 0.000_4) - 32.0).abs() < 1e-9);
    }

    #[test]
    fn the_best_step_is_at_the_step() {
        let values: Vec<f64> =
            (0..100).map(|i| if i < 37 { 200.0 } else { 100.0 } + f64::from(i * 7 % 5)).collect();
        let step = best_step(&values, 10).expect("long enough");
        assert_eq!(step.at, 37);
        assert!((step.before - 202.0).abs() < 0.5 && (step.after - 102.0).abs() < 0.5);
        assert!(step.score > 100.0);
        assert!(best_step(&values[..19], 10).is_none());
    }
}
