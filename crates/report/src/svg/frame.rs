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
    /// Room between the left edge and the first place, so that a marker there does not stand on the
    /// labels.
    pub(super) inset: f64,
}

/// Room between the labels of two ticks, px.
const LABEL_GAP: f64 = 16.0;
/// More ticks than this are a comb.
const TICKS_MAX: usize = 9;

impl Frame {
    /// A frame of `height` below `top`, with room for the labels of the ticks at its left.
    pub(super) fn new(top: f64, height: f64, y_ticks: &[Tick], y_title: &str) -> Self {
        let widest = y_ticks.iter().map(|tick| text_px(&tick.label, FONT)).fold(20.0, f64::max);
        let title = if y_title.is_empty() { 0.0 } else { 20.0 };
        Self {
            left: 14.0 + title + widest,
            right: WIDTH - 30.0,
            top,
            bottom: top + height,
            inset: 0.0,
        }
    }

    pub(super) fn x(&self, at: f64) -> f64 {
        let left = self.left + self.inset;
        left + at * (self.right - left)
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

    /// As many ticks as have room for their labels; where even two have none, two.
    pub(super) fn ticks_across(&self, ruler: &Ruler) -> Vec<Tick> {
        let fit = |ticks: &Vec<Tick>| {
            let width = |tick: &Tick| text_px(&tick.label, FONT);
            ticks.windows(2).all(|pair| {
                let room = self.x(pair[1].at) - self.x(pair[0].at);
                room >= (width(&pair[0]) + width(&pair[1])) / 2.0 + LABEL_GAP
            })
        };
        let tries = (2..=TICKS_MAX).rev().map(|most| ruler.ticks(most));
        tries.into_iter().find(fit).unwrap_or_else(|| ruler.ticks(2))
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
