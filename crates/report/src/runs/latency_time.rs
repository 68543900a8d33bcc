//! Percentiles of latency over time: when operations were slow, and how many of them.

use super::{Subject, figure, rates};
use crate::chart::{Axis, Chart, Figure, Line, Lines, Point, Scale, Stroke, Unit};
use record::{Cell, LatencySeries, Pass};

/// Charts in one report: those whose latency changes the most come first.
const CHARTS_MAX: usize = 12;

/// A chart a cell: of its passes that with the longest latency.
pub(super) fn figures(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let mut found: Vec<(&Subject<'_>, &Cell, &Pass, &LatencySeries)> = Vec::new();
    for subject in subjects {
        for cell in &subject.cells {
            found.extend(worst(cell).map(|(pass, series)| (subject, *cell, pass, series)));
        }
    }
    let of_all = found.len();
    let names = rates::cell_names(&found.iter().map(|found| found.1).collect::<Vec<_>>());
    let mut named: Vec<_> = found.into_iter().zip(names).collect();
    named.sort_by(|a, b| spread(b.0.3).total_cmp(&spread(a.0.3)));
    named.truncate(CHARTS_MAX);
    let left_out = if named.len() < of_all {
        let shown = named.len();
        format!(" {shown} of {of_all} cells are drawn, those that change most; the record has all.")
    } else {
        String::new()
    };
    let mut figures = Vec::new();
    for ((subject, cell, pass, series), name) in named {
        let name = match subjects.len() {
            1 => name,
            _ => format!("{}, {}", rates::cell_names(&[cell]).concat(), subject.name),
        };
        figures.push(of_pass(cell, pass, series, &name, &left_out));
    }
    figures
}

/// The pass with the longest latency of those that have any over time.
fn worst(cell: &Cell) -> Option<(&Pass, &LatencySeries)> {
    let passes = cell.passes.iter().filter_map(|pass| Some((pass, pass.series.latency.as_ref()?)));
    let drawn = passes.filter(|(_, series)| series.max_ns.iter().flatten().count() > 2);
    drawn.max_by_key(|(_, series)| series.max_ns.iter().flatten().max().copied())
}

/// The highest p99, or median where there is none, over the middle one.
fn spread(series: &LatencySeries) -> f64 {
    let values = |of: &[Option<u64>]| -> Vec<u64> { of.iter().flatten().copied().collect() };
    let mut all = values(&series.p99_ns);
    if all.is_empty() {
        all = values(&series.max_ns);
    }
    all.sort_unstable();
    match (all.last(), all.get(all.len() / 2)) {
        (Some(&most), Some(&middle)) if middle > 0 => most as f64 / middle as f64,
        _ => 0.0,
    }
}

fn of_pass(cell: &Cell, pass: &Pass, series: &LatencySeries, name: &str, left_out: &str) -> Figure {
    let stretch_s = pass.series.tick_ns as f64 / 1e9 * f64::from(series.ticks.max(1));
    let line = |title: &str, values: &[Option<u64>]| {
        let point = |(at, ns): (usize, &Option<u64>)| {
            Some(Point { x: (at as f64 + 0.5) * stretch_s, y: ((*ns)? as f64).into() })
        };
        let points: Vec<Point> = values.iter().enumerate().filter_map(point).collect();
        (points.len() > 1).then(|| Line { points, ..Line::new(title, Stroke::Plain) })
    };
    let lines =
        [line("longest", &series.max_ns), line("p99", &series.p99_ns), line("p50", &series.p50_ns)];
    let chart = Chart::Lines(Lines {
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::new("latency", Unit::Ns, Scale::Log),
        series: lines.into_iter().flatten().collect(),
        bands: Vec::new(),
    });
    let mut note = format!("Each point is of {stretch_s:.1} s.");
    if cell.passes.len() > 1 {
        let of = cell.passes.len();
        note += &format!(" Pass {} of {of}, the one with the longest latency.", pass.pass + 1);
    }
    if series.p99_ns.iter().all(Option::is_none) {
        note += " There were too few operations for a p99.";
    }
    note += left_out;
    figure(format!("Latency over time: {name}"), &note, chart)
}
