//! Markers, dashes, letters and legends: what tells one series from the next without its colour.

use super::{
    canvas::{Anchor, Canvas, FONT, WIDTH},
    style,
};
use crate::{
    chart::{Chart, Look, Source, Stroke},
    markup::{Px, fitted, text_px},
};

/// Room between the entries of a legend, px.
const GAP: f64 = 18.0;
/// Room between a swatch and its name, px.
const SWATCH_GAP: f64 = 4.0;
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

/// The dashes of a series' line, as an attribute; the first is drawn through. Where there are two
/// sources the dashes tell those.
pub(super) fn dashes(look: Look, stroke: Stroke) -> &'static str {
    match (stroke, look.source, look.series % 5) {
        (Stroke::Limit, _, _) => " stroke-dasharray=\"3 4\"",
        (_, Source::First, _) | (_, Source::Only, 0) => "",
        (_, Source::Other, _) => " stroke-dasharray=\"6 3\"",
        (_, Source::Only, 1) => " stroke-dasharray=\"8 3\"",
        (_, Source::Only, 2) => " stroke-dasharray=\"3 3\"",
        (_, Source::Only, 3) => " stroke-dasharray=\"9 3 2 3\"",
        (_, Source::Only, _) => " stroke-dasharray=\"14 4\"",
    }
}

/// The class of a series' markers: filled, or hollow; what is held against the first lets it shine
/// through.
pub(super) fn marker_class(source: Source) -> &'static str {
    match source {
        Source::First => "d",
        Source::Only => "o",
        Source::Other => "e",
    }
}

/// What stands for values of the other source beside bars.
pub(super) const DIAMOND: usize = 3;

/// How the legend shows a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Swatch {
    /// A filled box with a letter.
    Letter(Look),
    /// The line as it is drawn, with its letter.
    Line(Look, Stroke),
    /// What all bars of a source look like.
    BarsOf(Source),
    /// What all lines of a source look like.
    LinesOf(Source),
}

/// An entry of a legend.
pub(super) struct Key {
    /// Which marks it stands for; none for those of a whole source.
    pub(super) series: Option<usize>,
    pub(super) name: String,
    swatch: Swatch,
}

/// What a chart's legend names: its series where there are several, then its sources.
pub(super) fn keys(chart: &Chart) -> Vec<Key> {
    let mut all: Vec<(Look, &str, &str, Swatch)> = Vec::new();
    match chart {
        Chart::Bars(bars) => {
            for (one, look) in bars.series.iter().zip(bars.looks()) {
                all.push((look, &one.name, &one.source, Swatch::Letter(look)));
            }
        }
        Chart::Lines(lines) => {
            for (one, look) in lines.series.iter().zip(lines.looks()) {
                all.push((look, &one.name, &one.source, Swatch::Line(look, one.stroke)));
            }
        }
        Chart::Grid(_) => {}
    }
    let mut keys: Vec<Key> = Vec::new();
    for (look, name, _, swatch) in &all {
        if keys.iter().all(|key| key.series != Some(look.series)) {
            keys.push(Key { series: Some(look.series), name: (*name).to_owned(), swatch: *swatch });
        }
    }
    if keys.len() < 2 {
        keys.clear();
    }
    let of_source = match chart {
        Chart::Bars(_) => Swatch::BarsOf,
        Chart::Lines(_) | Chart::Grid(_) => Swatch::LinesOf,
    };
    for source in [Source::First, Source::Other] {
        let found = all.iter().find(|(look, ..)| look.source == source);
        keys.extend(found.map(|(_, _, name, _)| Key {
            series: None,
            name: (*name).to_owned(),
            swatch: of_source(source),
        }));
    }
    keys
}

/// `A`, `B`, ... `Z`, `AA`...
pub(super) fn letter(series: usize) -> String {
    let last = char::from(b'A' + (series % 26) as u8).to_string();
    if series < 26 { last } else { letter(series / 26 - 1) + &last }
}

/// Where the names of series stand: a line after another, as many as it takes.
pub(super) struct Placed {
    entries: Vec<(f64, f64, String, Swatch)>,
    pub(super) height: f64,
}

pub(super) fn place(keys: Vec<Key>) -> Placed {
    let (mut x, mut y) = (16.0, 16.0);
    let mut entries = Vec::new();
    for key in keys {
        let name = fitted(&key.name, WIDTH - 80.0, FONT);
        let width = key.swatch.width() + SWATCH_GAP + text_px(&name, FONT) + GAP;
        if x + width > WIDTH - 8.0 && x > 16.0 {
            (x, y) = (16.0, y + LEGEND_LINE);
        }
        entries.push((x, y, name, key.swatch));
        x += width;
    }
    let height = if entries.is_empty() { 0.0 } else { y + 12.0 };
    Placed { entries, height }
}

impl Placed {
    pub(super) fn draw(&self, canvas: &mut Canvas) {
        for (x, y, name, swatch) in &self.entries {
            canvas.open(&swatch.class());
            swatch.draw(canvas, *x, *y);
            canvas.close();
            canvas.text(x + swatch.width() + SWATCH_GAP, y + 4.5, "", Anchor::Start, name);
        }
    }
}

impl Swatch {
    /// What it takes of a line, px.
    fn width(self) -> f64 {
        let letters = |look: Look| 10.0 * letter(look.series).len() as f64;
        match self {
            Self::Letter(look) => 15.0 + letters(look),
            Self::Line(look, _) => 28.0 + letters(look),
            Self::BarsOf(_) => 15.0,
            Self::LinesOf(_) => 26.0,
        }
    }

    /// Its colour: a series' own, or that of text.
    fn class(self) -> String {
        match self {
            Self::Letter(look) | Self::Line(look, _) => format!("s{}", style::color(look.series)),
            Self::BarsOf(_) | Self::LinesOf(_) => "s5".to_owned(),
        }
    }

    /// Draws it with its middle line at `y`.
    fn draw(self, canvas: &mut Canvas, x: f64, y: f64) {
        match self {
            Self::Letter(look) => {
                canvas.rect("b", x, y - 6.0, 12.0, 12.0);
                canvas.text(x + 15.0, y + 4.5, "k", Anchor::Start, &letter(look.series));
            }
            Self::Line(look, stroke) => {
                line(canvas, look, stroke, (x, y));
                canvas.text(x + 28.0, y + 4.5, "k", Anchor::Start, &letter(look.series));
            }
            Self::BarsOf(Source::Other) => canvas.path("o", &marker(DIAMOND, x + 6.0, y), ""),
            Self::BarsOf(_) => canvas.rect("b", x, y - 6.0, 12.0, 12.0),
            Self::LinesOf(source) => {
                let look = Look { series: 0, source };
                line(canvas, look, Stroke::Marked, (x, y));
            }
        }
    }
}

/// A piece of a line with its marker.
fn line(canvas: &mut Canvas, look: Look, stroke: Stroke, (x, y): (f64, f64)) {
    if stroke != Stroke::Points {
        let class = if stroke == Stroke::Limit { "e lim" } else { "l" };
        let path = format!("M{} {}H{}", Px(x), Px(y), Px(x + 24.0));
        canvas.path(class, &path, dashes(look, stroke));
    }
    if matches!(stroke, Stroke::Marked | Stroke::Points) {
        canvas.path(marker_class(look.source), &marker(look.series, x + 12.0, y), "");
    }
}

/// A swatch as a small drawing of its own.
pub(super) fn swatch_element(key: &Key) -> String {
    let swatch = key.swatch;
    let mut canvas = Canvas::new(14.0);
    swatch.draw(&mut canvas, 1.0, 7.0);
    let (class, width) = (swatch.class(), swatch.width() + 1.0);
    format!(
        "<svg class=\"chart {class}\" aria-hidden=\"true\" width=\"{width}\" height=\"14\" \
         viewBox=\"0 0 {width} 14\"><g class=\"{class}\">{}</g></svg>",
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
