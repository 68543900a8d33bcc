//! Markers, dashes and legends: what tells one series from the next without its colour.

use super::{
    canvas::{Anchor, Canvas, FONT, WIDTH},
    style,
};
use crate::{
    chart::Stroke,
    markup::{Px, fitted, text_px},
};

/// Room between the entries of a legend, px.
const GAP: f64 = 18.0;
/// Room for a swatch, px.
const SWATCH: f64 = 30.0;
const LEGEND_LINE: f64 = 21.0;

/// The marker of a series around a place, as a path: where it begins, and its outline from there.
pub(super) fn marker(series: usize, x: f64, y: f64) -> String {
    // Nine shapes and seven colours repeat together only after 63 series.
    let (dx, dy, outline) = match series % 9 {
        0 => (-4.2, 0.0, "a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0Z"),
        1 => (-3.8, -3.8, "h7.6v7.6h-7.6Z"),
        2 => (0.0, -5.0, "l4.6 8.4h-9.2Z"),
        3 => (0.0, -5.2, "l5.2 5.2-5.2 5.2-5.2-5.2Z"),
        4 => (0.0, 5.0, "l4.6-8.4h-9.2Z"),
        5 => (-1.5, -4.6, "h3v3.1h3.1v3h-3.1v3.1h-3v-3.1h-3.1v-3h3.1Z"),
        6 => (-5.0, 0.0, "l8.4-4.6v9.2Z"),
        7 => (5.0, 0.0, "l-8.4-4.6v9.2Z"),
        _ => (-2.5, -4.6, "h5l2.5 4.6-2.5 4.6h-5l-2.5-4.6Z"),
    };
    format!("M{} {}{outline}", Px(x + dx), Px(y + dy))
}

/// The dashes of a series' line, as an attribute; the first is drawn through.
pub(super) fn dashes(series: usize, stroke: Stroke) -> &'static str {
    match (stroke, series % 5) {
        (Stroke::Limit, _) => " stroke-dasharray=\"3 4\"",
        (_, 0) => "",
        (_, 1) => " stroke-dasharray=\"8 3\"",
        (_, 2) => " stroke-dasharray=\"3 3\"",
        (_, 3) => " stroke-dasharray=\"9 3 2 3\"",
        _ => " stroke-dasharray=\"14 4\"",
    }
}

/// How the legend shows a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Swatch {
    /// A filled box with a letter.
    Letter,
    /// The line as it is drawn.
    Line(Stroke),
}

/// `A`, `B`, ... `Z`, `AA`...
pub(super) fn letter(series: usize) -> String {
    let last = char::from(b'A' + (series % 26) as u8).to_string();
    if series < 26 { last } else { letter(series / 26 - 1) + &last }
}

/// Where the names of series stand: a line after another, as many as it takes.
pub(super) struct Placed {
    entries: Vec<(usize, f64, f64, String, Swatch)>,
    pub(super) height: f64,
}

pub(super) fn place(names: &[(&str, Swatch)]) -> Placed {
    let (mut x, mut y) = (16.0, 16.0);
    let mut entries = Vec::new();
    for (series, (name, swatch)) in names.iter().enumerate() {
        let name = fitted(name, WIDTH - 80.0, FONT);
        let width = SWATCH + text_px(&name, FONT) + GAP;
        if x + width > WIDTH - 8.0 && x > 16.0 {
            (x, y) = (16.0, y + LEGEND_LINE);
        }
        entries.push((series, x, y, name, *swatch));
        x += width;
    }
    let height = if entries.is_empty() { 0.0 } else { y + 12.0 };
    Placed { entries, height }
}

impl Placed {
    pub(super) fn draw(&self, canvas: &mut Canvas) {
        for (series, x, y, name, swatch) in &self.entries {
            canvas.open(&format!("s{}", style::color(*series)));
            draw_swatch(canvas, *series, *swatch, *x, *y);
            canvas.close();
            canvas.text(x + SWATCH, y + 4.5, "", Anchor::Start, name);
        }
    }
}

/// A swatch of 24 by 14 px whose middle line is at `y`.
pub(super) fn draw_swatch(canvas: &mut Canvas, series: usize, swatch: Swatch, x: f64, y: f64) {
    match swatch {
        Swatch::Letter => {
            canvas.rect("b", x, y - 6.0, 12.0, 12.0);
            canvas.text(x + 15.0, y + 4.5, "k", Anchor::Start, &letter(series));
        }
        Swatch::Line(stroke) => {
            if stroke != Stroke::Points {
                let class = if stroke == Stroke::Limit { "e lim" } else { "l" };
                let path = format!("M{} {}H{}", Px(x), Px(y), Px(x + 24.0));
                canvas.path(class, &path, dashes(series, stroke));
            }
            if matches!(stroke, Stroke::Marked | Stroke::Points) {
                canvas.path("o", &marker(series, x + 12.0, y), "");
            }
        }
    }
}

/// A swatch as a small drawing of its own.
pub(super) fn swatch_element(series: usize, swatch: Swatch) -> String {
    let mut canvas = Canvas::new(14.0);
    draw_swatch(&mut canvas, series, swatch, 1.0, 7.0);
    let color = style::color(series);
    let width =
        if swatch == Swatch::Letter { 15.0 + 10.0 * letter(series).len() as f64 } else { 26.0 };
    format!(
        "<svg class=\"chart s{color}\" aria-hidden=\"true\" width=\"{width}\" height=\"14\" \
         viewBox=\"0 0 {width} 14\"><g class=\"s{color}\">{}</g></svg>",
        canvas.body()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn series_look_different_for_longer_than_anybody_can_follow() {
        let look = |series| (style::color(series), marker(series, 0.0, 0.0));
        let looks: BTreeSet<_> = (0..63).map(look).collect();
        assert_eq!(looks.len(), 63);
        assert_eq!([0, 25, 26, 52].map(letter), ["A", "Z", "AA", "BA"]);
    }
}
