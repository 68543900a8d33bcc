//! Exact plateaus: the mark of a rate limiter. No drive is that even by itself, at just that
//! number.

use super::{Tick, operations};
use crate::{moments, step::Step};

/// A stretch of nearly equal ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plateau {
    /// Operations a second.
    pub iops: f64,
    /// Standard deviation of its ticks over their mean.
    pub variation: f64,
}

/// Signs of a limit by credit: what was measured is the limiter's rate, or its allowance for
/// bursts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BurstCredit {
    /// The exact plateau, the last part of the series.
    pub plateau: Plateau,
    /// The faster part before the step, if a step was seen.
    pub before: Option<Plateau>,
    /// The first tick of the plateau.
    pub from_tick: usize,
}

/// A plateau is exact when its ticks vary by no more than this. Real ticks vary by 5 to 30 %.
const VARIATION_MAX: f64 = 0.015;
/// A plateau lasts at least this many ticks: 3 s of base ticks.
const TICKS_MIN: usize = 30;
/// Ticks at either side of a step that may be mixtures of both levels.
const EDGE_TICKS: usize = 2;
/// A step down ends at or under this share.
const REMAINS_MAX: f64 = 0.9;
/// A rate is round when it is this close to a round number.
const ROUND_TOLERANCE: f64 = 0.01;
/// What providers sell, up to a power of ten: 100, 120, 3,000, 7,500, 16,000, 64,000, 80,000, ...
/// They cover a seventh of all rates within the tolerance, so that roundness alone proves nothing.
const ROUND: [f64; 16] =
    [1.0, 1.2, 1.25, 1.5, 1.6, 2.0, 2.4, 2.5, 3.0, 3.2, 4.0, 5.0, 6.0, 6.4, 7.5, 8.0];

/// Finds a series that ends in an exact plateau: the whole of it at a round number of IOPS, or
/// after a step down to at most 90 % from a faster part, where either that part was exact as well
/// or the plateau is round. Exact is a variation of at most 1.5 % over at least 30 ticks, round
/// within 1 %.
pub fn burst_credit(ticks: &[Tick], tick_ns: u64) -> Option<BurstCredit> {
    let values = operations(ticks);
    if let Some(plateau) = exact(&values, tick_ns).filter(|plateau| is_round(plateau.iops)) {
        return Some(BurstCredit { plateau, before: None, from_tick: 0 });
    }
    let step = Step::best(&values, TICKS_MIN + EDGE_TICKS)?;
    let plateau = exact(&values[step.at + EDGE_TICKS..], tick_ns)?;
    let before = measure(&values[..step.at - EDGE_TICKS], tick_ns);
    let fell = plateau.iops <= REMAINS_MAX * before.iops;
    let limited = before.variation <= VARIATION_MAX || is_round(plateau.iops);
    (fell && limited).then_some(BurstCredit { plateau, before: Some(before), from_tick: step.at })
}

fn measure(values: &[f64], tick_ns: u64) -> Plateau {
    let iops = moments::mean(values) * 1e9 / tick_ns as f64;
    Plateau { iops, variation: moments::variation(values) }
}

fn exact(values: &[f64], tick_ns: u64) -> Option<Plateau> {
    let plateau = measure(values, tick_ns);
    let even = plateau.variation <= VARIATION_MAX && plateau.iops > 0.0;
    (even && values.len() >= TICKS_MIN).then_some(plateau)
}

fn is_round(iops: f64) -> bool {
    let power = 10f64.powf(iops.log10().floor());
    let near = |round: f64| (iops / (round * power) - 1.0).abs() <= ROUND_TOLERANCE;
    // The last of one decade is next to the first of the next: 995 is round.
    ROUND.into_iter().chain([10.0]).any(near)
}

/// Whether operations that wait for one another would come at this rate from a platter: one each
/// revolution, or each second, third or fourth, of a disk of 5,400, 7,200, 10,000 or 15,000 rpm.
pub fn is_spindle_rate(iops: f64) -> bool {
    let of = |rpm: f64| {
        (1..=4).any(|turns| (iops * 60.0 * f64::from(turns) / rpm - 1.0).abs() <= ROUND_TOLERANCE)
    };
    [5400.0, 7200.0, 10_000.0, 15_000.0].into_iter().any(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TICK_NS;

    fn series(parts: &[(u64, usize)]) -> Vec<Tick> {
        let ticks = parts.iter().flat_map(|&(rate, count)| std::iter::repeat_n(rate, count));
        let jitter = |(index, rate): (usize, u64)| rate + (index % 3) as u64;
        ticks.enumerate().map(jitter).map(|operations| Tick { operations, bytes: 0 }).collect()
    }

    #[test]
    fn round_numbers_are_those_that_are_sold() {
        assert!(
            [100.0, 3000.0, 2990.0, 16_000.0, 7500.0, 995.0, 64_000.0].into_iter().all(is_round)
        );
        assert!(
            [3100.0, 2800.0, 28_000.0, 9100.0, 17_000.0].into_iter().all(|iops| !is_round(iops))
        );
    }

    /// Durable writes to a disk of 7,200 rpm were said to be limited by credit: they came at 120 a
    /// second, one each revolution, and 120 IOPS are sold.
    #[test]
    fn one_write_a_revolution_is_a_platter() {
        assert!([120.0, 119.0, 60.0, 90.0, 250.0, 166.0, 30.0].into_iter().all(is_spindle_rate));
        assert!([100.0, 3000.0, 500.0, 150.0].into_iter().all(|iops| !is_spindle_rate(iops)));
    }

    #[test]
    fn an_even_plateau_at_three_thousand_is_a_limiter_and_at_an_odd_rate_is_not() {
        let found = burst_credit(&series(&[(300, 100)]), TICK_NS).expect("3,000 IOPS");
        assert!((found.plateau.iops - 3010.0).abs() < 1.0 && found.before.is_none());
        assert_eq!(burst_credit(&series(&[(283, 100)]), TICK_NS), None);
        assert_eq!(burst_credit(&series(&[(300, 20)]), TICK_NS), None, "2 s are no plateau");
    }

    #[test]
    fn a_step_from_one_exact_plateau_to_a_lower_one_is_spent_credit() {
        let found = burst_credit(&series(&[(911, 100), (283, 100)]), TICK_NS).expect("a step");
        assert_eq!(found.from_tick, 100);
        assert!(found.before.is_some_and(|before| (before.iops - 9120.0).abs() < 1.0));
        assert_eq!(burst_credit(&series(&[(283, 100), (911, 100)]), TICK_NS), None, "a climb");
        assert_eq!(burst_credit(&[], TICK_NS), None);
    }
}
