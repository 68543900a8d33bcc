//! Values of named things, lying down, so that names of any length can be read.

use super::{
    View,
    canvas::{Anchor, Canvas, FONT, WIDTH},
    frame::Frame,
    lines::{reach, value_words, whisker},
    mark,
    scale::{Origin, Ruler},
    style,
};
use crate::{
    chart::{Bars, Look, Scale, Source, Unit, Value},
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

pub(super) fn draw(bars: &Bars, keys: Vec<mark::Key>, view: View) -> Canvas {
    let looks = bars.looks();
    let rows = looks.iter().map(|look| look.series + 1).max().unwrap_or(0);
    let several = rows > 1;
    let placed = mark::place(keys);
    let scale = if view == View::Log { Scale::Log } else { Scale::Linear };
    let values = bars.series.iter().flat_map(|series| &series.values).flatten();
    let ruler = Ruler::new(&bars.value, scale, Origin::Zero, values.flat_map(reach));

    let widest = bars.groups.iter().map(|name| text_px(name, FONT)).fold(0.0, f64::max);
    let names_width = widest.min(WIDTH * NAMES_MAX);
    let group_height = ROW * rows as f64 + GROUP_GAP;
    let top = placed.height + 8.0;
    let left = 16.0 + names_width + if several { 30.0 } else { 10.0 };
    let bottom = top + group_height * bars.groups.len() as f64;
    let mut plot = Plot {
        frame: Frame { left, right: WIDTH, top, bottom, inset: 0.0 },
        ruler,
        bars,
        looks,
        rows,
        view,
        names_width,
    };
    let places = (0..bars.groups.len()).flat_map(|group| (0..rows).map(move |row| (group, row)));
    let widths = places.map(|(group, row)| text_px(&plot.words_at_end(group, row), 12.0));
    plot.frame.right -= widths.fold(30.0, f64::max) + VALUE_GAP + 2.0;
    let frame = &plot.frame;
    let mut canvas = Canvas::new(bottom + 50.0);
    placed.draw(&mut canvas);

    let ticks = frame.ticks_across(&plot.ruler);
    for tick in &ticks {
        let x = frame.x(tick.at);
        canvas.line("g", (x, top), (x, bottom));
    }
    frame.x_axis(&mut canvas, &ticks, &bars.value.title_at_ticks());
    for group in 0..bars.groups.len() {
        plot.group(&mut canvas, group, top + group_height * group as f64);
    }
    canvas
}

struct Plot<'b> {
    frame: Frame,
    ruler: Ruler,
    bars: &'b Bars,
    looks: Vec<Look>,
    /// Of a group: series of one name share a row.
    rows: usize,
    view: View,
    names_width: f64,
}

impl<'b> Plot<'b> {
    fn group(&self, canvas: &mut Canvas, group: usize, top: f64) {
        let Self { bars, frame, .. } = self;
        let height = ROW * self.rows as f64 + GROUP_GAP;
        if group % 2 == 1 {
            canvas.rect("row", 8.0, top, WIDTH - 16.0, height);
        }
        let name = fitted(&bars.groups[group], self.names_width + 2.0, FONT);
        let several = self.rows > 1;
        let name_end = frame.left - if several { 30.0 } else { 10.0 };
        canvas.text(name_end, top + height / 2.0 + 4.5, "", Anchor::End, &name);
        for row in 0..self.rows {
            let middle = top + GROUP_GAP / 2.0 + ROW * (row as f64 + 0.5);
            if several {
                canvas.text(frame.left - 6.0, middle + 4.0, "k v", Anchor::End, &mark::letter(row));
            }
            let mut outermost = frame.left;
            for (at, value) in self.shown(group, row) {
                let words = format!("{}, {}", bars.groups[group], value_words(&bars.value, value));
                let words = match bars.series[at].full_name() {
                    name if name.is_empty() || bars.series.len() == 1 => words,
                    name => format!("{name}: {words}"),
                };
                outermost = outermost.max(self.bar(canvas, self.looks[at], middle, value, &words));
            }
            let text = self.words_at_end(group, row);
            canvas.text(outermost + VALUE_GAP, middle + 4.0, "v", Anchor::Start, &text);
        }
    }

    /// The series of a row that have a value here, the first source first.
    fn shown(&self, group: usize, row: usize) -> impl Iterator<Item = (usize, &'b Value)> {
        let bars = self.bars;
        let of_row = (0..bars.series.len()).filter(move |at| self.looks[*at].series == row);
        let value = move |at: usize| {
            let value = bars.series[at].values.get(group)?.as_ref()?;
            self.ruler.shows(value.value).then_some((at, value))
        };
        of_row.filter_map(value).collect::<Vec<_>>().into_iter()
    }

    /// What stands behind the bars of a row: `14.4k IOPS`, and that of another source behind a
    /// diamond.
    fn words_at_end(&self, group: usize, row: usize) -> String {
        let word = |(at, value): (usize, &Value)| {
            let text = at_end(&self.bars.value.unit, value.value);
            match self.looks[at].source {
                Source::Other => format!("\u{25c7} {text}"),
                Source::Only | Source::First => text,
            }
        };
        self.shown(group, row).map(word).collect::<Vec<_>>().join(" ")
    }

    /// Draws it and says where it ends.
    fn bar(&self, canvas: &mut Canvas, look: Look, middle: f64, value: &Value, words: &str) -> f64 {
        let place = |value: f64| self.frame.x(self.ruler.at(value));
        let end = place(value.value);
        let from = if self.view == View::Log { self.frame.left } else { place(0.0) };
        let is_bar = self.view != View::Log && look.source != Source::Other;
        canvas.open_series(look.series);
        canvas.mark(words, |canvas| {
            if is_bar {
                canvas.rect("b", from.min(end), middle - BAR / 2.0, (end - from).abs(), BAR);
                return;
            }
            if look.source != Source::Other {
                canvas.line("g", (from, middle), (end, middle));
            }
            let shape = match look.source {
                Source::Only => look.series,
                Source::First => 0,
                Source::Other => mark::DIAMOND,
            };
            // On a bar of its own colour an outline alone would not show.
            let class = match (look.source, self.view) {
                (Source::Other, View::Linear) => "o",
                (source, _) => mark::marker_class(source),
            };
            canvas.path(class, &mark::marker(shape, end, middle), "");
        });
        canvas.close();
        let mut outermost = end.max(from);
        if let Some(ends) = value.ci95 {
            let [low, high] = ends.map(place);
            canvas.open("iv");
            canvas.open(&format!("s{}", style::color(look.series)));
            match is_bar {
                true => interval_on_bar(canvas, low, high, middle),
                false => whisker(canvas, (low, middle), (high, middle)),
            }
            canvas.close();
            canvas.close();
            outermost = outermost.max(high);
        }
        outermost + if is_bar { 0.0 } else { 4.0 }
    }
}

/// A value as it stands at a bar's end: a unit of many words is read at the axis.
fn at_end(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Other(name) if name.len() > 6 => crate::number::significant(value),
        _ => unit.text(value),
    }
}

/// A thin shape in the colour of text with a rim in the page's, so that it shows on every bar and
/// beside it.
fn interval_on_bar(canvas: &mut Canvas, low: f64, high: f64, middle: f64) {
    const HALF: f64 = 0.7;
    let cap = |x: f64| format!("M{} {}h1.4v7h-1.4Z", Px(x - HALF), Px(middle - 3.5));
    let (left, right) = (low.min(high), low.max(high));
    let bar = format!("M{} {}H{}v1.4H{}Z", Px(left), Px(middle - HALF), Px(right), Px(left));
    canvas.path("w", &format!("{bar}{}{}", cap(left), cap(right)), "");
}
