//! Changes of level: one that ends the steady state, and the one that ends a write cache.

use super::{Tick, best_step, long_run_variance};
use crate::statistics::moments;

/// Allowance: half of the 10 % shift that the alarm is tuned to, as a share of the level.
const ALLOWANCE: f64 = 0.05;
/// `ln` of the mean number of samples between false alarms, were the noise a random walk (Siegmund,
/// Sequential Analysis, 1985: `exp(2 k h)`, in units of the long-run deviation).
const LN_RUN_LENGTH: f64 = 9.0;
/// The threshold is never under what a 10 % shift adds up to in ten samples.
const SAMPLES_MIN: f64 = 10.0;
/// The level is learnt from the first half of the window, and from no fewer samples than this.
const BASELINE_MIN: usize = 20;

/// Where the level of a window changed for good after its first half, by Page's two-sided CUSUM (Page,
/// Continuous inspection schemes, Biometrika 41, 1954).
///
/// Level and noise come from the first half. A sum of deviations beyond 5 % that reaches the threshold
/// raises the alarm, and the change is where that sum last left zero. A stall or a burst that ends is no
/// change: the median since then must be off by 5 %, too.
pub(in crate::statistics) fn cusum_alarm(window: &[f64]) -> Option<usize> {
    let learnt = window.len() / 2;
    let (baseline, watched) = window.split_at(learnt);
    let level = moments::mean(baseline);
    if learnt < BASELINE_MIN || level <= 0.0 {
        return None;
    }
    let allowance = ALLOWANCE * level;
    let noise = long_run_variance(baseline);
    let threshold = (noise * LN_RUN_LENGTH / (2.0 * allowance)).max(SAMPLES_MIN * allowance);
    let alarm = |direction: f64| {
        let (mut sum, mut change) = (0.0, 0);
        for (index, value) in watched.iter().enumerate() {
            sum += direction * (value - level) - allowance;
            if sum <= 0.0 {
                (sum, change) = (0.0, index + 1);
            } else if sum > threshold {
                let lasting = direction * (moments::median(&watched[change..]) - level);
                if lasting > allowance {
                    return Some(learnt + change);
                }
                (sum, change) = (0.0, index + 1);
            }
        }
        None
    };
    [alarm(1.0), alarm(-1.0)].into_iter().flatten().min()
}

/// A fast cache in front of slow flash has run full.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cliff {
    /// The first tick after the change.
    pub at_tick: usize,
    /// Bytes a tick before the change, on average.
    pub bytes_per_tick_before: f64,
    /// Bytes a tick from the change on, on average.
    pub bytes_per_tick_after: f64,
    /// Bytes moved before the change: the size of the cache, plus what it drained meanwhile.
    pub bytes_until: u64,
}

/// Each side of the change lasts at least this many ticks: 1 s of base ticks.
const SIDE_TICKS_MIN: usize = 10;
/// The rate falls to at most this share.
const REMAINS_MAX: f64 = 0.8;
/// The fall is at least this many of its standard errors. The best of all splits of pure noise reaches
/// 3.5 in one series of a hundred (Andrews, Econometrica 61, 1993); short correlated ones reach more.
const SCORE_MIN: f64 = 6.0;

/// Finds the tick at which a sustained write fell, for good, to 80 % of its rate or less, by the best fit of
/// two levels. The medians of both sides must show the fall as well, so that a few stalled ticks do not
/// pass for one.
pub fn cliff(ticks: &[Tick]) -> Option<Cliff> {
    let bytes: Vec<f64> = ticks.iter().map(|tick| tick.bytes as f64).collect();
    let step = best_step(&bytes, SIDE_TICKS_MIN)?;
    let (before, after) = bytes.split_at(step.at);
    let fell = |before: f64, after: f64| before > 0.0 && after <= REMAINS_MAX * before;
    let real = fell(step.before, step.after)
        && fell(moments::median(before), moments::median(after))
        && step.score >= SCORE_MIN;
    real.then(|| Cliff {
        at_tick: step.at,
        bytes_per_tick_before: step.before,
        bytes_per_tick_after: step.after,
        bytes_until: ticks[..step.at].iter().map(|tick| tick.bytes).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 with a small deterministic ripple.
    fn ripple(count: usize) -> Vec<f64> {
        (0..count).map(|i| 97.0 + (i * 5 % 7) as f64).collect()
    }

    #[test]
    fn a_lasting_shift_raises_the_alarm_at_the_shift() {
        for factor in [0.85, 1.15] {
            let mut window = ripple(200);
            window[140..].iter_mut().for_each(|value| *value *= factor);
            let at = cusum_alarm(&window).expect("a shift of 15 %");
            assert!((138..=143).contains(&at), "{at}");
        }
    }

    #[test]
    fn a_stall_that_ends_raises_none() {
        let mut window = ripple(200);
        window[140..152].fill(0.0);
        assert_eq!(cusum_alarm(&window), None);
        assert_eq!(cusum_alarm(&ripple(200)), None);
    }

    #[test]
    fn the_cliff_counts_the_bytes_before_it() {
        let tick = |bytes| Tick { operations: bytes / 1000, bytes };
        let ticks: Vec<Tick> = (0..300u64)
            .map(|i| tick(if i < 120 { 50_000 } else { 9_000 } + i * 37 % 11 * 100))
            .collect();
        let found = cliff(&ticks).expect("a fall to a fifth");
        assert_eq!(found.at_tick, 120);
        assert_eq!(found.bytes_until, ticks[..120].iter().map(|tick| tick.bytes).sum::<u64>());
        assert!((found.bytes_per_tick_before / 50_500.0 - 1.0).abs() < 0.01);
        assert!((found.bytes_per_tick_after / 9_500.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_climb_or_a_pause_is_no_cliff() {
        let tick = |bytes| Tick { operations: 1, bytes };
        let climb: Vec<Tick> =
            (0..300).map(|i| tick(if i < 100 { 9_000 } else { 50_000 })).collect();
        assert_eq!(cliff(&climb), None);
        let pause: Vec<Tick> =
            (0..300).map(|i| tick(if (200..215).contains(&i) { 0 } else { 50_000 })).collect();
        assert_eq!(cliff(&pause), None);
        assert_eq!(cliff(&[]), None);
    }
}
