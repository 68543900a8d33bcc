//! The best configuration of each class of what a power cut leaves, and those that cannot be told
//! apart from it.

use super::{
    axes::Configuration,
    durability::Durability,
    effect::{Outcome, half_width, mean},
};

/// What is to be best.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Cells whose operations wait for one another.
    Latency,
    /// Cells that move as much as they can.
    Throughput,
    /// Both, each as a ratio to the best.
    Both,
}

/// The best configuration of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct Best {
    /// What a power cut leaves of it.
    pub durability: Durability,
    /// For what.
    pub goal: Goal,
    /// Which.
    pub configuration: Configuration,
    /// Those of its class that the rounds do not tell apart from it: the 95 % interval of their
    /// ratio holds 1. `None` where there was one round, which tells nothing apart.
    pub ties: Option<Vec<Configuration>>,
}

/// The best of each class that was measured, for each goal that a cell speaks for. `cells` are the
/// outcomes of each cell, and whether it is a matter of latency. A configuration's score is the
/// geometric mean over cells of its rate over the best rate of its class.
pub fn best(cells: &[(Goal, Vec<Outcome>)]) -> Vec<Best> {
    let mut classes: Vec<Durability> =
        cells.iter().flat_map(|(_, outcomes)| outcomes.iter().map(|one| one.durability)).collect();
    classes.sort();
    classes.dedup();
    let mut found = Vec::new();
    for durability in classes {
        for goal in [Goal::Latency, Goal::Throughput, Goal::Both] {
            let of_goal: Vec<&Vec<Outcome>> = cells
                .iter()
                .filter(|(kind, _)| goal == Goal::Both || *kind == goal)
                .map(|(_, outcomes)| outcomes)
                .collect();
            let kinds = |kind: Goal| cells.iter().any(|(own, _)| *own == kind);
            if goal == Goal::Both && !(kinds(Goal::Latency) && kinds(Goal::Throughput)) {
                continue;
            }
            if let Some(configuration) = best_of(&of_goal, durability) {
                let ties = ties(&of_goal, durability, &configuration);
                found.push(Best { durability, goal, configuration, ties });
            }
        }
    }
    found
}

fn best_of(cells: &[&Vec<Outcome>], durability: Durability) -> Option<Configuration> {
    let mut scores: Vec<(Configuration, f64, usize)> = Vec::new();
    for outcomes in cells {
        let own = || outcomes.iter().filter(|one| one.durability == durability);
        let top = own().map(|one| one.rate).fold(0.0, f64::max);
        for one in own().filter(|one| one.rate > 0.0) {
            let log = (one.rate / top).ln();
            match scores.iter_mut().find(|(known, _, _)| *known == one.configuration) {
                Some((_, sum, count)) => {
                    *sum += log;
                    *count += 1;
                }
                None => scores.push((one.configuration.clone(), log, 1)),
            }
        }
    }
    // One that was not measured everywhere cannot be held against the others.
    scores.retain(|(_, _, count)| *count == cells.len());
    scores.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(configuration, _, _)| configuration)
}

/// Each round in which both were measured in every cell gives the logarithm of a ratio, averaged
/// over cells.
fn ties(
    cells: &[&Vec<Outcome>],
    durability: Durability,
    winner: &Configuration,
) -> Option<Vec<Configuration>> {
    let of = |outcomes: &'_ [Outcome], wanted: &Configuration, pass: u32| -> Option<f64> {
        let found = outcomes.iter().find(|one| one.configuration == *wanted)?;
        found.passes.get(&pass).copied().filter(|rate| *rate > 0.0).map(f64::ln)
    };
    let passes = || cells.iter().flat_map(|one| one.iter()).flat_map(|one| one.passes.keys());
    let last = passes().max().copied()?;
    let logs = |other: &Configuration| -> Vec<f64> {
        let round = |pass: u32| -> Option<f64> {
            let ratio = |outcomes: &&Vec<Outcome>| {
                Some(of(outcomes, other, pass)? - of(outcomes, winner, pass)?)
            };
            let ratios: Option<Vec<f64>> = cells.iter().map(ratio).collect();
            Some(mean(&ratios?))
        };
        (0..=last).filter_map(round).collect()
    };
    if logs(winner).len() < 2 {
        return None;
    }
    let others = cells[0].iter().filter(|one| one.durability == durability);
    let others = others.map(|one| &one.configuration).filter(|other| *other != winner);
    Some(others.filter(|other| may_be_equal(&logs(other))).cloned().collect())
}

/// Whether the 95 % interval of the mean holds 0; fewer than two rounds rule nothing out.
fn may_be_equal(logs: &[f64]) -> bool {
    half_width(&[logs]).is_none_or(|half| mean(logs).abs() <= half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axes, Axis, Machine};

    fn outcome(configuration: &Configuration, rates: &[f64]) -> Outcome {
        Outcome {
            configuration: configuration.clone(),
            durability: Durability::SurvivesPowerLoss,
            rate: mean(rates),
            passes: (0..).zip(rates.iter().copied()).collect(),
        }
    }

    #[test]
    fn the_best_is_given_for_each_class_and_goal() {
        let words = [(Axis::Fs, "ext4,xfs"), (Axis::KernelFlush, "on,off")];
        let mut axes = Axes::default();
        for (axis, text) in words {
            axes.add(axis, text).expect("levels");
        }
        let all = axes.configurations();
        let with = |latency: [f64; 4]| -> Vec<Outcome> {
            all.iter()
                .zip(latency)
                .map(|(one, rate)| Outcome {
                    durability: Durability::of(one, Machine::default()).0,
                    ..outcome(one, &[rate])
                })
                .collect()
        };
        let cells = [
            (Goal::Latency, with([1.0, 10.0, 2.0, 11.0])),
            (Goal::Throughput, with([9.0, 9.0, 3.0, 9.5])),
        ];
        let found = best(&cells);
        let name = |durability, goal| {
            let one = found.iter().find(|one| one.durability == durability && one.goal == goal);
            one.map(|one| one.configuration.fs().to_owned())
        };
        let (safe, risky) = (Durability::SurvivesPowerLoss, Durability::MayCorrupt);
        assert_eq!(name(safe, Goal::Latency).as_deref(), Some("xfs"));
        assert_eq!(name(safe, Goal::Throughput).as_deref(), Some("ext4"));
        assert_eq!(name(safe, Goal::Both).as_deref(), Some("ext4"));
        assert_eq!(name(risky, Goal::Both).as_deref(), Some("xfs"));
    }

    #[test]
    fn what_the_rounds_do_not_tell_apart_is_named_with_the_best() {
        let mut axes = Axes::default();
        axes.add(Axis::Fs, "ext4,xfs,btrfs").expect("levels");
        let all = axes.configurations();
        let rates = [[100.0, 140.0, 90.0], [110.0, 120.0, 101.0], [50.0, 60.0, 45.0]];
        let outcomes = |rounds: usize| -> Vec<Outcome> {
            all.iter().zip(rates).map(|(one, rates)| outcome(one, &rates[..rounds])).collect()
        };
        let three = best(&[(Goal::Latency, outcomes(3))]);
        assert_eq!(three[0].configuration.fs(), "xfs");
        // ext4 won a round and lost two; btrfs lost all three by about as much.
        let names: Option<Vec<_>> =
            three[0].ties.as_ref().map(|ties| ties.iter().map(|one| one.fs()).collect());
        assert_eq!(names, Some(vec!["ext4"]));
        assert_eq!(best(&[(Goal::Latency, outcomes(1))])[0].ties, None, "one round tells nothing");
    }
}
