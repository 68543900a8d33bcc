//! The curve as SVG: efficiency against fill, the limit drawn, measured points on it.

use super::{forecast::Forecast, measured::Measured, rates::Rates};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 48.0;
/// Points of the curve.
const STEPS: u32 = 120;

/// The picture.
pub fn svg(drive: &str, rates: &Rates, forecast: &Forecast, measured: &[Measured]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let title =
        format!("{drive}: random 4 KiB writes, managed, as a share of the linear write rate");
    text(&mut svg, (LEFT, 22.0), "start", &title);
    axes(&mut svg);
    let bare = rates.random_writes_per_s / rates.managed_writes_per_s(1.0);
    let level = y(bare.min(1.0));
    let _ = writeln!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{level:.1}\" y2=\"{level:.1}\" stroke=\"#c03a2b\" \
         stroke-dasharray=\"5 4\"/>",
        WIDTH - RIGHT
    );
    text(&mut svg, (WIDTH - RIGHT, level - 5.0), "end", "bare");
    let points = (0..=STEPS).map(|step| {
        let live = forecast.fullest() * f64::from(step) / f64::from(STEPS);
        format!("{:.1},{:.1}", x(live), y(forecast.at(live).efficiency))
    });
    let points = points.collect::<Vec<_>>().join(" ");
    let _ = writeln!(
        svg,
        "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\" points=\"{points}\"/>"
    );
    let beside = forecast.at(0.55);
    text(
        &mut svg,
        (x(0.55) + 8.0, y(beside.efficiency) - 6.0),
        "start",
        "the limit, uniform random",
    );
    for point in measured {
        let share = point.writes_per_s / rates.managed_writes_per_s(1.0);
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#1b8a4b\"/>",
            x(point.live),
            y(share)
        );
        let label = format!("{:.1} % measured", share * 100.0);
        // The curve falls to the right: below on the left there is room.
        text(&mut svg, (x(point.live) - 8.0, y(share) + 14.0), "end", &label);
    }
    svg + "</svg>\n"
}

fn axes(svg: &mut String) {
    for tenth in 0..=5u32 {
        let share = f64::from(tenth) / 5.0;
        let label = format!("{:.0} %", share * 100.0);
        let (across, up) = (x(share), y(share));
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{up:.1}\" y2=\"{up:.1}\" stroke=\"#d8dce2\"/>",
            WIDTH - RIGHT
        );
        text(svg, (LEFT - 8.0, up + 4.0), "end", &label);
        text(svg, (across, HEIGHT - BOTTOM + 18.0), "middle", &label);
    }
    let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    text(svg, (middle, HEIGHT - 10.0), "middle", "share of the drive that is mapped");
}

fn x(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn y(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#20262e\">{words}</text>"
    );
}
