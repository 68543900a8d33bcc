//! Steady state as SNIA defines it, over rounds instead of ticks.
//!
//! SNIA Solid State Storage Performance Test Specification (PTS) 2.0, "Steady State": in a window
//! of five rounds, the largest value minus the smallest is at most 20 % of the average, and the
//! best linear fit changes by at most 10 % of the average from its first point to its last. At most
//! 25 rounds.

use super::moments;

const WINDOW: usize = 5;
const ROUNDS_MAX: usize = 25;
const EXCURSION_MAX: f64 = 0.20;
const SLOPE_MAX: f64 = 0.10;

/// What the rounds so far say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SniaVerdict {
    /// Steady. `round` counts from 1 and ends the first window that held.
    Steady {
        /// The last round of the window.
        round: usize,
        /// The average over the window: the value to report.
        average: f64,
        /// Largest minus smallest value over the average.
        excursion: f64,
        /// Change of the fitted line over the window, over the average.
        slope: f64,
    },
    /// Not yet: run another round.
    Continue,
    /// 25 rounds and no window held: report the last value and say so.
    NotReached,
}

/// Looks for the first steady window among the values of rounds 1, 2, ...; rounds past 25 are not
/// read.
pub fn snia_steady(rounds: &[f64]) -> SniaVerdict {
    let considered = &rounds[..rounds.len().min(ROUNDS_MAX)];
    for (start, window) in considered.windows(WINDOW).enumerate() {
        let average = moments::mean(window);
        let (low, high) = window
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(l, h), &value| (l.min(value), h.max(value)));
        let excursion = (high - low) / average;
        let slope = (moments::slope(window) * (WINDOW - 1) as f64).abs() / average;
        if excursion <= EXCURSION_MAX && slope <= SLOPE_MAX {
            return SniaVerdict::Steady { round: start + WINDOW, average, excursion, slope };
        }
    }
    if considered.len() < ROUNDS_MAX { SniaVerdict::Continue } else { SniaVerdict::NotReached }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_drive_is_steady_once_five_rounds_are_level() {
        let rounds = [900.0, 700.0, 500.0, 400.0, 350.0, 340.0, 335.0, 338.0, 336.0, 337.0];
        // Rounds 4-8: 400 to 335 is 18 % of 352.6, but the line falls by 15 %; 5-9: 4.4 % and
        // 3.2 %.
        let SniaVerdict::Steady { round, average, excursion, .. } = snia_steady(&rounds) else {
            panic!("{:?}", snia_steady(&rounds));
        };
        assert_eq!((round, average), (9, 339.8));
        assert!((excursion - 15.0 / 339.8).abs() < 1e-12);
        assert_eq!(snia_steady(&rounds[..8]), SniaVerdict::Continue);
    }

    #[test]
    fn a_slope_within_the_excursion_is_still_refused() {
        // 12 % from first to last, on a line: excursion passes, slope does not.
        assert_eq!(snia_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]), SniaVerdict::Continue);
        assert!(matches!(
            snia_steady(&[96.0, 98.0, 100.0, 102.0, 104.0]),
            SniaVerdict::Steady { .. }
        ));
    }

    #[test]
    fn a_saw_never_settles_and_ends_at_twenty_five_rounds() {
        let saw: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 100.0 } else { 130.0 }).collect();
        assert_eq!(snia_steady(&saw[..24]), SniaVerdict::Continue);
        assert_eq!(snia_steady(&saw), SniaVerdict::NotReached);
        assert_eq!(snia_steady(&[0.0; 25]), SniaVerdict::NotReached);
    }
}
