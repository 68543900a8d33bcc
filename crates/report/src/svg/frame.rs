//! The rectangle that values are drawn in, with its axes.

use super::{
    canvas::{Anchor, Canvas, FONT, WIDTH},
    scale::{Ruler, Tick},
};
use crate::markup::{fitted, text_px};

/// The part of a drawing in which values stand, px.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// A frame of `height` below `top`, with room for the labels of the ticks at its left.
    pub(super) fn new(top: f64, height: f64, y_ticks: &[Tick], y_title: &str) -> Self {
        let widest = y_ticks.iter().map(|tick| text_px(&tick.label, FONT)).fold(20.0, f64::max);
        let title = if y_title.is_empty() { 0.0 } else { 20.0 };
        Self { left: 14.0 + title + widest, right: WIDTH - 34.0, top, bottom: top + height }
    }

    pub(super) fn x(&self, at: f64) -> f64 {
        self.left + at * (self.right - self.left)
    }

    pub(super) fn y(&self, at: f64) -> f64 {
        self.bottom - at * (self.bottom - self.top)
    }

    pub(super) fn y_axis(&self, canvas: &mut Canvas, ticks: &[Tick], title: &str) {
        for tick in ticks {
            let y = self.y(tick.at);
            canvas.line("g", (self.left, y), (self.right, y));
            canvas.text(self.left - 7.0, y + 4.5, "k", Anchor::End, &tick.label);
        }
        let title = fitted(title, self.bottom - self.top, FONT);
        canvas.upright(15.0, (self.top + self.bottom) / 2.0, &title);
    }

    /// Ticks below, without those whose labels would touch.
    pub(super) fn x_axis(&self, canvas: &mut Canvas, ticks: &[Tick], title: &str) {
        canvas.line("x", (self.left, self.bottom), (self.right, self.bottom));
        let mut free_from = f64::NEG_INFINITY;
        for tick in ticks {
            let (x, half) = (self.x(tick.at), text_px(&tick.label, FONT) / 2.0);
            canvas.line("x", (x, self.bottom), (x, self.bottom + 4.0));
            if x - half > free_from {
                canvas.text(x, self.bottom + 19.0, "k", Anchor::Middle, &tick.label);
                free_from = x + half + 6.0;
            }
        }
        let middle = (self.left + self.right) / 2.0;
        canvas.text(middle, self.bottom + 39.0, "a", Anchor::Middle, title);
    }
}

/// How many ticks fit beside each other.
pub(super) fn ticks_across(ruler: &Ruler, width: f64) -> Vec<Tick> {
    ruler.ticks((width / 70.0) as usize)
}
