//! A level that changed for good: a cache that ran full, credit that was spent, a neighbour who
//! came or went.

use super::Tick;
use crate::{moments, step::Step, tick::coalesce};

/// A rate that changed for good: it was level before, and at another level to the end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The first tick after the change.
    pub at_tick: usize,
    /// Operations a tick before the change, on average.
    pub operations_per_tick_before: f64,
    /// Operations a tick from the change on, on average.
    pub operations_per_tick_after: f64,
    /// Bytes a tick before the change, on average.
    pub bytes_per_tick_before: f64,
    /// Bytes a tick from the change on, on average.
    pub bytes_per_tick_after: f64,
    /// Bytes moved before the change: of a cache that ran full its size, plus what it drained.
    pub bytes_until: u64,
    /// The median of the samples fell with the mean, to this share or less.
    fell_to: f64,
    /// Too early for two levels of 2 s each: a warm-up that was cut.
    of_start: bool,
}

/// Each side of the change lasts at least this long.
const SIDE_NS_MIN: u64 = 2_000_000_000;
/// Each side of the change is no smaller a part of the series: a pause at its end lasts for no one.
const SIDES_MAX: usize = 10;
/// Each side of the change has at least this many samples.
const SIDE_SAMPLES_MIN: usize = 3;
/// A smaller factor between the levels is within what counts as steady.
const FACTOR_MIN: f64 = 1.10;
/// The change is at least this many of its standard errors. The best of all splits of pure noise
/// reaches 3.5 in one series of a hundred (Andrews, Econometrica 61, 1993); short correlated ones
/// reach more.
const SCORE_MIN: f64 = 6.0;
/// A write cache that ran full leaves at most this share of the rate.
const CLIFF_REMAINS_MAX: f64 = 0.8;

impl Change {
    /// Whether it is a fall to 80 % or less: what a full write cache looks like.
    pub fn is_cliff(&self) -> bool {
        self.fell_to <= CLIFF_REMAINS_MAX
    }

    /// Whether writes that became slower here were a burst until then.
    pub fn ends_burst(&self) -> bool {
        self.is_cliff() || self.of_start
    }

    /// A start of `cut` ticks that was cut off for being faster than the rest, by more than 10 %.
    pub fn of_fast_start(ticks: &[Tick], cut: usize) -> Option<Self> {
        if cut == 0 || cut >= ticks.len() {
            return None;
        }
        let change = Self::between(ticks, cut, 0.0);
        let fell_to = change.operations_per_tick_after / change.operations_per_tick_before;
        (fell_to * FACTOR_MIN < 1.0).then_some(Self { fell_to, of_start: true, ..change })
    }

    /// The change at a tick that is not the first.
    fn between(ticks: &[Tick], at_tick: usize, fell_to: f64) -> Self {
        let (before, after) = ticks.split_at(at_tick);
        let mean = |part: &[Tick], count: fn(&Tick) -> u64| {
            part.iter().map(count).sum::<u64>() as f64 / part.len() as f64
        };
        Self {
            at_tick,
            operations_per_tick_before: mean(before, |tick| tick.operations),
            operations_per_tick_after: mean(after, |tick| tick.operations),
            bytes_per_tick_before: mean(before, |tick| tick.bytes),
            bytes_per_tick_after: mean(after, |tick| tick.bytes),
            bytes_until: before.iter().map(|tick| tick.bytes).sum(),
            fell_to,
            of_start: false,
        }
    }

    /// The same change, seen from `ticks` before the series in which it was found, which moved
    /// `bytes`.
    pub fn later(self, ticks: usize, bytes: u64) -> Self {
        Self { at_tick: self.at_tick + ticks, bytes_until: self.bytes_until + bytes, ..self }
    }
}

/// The best step of a series of samples of `sample_ns`, if it is one: by more than 10 %, of most
/// samples, and far out of the noise.
pub(crate) fn lasting_step(samples: &[f64], sample_ns: u64) -> Option<Step> {
    let side = (SIDE_NS_MIN.div_ceil(sample_ns) as usize).max(samples.len() / SIDES_MAX);
    let side = side.max(SIDE_SAMPLES_MIN);
    let step = Step::best(samples, side)?;
    (step.exceeds(FACTOR_MIN) && step.stands_out(samples, SCORE_MIN)).then_some(step)
}

/// Finds where the rate changed for good by more than 10 %, up or down, by the best fit of two
/// levels of at least 2 s each. The medians of both sides must show the change as well, so that a
/// few stalled ticks do not pass for one.
pub fn lasting_change(ticks: &[Tick], tick_ns: u64) -> Option<Change> {
    let (samples, ticks_per_sample) = coalesce(ticks, tick_ns);
    let rates: Vec<f64> = samples.iter().map(|sample| sample.operations as f64).collect();
    let step = lasting_step(&rates, tick_ns * ticks_per_sample as u64)?;
    let (first, second) = rates.split_at(step.at);
    let medians = moments::median(second) / moments::median(first);
    let fell_to = medians.max(step.after / step.before);
    Some(Change::between(ticks, step.at * ticks_per_sample, fell_to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TICK_NS;

    fn series(count: u64, level: impl Fn(u64) -> u64) -> Vec<Tick> {
        let operations = |i: u64| level(i) * (97 + i * 5 % 7) / 100;
        let tick = |i| Tick { operations: operations(i), bytes: 1000 * operations(i) };
        (0..count).map(tick).collect()
    }

    #[test]
    fn a_lasting_change_is_found_where_it_is_in_either_direction() {
        for (at, to) in [(30, 850), (30, 1150), (140, 850), (180, 2000)] {
            let ticks = series(200, |i| if i < at { 1000 } else { to });
            let found = lasting_change(&ticks, TICK_NS).expect("a change of 15 %");
            assert!(found.at_tick.abs_diff(at as usize) <= 1, "{found:?}");
            assert!((found.operations_per_tick_before / 1000.0 - 1.0).abs() < 0.01, "{found:?}");
            assert!((found.operations_per_tick_after / to as f64 - 1.0).abs() < 0.01, "{found:?}");
            assert!(!found.is_cliff());
        }
    }

    #[test]
    fn a_stall_that_ends_and_a_smaller_change_are_none() {
        let stall = series(200, |i| if (140..152).contains(&i) { 0 } else { 1000 });
        assert_eq!(lasting_change(&stall, TICK_NS), None);
        let small = series(200, |i| if i < 100 { 1000 } else { 1070 });
        assert_eq!(lasting_change(&small, TICK_NS), None);
        assert_eq!(lasting_change(&series(200, |_| 1000), TICK_NS), None);
        assert_eq!(lasting_change(&[], TICK_NS), None);
        assert_eq!(lasting_change(&series(200, |_| 0), TICK_NS), None);
    }

    #[test]
    fn the_cliff_counts_the_bytes_before_it() {
        let ticks = series(300, |i| if i < 120 { 50_000 } else { 9_000 });
        let found = lasting_change(&ticks, TICK_NS).expect("a fall to a fifth");
        assert_eq!(found.at_tick, 120);
        assert_eq!(found.bytes_until, ticks[..120].iter().map(|tick| tick.bytes).sum::<u64>());
        assert!(found.is_cliff());
        assert!((found.bytes_per_tick_before / 50e6 - 1.0).abs() < 0.01);
        assert!((found.bytes_per_tick_after / 9e6 - 1.0).abs() < 0.02);
    }
}
