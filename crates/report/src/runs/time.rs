//! The rate over time, and over rounds, with the window that was judged.

use super::{Subject, figure, flags, rates};
use crate::{
    chart::{Axis, Band, Chart, Figure, Line, Lines, Point, Stroke, Unit},
    number,
};
use record::{Bound, Cell, Flag, Pass};

/// Charts over time in one report: those of cells that were not steady first.
const CHARTS_MAX: usize = 12;
/// Points of a chart, all passes together: more than pixels are seen by nobody.
const POINTS_MAX: usize = 300;
/// Points of a pass at least, however many passes there are.
const POINTS_MIN: usize = 60;
/// Rounds that steady state is judged over (SNIA PTS 2.0).
const WINDOW: u32 = 5;

/// A chart a cell, its passes as lines.
pub(super) fn series(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let mut cells: Vec<(&Subject<'_>, &Cell)> = Vec::new();
    for subject in subjects {
        let has_series =
            |cell: &&Cell| cell.passes.iter().any(|pass| rate_over_time(cell, pass).len() > 2);
        cells.extend(subject.cells.iter().copied().filter(has_series).map(|cell| (subject, cell)));
    }
    let of_all = cells.len();
    let names = rates::cell_names(&cells.iter().map(|(_, cell)| *cell).collect::<Vec<_>>());
    let mut named: Vec<(&Subject<'_>, &Cell, String)> = Vec::new();
    for ((subject, cell), name) in cells.into_iter().zip(names) {
        let name = if subjects.len() > 1 {
            format!("{}, {}", rates::cell_names(&[cell]).concat(), subject.name)
        } else {
            name
        };
        named.push((subject, cell, name));
    }
    named.sort_by_key(|(_, cell, _)| std::cmp::Reverse(unsteadiness(cell)));
    named.truncate(CHARTS_MAX);
    let shown = named.len();
    let left_out = if shown < of_all {
        format!(" {shown} of {of_all} cells are drawn, the least steady first; the record has all.")
    } else {
        String::new()
    };
    named.iter().map(|(_, cell, name)| over_time(cell, name, &left_out)).collect()
}

/// How much there is to see.
fn unsteadiness(cell: &Cell) -> usize {
    let telling = [
        Flag::Burst,
        Flag::LeftSteadyState,
        Flag::Drifting,
        Flag::BurstCredit,
        Flag::ThermalThrottling,
        Flag::NotConverged,
    ];
    cell.flags.iter().filter(|flag| telling.contains(flag)).count()
        + cell.passes.iter().map(|pass| pass.transitions.len()).sum::<usize>()
}

fn over_time(cell: &Cell, name: &str, left_out: &str) -> Figure {
    let unit = if cell.is_large_block() { Unit::BytesPerS } else { Unit::Iops };
    let line = |pass: &Pass| {
        let several = cell.passes.len() > 1;
        let name = if several { format!("pass {}", pass.pass + 1) } else { "rate".to_owned() };
        Line { points: rate_over_time(cell, pass), ..Line::new(&name, Stroke::Plain) }
    };
    let series: Vec<Line> =
        cell.passes.iter().map(line).filter(|line| line.points.len() > 1).collect();
    let chart = Chart::Lines(Lines {
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::linear("rate", unit),
        series,
        bands: judged(cell).into_iter().collect(),
    });
    let mut note = String::new();
    for pass in &cell.passes {
        for change in &pass.transitions {
            let [before, after] =
                [change.before_bytes_per_s, change.after_bytes_per_s].map(number::rate);
            let bytes = number::capacity(change.at_bytes);
            note += &format!(
                "After {bytes} ({:.1} s) the rate went from {before} to {after}. ",
                change.at_s
            );
        }
    }
    let flags = flags(cell);
    if !flags.is_empty() {
        note += &format!("Flags: {flags}. ");
    }
    note = format!("{note}{}", left_out.trim_start());
    figure(format!("Rate over time: {name}"), note.trim_end(), chart)
}

/// The window behind the longest warm-up, where every pass was judged.
fn judged(cell: &Cell) -> Option<Band> {
    if cell.bound != Bound::Time {
        return None;
    }
    let from = cell.passes.iter().map(|pass| pass.warm_up_s).fold(0.0, f64::max);
    let ends = cell
        .passes
        .iter()
        .filter_map(|pass| rate_over_time(cell, pass).last().map(|point| point.x));
    let to = ends.fold(f64::INFINITY, f64::min);
    let all_steady = cell.passes.iter().all(|pass| pass.steady);
    let name = if all_steady { "steady window" } else { "judged window, not steady" };
    (to.is_finite() && from < to).then(|| Band { from, to, name: name.to_owned() })
}

/// The rate in the middle of each stretch of ticks.
fn rate_over_time(cell: &Cell, pass: &Pass) -> Vec<Point> {
    let tick_s = pass.series.tick_ns as f64 / 1e9;
    let mut ticks = pass.series.operations.as_slice();
    // The last tick is cut off where the pass ended. A damaged record may have a time and no tick.
    if let Some((_, whole)) = ticks.split_last()
        && ticks.len() as f64 * tick_s > pass.total.seconds + tick_s * 1e-6
    {
        ticks = whole;
    }
    if tick_s <= 0.0 || ticks.is_empty() {
        return Vec::new();
    }
    let factor = if cell.is_large_block() { cell.block_bytes as f64 } else { 1.0 };
    let points_max = (POINTS_MAX / cell.passes.len().max(1)).max(POINTS_MIN);
    let per_point = ticks.len().div_ceil(points_max);
    let stretch = |(at, ticks): (usize, &[u64])| {
        let operations: f64 = ticks.iter().map(|tick| *tick as f64).sum();
        let seconds = ticks.len() as f64 * tick_s;
        let middle = (at * per_point) as f64 * tick_s + seconds / 2.0;
        Point { x: middle, y: (operations * factor / seconds).into() }
    };
    ticks.chunks(per_point).enumerate().map(stretch).collect()
}

/// For methods in rounds: the tracked cell, a line a subject.
pub(super) fn rounds(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let mut series: Vec<Line> = Vec::new();
    let mut bands = Vec::new();
    let mut tracked = String::new();
    for subject in subjects {
        let Some(rounds) = &subject.record.rounds else { continue };
        let point = |(at, rate): (usize, &f64)| Point { x: (at + 1) as f64, y: (*rate).into() };
        let points = rounds.rates.iter().enumerate().map(point).collect();
        tracked = rounds.tracked.clone();
        series.push(Line { points, ..Line::new(&subject.name, Stroke::Marked) });
        if let Some(round) = rounds.steady_at_round {
            let from = f64::from(round.saturating_sub(WINDOW - 1).max(1));
            bands.push(Band { from, to: f64::from(round), name: "first steady window".to_owned() });
        }
    }
    if series.iter().all(|line| line.points.len() < 2) {
        return Vec::new();
    }
    if subjects.len() > 1 {
        bands.clear(); // One band cannot speak for several subjects.
    }
    let chart = Chart::Lines(Lines {
        x: Axis::linear("round", Unit::Number),
        y: Axis::linear("rate", Unit::Iops),
        series,
        bands,
    });
    let note = "Steady after SNIA PTS 2.0: over five rounds the rate stays within 20 % and its fitted line within 10 % of the average.";
    vec![figure(format!("Rate by round: {tracked}"), note, chart)]
}
