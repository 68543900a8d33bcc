//! Derived tables: what numbers mean beside a price, a data sheet, another target or a model of two
//! lines. Each is a pure function of targets and of what is known of them, usable on any run, and
//! says what it lacks where it does not apply. `docs/reference/derived-tables.md` has the formulas.
//!
//! ```text
//!   Evidence {subjects, sheets, baseline} -> money.rs arrays.rs shape.rs against.rs -> chart::Table
//!                                            figure.rs: values with intervals; line.rs: least squares
//! ```

mod against;
mod arrays;
mod asked;
mod figure;
mod line;
mod money;
mod shape;
#[cfg(test)]
mod tests;

pub use asked::{NoBaseline, UnknownTable, kinds};
pub use figure::Figure;
pub use line::{Line, fit};
pub use shape::mix;

use crate::{
    chart::{Column, Entry, Table, Unit},
    document::{Block, Section},
    runs::Subject,
    specification::Specification,
    terminal::{Characters, Page, Style, put_table, words},
};
use record::Cell;

/// What tables are derived from.
pub struct Evidence<'r> {
    /// What was measured, with prices where they are known.
    pub subjects: Vec<Subject<'r>>,
    /// The data sheet of each subject, where there is one.
    pub sheets: Vec<Option<&'r Specification>>,
    /// The subject that others are held against.
    pub baseline: usize,
}

/// Why a table does not apply: one sentence about what is missing.
pub type Lack = String;

/// A table that can be asked for.
pub struct Kind {
    /// On the command line.
    pub name: &'static str,
    /// In the help, one line.
    pub about: &'static str,
    derive: fn(&Evidence<'_>) -> Result<Vec<Table>, Lack>,
}

/// All of them, in the order of the help.
pub const KINDS: &[Kind] = &[
    Kind { name: "price", about: "price per MB/s and per IOPS", derive: money::price },
    Kind {
        name: "advertised",
        about: "price per advertised performance",
        derive: money::advertised,
    },
    Kind { name: "capacity", about: "price per GB", derive: money::capacity },
    Kind {
        name: "specification",
        about: "measured as percent of the data sheet",
        derive: against::sheet,
    },
    Kind { name: "random", about: "random as percent of sequential", derive: shape::random },
    Kind {
        name: "write-cache",
        about: "what switching the write cache off costs and gains",
        derive: against::write_cache,
    },
    Kind { name: "speed-up", about: "every cell over the baseline's", derive: against::speed_up },
    Kind { name: "scaling", about: "arrays over one of their drives", derive: arrays::scaling },
    Kind {
        name: "access-time",
        about: "intercept of the time an operation takes over its size",
        derive: shape::access_time,
    },
    Kind {
        name: "mix",
        about: "mixes of reads and writes, from the rates of both",
        derive: shape::mixes,
    },
    Kind {
        name: "plateau",
        about: "smallest block that reaches 90 % of the bandwidth, and troughs",
        derive: shape::plateau,
    },
    Kind {
        name: "same-money",
        about: "arrays of the baseline's drives for the same money",
        derive: arrays::same_money,
    },
    Kind {
        name: "match",
        about: "how many of the baseline it takes to match",
        derive: arrays::to_match,
    },
    Kind { name: "watts", about: "IOPS per watt", derive: money::watts },
];

impl Kind {
    /// The tables, or what they lack.
    ///
    /// # Errors
    /// One sentence about what is missing.
    pub fn derive(&self, evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
        assert_eq!(evidence.subjects.len(), evidence.sheets.len(), "a sheet or none for each");
        if evidence.subjects.is_empty() {
            return Err("no cell was measured".to_owned());
        }
        (self.derive)(evidence)
    }
}

/// Tables for a terminal; one that does not apply is a line.
pub fn text(kinds: &[&Kind], evidence: &Evidence<'_>, style: &Style) -> String {
    let mut page = Page::new(style);
    for kind in kinds {
        match kind.derive(evidence) {
            Ok(tables) => {
                for table in &tables {
                    put_table(&mut page, table);
                }
            }
            Err(lack) => {
                page.gap();
                page.line(&format!("{}: {lack}", kind.name));
            }
        }
    }
    page.finish()
}

/// Tables for a report, without those that do not apply; none if none does.
pub fn section(kinds: &[&Kind], evidence: &Evidence<'_>) -> Option<Section> {
    let tables = kinds.iter().filter_map(|kind| kind.derive(evidence).ok()).flatten();
    let blocks: Vec<Block> = tables.map(Block::Table).collect();
    let title = "Derived tables".to_owned();
    (!blocks.is_empty()).then_some(Section { title, sheet: "Compared", blocks })
}

/// Rows of labels and one value with its interval.
struct Rows {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Entry>>,
}

impl Rows {
    fn new(title: &str, labels: &[&str], value: &str, unit: Unit) -> Self {
        let mut columns: Vec<Column> = labels.iter().map(|label| Column::text(label)).collect();
        columns.extend([value, "95 % from", "to"].map(|name| Column::number(name, unit.clone())));
        Self { title: title.to_owned(), columns, rows: Vec::new() }
    }

    fn push(&mut self, labels: &[&str], figure: Figure) {
        let mut row: Vec<Entry> = labels.iter().map(|label| Entry::text(label)).collect();
        row.push(Entry::Number(figure.value));
        row.push(Entry::number(figure.ci95.map(|[low, _]| low)));
        row.push(Entry::number(figure.ci95.map(|[_, high]| high)));
        self.rows.push(row);
    }

    /// A value that has no interval because it is exact.
    fn push_exact(&mut self, labels: &[&str], value: f64) {
        self.push(labels, Figure { value, ci95: None });
    }

    /// The table, if anything stands in it.
    fn table(self) -> Option<Table> {
        let table = Table { title: self.title, columns: self.columns, rows: self.rows };
        (!table.rows.is_empty()).then(|| table.without_empty_columns())
    }
}

/// Those that have rows, or what is lacking.
fn or_lack(
    tables: impl IntoIterator<Item = Option<Table>>,
    lack: &str,
) -> Result<Vec<Table>, Lack> {
    let tables: Vec<Table> = tables.into_iter().flatten().collect();
    if tables.is_empty() { Err(lack.to_owned()) } else { Ok(tables) }
}

/// Each cell of a subject with a name that tells it from the others.
fn named<'r>(subject: &Subject<'r>) -> Vec<(&'r Cell, String)> {
    let style = Style { characters: Characters::Unicode, ..Style::PLAIN };
    let names = words::distinct_names(&subject.cells, &style);
    subject.cells.iter().copied().zip(names).collect()
}

/// The subject's name, where there are several.
fn name<'s>(evidence: &'s Evidence<'_>, subject: &'s Subject<'_>) -> &'s str {
    if evidence.subjects.len() > 1 { &subject.name } else { "" }
}

/// Each block once, in random order, is random too.
fn is_random(cell: &Cell) -> bool {
    ["random", "permutation"].contains(&cell.pattern.as_str())
}

/// Whether its rate is read as bandwidth: in order, or of large blocks.
fn is_bandwidth(cell: &Cell) -> bool {
    cell.pattern == "seq" || cell.is_large_block()
}
