//! Charts as plain data: what is shown, not how it is drawn. Whoever has numbers makes a [`Figure`] of them;
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
    /// Short name for files and links: lower-case letters, digits and hyphens. Unique in a document.
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
    /// Values that it shows whatever the chart holds, so that charts side by side have the same ends.
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

/// Values of named things, side by side: a bar each on a linear scale, a dot each on a logarithmic one, where the
/// length of a bar would mean nothing.
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
#[derive(Clone, PartialEq, Debug)]
pub struct BarSeries {
    /// In the legend.
    pub name: String,
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
    /// In the order they are joined.
    pub points: Vec<Point>,
    /// How they are joined and marked.
    pub stroke: Stroke,
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

    /// Bars, points or fields that carry a value.
    pub fn values(&self) -> usize {
        match &self.chart {
            Chart::Bars(bars) => {
                bars.series.iter().flat_map(|series| &series.values).flatten().count()
            }
            Chart::Lines(lines) => lines.series.iter().map(|line| line.points.len()).sum(),
            Chart::Grid(grid) => grid.values.iter().flatten().flatten().count(),
        }
    }
}

/// A name for files and links from any text: lower-case letters, digits, single hyphens, at most 60 characters.
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

    #[test]
    fn a_slug_is_safe_in_a_file_name() {
        assert_eq!(slug("Random read, 4 KiB"), "random-read-4-kib");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("\u{6f22}<>"), "figure");
        assert!(slug(&"x ".repeat(200)).len() <= 60);
    }
}
