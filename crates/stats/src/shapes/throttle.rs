//! A slow fall: the mark of a drive that grows hot, if it did.

use super::{Tick, operations};
use crate::{moments, step::Trend};

/// The drive's temperature in degrees Celsius around a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Temperatures {
    /// When the cell began.
    pub before_c: f64,
    /// When it ended.
    pub after_c: f64,
}

/// What may lie behind a fall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The drive became 5 K warmer, or ended at 70 degrees or more, where drives begin to slow
    /// down.
    Throttling,
    /// The drive did not become hot: something else fell.
    NotHeat,
    /// The drive tells no temperature.
    Unknown,
}

/// A rate that fell steadily through a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FallingSlope {
    /// How far the fitted line fell over the series, as a share of the mean.
    pub fall_relative: f64,
    /// What the temperatures say.
    pub cause: Cause,
}

/// A fall under this share of the mean is within what counts as steady.
const FALL_MIN: f64 = 0.05;
/// The fall is at least this many of its standard errors, long-run noise considered.
const SCORE_MIN: f64 = 4.0;
/// Fewer ticks than this (3 s of base ticks) have no slope.
const TICKS_MIN: usize = 30;
/// A drive that became this much warmer was heated by the cell.
const RISE_MIN_C: f64 = 5.0;
/// NVMe drives report their warning threshold (WCTEMP) typically between 70 and 85 degrees.
const HOT_C: f64 = 70.0;

/// Finds a linear fall of at least 5 % over the series that stands four standard errors out of its
/// noise.
pub fn falling_slope(ticks: &[Tick], temperatures: Option<Temperatures>) -> Option<FallingSlope> {
    let values = operations(ticks);
    let centre = moments::mean(&values);
    if values.len() < TICKS_MIN || centre <= 0.0 {
        return None;
    }
    let trend = Trend::of(&values);
    let fall = -trend.change;
    let real = fall >= FALL_MIN * centre && trend.score >= SCORE_MIN;
    real.then(|| FallingSlope { fall_relative: fall / centre, cause: cause_of(temperatures) })
}

fn cause_of(temperatures: Option<Temperatures>) -> Cause {
    let Some(Temperatures { before_c, after_c }) = temperatures else { return Cause::Unknown };
    if after_c - before_c >= RISE_MIN_C || after_c >= HOT_C {
        Cause::Throttling
    } else {
        Cause::NotHeat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rate: impl Fn(u64) -> u64) -> Vec<Tick> {
        (0..300).map(|i| Tick { operations: rate(i) + i * 7 % 40, bytes: 0 }).collect()
    }

    #[test]
    fn a_fall_is_throttling_only_if_the_drive_grew_hot() {
        let falling = series(|i| 1000 - i / 2);
        let cause = |temperatures| falling_slope(&falling, temperatures).map(|found| found.cause);
        let around = |before_c, after_c| Some(Temperatures { before_c, after_c });
        assert_eq!(cause(around(35.0, 62.0)), Some(Cause::Throttling));
        assert_eq!(cause(around(71.0, 72.0)), Some(Cause::Throttling));
        assert_eq!(cause(around(35.0, 36.0)), Some(Cause::NotHeat));
        assert_eq!(cause(None), Some(Cause::Unknown));
        let fall = falling_slope(&falling, None).expect("15 %").fall_relative;
        assert!((fall - 150.0 / 945.0).abs() < 0.01, "{fall}");
    }

    #[test]
    fn a_climb_a_level_and_a_short_series_do_not_fall() {
        assert_eq!(falling_slope(&series(|i| 1000 + i), None), None);
        assert_eq!(falling_slope(&series(|_| 1000), None), None);
        assert_eq!(falling_slope(&series(|i| 1000 - i)[..29], None), None);
        assert_eq!(falling_slope(&[], None), None);
    }
}
