//! The forecast of a managed volume: a text, and a chart of efficiency against fill with the limit,
//! the bare drive and what was measured.

use crate::volume::{Forecast, Measured, Rates};
use block::display_bytes;
use lab::workload::Pattern;
use report::{
    chart::{Axis, Chart, Figure, Line, Lines, Point, Stroke, Unit, slug},
    document::{Block, Document, Section},
    number,
    terminal::{Style, bar, hanging},
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
        note: format!(
            "Random {} writes through the managed layer as a share of the sequential write rate. \
             Where the curve is above the bare drive, the layer helps.",
            display_bytes(rates.blocks.write_bytes)
        ),
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

/// What was measured, and under what.
pub struct Seen<'m> {
    /// At each fill that was asked for.
    pub points: &'m [Measured],
    /// In which order blocks were overwritten.
    pub skew: Pattern,
}

/// The rates of the drive, the forecast fill by fill, and what was measured.
pub fn text(
    drive: &str,
    rates: &Rates,
    forecast: &Forecast,
    &Seen { points: measured, skew }: &Seen<'_>,
    write_share: f64,
    style: &Style,
) -> String {
    let mut text = hanging("drive  ", &format!("{drive}; {}", rates.source));
    text += &hanging(
        "bare   ",
        &format!(
            "random {}: {} writes/s, {} reads/s; sequential: {} written, {} read",
            rates.blocks.words(),
            number::iops(rates.random_writes_per_s),
            number::iops(rates.random_reads_per_s),
            number::rate(rates.write_bytes_per_s),
            number::rate(rates.read_bytes_per_s)
        ),
    );
    text += "\n";
    text += &table(rates, forecast, write_share, style);
    text += "\n";
    for sentence in forecast.verdict(rates) {
        text += &hanging("", &sentence);
    }
    if !measured.is_empty() {
        let order = match skew {
            Pattern::Random => String::new(),
            skew => format!(" in the order of `{skew}`"),
        };
        let said = format!(
            "Measured on the model: mapped blocks overwritten ten times over{order}, the last \
             fifth counted."
        );
        text += &format!("\n{}\n", hanging("", &said));
        text += "  of the drive      writes/s      limit  measured/limit  write amplification\n";
    }
    for point in measured {
        text += &format!(
            "{:>14} {:>13} {:>10} {:>15.3} {:>20.3}\n",
            percent(point.live),
            number::iops(point.writes_per_s),
            number::iops(point.limit_writes_per_s),
            point.writes_per_s / point.limit_writes_per_s,
            point.write_amplification
        );
    }
    text
}

/// What it comes to for a trace, and what of the trace that rests on.
pub fn trace_text(on_drive: &[String], rests_on: &[String]) -> String {
    let whole = on_drive.iter().map(|sentence| hanging("", sentence));
    let list = rests_on.iter().map(|sentence| hanging("- ", sentence));
    format!("\n{}", whole.chain(list).collect::<String>())
}

/// Fill by fill: what is written, what is left, what comes of it.
fn table(rates: &Rates, forecast: &Forecast, write_share: f64, style: &Style) -> String {
    let operations = if write_share >= 1.0 { "writes/s" } else { "ops/s" };
    let bare = rates.mixed(rates.random_writes_per_s, write_share);
    let mut text =
        format!("of the drive  write amplif.  sequential  {operations:>9}  against bare\n");
    for point in &forecast.points {
        let managed = rates.mixed(rates.managed_writes_per_s(point.efficiency), write_share);
        let amplification = match point.write_amplification {
            huge if huge >= 100.0 => ">100".to_owned(),
            amplification => format!("{amplification:.2}"),
        };
        text += &format!(
            "{:>12} {:>14} {:>11} {:>10} {:>13}  {}\n",
            percent(point.live),
            amplification,
            percent(point.efficiency),
            number::iops(managed),
            format!("{} x", number::significant(managed / bare)),
            bar(point.efficiency, 12, style)
        );
    }
    text
}

/// `72.5 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
