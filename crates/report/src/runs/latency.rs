//! Distributions of latency, from the recorded histograms.

use super::{Subject, figure, rates};
use crate::chart::{Axis, Chart, Figure, Line, Lines, Point, Scale, Stroke, Unit};
use record::{Cell, Latency};

/// More distributions than this are no report but an archive: the record and the CSV have them all.
const CELLS_MAX: usize = 24;
/// Of so many, this many are drawn: a curve with its table is 25 kB.
const CELLS_OF_MANY: usize = 12;
/// Curves in one chart.
const CURVES_MAX: usize = 6;
/// Buckets to a power of two, as `docs/reference/record-format.md` has it.
const BUCKETS: u64 = 64;

/// A curve of one cell: percentiles and their ns.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Percentiles, and the distribution, a handful of cells at a time.
pub(super) fn figures(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let (cells, of_all) = chosen(subjects);
    let examples: Vec<&Cell> = cells.iter().map(|(_, cell)| *cell).collect();
    let names = rates::cell_names(&examples);
    let mut curves = Vec::new();
    for ((subject, cell), name) in cells.iter().zip(&names) {
        let name = match subjects.len() {
            1 => name.clone(),
            // Cells of several subjects share their names.
            _ => format!("{}, {}", rates::cell_names(&[cell]).concat(), subjects[*subject].name),
        };
        let points = cell.latency.as_ref().map(distribution).unwrap_or_default();
        if points.len() > 1 {
            curves.push(Curve { name, points });
        }
    }
    let shown = curves.len();
    let left_out = if cells.len() < of_all {
        format!(
            " {shown} of {of_all} distributions are drawn, evenly chosen from those of the block size nearest to 4 KiB; the record has all."
        )
    } else {
        String::new()
    };
    let pages: Vec<&[Curve]> = curves.chunks(CURVES_MAX).collect();
    let mut figures = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        let number = if pages.len() > 1 {
            format!(" ({} of {})", at + 1, pages.len())
        } else {
            String::new()
        };
        figures.push(percentiles(page, &number, &left_out));
        figures.push(shares(page, &number, &left_out));
    }
    figures
}

/// All cells with more than one latency when they are few, else those of one block size; and of how
/// many.
fn chosen<'c>(subjects: &[Subject<'c>]) -> (Vec<(usize, &'c Cell)>, usize) {
    let has_curve = |cell: &Cell| {
        cell.latency.as_ref().is_some_and(|latency| latency.histogram.len() > 1 && latency.n >= 20)
    };
    let mut cells: Vec<(usize, &Cell)> = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        cells.extend(subject.cells.iter().filter(|cell| has_curve(cell)).map(|cell| (at, *cell)));
    }
    let of_all = cells.len();
    if of_all > CELLS_MAX {
        let distance = |cell: &Cell| (cell.block_bytes.max(1) as f64 / 4096.0).log2().abs();
        let nearest = cells.iter().map(|(_, cell)| distance(cell)).fold(f64::INFINITY, f64::min);
        cells.retain(|(_, cell)| distance(cell) == nearest);
        cells = super::thinned(cells, CELLS_OF_MANY);
    }
    // The same cell of all subjects stands together.
    let place = |cell: &Cell| {
        subjects.iter().find_map(|s| s.cells.iter().position(|c| c.name == cell.name))
    };
    cells.sort_by_key(|(subject, cell)| (place(cell), *subject));
    (cells, of_all)
}

/// Percentiles of the histogram, as far as ten operations lie beyond: every whole one, and in the
/// tail ten steps to each nine. Of equal values that follow each other the first and the last are
/// kept.
fn distribution(latency: &Latency) -> Vec<(f64, f64)> {
    let total: u64 = latency.histogram.iter().map(|[_, count]| *count).fold(0, u64::saturating_add);
    let tail = (20..=80).map(|tenth| 100.0 * (1.0 - 10f64.powf(-f64::from(tenth) / 10.0)));
    let wanted = (0..99).map(f64::from).chain(tail);
    let is_known = |percent: &f64| total as f64 * (1.0 - percent / 100.0) >= 10.0 - 1e-6;
    let mut buckets = latency.histogram.iter();
    let (mut seen, mut value) = (0u64, 0.0);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for percent in wanted.take_while(is_known) {
        let rank = (total as f64 * percent / 100.0 - 1e-6).ceil().max(1.0);
        while (seen as f64) < rank {
            let Some(&[lower, count]) = buckets.next() else { break };
            seen = seen.saturating_add(count);
            value = middle(lower)
                .clamp(latency.min_ns as f64, (latency.max_ns as f64).max(latency.min_ns as f64));
        }
        if let [.., (_, before), (_, last)] = points[..]
            && before == value
            && last == value
        {
            points.pop();
        }
        points.push((percent, value));
    }
    points
}

/// The middle of the bucket that starts at `lower`, ns: what a percentile in the record is, too.
fn middle(lower: u64) -> f64 {
    let width = if lower < 2 * BUCKETS { 1 } else { 1u64 << (lower.ilog2() - BUCKETS.ilog2()) };
    (lower + (width - 1) / 2) as f64
}

fn line(curve: &Curve, point: impl Fn(&(f64, f64)) -> Point) -> Line {
    let points = curve.points.iter().map(point).collect();
    Line { points, ..Line::new(&curve.name, Stroke::Plain) }
}

fn percentiles(curves: &[Curve], number: &str, left_out: &str) -> Figure {
    let nines = Axis::new("percentile", Unit::Percent, Scale::Nines);
    let point = |&(share, ns): &(f64, f64)| Point { x: share, y: ns.into() };
    let chart = Chart::Lines(Lines {
        x: nines,
        y: Axis::log("latency", Unit::Ns),
        series: curves.iter().map(|curve| line(curve, point)).collect(),
        bands: Vec::new(),
    });
    let note = format!(
        "How long the slowest operations take: each step to the right is a tenth of those before.{left_out}"
    );
    figure(format!("Latency by percentile{number}"), &note, chart)
}

fn shares(curves: &[Curve], number: &str, left_out: &str) -> Figure {
    let point = |&(share, ns): &(f64, f64)| Point { x: ns, y: share.into() };
    let chart = Chart::Lines(Lines {
        x: Axis::log("latency", Unit::Ns),
        y: Axis::linear("operations done by then", Unit::Percent),
        series: curves.iter().map(|curve| line(curve, point)).collect(),
        bands: Vec::new(),
    });
    let note = format!(
        "Where a curve is steep most operations take that long; two steps are two kinds of operation.{left_out}"
    );
    figure(format!("Distribution of latency{number}"), &note, chart)
}
