//! What rounds found, and what that says of the next cut.

use matrix::FileSystemState;
use serde::Serialize;
use std::time::Duration;

/// Promises of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Promises {
    /// Heard before the power went.
    pub made: u64,
    /// Not there afterwards.
    pub lost: u64,
    /// Something else is there.
    pub torn: u64,
}

/// What a round found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoundResult {
    /// Which.
    pub round: u32,
    /// The power went so long after the first promise.
    pub cut_after: Duration,
    /// Sectors that the drives held otherwise before the cut.
    pub sectors_changed: u64,
    /// What the program says.
    pub promises: Promises,
    /// Why what is left cannot be used, in the check's words.
    pub broken: Option<String>,
    /// What the file system's own check says.
    pub file_system: FileSystemState,
    /// Until the file system was mounted again, its journal replayed.
    pub mounted_after: Duration,
}

impl RoundResult {
    /// Whether a promise was broken, or nothing can be used.
    pub fn is_broken(&self) -> bool {
        use FileSystemState::{Damaged, Unmountable};
        self.promises.lost + self.promises.torn > 0
            || self.broken.is_some()
            || matches!(self.file_system, Damaged | Unmountable)
    }
}

/// What all rounds found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// In their order.
    pub rounds: Vec<RoundResult>,
}

impl Outcome {
    /// Promises of all rounds.
    pub fn promises(&self) -> Promises {
        let mut sum = Promises::default();
        for round in &self.rounds {
            sum.made += round.promises.made;
            sum.lost += round.promises.lost;
            sum.torn += round.promises.torn;
        }
        sum
    }

    /// Rounds that broke a promise.
    pub fn broken(&self) -> impl Iterator<Item = &RoundResult> {
        self.rounds.iter().filter(|round| round.is_broken())
    }

    /// Rounds in which the cut changed nothing and nothing was broken, so that nothing was put to
    /// the test.
    pub fn idle(&self) -> usize {
        let is_idle = |round: &&RoundResult| round.sectors_changed == 0 && !round.is_broken();
        self.rounds.iter().filter(is_idle).count()
    }
}

/// With 95 % confidence fewer than this share of cuts break a promise, where `broken` of `rounds`
/// did: the one-sided bound of Clopper and Pearson (Biometrika 26, 1934), by bisection of the
/// binomial distribution.
pub fn upper_bound(broken: u32, rounds: u32) -> f64 {
    if broken >= rounds {
        return 1.0;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(broken, rounds, middle) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability of at most `successes` of `trials`, each of probability `share`.
fn at_most(successes: u32, trials: u32, share: f64) -> f64 {
    let (n, p) = (f64::from(trials), share);
    // Logarithms: 0.9^1000 is small, not zero.
    let mut log_term = n * (-p).ln_1p();
    let mut sum = log_term.exp();
    for k in 1..=successes {
        let k = f64::from(k);
        log_term += ((n - k + 1.0) / k).ln() + p.ln() - (-p).ln_1p();
        sum += log_term.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 of 40 is 7.2 %, by 1 - 0.05^(1/40); the others are from tables of the F distribution.
    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        let near = |broken, rounds, wanted: f64| {
            let bound = upper_bound(broken, rounds);
            assert!((bound - wanted).abs() < 0.0005, "{broken} of {rounds}: {bound}");
        };
        near(0, 40, 1.0 - 0.05_f64.powf(1.0 / 40.0));
        near(0, 1, 0.95);
        near(1, 10, 0.3942);
        near(5, 20, 0.4556);
        assert!((upper_bound(10, 10) - 1.0).abs() < 1e-12);
        assert!(upper_bound(0, 1000) < 0.003 && upper_bound(0, 1000) > 0.0029);
    }

    #[test]
    fn a_round_is_broken_by_a_promise_by_the_check_and_by_the_file_system() {
        let kept = RoundResult {
            round: 1,
            cut_after: Duration::from_millis(10),
            sectors_changed: 4,
            promises: Promises { made: 3, lost: 0, torn: 0 },
            broken: None,
            file_system: FileSystemState::Sound,
            mounted_after: Duration::from_millis(20),
        };
        assert!(!kept.is_broken());
        let promises = |lost, torn| Promises { made: 3, lost, torn };
        let others = [
            RoundResult { promises: promises(1, 0), ..kept.clone() },
            RoundResult { promises: promises(0, 1), ..kept.clone() },
            RoundResult { broken: Some(String::new()), ..kept.clone() },
            RoundResult { file_system: FileSystemState::Damaged, ..kept.clone() },
            RoundResult { file_system: FileSystemState::Unmountable, ..kept.clone() },
        ];
        assert!(others.iter().all(RoundResult::is_broken));
        let outcome = Outcome { rounds: others.to_vec() };
        assert_eq!(outcome.promises(), Promises { made: 15, lost: 1, torn: 1 });
        assert_eq!((outcome.broken().count(), outcome.idle()), (5, 0));
    }
}
