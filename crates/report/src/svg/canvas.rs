//! Shapes and text on a canvas; every text goes through the same escape.

use super::{View, style};
use crate::{
    chart::Figure,
    markup::{Escaped, Px, fitted},
    number::counted,
};
use std::fmt::Write;

/// Width of every drawing, px. A page scales it to the room there is.
pub(super) const WIDTH: f64 = 520.0;
/// Size of text, px.
pub(super) const FONT: f64 = 13.0;
/// Room for the title of a file of its own.
const TITLE_HEIGHT: f64 = 30.0;

/// Which end of a text stands at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing in progress.
pub(super) struct Canvas {
    pub(super) height: f64,
    body: String,
    /// Further attributes of the `<svg>` element, for the page's script.
    pub(super) attributes: String,
}

impl Canvas {
    pub(super) fn new(height: f64) -> Self {
        Self { height, body: String::new(), attributes: String::new() }
    }

    /// What was drawn so far.
    pub(super) fn body(&self) -> &str {
        &self.body
    }

    pub(super) fn open(&mut self, class: &str) {
        let _ = write!(self.body, "<g class=\"{class}\">");
    }

    /// A group that belongs to a series: what a legend switches, in the series' colour.
    pub(super) fn open_series(&mut self, series: usize) {
        let color = style::color(series);
        let _ = write!(self.body, "<g class=\"s{color}\" data-s=\"{series}\">");
    }

    pub(super) fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// Something with a value: what `write` draws, and the words that tell the value.
    pub(super) fn mark(&mut self, words: &str, write: impl FnOnce(&mut Self)) {
        let _ = write!(self.body, "<g class=\"m\"><title>{}</title>", Escaped(words));
        write(self);
        self.body.push_str("</g>");
    }

    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let (x, y) = (Px(x), Px(y));
        let _ =
            write!(self.body, "<text x=\"{x}\" y=\"{y}\"{class}{anchor}>{}</text>", Escaped(text));
    }

    /// Text in a colour of its own, in the middle of its place.
    pub(super) fn tinted(&mut self, x: f64, y: f64, class: &str, color: &str, text: &str) {
        let (x, y) = (Px(x), Px(y));
        let _ = write!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\" text-anchor=\"middle\" style=\"fill:{color}\">{}</text>",
            Escaped(text)
        );
    }

    /// Text that reads upwards.
    pub(super) fn upright(&mut self, x: f64, y: f64, text: &str) {
        let (x, y) = (Px(x), Px(y));
        let _ = write!(
            self.body,
            "<text transform=\"translate({x} {y}) rotate(-90)\" class=\"a\" \
             text-anchor=\"middle\">{}</text>",
            Escaped(text)
        );
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let path = format!("M{} {}L{} {}", Px(from.0), Px(from.1), Px(to.0), Px(to.1));
        self.path(class, &path, "");
    }

    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let (x, y, width, height) = (Px(x), Px(y), Px(width.max(0.0)), Px(height.max(0.0)));
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// A shape filled with a colour of its own.
    pub(super) fn filled(&mut self, path: &str, color: &str, attributes: &str) {
        let _ = write!(self.body, "<path d=\"{path}\" fill=\"{color}\"{attributes}/>");
    }

    pub(super) fn path(&mut self, class: &str, path: &str, attributes: &str) {
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{path}\"{attributes}/>");
    }

    /// Inside a page that has [`style::CSS`]: no title, the page has one.
    pub(super) fn element(self, figure: &Figure, view: View) -> String {
        let Self { height, body, attributes } = self;
        let label = format!("{}, {}", figure.title, view.title().to_lowercase());
        format!(
            "<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {}\"{attributes}>\
             <desc>{note}</desc>{body}</svg>",
            Escaped(label),
            Px(height),
            note = Escaped(described(figure)),
        )
    }

    /// A file of its own.
    pub(super) fn file(self, figure: &Figure) -> String {
        let Self { height, body, .. } = self;
        let height = height + TITLE_HEIGHT;
        let title = Escaped(&figure.title);
        let shown = fitted(&figure.title, WIDTH - 32.0, 16.0);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{mark}\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" \
             aria-labelledby=\"title note\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"note\">{note}</desc>\n\
             <style>{css}@media (prefers-color-scheme:dark){{{dark}}}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
             <text x=\"16\" y=\"26\" class=\"t\">{shown}</text>\n\
             <g transform=\"translate(0 {TITLE_HEIGHT})\">{body}</g>\n</svg>\n",
            mark = super::super::SVG_MARK,
            note = Escaped(&figure.note),
            shown = Escaped(shown),
            css = style::CSS,
            dark = style::CSS_DARK,
            height = Px(height),
        )
    }
}

/// What a reader who does not see it needs to know of a chart: how to read it, and how much there
/// is.
fn described(figure: &Figure) -> String {
    let values = counted(figure.values(), "value");
    format!("{} {values}, listed in the table below.", figure.note).trim_start().to_owned()
}
