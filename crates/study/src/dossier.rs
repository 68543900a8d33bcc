//! A study opened: its cells, the book of what it printed, and what follows from that.

use crate::{
    BadStudy, Book, Cell, Claim, Figure, FigureFile, FigureKind, Printed, Study, StudyFile,
    TableFile,
    book::passes,
    cell::{ADDED, cells},
    expression::{
        Coordinates, Expression, Filter, Reading, Selection, Series, Trouble, Value, filters,
    },
};
use std::collections::BTreeSet;

/// A study, ready to be printed, modelled and judged.
#[derive(Clone, Debug)]
pub struct Dossier {
    /// Which.
    pub study: Study,
    /// Its words.
    pub file: StudyFile,
    /// The cells of its tables, table by table.
    pub cells: Vec<Cell>,
    /// Its claims, read.
    pub claims: Vec<Claim>,
    /// What it printed.
    pub printed: Book,
    /// Beside each cell, what follows from other printed figures.
    pub computed: Vec<Option<f64>>,
    /// Beside each cell, the numbers of the notes that stand at it, from 0.
    pub notes: Vec<Vec<usize>>,
    /// Beside each figure of the file, its cells by their numbers.
    pub figures: Vec<Vec<usize>>,
}

impl Dossier {
    /// Opens the study as it is carried.
    pub fn open(study: Study) -> Self {
        Self::with_figures(study, study.file(), &study.figures())
            .unwrap_or_else(|error| panic!("a test opens it: {error}"))
    }

    /// Opens a study with other words or figures than the carried ones.
    ///
    /// # Errors
    /// An expression that cannot be read or finds nothing, named by its table, note or claim.
    pub fn with_figures(
        study: Study,
        file: StudyFile,
        figures: &[Figure],
    ) -> Result<Self, BadStudy> {
        let bad = |complaint: String| BadStudy::new(study, complaint);
        let unknown = figures.iter().find(|figure| {
            !file.tables.iter().any(|table| table.published.as_ref() == Some(&figure.table))
        });
        if let Some(figure) = unknown {
            return Err(bad(format!("no [[table]] has published = \"{}\"", figure.table)));
        }
        let cells = cells(study, &file, figures).map_err(bad)?;
        let printed = printed_book(&file, &cells);
        let computed = derive(&file, &cells, &printed, Gaps::Wrong)
            .map_err(bad)?
            .into_iter()
            .map(|value| Some(value?.ok()?.number))
            .collect();
        let notes = notes(&file, &cells, &printed).map_err(bad)?;
        let figures = file.figures.iter().map(|figure| drawn(figure, &cells, &printed));
        let figures = figures.collect::<Result<_, _>>().map_err(bad)?;
        let claims = file.claims.iter().map(Claim::read).collect::<Result<_, _>>().map_err(bad)?;
        let mut measured = file.hosts.iter().flat_map(|host| &host.measured);
        if let Some(device) = measured.find(|device| file.device(device).is_none()) {
            return Err(bad(format!("a host measured `{device}`, which is no device")));
        }
        Ok(Self { study, file, cells, claims, printed, computed, notes, figures })
    }

    /// The cells of a table, by their numbers.
    pub fn of_table<'d>(&'d self, table: &'d str) -> impl Iterator<Item = usize> + 'd {
        let numbered = self.cells.iter().enumerate();
        numbered.filter(move |(_, cell)| cell.coordinate("table") == Some(table)).map(|(at, _)| at)
    }

    /// How the value of a coordinate is printed in one table: some words mean another thing in
    /// each.
    pub fn word_in(&self, table: &str, key: &str, value: &str) -> String {
        let own = self.file.words.get(&format!("{table}[{key}={value}]"));
        own.cloned().unwrap_or_else(|| self.word(key, value))
    }

    /// How the value of a coordinate is printed.
    pub fn word(&self, key: &str, value: &str) -> String {
        let words = &self.file.words;
        if let Some(word) = words.get(&format!("{key}={value}")).or_else(|| words.get(value)) {
            return word.clone();
        }
        match key {
            "device" => self.file.device(value).map_or(value, |device| &device.short).to_owned(),
            "block" | "file" => value.parse().map_or(value.to_owned(), report::number::size),
            _ => value.to_owned(),
        }
    }
}

fn printed_book(file: &StudyFile, cells: &[Cell]) -> Book {
    let mut book = Book::new(file);
    for cell in cells {
        match &cell.printed {
            Printed::Figure(number, _) => book.put(cell.at.clone(), Ok(*number)),
            Printed::Added => book.put(cell.at.clone(), Err(ADDED.to_owned())),
            Printed::Blank => {}
        }
    }
    book
}

/// What it means that a rule finds nothing in a book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gaps {
    /// The rule is wrong.
    Wrong,
    /// The book has not everything: no value.
    Expected,
}

/// Beside each cell that a table derives: its value from the figures of `book` and which they are,
/// or why there is none.
pub(crate) fn derive(
    file: &StudyFile,
    cells: &[Cell],
    book: &Book,
    gaps: Gaps,
) -> Result<Vec<Option<Result<Value, String>>>, String> {
    let mut derived = vec![None; cells.len()];
    for table in &file.tables {
        let about = |complaint: String| format!("table {}: {complaint}", table.id);
        for rule in &table.derived {
            let only = book.expand(&filters(&rule.filter).map_err(about)?).map_err(about)?;
            let expression: Expression = rule.value.parse().map_err(about)?;
            let mine = |cell: &Cell| {
                cell.coordinate("table") == Some(&table.id) && passes(&only, &cell.at)
            };
            let series = match Reading::new(book).evaluate(&expression) {
                Ok(series) => Ok(series),
                Err(Trouble::Missing(reason)) => Err(reason),
                Err(Trouble::Wrong(reason)) if gaps == Gaps::Expected => Err(reason),
                Err(Trouble::Wrong(complaint)) => return Err(about(complaint)),
            };
            for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| mine(cell)) {
                if derived[at].is_none() && cell.printed != Printed::Blank {
                    derived[at] = match &series {
                        Ok(series) => match found(table, &only, cell, series) {
                            Err(reason) if gaps == Gaps::Expected => Some(Err(reason)),
                            found => found.map_err(about)?.map(Ok),
                        },
                        Err(reason) => Some(Err(reason.clone())),
                    };
                }
            }
        }
    }
    Ok(derived)
}

/// The value of `series` that stands where `cell` does, in all that tells the table's cells apart.
fn found(
    table: &TableFile,
    only: &[Filter],
    cell: &Cell,
    series: &Series,
) -> Result<Option<Value>, String> {
    let keys = table.rows.iter().chain(&table.columns).chain(&table.panels);
    let keys: Vec<_> = keys.filter(|key| only.iter().all(|filter| filter.key != **key)).collect();
    let stands = |at: &Coordinates| {
        keys.iter().all(|key| match (at.get(*key), cell.at.get(*key)) {
            (Some(seen), Some(wanted)) => seen == wanted,
            _ => true,
        })
    };
    let mut fitting = series.values.iter().filter(|value| stands(&value.at));
    match (fitting.next(), fitting.next()) {
        (Some(_), Some(_)) => Err(format!("two derived values stand at {:?}", cell.at)),
        (value, _) => Ok(value.cloned()),
    }
}

fn notes(file: &StudyFile, cells: &[Cell], book: &Book) -> Result<Vec<Vec<usize>>, String> {
    let mut notes = vec![Vec::new(); cells.len()];
    for (number, note) in file.notes.iter().enumerate() {
        let Some(at) = &note.at else { continue };
        let about = |complaint: String| format!("note at {at}: {complaint}");
        let found = at.split("; ").map(|part| selected(part, cells, book));
        let found: Vec<usize> = found.collect::<Result<Vec<_>, _>>().map_err(about)?.concat();
        for at in &found {
            notes[*at].push(number);
        }
        if found.is_empty() {
            return Err(about("no cell is there".to_owned()));
        }
    }
    Ok(notes)
}

/// The cells that a selection names, in the order of their tables.
fn selected(text: &str, cells: &[Cell], book: &Book) -> Result<Vec<usize>, String> {
    let selection: Selection = text.parse()?;
    let only = book.expand(&selection.filters)?;
    let is_meant = |cell: &Cell| {
        cell.at.get("table").is_some_and(|table| selection.tables.contains(table))
            && passes(&only, &cell.at)
    };
    let numbered = cells.iter().enumerate();
    Ok(numbered.filter(|(_, cell)| is_meant(cell)).map(|(at, _)| at).collect())
}

/// The cells of a chart.
fn drawn(figure: &FigureFile, cells: &[Cell], book: &Book) -> Result<Vec<usize>, String> {
    let about = |complaint: String| format!("figure {}: {complaint}", figure.id);
    let found = selected(&figure.of, cells, book).map_err(about)?;
    if found.is_empty() {
        return Err(about(format!("`{}` selects nothing", figure.of)));
    }
    let counted = ["block", "threads", "load"];
    let runs_over_one = matches!(&figure.over[..], [one] if counted.contains(&one.as_str()));
    if figure.kind == FigureKind::Lines && !runs_over_one {
        return Err(about("lines run over `block`, `threads` or `load`".to_owned()));
    }
    let keys: Vec<&String> = figure.over.iter().chain(&figure.series).collect();
    let mut places = BTreeSet::new();
    for at in &found {
        let place: Vec<_> = keys.iter().map(|key| cells[*at].at.get(*key)).collect();
        if !places.insert(place) {
            return Err(about(format!("two cells stand at {:?}", cells[*at].at)));
        }
    }
    Ok(found)
}
