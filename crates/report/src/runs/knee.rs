//! Latency over the rate of an open loop, and the rate at which it leaves its limit.

use super::{Subject, figure};
use crate::{
    chart::{Axis, Band, Chart, Figure, Line, Lines, Point, Scale, Stroke, Unit},
    knee::{condition, curve, limited, sentence},
    number,
};
use record::{Cell, Knee, Latency};

/// Subjects without the cells at rates that were tried on the way: they are points of the curve.
pub(crate) fn without_probes<'r>(subjects: &[Subject<'r>]) -> Vec<Subject<'r>> {
    let mut subjects = subjects.to_vec();
    for subject in &mut subjects {
        let record = subject.record;
        subject.cells.retain(|cell| !record.is_probe(cell));
    }
    subjects
}

/// A chart a search.
pub(super) fn figures(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for subject in subjects {
        let own = subject.record.knees.iter().filter(|knee| knee.target == subject.target);
        for knee in own {
            let name = match subjects.len() {
                1 => knee.cell.clone(),
                _ => format!("{}, {}", knee.cell, subject.name),
            };
            figures.extend(of_knee(knee, &subject.cells, &name));
        }
    }
    figures
}

fn of_knee(knee: &Knee, cells: &[&Cell], name: &str) -> Option<Figure> {
    let curve = curve(knee, cells);
    let open: Vec<&(f64, &Cell)> = curve.iter().filter(|(rate, _)| *rate > 0.0).collect();
    if open.len() < 2 {
        return None;
    }
    let line = |title: &str, of: &dyn Fn(&Latency) -> Option<f64>| {
        let point = |(rate, cell): &&(f64, &Cell)| {
            Some(Point { x: *rate, y: of(cell.latency.as_ref()?)?.into() })
        };
        let points: Vec<Point> = open.iter().filter_map(point).collect();
        (points.len() > 1).then(|| Line { points, ..Line::new(title, Stroke::Marked) })
    };
    let at =
        |percent: f64| move |latency: &Latency| latency.percentile(percent).map(|ns| ns as f64);
    let mut series = vec![line("p50", &at(50.0)), line("p99", &at(99.0))];
    match knee.percent {
        Some(percent) if percent != 50.0 && percent != 99.0 => {
            series.push(line(&limited(knee), &at(percent)));
        }
        None => series.push(line("mean", &|latency| Some(latency.mean_ns))),
        _ => {}
    }
    let mut series: Vec<Line> = series.into_iter().flatten().collect();
    let limit = |x: f64| Point { x, y: (knee.limit_ns as f64).into() };
    let ends = [open.first(), open.last()].into_iter().flatten();
    let points = ends.map(|(rate, _)| limit(*rate)).collect();
    series.push(Line { points, ..Line::new("limit", Stroke::Limit) });
    let band = knee.iops_ci95.map(|[from, to]| Band { from, to, name: "knee, 95 %".to_owned() });
    let chart = Chart::Lines(Lines {
        x: Axis::linear("rate asked for", Unit::Iops),
        y: Axis::new("latency from the intended start", Unit::Ns, Scale::Log),
        series,
        bands: band.into_iter().collect(),
    });
    let closed = knee.closed_loop_iops.map_or_else(String::new, |iops| {
        format!(" A closed loop does {} IOPS.", number::iops(iops))
    });
    let note = format!("{}.{closed}", capital(&sentence(knee)));
    Some(figure(format!("Latency over rate, {}: {name}", condition(knee)), &note, chart))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // `p99` is a name and stays as it is.
    match letters.next() {
        Some(first) if first != 'p' => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}
