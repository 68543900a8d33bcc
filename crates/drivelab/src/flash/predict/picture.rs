//! Efficiency against fill as a chart: the limit, the bare drive, and what was measured.

use advice::volume::{Forecast, Measured, Rates};
use report::{
    chart::{Axis, Chart, Figure, Line, Lines, Point, Stroke, Unit, slug},
    document::{Block, Document, Section},
};

/// Points of the curve.
const STEPS: u32 = 60;

/// The chart.
pub fn figure(drive: &str, rates: &Rates, forecast: &Forecast, measured: &[Measured]) -> Figure {
    let linear = rates.managed_writes_per_s(1.0);
    let point = |live: f64, share: f64| Point { x: live * 100.0, y: (share * 100.0).into() };
    let limit = (0..=STEPS).map(|step| {
        let live = forecast.fullest() * f64::from(step) / f64::from(STEPS);
        point(live, forecast.at(live).efficiency)
    });
    let bare = rates.random_writes_per_s / linear;
    let seen = measured.iter().map(|seen| point(seen.live, seen.writes_per_s / linear));
    let line = |name: &str, stroke, points| Line { points, ..Line::new(name, stroke) };
    let mut series = vec![
        line("the limit, uniform random", Stroke::Plain, limit.collect()),
        line("the bare drive", Stroke::Limit, vec![point(0.0, bare), point(1.0, bare)]),
    ];
    if !measured.is_empty() {
        series.push(line("measured on the model", Stroke::Points, seen.collect()));
    }
    let whole =
        |title: &str| Axis { shows: Some([0.0, 100.0]), ..Axis::linear(title, Unit::Percent) };
    Figure {
        id: slug(&format!("efficiency {drive}")),
        title: format!("Efficiency against fill: {drive}"),
        note: "Random 4 KiB writes through the managed layer as a share of the sequential write rate. Where the \
               curve is above the bare drive, the layer helps."
            .to_owned(),
        chart: Chart::Lines(Lines {
            x: whole("share of the drive that is mapped"),
            y: whole("of the sequential write rate"),
            series,
            bands: Vec::new(),
        }),
    }
}

/// A page with the chart, its table, and what it comes to.
pub fn document(drive: &str, sentences: Vec<String>, text: String, figure: Figure) -> Document {
    let forecast = Block::Verbatim { title: "The forecast, fill by fill".to_owned(), text };
    Document {
        title: format!("A managed volume on {drive}"),
        origin: format!("flash predict; drivelab {}", env!("CARGO_PKG_VERSION")),
        summary: sentences,
        sections: vec![Section {
            title: "Efficiency".to_owned(),
            sheet: "Efficiency",
            blocks: vec![Block::Figure(Box::new(figure)), forecast],
        }],
        ..Document::default()
    }
}
