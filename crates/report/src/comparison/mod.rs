//! Runs against a baseline: what differs around them, then cell by cell.
//!
//! ```text
//!   cells of two subjects  -> pairs with the same coordinates   join.rs
//!   passes of a pair       -> ratio, interval, verdict          stats
//!   searches of a pair     -> ratio of the rates found          knees.rs
//!   what is undecided      -> passes that would tell 5 %        effort.rs
//!   Comparison             -> text                              show.rs
//!   Comparison             -> a section of a report             section.rs
//! ```

mod document;
mod effort;
mod join;
mod knees;
mod section;
mod show;
#[cfg(test)]
mod tests;

pub use document::document;
pub use effort::Effort;
pub use knees::KneeRow;
pub use section::section;
pub(crate) use section::word;
pub use show::text;

use crate::{
    chart::Table,
    runs::{self, Run, Subject},
};
pub(crate) use join::{Key, keyed};
use record::{Cell, PairedVerdict, Record, TargetKind, beside_verdict};
use stats::{Passes, Verdict, paired, unpaired};
use std::collections::BTreeMap;

/// Everything that was measured against the first of it.
#[derive(Clone, Debug)]
pub struct Comparison<'r> {
    /// The first target of the first run.
    pub baseline: Subject<'r>,
    /// What differs between the runs' machines and methods; no rows where nothing does.
    pub differences: Table,
    /// All others, in order.
    pub others: Vec<Other<'r>>,
}

/// One target of one run against the baseline.
#[derive(Clone, Debug)]
pub struct Other<'r> {
    /// What is compared.
    pub subject: Subject<'r>,
    /// How its passes lay against the baseline's.
    pub design: Design,
    /// Cells that both have, in the baseline's order.
    pub rows: Vec<Row<'r>>,
    /// Rates that both sought with the same limit.
    pub knees: Vec<KneeRow<'r>>,
    /// Cells that only the baseline has.
    pub only_in_baseline: Vec<&'r Cell>,
    /// Cells that the baseline lacks.
    pub only_in_other: Vec<&'r Cell>,
    /// What would tell 5 % apart where this could not.
    pub effort: Option<Effort>,
}

/// How the passes of two targets lay in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// In one run, next to each other, in alternating order: what drifts slowly cancels.
    Paired,
    /// In runs made apart.
    Unpaired,
}

impl Design {
    /// The word in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paired => "paired",
            Self::Unpaired => "unpaired",
        }
    }
}

/// One cell of both.
#[derive(Clone, Debug)]
pub struct Row<'r> {
    /// The baseline's.
    pub baseline: &'r Cell,
    /// The other's.
    pub other: &'r Cell,
    /// Rate of the other over that of the baseline; none where either did nothing.
    pub ratio: Option<Ratio>,
}

/// How two rates compare.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The other over the baseline, geometric mean.
    pub ratio: f64,
    /// 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// What the interval says, against the band of 2 %.
    pub verdict: PairedVerdict,
    /// Passes of the baseline and of the other that went into it.
    pub passes: [usize; 2],
}

/// Why runs cannot be compared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotComparable {
    /// There is nothing in the first.
    #[error("the first run has no cells: measure it again")]
    NoCells,
    /// There is nothing to compare it with.
    #[error(
        "compare needs two targets, and run {run} has one: name another run, or measure two \
         targets in turn with `drivelab run A B`"
    )]
    OneTarget {
        /// Its id.
        run: String,
    },
    /// No cell of one has the coordinates of a cell of the other.
    #[error("{}", nothing_in_common(names, methods, *is_imported))]
    NothingInCommon {
        /// Of the baseline and the other.
        names: [String; 2],
        /// What they were measured by.
        methods: [String; 2],
        /// Whether one of them is another program's, whose cells nobody here can set.
        is_imported: bool,
    },
}

/// Compares every target of every run with the first target of the first.
///
/// # Errors
/// When there are not two, or when one of them has no cell in common with the baseline.
pub fn compare<'r>(all: &[Run<'r>]) -> Result<Comparison<'r>, NotComparable> {
    let mut subjects = runs::knee::without_probes(&runs::subjects(all)).into_iter();
    let Some(baseline) = subjects.next() else {
        return Err(NotComparable::NoCells);
    };
    let others: Vec<Other<'r>> = subjects.map(|subject| against(&baseline, subject)).collect();
    if others.is_empty() {
        return Err(NotComparable::OneTarget { run: baseline.record.id.clone() });
    }
    for other in &others {
        if other.rows.is_empty() {
            return Err(NotComparable::no_cell_of(&baseline, &other.subject));
        }
    }
    Ok(Comparison { differences: runs::differing(all), baseline, others })
}

impl<'r> Comparison<'r> {
    /// Targets against one, whether or not they have cells in common; what differs around them
    /// stands elsewhere.
    pub(crate) fn of(baseline: Subject<'r>, others: Vec<Subject<'r>>) -> Self {
        let others = others.into_iter().map(|subject| against(&baseline, subject)).collect();
        Self { differences: Table::default(), baseline, others }
    }
}

impl NotComparable {
    /// No cell in common.
    fn no_cell_of(baseline: &Subject<'_>, other: &Subject<'_>) -> Self {
        let pair = [baseline, other];
        Self::NothingInCommon {
            names: pair.map(|subject| subject.name.clone()),
            methods: pair.map(|subject| subject.record.method.name.clone()),
            is_imported: pair.iter().any(|subject| {
                let targets = &subject.record.targets;
                targets.iter().any(|target| target.kind == TargetKind::Imported)
            }),
        }
    }
}

fn nothing_in_common(names: &[String; 2], methods: &[String; 2], is_imported: bool) -> String {
    let ([baseline, other], [one, two]) = (names, methods);
    let cure = if is_imported {
        "their block sizes, depths, threads, patterns and access must agree".to_owned()
    } else if one == two {
        "give both the same --set, --io and --size".to_owned()
    } else {
        format!("measure both with one method, such as --method {one}")
    };
    format!("{baseline} (method {one}) and {other} (method {two}) have no cell in common: {cure}")
}

/// One target against the baseline.
pub(crate) fn against<'r>(baseline: &Subject<'r>, subject: Subject<'r>) -> Other<'r> {
    let design = if std::ptr::eq(baseline.record, subject.record) {
        Design::Paired
    } else {
        Design::Unpaired
    };
    let [ours, theirs] = keyed(baseline, &subject);
    let index: BTreeMap<&Key, &'r Cell> = theirs.iter().map(|(key, cell)| (key, *cell)).collect();
    let (mut rows, mut only_in_baseline) = (Vec::new(), Vec::new());
    for (key, cell) in &ours {
        match index.get(key) {
            Some(other) => {
                let ratio = match design {
                    Design::Paired => of_pairs(cell, other),
                    Design::Unpaired => of_apart(baseline.record, cell, subject.record, other),
                };
                rows.push(Row { baseline: cell, other, ratio });
            }
            None => only_in_baseline.push(*cell),
        }
    }
    let known: BTreeMap<&Key, ()> = ours.iter().map(|(key, _)| (key, ())).collect();
    let is_new = |(key, _): &&(Key, &'r Cell)| !known.contains_key(key);
    let only_in_other = theirs.iter().filter(is_new).map(|(_, cell)| *cell).collect();
    let knees = knees::rows(&ours, &theirs, baseline, &subject);
    let mut other =
        Other { design, rows, knees, only_in_baseline, only_in_other, subject, effort: None };
    other.effort = effort::effort(baseline, &other);
    other
}

/// Pass by pass, where both have the pass.
fn of_pairs(baseline: &Cell, other: &Cell) -> Option<Ratio> {
    let theirs: BTreeMap<u32, f64> =
        other.passes.iter().map(|pass| (pass.pass, pass.iops)).collect();
    let pairs =
        baseline.passes.iter().filter_map(|pass| Some((pass.iops, *theirs.get(&pass.pass)?)));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.filter(|(a, b)| is_rate(*a) && is_rate(*b)).unzip();
    if a.is_empty() {
        return None;
    }
    let seen = paired(&a, &b);
    let (ratio, ci95, verdict) = (seen.ratio, seen.ci95, of_statistics(seen.verdict));
    Some(Ratio { ratio, ci95, verdict, passes: [seen.n, seen.n] })
}

fn of_apart(ours: &Record, baseline: &Cell, theirs: &Record, other: &Cell) -> Option<Ratio> {
    let (a, b) = (passes(ours, baseline)?, passes(theirs, other)?);
    let seen = unpaired(&a, &b);
    let (ratio, ci95, verdict) = (seen.ratio, seen.ci95, of_statistics(seen.verdict));
    Some(Ratio { ratio, ci95, verdict, passes: [a.rates.len(), b.rates.len()] })
}

/// The passes that make a cell's headline. Rounds before the steady window are no passes of the
/// same thing.
fn passes(record: &Record, cell: &Cell) -> Option<Passes> {
    let window = if record.rounds.is_some() { STEADY_ROUNDS } else { cell.passes.len() };
    let judged = &cell.passes[cell.passes.len().saturating_sub(window)..];
    let rates: Vec<f64> =
        judged.iter().map(|pass| pass.iops).filter(|rate| is_rate(*rate)).collect();
    let widths = judged.iter().filter_map(|pass| pass.half_width_relative);
    let half_width_relative =
        widths.filter(|width| width.is_finite() && *width >= 0.0).max_by(f64::total_cmp);
    (!rates.is_empty()).then_some(Passes { rates, half_width_relative })
}

/// Rounds that must agree: SNIA's window.
const STEADY_ROUNDS: usize = 5;

fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0
}

fn of_statistics(verdict: Verdict) -> PairedVerdict {
    match verdict {
        Verdict::Faster => PairedVerdict::Faster,
        Verdict::Slower => PairedVerdict::Slower,
        Verdict::Same => PairedVerdict::Same,
        Verdict::Undecided => PairedVerdict::Undecided,
    }
}

impl Row<'_> {
    /// The verdict in words, with the side that was a burst: `faster; this: burst`.
    pub(crate) fn verdict(&self) -> Option<String> {
        let word = word(self.ratio?.verdict);
        let burst = beside_verdict(self.baseline.burst(), self.other.burst());
        Some(burst.map_or_else(|| word.to_owned(), |burst| format!("{word}; {burst}")))
    }
}

impl Comparison<'_> {
    /// How many cells and searched rates have this verdict, over all others.
    pub fn count(&self, verdict: PairedVerdict) -> usize {
        let rows = self.others.iter().flat_map(|other| &other.rows).map(|row| row.ratio);
        let knees = self.others.iter().flat_map(|other| &other.knees).map(|row| row.ratio);
        rows.chain(knees).flatten().filter(|ratio| ratio.verdict == verdict).count()
    }
}
