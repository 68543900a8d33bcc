//! What measured rates say of the settings: pivot tables and main effects with intervals.

use super::{axes::Configuration, axis::Axis, durability::Durability};
use stats::student_t_975;
use std::collections::BTreeMap;

/// What one configuration did in one cell of the method.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Which configuration.
    pub configuration: Configuration,
    /// The class of what a power cut leaves.
    pub durability: Durability,
    /// Operations a second over all passes, as the cell says it.
    pub rate: f64,
    /// Operations a second, by pass; passes with the same number were measured in the same round.
    pub passes: BTreeMap<u32, f64>,
}

/// The effect of one level of an axis against its first, everything else equal.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {
    /// The axis.
    pub axis: Axis,
    /// The level that everything is held against.
    pub baseline: String,
    /// The level.
    pub level: String,
    /// Rate over the baseline's rate: geometric mean over the configurations that differ in nothing
    /// else.
    pub ratio: f64,
    /// Its 95 % interval; none where no configuration has two passes.
    pub ci95: Option<[f64; 2]>,
    /// Smallest and largest ratio of any of those configurations: how much the effect depends on
    /// the others.
    pub range: [f64; 2],
    /// How many pairs of configurations.
    pub pairs: usize,
}

/// The main effects of `axes` in one cell of the method.
///
/// For a pair of configurations that differ in `axis` alone, each round gives the logarithm of a
/// ratio; their mean is the pair's effect. The main effect is the mean over pairs, which are all
/// that were asked for and no sample of others. Its variance is that of the rounds within each
/// pair, with as many degrees of freedom as there are rounds less one, added over pairs.
pub fn effects(axes: &[Axis], outcomes: &[Outcome]) -> Vec<Effect> {
    axes.iter().flat_map(|axis| effects_of(*axis, outcomes)).collect()
}

fn effects_of(axis: Axis, outcomes: &[Outcome]) -> Vec<Effect> {
    let mut levels: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if let Some(level) =
            outcome.configuration.level(axis).filter(|level| !levels.contains(level))
        {
            levels.push(level);
        }
    }
    let Some((baseline, others)) = levels.split_first() else { return Vec::new() };
    let effect = |level: &&str| {
        let pairs = groups(axis, baseline, level, outcomes);
        let means: Vec<f64> = pairs.iter().map(|logs| mean(logs)).collect();
        if means.is_empty() {
            return None;
        }
        let centre = mean(&means);
        let half = half_width(&pairs);
        let ends = |start: f64, pick: fn(f64, f64) -> f64| means.iter().copied().fold(start, pick);
        Some(Effect {
            axis,
            baseline: (*baseline).to_owned(),
            level: (*level).to_owned(),
            ratio: centre.exp(),
            ci95: half.map(|half| [(centre - half).exp(), (centre + half).exp()]),
            range: [ends(f64::INFINITY, f64::min).exp(), ends(f64::NEG_INFINITY, f64::max).exp()],
            pairs: means.len(),
        })
    };
    others.iter().filter_map(effect).collect()
}

/// For each group of configurations that differ in `axis` alone, the logarithm of the ratio in each
/// round. A raw device has no mount options: it is held against all file systems that differ in
/// those alone, in one group, since its noise is theirs in common.
fn groups(axis: Axis, baseline: &str, level: &str, outcomes: &[Outcome]) -> Vec<Vec<f64>> {
    let at = |wanted: &str| -> Vec<&Outcome> {
        let wanted = Some(wanted);
        outcomes.iter().filter(|one| one.configuration.level(axis) == wanted).collect()
    };
    let [base, other] = [baseline, level].map(at);
    let applies = |shared: Axis| {
        let both = || base.iter().chain(&other);
        shared != axis && both().all(|one| one.configuration.level(shared).is_some())
    };
    let key = |one: &Outcome| -> Vec<String> {
        let levels = one.configuration.levels().filter(|(shared, _)| applies(*shared));
        levels.map(|(_, level)| level.to_owned()).collect()
    };
    let mut keys: Vec<Vec<String>> = other.iter().map(|one| key(one)).collect();
    keys.sort();
    keys.dedup();
    let of = |side: &[&Outcome], wanted: &Vec<String>, pass: u32| -> Option<f64> {
        let rates = side.iter().filter(|one| key(one) == *wanted).map(|one| one.passes.get(&pass));
        let rates: Option<Vec<f64>> =
            rates.map(|rate| rate.copied().filter(|rate| *rate > 0.0)).collect();
        rates
            .filter(|rates| !rates.is_empty())
            .map(|rates| mean(&rates.iter().map(|rate| rate.ln()).collect::<Vec<_>>()))
    };
    let mut passes: Vec<u32> = outcomes.iter().flat_map(|one| one.passes.keys().copied()).collect();
    passes.sort_unstable();
    passes.dedup();
    let logs = |wanted: &Vec<String>| -> Vec<f64> {
        let round = |pass: &u32| Some(of(&other, wanted, *pass)? - of(&base, wanted, *pass)?);
        passes.iter().filter_map(round).collect()
    };
    keys.iter().map(logs).filter(|logs| !logs.is_empty()).collect()
}

/// Half of the 95 % interval of the mean over pairs; `None` where a pair has fewer than two rounds.
pub(super) fn half_width(pairs: &[impl AsRef<[f64]>]) -> Option<f64> {
    let mut variance = 0.0;
    let mut freedom = 0;
    for logs in pairs {
        let logs = logs.as_ref();
        if logs.len() < 2 {
            return None;
        }
        let centre = mean(logs);
        let squares: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
        variance += squares / (logs.len() - 1) as f64 / logs.len() as f64;
        freedom += logs.len() - 1;
    }
    (freedom > 0).then(|| student_t_975(freedom) * variance.sqrt() / pairs.len() as f64)
}

/// A table of two axes: rates, geometric means over all other axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Pivot {
    /// Levels down the side.
    pub rows: Vec<String>,
    /// Levels along the top.
    pub columns: Vec<String>,
    /// Operations a second by row and column; `None` where nothing was measured.
    pub rates: Vec<Vec<Option<f64>>>,
}

/// Levels `-`, where an axis does not apply, have a row or column of their own.
pub fn pivot(rows: Axis, columns: Axis, outcomes: &[Outcome]) -> Pivot {
    let level =
        |outcome: &Outcome, axis: Axis| outcome.configuration.level(axis).unwrap_or("-").to_owned();
    let levels = |axis: Axis| {
        let mut seen = Vec::new();
        for outcome in outcomes {
            let level = level(outcome, axis);
            if !seen.contains(&level) {
                seen.push(level);
            }
        }
        seen
    };
    let (row_levels, column_levels) = (levels(rows), levels(columns));
    let rate = |row: &String, column: &String| {
        let here = |one: &&Outcome| level(one, rows) == *row && level(one, columns) == *column;
        geometric_mean(outcomes.iter().filter(here).map(|one| one.rate))
    };
    let rates = row_levels
        .iter()
        .map(|row| column_levels.iter().map(|column| rate(row, column)).collect())
        .collect();
    Pivot { rows: row_levels, columns: column_levels, rates }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
    (!logs.is_empty()).then(|| mean(&logs).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axes;
    use block::Rng;

    fn configurations(words: &[(Axis, &str)]) -> (Vec<Axis>, Vec<Configuration>) {
        let mut axes = Axes::default();
        for (axis, text) in words {
            axes.add(*axis, text).expect("levels");
        }
        (axes.varied(), axes.configurations())
    }

    fn outcome(configuration: &Configuration, rates: &[f64]) -> Outcome {
        Outcome {
            configuration: configuration.clone(),
            durability: Durability::SurvivesPowerLoss,
            rate: geometric_mean(rates.iter().copied()).expect("a pass"),
            passes: (0..).zip(rates.iter().copied()).collect(),
        }
    }

    #[test]
    fn an_effect_is_the_ratio_that_was_put_in() {
        let words = [(Axis::Fs, "raw,ext4,xfs"), (Axis::Discard, "on,off")];
        let (varied, all) = configurations(&words);
        let rate = |one: &Configuration, pass: u32| {
            let fs = match one.fs() {
                "ext4" => 0.5,
                "xfs" => 0.8,
                _ => 1.0,
            };
            let discard = if one.level(Axis::Discard) == Some("off") { 1.1 } else { 1.0 };
            // What is common to a round cancels.
            1000.0 * fs * discard * f64::from(pass + 1)
        };
        let outcomes: Vec<Outcome> = all
            .iter()
            .map(|one| outcome(one, &[rate(one, 0), rate(one, 1), rate(one, 2)]))
            .collect();
        let found = effects(&varied, &outcomes);
        let names: Vec<_> =
            found.iter().map(|one| (one.axis, one.level.as_str(), one.pairs)).collect();
        assert_eq!(
            names,
            [(Axis::Fs, "ext4", 1), (Axis::Fs, "xfs", 1), (Axis::Discard, "off", 2)],
            "the raw device is held against both discard settings together"
        );
        assert!((found[0].ratio - 0.5 * 1.1f64.sqrt()).abs() < 1e-9);
        assert!((found[2].ratio - 1.1).abs() < 1e-9);
        let [low, high] = found[2].ci95.expect("three rounds");
        assert!(low > 1.0999 && high < 1.1001);
        let (varied, all) = configurations(&[(Axis::Fs, "raw,ext4,xfs")]);
        let outcomes: Vec<Outcome> =
            all.iter().map(|one| outcome(one, &[rate(one, 0), rate(one, 1)])).collect();
        let ratios: Vec<f64> = effects(&varied, &outcomes).iter().map(|one| one.ratio).collect();
        assert!((ratios[0] - 0.5).abs() < 1e-9 && (ratios[1] - 0.8).abs() < 1e-9, "{ratios:?}");
    }

    /// The interval holds the truth about as often as it says.
    #[test]
    fn intervals_cover_an_effect_of_two_per_cent_in_noise_of_five() {
        let words = [(Axis::Fs, "ext4,xfs,btrfs"), (Axis::Discard, "on,off")];
        let (_, all) = configurations(&words);
        let mut rng = Rng::new(6, 1);
        let mut noise = || {
            let uniform: f64 = (0..12).map(|_| rng.next() as f64 / u64::MAX as f64).sum();
            (0.05 * (uniform - 6.0)).exp()
        };
        let (mut covered, trials) = (0, 1000);
        for _ in 0..trials {
            let outcomes: Vec<Outcome> = all
                .iter()
                .map(|one| {
                    let truth = if one.level(Axis::Discard) == Some("off") { 1.02 } else { 1.0 };
                    outcome(one, &[truth * noise(), truth * noise(), truth * noise()])
                })
                .collect();
            let found = effects(&[Axis::Discard], &outcomes);
            let [low, high] = found[0].ci95.expect("three rounds");
            covered += usize::from(low <= 1.02 && 1.02 <= high);
        }
        assert!((930..=970).contains(&covered), "{covered} of {trials}");
    }

    #[test]
    fn one_pass_gives_a_ratio_and_no_interval() {
        let (varied, all) = configurations(&[(Axis::WriteCache, "on,off")]);
        let outcomes = [outcome(&all[0], &[100.0]), outcome(&all[1], &[290.0])];
        let found = effects(&varied, &outcomes);
        assert!((found[0].ratio - 2.9).abs() < 1e-9);
        assert_eq!(found[0].ci95, None);
    }

    #[test]
    fn a_pivot_has_geometric_means_and_holes_where_nothing_applies() {
        let words =
            [(Axis::Fs, "raw,ext4"), (Axis::WriteCache, "on,off"), (Axis::Discard, "on,off")];
        let (_, all) = configurations(&words);
        let outcomes: Vec<Outcome> = all
            .iter()
            .map(|one| {
                outcome(one, &[if one.level(Axis::WriteCache) == Some("on") { 4.0 } else { 9.0 }])
            })
            .collect();
        let table = pivot(Axis::Fs, Axis::Discard, &outcomes);
        assert_eq!(table.rows, ["raw", "ext4"]);
        assert_eq!(table.columns, ["-", "on", "off"]);
        assert_eq!(table.rates[0][1], None);
        assert!((table.rates[1][1].expect("measured") - 6.0).abs() < 1e-9);
    }
}
