//! Values of named things, lying down, so that names of any length can be read.

use super::{
    Legend, View,
    canvas::{Anchor, Canvas, FONT, WIDTH},
    frame::Frame,
    lines::{reach, value_words, whisker},
    mark::{self, Swatch},
    scale::{Origin, Ruler},
    style,
};
use crate::{
    chart::{Bars, Scale, Unit, Value},
    markup::{Px, fitted, text_px},
};

/// The names' share of the width, at most.
const NAMES_MAX: f64 = 0.40;
/// Room between a bar's end and its value in words, px.
const VALUE_GAP: f64 = 7.0;
/// Thickness of a bar and its room, px.
const BAR: f64 = 13.0;
const ROW: f64 = 17.0;
const GROUP_GAP: f64 = 9.0;

pub(super) fn draw(bars: &Bars, view: View, legend: Legend) -> Canvas {
    let several = bars.series.len() > 1;
    let names: Vec<(&str, Swatch)> =
        bars.series.iter().map(|series| (series.name.as_str(), Swatch::Letter)).collect();
    let placed = mark::place(if legend == Legend::Inside && several { &names } else { &[] });
    let scale = if view == View::Log { Scale::Log } else { Scale::Linear };
    let values = bars.series.iter().flat_map(|series| &series.values).flatten();
    let ruler = Ruler::new(&bars.value, scale, Origin::Zero, values.flat_map(reach));

    let widest = bars.groups.iter().map(|name| text_px(name, FONT)).fold(0.0, f64::max);
    let names_width = widest.min(WIDTH * NAMES_MAX);
    let group_height = ROW * bars.series.len() as f64 + GROUP_GAP;
    let top = placed.height + 8.0;
    let left = 16.0 + names_width + if several { 30.0 } else { 10.0 };
    let bottom = top + group_height * bars.groups.len() as f64;
    let words = |value: &Value| text_px(&at_end(&bars.value.unit, value.value), 12.0);
    let values = bars.series.iter().flat_map(|series| &series.values).flatten();
    let value_width = values.map(words).fold(30.0, f64::max) + VALUE_GAP + 2.0;
    let frame = Frame { left, right: WIDTH - value_width, top, bottom, inset: 0.0 };
    let mut canvas = Canvas::new(bottom + 50.0);
    placed.draw(&mut canvas);

    let ticks = frame.ticks_across(&ruler);
    for tick in &ticks {
        let x = frame.x(tick.at);
        canvas.line("g", (x, top), (x, bottom));
    }
    frame.x_axis(&mut canvas, &ticks, &bars.value.title_at_ticks());
    let plot = Plot { frame, ruler, bars, view, names_width };
    for group in 0..bars.groups.len() {
        plot.group(&mut canvas, group, top + group_height * group as f64);
    }
    canvas
}

struct Plot<'b> {
    frame: Frame,
    ruler: Ruler,
    bars: &'b Bars,
    view: View,
    names_width: f64,
}

impl Plot<'_> {
    fn group(&self, canvas: &mut Canvas, group: usize, top: f64) {
        let Self { bars, frame, .. } = self;
        let height = ROW * bars.series.len() as f64 + GROUP_GAP;
        if group % 2 == 1 {
            canvas.rect("row", 8.0, top, WIDTH - 16.0, height);
        }
        let name = fitted(&bars.groups[group], self.names_width + 2.0, FONT);
        let several = bars.series.len() > 1;
        let name_end = frame.left - if several { 30.0 } else { 10.0 };
        canvas.text(name_end, top + height / 2.0 + 4.5, "", Anchor::End, &name);
        for (at, series) in bars.series.iter().enumerate() {
            let middle = top + GROUP_GAP / 2.0 + ROW * (at as f64 + 0.5);
            if several {
                canvas.text(frame.left - 6.0, middle + 4.0, "k v", Anchor::End, &mark::letter(at));
            }
            let Some(value) = series.values.get(group).and_then(Option::as_ref) else { continue };
            if self.ruler.shows(value.value) {
                let words = format!("{}, {}", bars.groups[group], value_words(&bars.value, value));
                let words = if several { format!("{}: {words}", series.name) } else { words };
                self.bar(canvas, at, middle, value, &words);
            }
        }
    }

    fn bar(&self, canvas: &mut Canvas, series: usize, middle: f64, value: &Value, words: &str) {
        let place = |value: f64| self.frame.x(self.ruler.at(value));
        let end = place(value.value);
        let from = if self.view == View::Log { self.frame.left } else { place(0.0) };
        canvas.open_series(series);
        canvas.mark(words, |canvas| {
            if self.view == View::Log {
                canvas.line("g", (from, middle), (end, middle));
                canvas.path("o", &mark::marker(series, end, middle), "");
            } else {
                canvas.rect("b", from.min(end), middle - BAR / 2.0, (end - from).abs(), BAR);
            }
        });
        canvas.close();
        let mut outermost = end.max(from);
        if let Some(ends) = value.ci95 {
            let [low, high] = ends.map(place);
            canvas.open("iv");
            let across = |canvas: &mut Canvas| whisker(canvas, (low, middle), (high, middle));
            canvas.open(&format!("s{}", style::color(series)));
            if self.view == View::Log {
                across(canvas)
            } else {
                interval_on_bar(canvas, low, high, middle)
            }
            canvas.close();
            canvas.close();
            outermost = outermost.max(high);
        }
        let text = at_end(&self.bars.value.unit, value.value);
        canvas.text(outermost + VALUE_GAP, middle + 4.0, "v", Anchor::Start, &text);
    }
}

/// A value as it stands at a bar's end: a unit of many words is read at the axis.
fn at_end(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Other(name) if name.len() > 6 => crate::number::significant(value),
        _ => unit.text(value),
    }
}

/// A thin shape in the colour of text with a rim in the page's, so that it shows on every bar and beside it.
fn interval_on_bar(canvas: &mut Canvas, low: f64, high: f64, middle: f64) {
    const HALF: f64 = 0.7;
    let cap = |x: f64| format!("M{} {}h1.4v7h-1.4Z", Px(x - HALF), Px(middle - 3.5));
    let (left, right) = (low.min(high), low.max(high));
    let bar = format!("M{} {}H{}v1.4H{}Z", Px(left), Px(middle - HALF), Px(right), Px(left));
    canvas.path("w", &format!("{bar}{}{}", cap(left), cap(right)), "");
}
