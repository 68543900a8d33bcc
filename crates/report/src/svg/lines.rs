//! Lines over a quantity, with intervals, markers, bands and limits.

use super::{
    View,
    canvas::{Anchor, Canvas, WIDTH},
    frame::Frame,
    mark,
    scale::{Origin, Ruler},
};
use crate::{
    chart::{Axis, Line, Lines, Look, Point, Scale, Stroke, Value},
    markup::{Escaped, Px},
};

const HEIGHT: f64 = 300.0;

struct Plot<'l> {
    frame: Frame,
    x: Ruler,
    y: Ruler,
    lines: &'l Lines,
    looks: Vec<Look>,
}

pub(super) fn draw(lines: &Lines, keys: Vec<mark::Key>, view: View) -> Canvas {
    let placed = mark::place(keys);
    let y_scale = match (view, lines.y.scale) {
        (View::Linear, _) => Scale::Linear,
        (_, Scale::Linear) => Scale::Log,
        (_, scale) => scale,
    };
    let points = || lines.series.iter().flat_map(|line| &line.points);
    let bands = || lines.bands.iter().flat_map(|band| [band.from, band.to]);
    let is_marked = |line: &Line| {
        matches!(line.stroke, Stroke::Marked | Stroke::Points) && !line.points.is_empty()
    };
    // In a scatter both ways are compared as lengths: half the price is half as far to the right.
    let is_scatter = lines.series.iter().all(|line| line.stroke == Stroke::Points);
    let x = Ruler::new(
        &lines.x,
        lines.x.scale,
        if is_scatter { Origin::Zero } else { Origin::Data },
        points().map(|point| point.x).chain(bands()),
    );
    let y = Ruler::new(&lines.y, y_scale, Origin::Zero, points().flat_map(|point| reach(&point.y)));
    let y_ticks = y.ticks(if y_scale == Scale::Linear { 7 } else { 12 });
    let y_title = lines.y.title_at_ticks();
    let mut frame = Frame::new(placed.height + 12.0, HEIGHT, &y_ticks, &y_title);
    frame.inset = if lines.series.iter().any(is_marked) { 10.0 } else { 0.0 };
    let mut canvas = Canvas::new(frame.bottom + 50.0);
    placed.draw(&mut canvas);
    let plot = Plot { frame, x, y, lines, looks: lines.looks() };
    plot.bands(&mut canvas);
    plot.frame.y_axis(&mut canvas, &y_ticks, &y_title);
    let across = plot.frame.ticks_across(&plot.x);
    plot.frame.x_axis(&mut canvas, &across, &lines.x.title_at_ticks());
    for (line, look) in lines.series.iter().zip(&plot.looks) {
        plot.line(&mut canvas, *look, line);
    }
    plot.letters(&mut canvas);
    canvas
}

/// The value and the ends of its interval.
pub(super) fn reach(value: &Value) -> [f64; 3] {
    let [low, high] = value.ci95.unwrap_or([value.value; 2]);
    [low, value.value, high]
}

/// `275 MB/s (270 MB/s to 280 MB/s); drifting`.
pub(super) fn value_words(axis: &Axis, value: &Value) -> String {
    let mut words = axis.unit.text(value.value);
    if let Some([low, high]) = value.ci95 {
        words += &format!(" (95 %: {} to {})", axis.unit.text(low), axis.unit.text(high));
    }
    if !value.note.is_empty() {
        words += &format!("; {}", value.note);
    }
    words
}

impl Plot<'_> {
    fn place(&self, point: &Point) -> Option<(f64, f64)> {
        let is_shown = self.x.shows(point.x) && self.y.shows(point.y.value);
        is_shown.then(|| (self.frame.x(self.x.at(point.x)), self.frame.y(self.y.at(point.y.value))))
    }

    fn bands(&self, canvas: &mut Canvas) {
        for band in &self.lines.bands {
            let [from, to] = [band.from, band.to].map(|x| self.frame.x(self.x.at(x)));
            let height = self.frame.bottom - self.frame.top;
            canvas.rect("band", from, self.frame.top, to - from, height);
            let (x, anchor) = match (from + to) / 2.0 {
                middle if middle > WIDTH * 0.8 => (to - 6.0, Anchor::End),
                _ => (from + 6.0, Anchor::Start),
            };
            canvas.text(x, self.frame.top + 15.0, "a v", anchor, &band.name);
        }
    }

    fn line(&self, canvas: &mut Canvas, look: Look, line: &Line) {
        canvas.open_series(look.series);
        if line.stroke != Stroke::Points {
            self.stroke(canvas, look, line);
        }
        if matches!(line.stroke, Stroke::Marked | Stroke::Points) {
            for point in &line.points {
                self.marked(canvas, look, line, point);
            }
        }
        canvas.close();
    }

    /// The letter of each series at the end of its line, so that nobody has to go by colours. Where
    /// ends are near each other letters move down and a thin line leads to them.
    fn letters(&self, canvas: &mut Canvas) {
        const APART: f64 = 11.0;
        let mut ends: Vec<(f64, f64, usize)> = Vec::new();
        for (line, look) in self.lines.series.iter().zip(&self.looks) {
            let end = line.points.iter().rev().find_map(|point| self.place(point));
            let is_new = ends.iter().all(|(_, _, series)| *series != look.series);
            ends.extend(end.filter(|_| is_new).map(|(x, y)| (x, y, look.series)));
        }
        if ends.len() < 2 {
            return;
        }
        ends.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for (end_x, end_y, series) in ends {
            let x = end_x + 9.0;
            let is_free = |y: f64| {
                let near = |(left, top): &(f64, f64)| {
                    (x - left).abs() < 14.0 && (y - top).abs() < APART - 0.1
                };
                !taken.iter().any(near)
            };
            let steps = (0..60).map(|step| end_y + APART / 2.0 * f64::from(step));
            let y = steps.into_iter().find(|y| is_free(*y)).unwrap_or(end_y);
            taken.push((x, y));
            canvas.open_series(series);
            if y - end_y > APART / 2.0 {
                canvas.line("e", (end_x + 4.0, end_y), (x, y));
            }
            canvas.text(x, y + 4.0, "w v", Anchor::Start, &mark::letter(series));
            canvas.close();
        }
    }

    /// The path, with the words of its corners where no marker carries them.
    fn stroke(&self, canvas: &mut Canvas, look: Look, line: &Line) {
        let mut path = String::new();
        let mut words = [String::new(), String::new()];
        let mut pen = "M";
        for point in &line.points {
            let Some((x, y)) = self.place(point) else {
                pen = "M";
                continue;
            };
            path += &format!("{pen}{} {}", Px(x), Px(y));
            pen = "L";
            let separator = if words[0].is_empty() { "" } else { "|" };
            let texts = [self.lines.x.unit.text(point.x), value_words(&self.lines.y, &point.y)];
            for (all, text) in words.iter_mut().zip(texts) {
                *all += &format!("{separator}{}", text.replace('|', "/"));
            }
        }
        if path.is_empty() {
            return;
        }
        let mut attributes = mark::dashes(look, line.stroke).to_owned();
        if matches!(line.stroke, Stroke::Plain | Stroke::Limit) {
            let name = Escaped(line.full_name());
            let [x, y] = words.each_ref().map(Escaped);
            attributes += &format!(" data-n=\"{name}\" data-x=\"{x}\" data-y=\"{y}\"");
        }
        canvas.path(if line.stroke == Stroke::Limit { "e lim" } else { "l" }, &path, &attributes);
    }

    fn marked(&self, canvas: &mut Canvas, look: Look, line: &Line, point: &Point) {
        let Some((x, y)) = self.place(point) else { return };
        let x_words = self.lines.x.unit.text(point.x);
        let values = value_words(&self.lines.y, &point.y);
        let words = format!("{}, {x_words}: {values}", line.full_name());
        canvas.mark(&words, |canvas| {
            if let Some(ends) = point.y.ci95 {
                let [low, high] = ends.map(|end| self.frame.y(self.y.at(end)));
                whisker(canvas, (x, low), (x, high));
            }
            canvas.path(mark::marker_class(look.source), &mark::marker(look.series, x, y), "");
        });
    }
}

/// An interval from end to end, with caps across.
pub(super) fn whisker(canvas: &mut Canvas, from: (f64, f64), to: (f64, f64)) {
    const CAP: f64 = 3.5;
    let (dx, dy) = if from.0 == to.0 { (CAP, 0.0) } else { (0.0, CAP) };
    let cap = |(x, y): (f64, f64)| {
        format!("M{} {}L{} {}", Px(x - dx), Px(y - dy), Px(x + dx), Px(y + dy))
    };
    let bar = format!("M{} {}L{} {}", Px(from.0), Px(from.1), Px(to.0), Px(to.1));
    canvas.path("e", &format!("{bar}{}{}", cap(from), cap(to)), "");
}
