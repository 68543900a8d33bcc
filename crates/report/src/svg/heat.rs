//! Values over two quantities as coloured fields with their numbers.

use super::{
    canvas::{Anchor, Canvas, FONT, WIDTH},
    lines::value_words,
    style,
};
use crate::{
    chart::{Grid, Scale, Value},
    markup::{Px, fitted, text_px},
};

const FIELD_HEIGHT: f64 = 26.0;
/// Steps in which the scale of colours is drawn.
const STEPS: usize = 60;

/// Where a value lies between the smallest and the largest, 0 to 1.
pub(super) struct Shades {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Shades {
    pub(super) fn of(grid: &Grid) -> Self {
        let values = || grid.values.iter().flatten().flatten().map(|value| value.value);
        let finite = || values().filter(|value| value.is_finite());
        let all_positive = values().all(|value| value > 0.0);
        let scale =
            if grid.value.scale == Scale::Log && all_positive { Scale::Log } else { Scale::Linear };
        let low = finite().fold(f64::INFINITY, f64::min).clamp(-1e290, 1e290);
        let high = finite().fold(f64::NEG_INFINITY, f64::max).clamp(-1e290, 1e290);
        Self { low, high, scale }
    }

    pub(super) fn share(&self, value: f64) -> f64 {
        let of = |value: f64| if self.scale == Scale::Log { value.max(1e-290).ln() } else { value };
        let share = (of(value.clamp(self.low, self.high.max(self.low))) - of(self.low))
            / (of(self.high) - of(self.low));
        if share.is_finite() { share } else { 0.5 }
    }
}

pub(super) fn draw(grid: &Grid) -> Canvas {
    let label = |y: &f64| grid.y.unit.text(*y);
    let widest = grid.ys.iter().map(|y| text_px(&label(y), FONT)).fold(0.0, f64::max);
    let (left, top) = (34.0 + widest, 46.0);
    let width = (WIDTH - 8.0 - left) / grid.xs.len().max(1) as f64;
    let bottom = top + FIELD_HEIGHT * grid.ys.len() as f64;
    let mut canvas = Canvas::new(bottom + 62.0);
    let right = left + width * grid.xs.len() as f64;
    canvas.text((left + right) / 2.0, 16.0, "a", Anchor::Middle, &grid.x.title);
    canvas.upright(15.0, (top + bottom) / 2.0, &fitted(&grid.y.title, bottom - top + 40.0, FONT));
    let heads: Vec<String> = grid.xs.iter().map(|x| grid.x.unit.text(*x)).collect();
    let widest = heads.iter().map(|text| text_px(text, 12.0) + 4.0).fold(0.0, f64::max);
    // Every second or third head where there is no room for all.
    let every = ((widest / width).ceil() as usize).max(1);
    for (column, text) in heads.iter().enumerate().step_by(every) {
        let middle = left + width * (column as f64 + 0.5);
        canvas.text(middle, 38.0, "k v", Anchor::Middle, text);
    }
    let shades = Shades::of(grid);
    let largest = if shades.high.is_finite() { shades.high } else { 1.0 };
    let (factor, unit) = grid.value.unit.common(largest);
    for (row, y) in grid.ys.iter().enumerate() {
        let field_top = top + FIELD_HEIGHT * row as f64;
        canvas.text(left - 7.0, field_top + 17.5, "k", Anchor::End, &label(y));
        let Some(values) = grid.values.get(row) else { continue };
        for (column, value) in values.iter().enumerate().take(grid.xs.len()) {
            let Some(value) = value.as_ref().filter(|value| value.value.is_finite()) else {
                continue;
            };
            let words = format!(
                "{} {}, {} {}: {}",
                grid.y.title,
                label(y),
                grid.x.title,
                grid.x.unit.text(grid.xs[column]),
                value_words(&grid.value, value)
            );
            let place = (left + width * column as f64, field_top, width);
            field(&mut canvas, place, value, shades.share(value.value), &words, factor);
        }
    }
    scale_of_colors(
        &mut canvas,
        grid,
        &shades,
        (left, right, bottom + 14.0),
        &format!("{unit}; colours"),
    );
    canvas
}

fn field(
    canvas: &mut Canvas,
    (x, y, width): (f64, f64, f64),
    value: &Value,
    share: f64,
    words: &str,
    factor: f64,
) {
    let color = style::viridis(share);
    canvas.mark(words, |canvas| {
        let path = format!(
            "M{} {}h{}v{}h-{}Z",
            Px(x),
            Px(y),
            Px(width - 1.0),
            Px(FIELD_HEIGHT - 1.0),
            Px(width - 1.0)
        );
        canvas.filled(&path, &style::hex(color), "");
        let text = crate::number::significant(value.value / factor);
        let fits = |(class, font)| (text_px(&text, font) + 2.0 < width).then_some(class);
        if let Some(class) = [("v", 12.0), ("f", 10.5)].into_iter().find_map(fits) {
            canvas.tinted(x + width / 2.0, y + 17.0, class, style::ink_on(color), &text);
        }
    });
}

/// From the smallest value to the largest, and what stands for them: `words` are the unit and
/// `colours`.
pub(super) fn scale_of_colors(
    canvas: &mut Canvas,
    grid: &Grid,
    shades: &Shades,
    (left, right, top): (f64, f64, f64),
    words: &str,
) {
    if !shades.low.is_finite() {
        return;
    }
    let [low, high] = [shades.low, shades.high].map(|value| grid.value.unit.text(value));
    let (from, to) =
        (left + text_px(&low, 12.0) + 8.0, (right - text_px(&high, 12.0) - 8.0).min(left + 420.0));
    let step = (to - from) / STEPS as f64;
    for at in 0..STEPS {
        let color = style::viridis(at as f64 / (STEPS - 1) as f64);
        let path = format!(
            "M{} {}h{}v10h-{}Z",
            Px(from + step * at as f64),
            Px(top),
            Px(step + 0.4),
            Px(step + 0.4)
        );
        canvas.filled(&path, &style::hex(color), "");
    }
    canvas.text(from - 6.0, top + 9.5, "k v", Anchor::End, &low);
    canvas.text(to + 6.0, top + 9.5, "k v", Anchor::Start, &high);
    let spacing = if shades.scale == Scale::Log { "logarithmic" } else { "linear" };
    let words = format!("{}, {words} {spacing}", grid.value.title).replace(", ;", ";");
    canvas.text(left, top + 30.0, "a v", Anchor::Start, &words);
}
