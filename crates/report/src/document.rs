//! A report as plain data: words, figures and tables in their order, before it becomes a page or a
//! workbook.

use crate::chart::{Figure, Table, Unit};

/// A report. Whoever has something to show makes one: runs do in [`crate::runs::document`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    /// The heading.
    pub title: String,
    /// When and by what it was made of, one line.
    pub origin: String,
    /// What was measured and what it came to, in plain words, a paragraph each.
    pub summary: Vec<String>,
    /// The figures that matter most, at a glance.
    pub highlights: Vec<Highlight>,
    /// What to know before trusting the numbers; `None` where no check looked for it, for nothing
    /// was measured.
    pub doubts: Option<Vec<Doubt>>,
    /// The rest, in order.
    pub sections: Vec<Section>,
}

/// One thing at a glance: a number, or the same of several targets.
#[derive(Clone, PartialEq, Debug)]
pub struct Highlight {
    /// Of what it is.
    pub name: String,
    /// One for each target; the first is what the others are held against.
    pub readings: Vec<Reading>,
}

/// A number of a highlight.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// Which target's; empty where there is one.
    pub of: String,
    /// In its unit, not rounded.
    pub value: f64,
    /// How it is written.
    pub unit: Unit,
    /// Half of its 95 % interval as a share of it.
    pub half_width: Option<f64>,
    /// What else to know of it, such as a latency; may be empty.
    pub note: String,
    /// Names of the flags that doubt it.
    pub doubts: Vec<&'static str>,
    /// What it comes to against the first target.
    pub against: Option<Against>,
}

impl Reading {
    /// A number of which nothing else is known.
    pub fn new(value: f64, unit: Unit) -> Self {
        let (of, note) = (String::new(), String::new());
        Self { of, value, unit, half_width: None, note, doubts: Vec::new(), against: None }
    }
}

/// A number over that of the baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Against {
    /// Over the baseline's.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// `faster`, `slower`, `same`, `undecided`.
    pub verdict: &'static str,
}

/// A reason why numbers are less than they seem.
#[derive(Clone, PartialEq, Debug)]
pub struct Doubt {
    /// The flag's name.
    pub name: String,
    /// What it means.
    pub meaning: String,
    /// What can be done about it.
    pub cure: String,
    /// Where it was raised, and by what.
    pub seen: Vec<Seen>,
}

/// One sighting of a [`Doubt`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Which cells, in words.
    pub place: String,
    /// What was found there, with its values; may be empty.
    pub finding: String,
}

impl Seen {
    /// Place and finding in one line.
    pub fn words(&self) -> String {
        match self.finding.as_str() {
            "" => self.place.clone(),
            finding => format!("{}: {finding}", self.place),
        }
    }
}

/// A part with a heading.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// Short name of the sheet of a workbook that it stands on; sections of one name share a sheet.
    pub sheet: &'static str,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A chart with its table.
    Figure(Box<Figure>),
    /// A table alone.
    Table(Table),
    /// Text as it is, such as a method file, under a line that opens it.
    Verbatim {
        /// The line.
        title: String,
        /// The text.
        text: String,
    },
}

impl Document {
    /// Every figure, in order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Figure(figure) => Some(figure.as_ref()),
            _ => None,
        })
    }
}
