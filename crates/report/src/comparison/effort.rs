//! What it would take to tell 5 % apart, where a comparison could not.

use super::{Design, Other, Ratio, Row, passes};
use crate::runs::Subject;
use record::{Cell, PairedVerdict, Record};
use stats::{Grade, Passes, StopRule, TOLD_APART, pairs_to_tell, passes_to_tell, student_t_975};

/// More measuring, so that a true 5 % is told in four of five comparisons.
#[derive(Clone, PartialEq, Debug)]
pub struct Effort {
    /// How the passes should lie in time.
    pub design: Design,
    /// Passes of each target or run.
    pub passes: usize,
    /// Seconds of one run: of both targets in turn, or of each run made apart.
    pub seconds: f64,
    /// What to type; two commands where the runs made apart were ordered differently, none where
    /// `run` made neither.
    pub commands: Vec<String>,
}

/// How a rate moves from pass to pass for reasons of the host's own, at least.
const HOST_SCATTER: f64 = 0.005;

/// What the rows that are undecided need; `None` where all is decided, or no number of passes would
/// do.
pub(super) fn effort(baseline: &Subject<'_>, other: &Other<'_>) -> Option<Effort> {
    let open: Vec<&Row<'_>> = other.rows.iter().filter(|row| is_open(row)).collect();
    let (ours, theirs) = (baseline, &other.subject);
    let (passes, design) = match other.design {
        Design::Paired => (most(&open, |row| pairs_to_tell(of_ratios(row)?))?, Design::Paired),
        Design::Unpaired if can_take_turns(ours, theirs) => {
            let scatter = |row: &Row<'_>| Some(scatter(ours.record, theirs.record, row)?.all);
            (most(&open, |row| pairs_to_tell(scatter(row)? * 2f64.sqrt()))?, Design::Paired)
        }
        Design::Unpaired => {
            let half = publish().half_width_max;
            let needed = |row: &Row<'_>| {
                let scatter = scatter(ours.record, theirs.record, row)?;
                passes_to_tell(scatter.host.hypot(half / 2.0), half)
            };
            (most(&open, needed)?, Design::Unpaired)
        }
    };
    let each = match design {
        Design::Paired => seconds_of(ours, as_before) + seconds_of(theirs, as_before),
        Design::Unpaired => seconds_of(ours, at_publish).max(seconds_of(theirs, at_publish)),
    };
    let commands = commands(ours, theirs, other.design, design, passes);
    Some(Effort { design, passes, seconds: each * passes as f64, commands })
}

fn publish() -> StopRule {
    StopRule::for_grade(Grade::Publish)
}

/// Undecided, and so wide that a true 5 % would be undecided, too.
fn is_open(row: &Row<'_>) -> bool {
    let too_wide =
        |ratio: Ratio| ratio.ci95.is_none_or(|[low, high]| (high / low).sqrt() * 1.02 > TOLD_APART);
    row.ratio.is_some_and(|ratio| ratio.verdict == PairedVerdict::Undecided && too_wide(ratio))
}

/// What the row that needs most needs; rows that no number of passes would decide are left aside.
fn most(open: &[&Row<'_>], needed: impl Fn(&Row<'_>) -> Option<usize>) -> Option<usize> {
    open.iter().filter_map(|row| needed(row)).max()
}

/// Two targets of one machine, named differently, can be measured in one run.
fn can_take_turns(ours: &Subject<'_>, theirs: &Subject<'_>) -> bool {
    let [one, other] = [ours, theirs].map(|subject| {
        let target = subject.record.targets.get(subject.target);
        (target.map(|target| &target.text), &subject.record.environment.host.name)
    });
    let same_clock = ours.record.time == theirs.record.time;
    one.0 != other.0 && one.1 == other.1 && same_clock && one.0.is_some() && other.0.is_some()
}

/// Standard deviation of the logarithms of the ratios of pairs.
fn of_ratios(row: &Row<'_>) -> Option<f64> {
    let Ratio { ci95: Some([low, high]), passes: [n, _], .. } = row.ratio? else { return None };
    let half = (high / low).ln() / 2.0;
    Some(half / student_t_975(n.max(2) - 1) * (n as f64).sqrt())
}

/// How the rate of a cell scatters from pass to pass, standard deviation of its logarithm.
#[derive(Clone, Copy)]
struct Scatter {
    /// As it was measured.
    all: f64,
    /// Without the noise within a pass.
    host: f64,
}

fn scatter(ours: &Record, theirs: &Record, row: &Row<'_>) -> Option<Scatter> {
    let runs = [passes(ours, row.baseline)?, passes(theirs, row.other)?];
    let widths = runs.iter().filter_map(|run| run.half_width_relative);
    let within = widths.fold(0.0, f64::max) / 1.96;
    let squares = |run: &Passes| {
        let logs: Vec<f64> = run.rates.iter().map(|rate| rate.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>(), logs.len() - 1)
    };
    let (sum, degrees) = runs
        .iter()
        .map(squares)
        .fold((0.0, 0), |(sum, degrees), (more, df)| (sum + more, degrees + df));
    let between = if degrees > 0 { (sum / degrees as f64).sqrt() } else { 0.0 };
    let all = between.max(within).max(HOST_SCATTER);
    let host = (all.powi(2) - within.powi(2)).max(0.0).sqrt().max(HOST_SCATTER);
    Some(Scatter { all, host })
}

/// Seconds of one pass over all cells.
fn seconds_of(subject: &Subject<'_>, of_cell: fn(&Cell) -> f64) -> f64 {
    let mut groups: Vec<&str> = Vec::new();
    let mut seconds = 0.0;
    for cell in &subject.cells {
        // Streams of a cell run at the same time.
        if !groups.contains(&cell.group.as_str()) {
            groups.push(&cell.group);
            seconds += of_cell(cell);
        }
    }
    seconds
}

fn as_before(cell: &Cell) -> f64 {
    cell.total.seconds / cell.passes.len().max(1) as f64
}

/// An interval narrows with the root of the time.
fn at_publish(cell: &Cell) -> f64 {
    let rule = publish();
    let widths = cell.passes.iter().filter_map(|pass| pass.half_width_relative);
    let longer = (widths.fold(0.0, f64::max) / rule.half_width_max).powi(2);
    (as_before(cell) * longer).clamp(rule.seconds_min, rule.seconds_max)
}

fn commands(
    ours: &Subject<'_>,
    theirs: &Subject<'_>,
    was: Design,
    design: Design,
    passes: usize,
) -> Vec<String> {
    let passes = passes.to_string();
    let more = [("--max-time", None), ("--max-written", None), ("--passes", Some(&*passes))];
    let found = match (was, design) {
        (Design::Paired, _) => vec![ours.record.again(&more)],
        (Design::Unpaired, Design::Paired) => {
            let text = |subject: &Subject<'_>| subject.record.targets[subject.target].text.clone();
            vec![ours.record.again_on(&[&text(ours), &text(theirs)], &more)]
        }
        (Design::Unpaired, Design::Unpaired) => {
            let [time, written, passes] = more;
            let more = [time, written, ("--grade", Some("publish")), passes];
            let mut both = vec![ours.record.again(&more), theirs.record.again(&more)];
            both.dedup();
            both
        }
    };
    found.into_iter().flatten().collect()
}
