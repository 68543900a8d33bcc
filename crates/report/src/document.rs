//! A report as plain data: words, figures and tables in their order, before it becomes a page or a workbook.

use crate::chart::{Figure, Table};

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
    /// What to know before trusting the numbers; `None` where no check looked for it, for nothing was measured.
    pub doubts: Option<Vec<Doubt>>,
    /// The rest, in order.
    pub sections: Vec<Section>,
}

/// One number of the summary.
#[derive(Clone, PartialEq, Debug)]
pub struct Highlight {
    /// Of what it is.
    pub name: String,
    /// With its unit.
    pub value: String,
    /// Interval and more; may be empty.
    pub note: String,
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
    /// Which cells, in words.
    pub places: String,
}

/// A part with a heading.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// The heading.
    pub title: String,
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
