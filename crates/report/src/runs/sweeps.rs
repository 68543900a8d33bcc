//! Lines: cells that differ in a quantity, such as the block size, and otherwise do the same.

use super::{Kind, Parts, Subject, bytes_per_s, figure, flags, iops};
use crate::{
    chart::{Axis, Chart, Figure, Line, Lines, Point, Scale, Stroke, Unit, Value},
    number,
    terminal::words,
};
use record::Cell;
use std::collections::BTreeMap;

/// Fewer values of a quantity make no line.
const VALUES_MIN: usize = 3;
/// More lines in a chart cannot be followed: then each setting gets a chart of its own, if there is
/// more than one subject.
const LINES_MAX: usize = 9;
/// More charts of the same thing are read by nobody.
const SETTINGS_MAX: usize = 6;

/// What cells can differ in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Quantity {
    Block,
    Depth,
    Threads,
    Coordinate(String),
}

impl Quantity {
    fn of(&self, cell: &Cell) -> Option<f64> {
        match self {
            Self::Block => Some(cell.block_bytes as f64),
            Self::Depth => Some(f64::from(cell.queue_depth)),
            Self::Threads => Some(f64::from(cell.threads)),
            Self::Coordinate(key) => words::coordinate_number(cell, key),
        }
    }

    fn axis(&self) -> Axis {
        match self {
            Self::Block => Axis::sizes("block size"),
            Self::Depth => binary("queue depth of each thread"),
            Self::Threads => binary("threads"),
            Self::Coordinate(key) if key.ends_with("_bytes") => Axis::sizes(&in_words(key)),
            Self::Coordinate(key) if key.ends_with("percent") => {
                Axis::linear(&in_words(key), Unit::Percent)
            }
            Self::Coordinate(key) => Axis::linear(&in_words(key), Unit::Number),
        }
    }

    fn title(&self) -> String {
        self.axis().title.replace(" of each thread", "")
    }

    /// The value as part of a line's name.
    fn setting(&self, cell: &Cell) -> String {
        match self {
            Self::Block => number::size(cell.block_bytes),
            Self::Depth if cell.queue_depth > 1 => format!("{} deep", cell.queue_depth),
            Self::Depth => "one at a time".to_owned(),
            Self::Threads if cell.threads == 1 => "1 thread".to_owned(),
            Self::Threads => format!("{} threads", cell.threads),
            Self::Coordinate(key) => {
                let value = words::coordinate_text(cell, key).unwrap_or_else(|| "none".to_owned());
                format!("{} {value}", in_words(key))
            }
        }
    }
}

fn binary(title: &str) -> Axis {
    Axis::new(title, Unit::Number, Scale::Binary)
}

fn in_words(key: &str) -> String {
    key.strip_suffix("_bytes").or(key.strip_suffix("_percent")).unwrap_or(key).replace('_', " ")
}

/// What the cells of a line have in common: `8 deep`, `2 threads`.
type Setting = Vec<String>;

/// Cells that do the same but for quantities.
struct Facet<'c> {
    title: String,
    /// Along the x axis.
    along: Quantity,
    /// By subject: its cells with the setting of their line, a word for each quantity that parts
    /// lines.
    cells: Vec<Vec<(Setting, &'c Cell)>>,
}

/// The names of cells that belong into a sweep.
pub(super) fn names(cells: &[&Cell]) -> Vec<String> {
    let names = facets(&[cells.to_vec()]).into_iter().flat_map(|facet| facet.cells).flatten();
    names.map(|(_, cell)| cell.name.clone()).collect()
}

/// What a cell does, its quantities left out: the heading of its chart.
fn doing(cell: &Cell, has_mixes: bool) -> String {
    let pattern = match cell.pattern.as_str() {
        "seq" => "sequential",
        "permutation" => "random, each block once",
        other => other,
    };
    let op = match cell.op.as_str() {
        "read" | "write" | "mixed" if has_mixes => "reads and writes".to_owned(),
        "read_modify_write" => "read-modify-write".to_owned(),
        op => op.replace('_', " "),
    };
    let mut text =
        words::coordinate_text(cell, "test").unwrap_or_else(|| format!("{pattern} {op}"));
    for word in cell.io.split(',').filter(|word| !["direct", ""].contains(word)) {
        text += &format!(
            ", {}",
            word.replace("dsync", "durable").replace("sync", "durable with metadata")
        );
    }
    text
}

fn facets<'c>(subjects: &[Vec<&'c Cell>]) -> Vec<Facet<'c>> {
    let all = || subjects.iter().flatten().copied();
    let has_mixes = all().any(|cell| cell.op == "mixed" || cell.op.starts_with("mixed:"));
    let mut titles: Vec<String> = Vec::new();
    for cell in all() {
        let title = doing(cell, has_mixes);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let mut facets = Vec::new();
    for title in titles {
        let of_title = |cell: &&&Cell| doing(cell, has_mixes) == title;
        let cells: Vec<Vec<&Cell>> =
            subjects.iter().map(|cells| cells.iter().filter(of_title).copied().collect()).collect();
        facets.extend(facet(title, &cells));
    }
    facets
}

/// Along the quantity with the most values; lines part by all others that vary.
fn facet<'c>(title: String, cells: &[Vec<&'c Cell>]) -> Option<Facet<'c>> {
    let all: Vec<&Cell> = cells.iter().flatten().copied().collect();
    let counts: Vec<(Quantity, usize)> = quantities(&all)
        .into_iter()
        .map(|quantity| (quantity.clone(), values(&quantity, &all)))
        .collect();
    let most = counts.iter().map(|(_, count)| *count).max()?;
    if most < VALUES_MIN {
        return None;
    }
    let (along, _) = counts.iter().find(|(_, count)| *count == most)?.clone();
    let parting: Vec<&Quantity> = counts
        .iter()
        .filter(|(other, count)| *count > 1 && *other != along)
        .map(|(q, _)| q)
        .collect();
    let has_mixes = all.iter().any(|cell| cell.op == "mixed");
    let line = |cell: &Cell| {
        let mut parts: Vec<String> =
            parting.iter().map(|quantity| quantity.setting(cell)).collect();
        if has_mixes && let Some(reads) = words::read_percent(cell) {
            parts.push(format!("{reads:.0} % reads"));
        }
        parts
    };
    let named = |cells: &Vec<&'c Cell>| {
        let is_placed = |cell: &&&Cell| along.of(cell).is_some();
        cells.iter().filter(is_placed).map(|cell| (line(cell), *cell)).collect()
    };
    let cells = cells.iter().map(named).collect();
    Some(Facet { title, along, cells })
}

fn quantities(cells: &[&Cell]) -> Vec<Quantity> {
    let mut quantities = vec![Quantity::Block, Quantity::Depth, Quantity::Threads];
    let mut keys: Vec<&String> = cells.iter().flat_map(|cell| cell.coordinates.keys()).collect();
    keys.sort();
    keys.dedup();
    let is_quantity = |key: &&String| !["read_percent", "round", "test"].contains(&key.as_str());
    quantities.extend(keys.into_iter().filter(is_quantity).cloned().map(Quantity::Coordinate));
    quantities
}

fn values(quantity: &Quantity, cells: &[&Cell]) -> usize {
    let mut values: Vec<f64> = cells.iter().filter_map(|cell| quantity.of(cell)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.len()
}

/// Rate, and over block sizes bandwidth, for everything that was swept.
pub(super) fn rates(subjects: &[Subject<'_>], parts: &Parts) -> Vec<Figure> {
    let note = "The median of each cell's passes with its 95 % interval.";
    let mut figures = Vec::new();
    for facet in of(subjects, parts) {
        let over = facet.along.title();
        let operations = Axis::log("rate", Unit::Iops);
        figures.extend(
            facet.figures(subjects, "IOPS", &over, note, operations, |cell| Some(iops(cell))),
        );
        if facet.along == Quantity::Block {
            let bandwidth = Axis::linear("bandwidth", Unit::BytesPerS);
            figures.extend(facet.figures(subjects, "Bandwidth", &over, note, bandwidth, |cell| {
                Some(bytes_per_s(cell))
            }));
        }
    }
    figures
}

/// Median and 99th percentile for everything that was swept.
pub(super) fn latency(subjects: &[Subject<'_>], parts: &Parts) -> Vec<Figure> {
    let mut figures = Vec::new();
    for facet in of(subjects, parts) {
        for (percent, what) in [(50.0, "Median latency"), (99.0, "99th percentile of latency")] {
            let note = if percent == 50.0 {
                "Half of the operations took at most this long."
            } else {
                "One operation in a hundred took longer. Left out where fewer than ten operations lie beyond."
            };
            let value = |cell: &Cell| {
                let ns = cell.latency.as_ref()?.percentile(percent)?;
                Some(Value { value: ns as f64, ci95: None, note: flags(cell) })
            };
            let axis = Axis::log("latency", Unit::Ns);
            figures.extend(facet.figures(subjects, what, &facet.along.title(), note, axis, value));
        }
    }
    figures
}

fn of<'c>(subjects: &[Subject<'c>], parts: &Parts) -> Vec<Facet<'c>> {
    let cells: Vec<Vec<&Cell>> =
        subjects.iter().map(|subject| parts.cells(subject, Kind::Sweep)).collect();
    facets(&cells)
}

/// At most `most` settings that span all of them: of every quantity its first and last value and
/// some between, so that lines differ in one thing at a time.
fn outline(settings: Vec<&Setting>, most: usize) -> Vec<&Setting> {
    if settings.len() <= most {
        return settings;
    }
    let parts = settings.iter().map(|setting| setting.len()).min().unwrap_or(0);
    let values = |part: usize| {
        let mut values: Vec<&String> = Vec::new();
        for setting in &settings {
            if !values.contains(&&setting[part]) {
                values.push(&setting[part]);
            }
        }
        values
    };
    let values: Vec<Vec<&String>> = (0..parts).map(values).collect();
    let mut counts: Vec<usize> = values.iter().map(Vec::len).collect();
    while counts.iter().product::<usize>() > most {
        let Some(longest) = counts.iter_mut().max().filter(|count| **count > 2) else { break };
        *longest -= 1;
    }
    let values: Vec<Vec<&String>> = values
        .into_iter()
        .zip(counts)
        .map(|(values, count)| super::thinned(values, count.max(2)))
        .collect();
    let is_kept = |setting: &&&Setting| {
        values.iter().zip(**setting).all(|(values, part)| values.contains(&part))
    };
    let kept: Vec<&Setting> = settings.iter().filter(is_kept).copied().collect();
    super::thinned(if kept.is_empty() { settings } else { kept }, most)
}

/// A line of a facet: whose, and what its cells have in common.
struct Drawn {
    subject: usize,
    setting: Setting,
    line: Line,
}

impl Facet<'_> {
    /// One chart, or one a setting when there would be too many lines; of too many settings the
    /// outermost and some between.
    fn figures(
        &self,
        subjects: &[Subject<'_>],
        what: &str,
        over: &str,
        note: &str,
        y: Axis,
        value: impl Fn(&Cell) -> Option<Value>,
    ) -> Vec<Figure> {
        let lines = self.lines(subjects, what, value);
        let head = format!("{what} over {over}: {}", self.title);
        let chart = |lines: Vec<Line>| {
            let x = self.along.axis();
            Chart::Lines(Lines { x, y: y.clone(), series: lines, bands: Vec::new() })
        };
        let mut settings: Vec<&Setting> = Vec::new();
        for drawn in &lines {
            if !settings.contains(&&drawn.setting) {
                settings.push(&drawn.setting);
            }
        }
        let of_all = settings.len();
        let is_one_chart = subjects.len() == 1 || lines.len() <= LINES_MAX;
        let settings = outline(settings, if is_one_chart { LINES_MAX } else { SETTINGS_MAX });
        let mut note = note.to_owned();
        if settings.len() < of_all {
            note += &format!(
                " {} of {of_all} settings are drawn: the outermost and some between; the table of all cells has the others.",
                settings.len()
            );
        }
        if lines.is_empty() {
            return Vec::new();
        }
        if is_one_chart {
            let shown = lines.iter().filter(|drawn| settings.contains(&&drawn.setting));
            return vec![figure(
                head,
                &note,
                chart(shown.map(|drawn| drawn.line.clone()).collect()),
            )];
        }
        let of_setting = |setting: &&Setting| {
            let lines = lines.iter().filter(|drawn| drawn.setting == **setting);
            let named = lines.map(|drawn| Line {
                name: subjects[drawn.subject].name.clone(),
                ..drawn.line.clone()
            });
            figure(format!("{head}, {}", setting.join(", ")), &note, chart(named.collect()))
        };
        settings.iter().map(of_setting).collect()
    }

    /// Every line, subject after subject, in the order of the method.
    fn lines(
        &self,
        subjects: &[Subject<'_>],
        what: &str,
        value: impl Fn(&Cell) -> Option<Value>,
    ) -> Vec<Drawn> {
        let mut lines = Vec::new();
        for (subject, cells) in self.cells.iter().enumerate() {
            let mut by_setting = BTreeMap::<&Setting, Vec<Point>>::new();
            let mut order: Vec<&Setting> = Vec::new();
            for (setting, cell) in cells {
                let (Some(x), Some(y)) = (self.along.of(cell), value(cell)) else { continue };
                if !by_setting.contains_key(setting) {
                    order.push(setting);
                }
                by_setting.entry(setting).or_default().push(Point { x, y });
            }
            for setting in order {
                let mut points = by_setting.remove(setting).unwrap_or_default();
                points.sort_by(|one, other| one.x.total_cmp(&other.x));
                let words = setting.join(", ");
                let name = match (subjects.len() > 1, setting.is_empty()) {
                    (true, true) => subjects[subject].name.clone(),
                    (true, false) => format!("{}, {words}", subjects[subject].name),
                    (false, true) => what.to_lowercase(),
                    (false, false) => words,
                };
                let line = Line { points, ..Line::new(&name, Stroke::Marked) };
                lines.push(Drawn { subject, setting: setting.clone(), line });
            }
        }
        lines
    }
}
