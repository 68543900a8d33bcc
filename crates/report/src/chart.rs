//! Charts as plain data: what is shown, not how it is drawn. Whoever has numbers makes a [`Figure`]
//! of them;
//! [`crate::svg`] draws it, [`table`](Figure::table) lists it.
//!
//! ```text
//!   records ---> runs ---+
//!   a study's tables ----+--> Figure {Bars | Lines | Grid} --> svg, table
//! ```

mod table;
mod unit;

pub use table::{Column, Entry, Table};
pub use unit::Unit;

/// A chart with what a reader needs to understand it.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Short name for files and links: lower-case letters, digits and hyphens. Unique in a
    /// document.
    pub id: String,
    /// One line.
    pub title: String,
    /// How to read it, in plain words; may be empty.
    pub note: String,
    /// What is shown.
    pub chart: Chart,
}

/// The kinds of chart.
#[derive(Clone, PartialEq, Debug)]
pub enum Chart {
    /// Values of named things.
    Bars(Bars),
    /// Values over a quantity.
    Lines(Lines),
    /// Values over two quantities.
    Grid(Grid),
}

/// What an axis measures.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// In words, without the unit.
    pub title: String,
    /// How its values are written.
    pub unit: Unit,
    /// How they are spaced.
    pub scale: Scale,
    /// Values that it shows whatever the chart holds, so that charts side by side have the same
    /// ends.
    pub shows: Option<[f64; 2]>,
}

impl Axis {
    /// An axis that ends where its chart's values do.
    pub fn new(title: &str, unit: Unit, scale: Scale) -> Self {
        Self { title: title.to_owned(), unit, scale, shows: None }
    }

    /// An axis in equal steps.
    pub fn linear(title: &str, unit: Unit) -> Self {
        Self::new(title, unit, Scale::Linear)
    }

    /// An axis in equal ratios.
    pub fn log(title: &str, unit: Unit) -> Self {
        Self::new(title, unit, Scale::Log)
    }

    /// Block, record or file sizes: equal ratios, labelled at powers of two.
    pub fn sizes(title: &str) -> Self {
        Self::new(title, Unit::Bytes, Scale::Binary)
    }

    /// The title, with the unit where the labels at ticks leave it out.
    pub fn title_at_ticks(&self) -> String {
        match &self.unit {
            Unit::Iops | Unit::Other(_) if self.title != self.unit.name() => {
                format!("{}, {}", self.title, self.unit.name())
            }
            _ => self.title.clone(),
        }
    }
}

/// How the values of an axis are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal steps; rates start at zero.
    Linear,
    /// Equal ratios; values that are not positive are left out.
    Log,
    /// Equal ratios, labelled at powers of two.
    Binary,
    /// Shares in percent by their distance from 100 %: 90, 99, 99.9 are equally far apart.
    Nines,
}

impl Scale {
    /// Logarithmic instead of linear where the values span so much that the small ones would be
    /// nothing to see; linear instead of logarithmic where some are not positive.
    pub fn fit(self, values: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0f64);
        for value in values.filter(|value| value.is_finite()) {
            (least, most) = (least.min(value), most.max(value));
        }
        match self {
            Self::Linear if least > 0.0 && most / least > LINEAR_SPAN_MAX => Self::Log,
            Self::Log if least <= 0.0 => Self::Linear,
            fits => fits,
        }
    }
}

/// The largest value over the smallest that a linear axis can show.
const LINEAR_SPAN_MAX: f64 = 50.0;

/// A number that may come with an interval and a remark.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Value {
    /// In the axis's unit.
    pub value: f64,
    /// 95 % interval, low and high.
    pub ci95: Option<[f64; 2]>,
    /// What to know about it, such as its flags; may be empty.
    pub note: String,
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self { value, ..Self::default() }
    }
}

/// Values of named things, side by side: a bar each on a linear scale, a dot each on a logarithmic
/// one, where the length of a bar would mean nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// What a group is: `cell`, `drive`.
    pub group_title: String,
    /// The named things.
    pub groups: Vec<String>,
    /// What is measured of them.
    pub value: Axis,
    /// Every series has one value, or none, a group.
    pub series: Vec<BarSeries>,
}

/// One value for each group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BarSeries {
    /// In the legend.
    pub name: String,
    /// Where its values come from, in a chart that has the same series of two sources, such as
    /// `published` and `modelled`; else empty.
    pub source: String,
    /// As many as there are groups.
    pub values: Vec<Option<Value>>,
}

/// Values over a quantity.
#[derive(Clone, PartialEq, Debug)]
pub struct Lines {
    /// The quantity.
    pub x: Axis,
    /// What is measured over it.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub series: Vec<Line>,
    /// Stretches of x with a meaning, such as the steady window.
    pub bands: Vec<Band>,
}

/// One line of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// Where its values come from, as [`BarSeries::source`].
    pub source: String,
    /// In the order they are joined.
    pub points: Vec<Point>,
    /// How they are joined and marked.
    pub stroke: Stroke,
}

/// What tells a series from the others of its chart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Which colour, marker and letter: those of its name, of whatever source.
    pub series: usize,
    /// Which of the chart's sources it is of.
    pub source: Source,
}

/// Of what source a series is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The chart has no more than one.
    Only,
    /// The first of two: filled bars and markers, lines drawn through.
    First,
    /// What is held against it: hollow markers, dashed lines.
    Other,
}

/// The looks of series by name and source. Of one source every series has a look of its own.
fn looks<'s>(series: impl Iterator<Item = (&'s str, &'s str)>) -> Vec<Look> {
    let series: Vec<(&str, &str)> = series.collect();
    let first = series.first().map_or("", |(_, source)| source);
    if series.iter().all(|(_, source)| *source == first) {
        let look = |series| Look { series, source: Source::Only };
        return (0..series.len()).map(look).collect();
    }
    let mut names: Vec<&str> = Vec::new();
    let mut look = |(name, source): &(&'s str, &'s str)| {
        let known = names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let source = if *source == first { Source::First } else { Source::Other };
        Look { series: at, source }
    };
    series.iter().map(&mut look).collect()
}

/// `1 thread, modelled`; the name alone where there is one source.
fn full_name(name: &str, source: &str) -> String {
    let parts = [name, source].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

impl BarSeries {
    /// Name and source.
    pub fn full_name(&self) -> String {
        full_name(&self.name, &self.source)
    }
}

impl Line {
    /// A line without points, of no source.
    pub fn new(name: &str, stroke: Stroke) -> Self {
        let (name, source, points) = (name.to_owned(), String::new(), Vec::new());
        Self { name, source, points, stroke }
    }

    /// Name and source.
    pub fn full_name(&self) -> String {
        full_name(&self.name, &self.source)
    }
}

impl Bars {
    /// What tells each series from the others.
    pub fn looks(&self) -> Vec<Look> {
        looks(self.series.iter().map(|one| (one.name.as_str(), one.source.as_str())))
    }
}

impl Lines {
    /// What tells each line from the others.
    pub fn looks(&self) -> Vec<Look> {
        looks(self.series.iter().map(|one| (one.name.as_str(), one.source.as_str())))
    }
}

/// One point of a line.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Along the x axis.
    pub x: f64,
    /// Along the y axis.
    pub y: Value,
}

/// How points are joined and marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stroke {
    /// A marker each, joined: for measurements that are few.
    Marked,
    /// Joined without markers: for series over time and distributions.
    Plain,
    /// A marker each, not joined: for a scatter.
    Points,
    /// A dashed line without markers: a limit, a formula, a specification.
    Limit,
}

/// A stretch of the x axis with a meaning.
#[derive(Clone, PartialEq, Debug)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it means.
    pub name: String,
}

/// Values over two quantities: a heat map, and a surface that turns.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// Across.
    pub x: Axis,
    /// Values of the columns, ascending.
    pub xs: Vec<f64>,
    /// Down.
    pub y: Axis,
    /// Values of the rows, ascending.
    pub ys: Vec<f64>,
    /// What is measured.
    pub value: Axis,
    /// A row for each of `ys`, in it a value, or none, for each of `xs`.
    pub values: Vec<Vec<Option<Value>>>,
}

impl Figure {
    /// The figure's numbers, all of them, as a table.
    pub fn table(&self) -> Table {
        table::of(self)
    }

    /// How the axis of its values is spaced: as its maker wants, where that fits the values. Shares
    /// of a whole stay as they are.
    pub fn scale(&self) -> Scale {
        let axis = match &self.chart {
            Chart::Bars(Bars { value, .. }) | Chart::Grid(Grid { value, .. }) => value,
            Chart::Lines(lines) => &lines.y,
        };
        match axis.unit {
            Unit::Percent => axis.scale,
            _ => axis.scale.fit(self.all_values().chain(axis.shows.into_iter().flatten())),
        }
    }

    fn all_values(&self) -> impl Iterator<Item = f64> {
        let values: Vec<f64> = match &self.chart {
            Chart::Bars(bars) => {
                let values = bars.series.iter().flat_map(|series| &series.values).flatten();
                values.map(|value| value.value).collect()
            }
            Chart::Lines(lines) => {
                let points = lines.series.iter().flat_map(|line| &line.points);
                points.map(|point| point.y.value).collect()
            }
            Chart::Grid(grid) => {
                grid.values.iter().flatten().flatten().map(|value| value.value).collect()
            }
        };
        values.into_iter()
    }

    /// Bars, points or fields that carry a value.
    pub fn values(&self) -> usize {
        self.all_values().count()
    }
}

/// A name for files and links from any text: lower-case letters, digits, single hyphens, at most 60
/// characters.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 60 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "figure".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page drew 30 IOPS beside 9,000 on a linear axis: the small bars could not be seen.
    #[test]
    fn values_that_span_more_than_fifty_times_get_a_logarithmic_axis() {
        let scale = |values: &[f64], unit: Unit| {
            let series = BarSeries {
                values: values.iter().map(|value| Some((*value).into())).collect(),
                ..BarSeries::default()
            };
            let (group_title, groups) = (String::new(), vec![String::new(); values.len()]);
            let value = Axis::linear("rate", unit);
            let chart = Chart::Bars(Bars { group_title, groups, value, series: vec![series] });
            let [id, title, note] = [(); 3].map(|()| String::new());
            Figure { id, title, note, chart }.scale()
        };
        assert_eq!(scale(&[30.0, 9000.0], Unit::Iops), Scale::Log);
        assert_eq!(scale(&[200.0, 9000.0], Unit::Iops), Scale::Linear);
        assert_eq!(scale(&[0.0, 9000.0], Unit::Iops), Scale::Linear, "zero has no logarithm");
        assert_eq!(scale(&[0.1, 99.0], Unit::Percent), Scale::Linear, "shares of a whole");
        assert_eq!(Scale::Log.fit([0.0, 1.0].into_iter()), Scale::Linear);
    }

    #[test]
    fn series_of_two_sources_share_the_look_of_their_name() {
        let look = |series, source| Look { series, source };
        let pairs = [("a", "published"), ("b", "published"), ("b", "modelled"), ("c", "modelled")];
        let expected = [
            look(0, Source::First),
            look(1, Source::First),
            look(1, Source::Other),
            look(2, Source::Other),
        ];
        assert_eq!(looks(pairs.into_iter()), expected);
        let alone = looks([("a", ""), ("a", "")].into_iter());
        assert_eq!(alone, [look(0, Source::Only), look(1, Source::Only)]);
    }

    #[test]
    fn a_slug_is_safe_in_a_file_name() {
        assert_eq!(slug("Random read, 4 KiB"), "random-read-4-kib");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("\u{6f22}<>"), "figure");
        assert!(slug(&"x ".repeat(200)).len() <= 60);
    }
}
