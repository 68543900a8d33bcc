//! How long cells take: the method's rule, a cell's own seconds, the user's limit on all of them.

use super::{Options, Plan};
use crate::method::{CellBound, CellSpec, Method};
use stats::{Grade, StopRule};

impl Plan {
    /// When a pass of `cell` ends, where no number of operations ends it: the method's rule, or the
    /// cell's own seconds. Its own longest time holds unless the user bounds the whole run.
    pub fn rule_of(&self, cell: &CellSpec) -> StopRule {
        if let Some(seconds) = cell.seconds {
            return StopRule { seconds_min: seconds, seconds_max: seconds, ..self.rule };
        }
        let Some(seconds_max) = cell.seconds_max else { return self.rule };
        let seconds_max = self.seconds_bound.map_or(seconds_max, |most| most.min(seconds_max));
        let seconds_min = self.rule.seconds_min.min(seconds_max);
        StopRule { seconds_min, seconds_max, ..self.rule }
    }
}

pub(super) fn stop_rule(
    method: &Method,
    options: &Options,
    grade: Grade,
    steps: usize,
) -> StopRule {
    let mut rule = StopRule::for_grade(grade);
    if options.grade.is_none() {
        rule.seconds_min = method.file.seconds_min.unwrap_or(rule.seconds_min);
        rule.seconds_max = method.file.seconds_max.unwrap_or(rule.seconds_max);
    }
    if let Some(rounds) = &method.file.rounds {
        (rule.seconds_min, rule.seconds_max) = (rounds.seconds, rounds.seconds);
    }
    if let Some(total) = options.seconds_max {
        rule.seconds_max = (total / steps.max(1) as f64).max(0.2);
    }
    rule.seconds_min = rule.seconds_min.min(rule.seconds_max);
    rule
}

/// Cuts rests and the cells' own seconds so that a pass over all cells takes no more than so long
/// where that can be: the longest first. Where it cannot, it is said.
pub(super) fn shorten(cells: &mut [CellSpec], total_s: f64, others_s: f64) -> Option<String> {
    let all = |level: f64| -> f64 {
        let each =
            |cell: &CellSpec| cell.rest_s.min(level) + cell.seconds.unwrap_or(others_s).min(level);
        cells.iter().map(each).sum()
    };
    let mut level = (0.2, REST_AND_SECONDS_MAX);
    while level.1 - level.0 > 1e-3 {
        let middle = (level.0 + level.1) / 2.0;
        if all(middle) > total_s { level.1 = middle } else { level.0 = middle }
    }
    for cell in &mut *cells {
        cell.rest_s = cell.rest_s.min(level.0);
        cell.seconds = cell.seconds.map(|seconds| seconds.min(level.0));
    }
    whole_cells(cells)
}

/// A day: no cell takes longer.
const REST_AND_SECONDS_MAX: f64 = 86_400.0;

/// What is said of cells that no time ends: a plan for four seconds took a minute and a half.
fn whole_cells(cells: &[CellSpec]) -> Option<String> {
    let is_whole =
        |cell: &&CellSpec| matches!(cell.bound, CellBound::Once | CellBound::Operations(_));
    let which = match (cells.iter().filter(is_whole).count(), cells.len()) {
        (0, _) => return None,
        (count, all) if count == all => "every cell is".to_owned(),
        (1, all) => format!("1 of {all} cells is"),
        (count, all) => format!("{count} of {all} cells are"),
    };
    Some(format!("{which} done whole, whatever time was asked for"))
}
