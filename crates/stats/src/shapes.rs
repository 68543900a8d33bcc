//! The shapes that known traps leave in a series: a step, an exact plateau, a slow fall.
//!
//! Each finder asks for two things at once: an effect large enough to matter, and one that stands
//! so far out of the series' own noise that autocorrelation does not produce it.

mod change;
mod plateau;
mod quota;
mod throttle;

pub(super) use change::lasting_step;
pub use change::{Change, lasting_change};
pub use plateau::{BurstCredit, Plateau, burst_credit, is_spindle_rate};
pub use quota::held_rate;
pub use throttle::{Cause, FallingSlope, Temperatures, falling_slope};

use super::tick::Tick;

/// Little's law, L = X W (Little, Operations Research 9, 1961): the number of requests that were in
/// flight on average, from operations a second and their mean latency in seconds. The queue depth
/// achieved, whatever was asked for.
pub fn little(iops: f64, mean_latency_s: f64) -> f64 {
    iops * mean_latency_s
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
}
