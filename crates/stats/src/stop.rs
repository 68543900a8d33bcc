//! When to stop measuring a cell.

use super::{
    assess::{Assessment, assess},
    rule::StopRule,
    tick::Tick,
};

/// Why a cell's measurement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Good at two consecutive looks.
    Converged,
    /// The maximum time is over, and the half-width reached or the steadiness is not what was
    /// asked.
    NotConverged,
    /// The maximum time is over and there are too few completions or samples to judge at all.
    Insufficient,
}

/// Looks at t, 1.15 t, 1.15^2 t, ..., not at every tick: each look is a chance to be fooled.
#[derive(Clone, Debug)]
pub struct Looks {
    rule: StopRule,
    tick_ns: u64,
    next_ns: u64,
    good: u32,
    last: Option<Assessment>,
}

/// Each look comes this much later than the one before.
const LOOK_FACTOR: f64 = 1.15;
/// This many good looks in a row end the cell.
const GOOD_LOOKS: u32 = 2;

impl Looks {
    /// Before the first look, which is at the rule's minimum time.
    ///
    /// # Panics
    /// If the rule's maximum is under its minimum, or a time is not positive.
    pub fn new(rule: StopRule, tick_ns: u64) -> Self {
        assert!(tick_ns > 0, "a tick of no length");
        assert!(0.0 < rule.seconds_min && rule.seconds_min <= rule.seconds_max, "{rule:?}");
        Self { rule, tick_ns, next_ns: nanoseconds(rule.seconds_min), good: 0, last: None }
    }

    /// Call after every tick with all ticks since the cell began. Costs a compare until a look is
    /// due.
    pub fn look(&mut self, elapsed_ns: u64, ticks: &[Tick]) -> Option<Stop> {
        let over = elapsed_ns >= nanoseconds(self.rule.seconds_max);
        if elapsed_ns < self.next_ns && !over {
            return None;
        }
        while self.next_ns <= elapsed_ns {
            self.next_ns = (self.next_ns as f64 * LOOK_FACTOR).ceil() as u64;
        }
        let assessment = assess(ticks, self.tick_ns, &self.rule);
        self.good = if assessment.satisfies(&self.rule) { self.good + 1 } else { 0 };
        self.last = Some(assessment);
        match (self.good >= GOOD_LOOKS, over) {
            (true, _) => Some(Stop::Converged),
            (false, false) => None,
            (false, true) if assessment.sufficient => Some(Stop::NotConverged),
            (false, true) => Some(Stop::Insufficient),
        }
    }

    /// What the last look saw: the cell's result once [`Self::look`] has said to stop.
    pub fn assessment(&self) -> Option<&Assessment> {
        self.last.as_ref()
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grade, TICK_NS};

    fn run(rule: StopRule, tick: impl Fn(u64) -> u64) -> (Stop, u64, Looks) {
        let mut looks = Looks::new(rule, TICK_NS);
        let mut ticks = Vec::new();
        for number in 0.. {
            let operations = tick(number);
            ticks.push(Tick { operations, bytes: operations * 512 });
            if let Some(stop) = looks.look((number + 1) * TICK_NS, &ticks) {
                return (stop, number + 1, looks);
            }
        }
        unreachable!("the maximum time ends every run")
    }

    #[test]
    fn a_constant_rate_converges_at_the_second_look() {
        let (stop, ticks, looks) = run(StopRule::for_grade(Grade::Normal), |_| 1000);
        assert_eq!((stop, ticks), (Stop::Converged, 58));
        let seen = looks.assessment().expect("two looks");
        assert_eq!(seen.operations_per_second, 10_000.0);
        assert_eq!(seen.bytes_per_second, 5_120_000.0);
        assert_eq!(seen.half_width_relative, Some(0.0));
    }

    #[test]
    fn too_few_completions_are_insufficient_and_a_climb_is_not_converged() {
        let rule = StopRule::for_grade(Grade::Quick);
        let (stop, ticks, _) = run(rule, |_| 4);
        assert_eq!((stop, ticks), (Stop::Insufficient, 200));
        let (stop, ticks, looks) = run(rule, |number| 1000 + 20 * number);
        assert_eq!((stop, ticks), (Stop::NotConverged, 200));
        assert!(looks.assessment().is_some_and(|seen| seen.sufficient && !seen.steady));
    }

    #[test]
    fn a_drive_of_two_hundred_operations_a_second_can_be_judged_in_a_quick_run() {
        let (stop, _, looks) = run(StopRule::for_grade(Grade::Quick), |number| 19 + number % 3);
        assert_eq!(stop, Stop::Converged);
        let seen = looks.assessment().expect("a look");
        assert!(seen.ticks_per_sample == 3, "{seen:?}");
        assert!((seen.operations_per_second - 200.0).abs() < 1.0, "{seen:?}");
    }
}
