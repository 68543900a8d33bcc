//! The cells of a study's tables: those that have a figure, those that it left blank, and those
//! that drivelab adds.

use crate::{Figure, StackFile, Study, StudyFile, TableFile, book::sizes, expression::Coordinates};
use std::collections::BTreeMap;

/// A cell of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// Where it stands; `table` is the table's id.
    pub at: Coordinates,
    /// What is printed in it.
    pub printed: Printed,
    /// The figure as trials take it; its value is no number where none is printed.
    pub(crate) figure: Figure,
    /// In an added table: what is modelled.
    pub(crate) stack: Option<String>,
}

/// What is printed in a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Printed {
    /// This figure: the number, and the text.
    Figure(f64, String),
    /// Nothing: the study left it blank.
    Blank,
    /// Nothing: the study has no such table.
    Added,
}

impl Cell {
    /// The value of a coordinate.
    pub fn coordinate(&self, key: &str) -> Option<&str> {
        self.at.get(key).map(String::as_str)
    }
}

/// Why a cell of the printed book has no number: the study has no such table.
pub(crate) const ADDED: &str = "modelled only";

/// All cells of all tables, table by table.
pub(crate) fn cells(
    study: Study,
    file: &StudyFile,
    figures: &[Figure],
) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for table in &file.tables {
        let of_table = match (&table.published, &table.of) {
            (_, None) if !table.facts.is_empty() => facts(study, file, table),
            (None, _) => added(study, file, table),
            (Some(name), None) => printed(table, figures, name),
            (Some(name), Some(other)) => match Study::named(other) {
                Some(other) => printed(table, &other.figures(), name),
                None => Err(format!("there is no study `{other}`")),
            },
        };
        let of_table = of_table.map_err(|complaint| format!("table {}: {complaint}", table.id))?;
        cells.extend(of_table);
    }
    Ok(cells)
}

/// The figures of a table, then the rest of its grid.
fn printed(table: &TableFile, figures: &[Figure], name: &str) -> Result<Vec<Cell>, String> {
    let cell = |figure: &Figure| Cell {
        at: coordinates(&table.id, figure),
        printed: Printed::Figure(figure.value, figure.value_text.clone()),
        figure: figure.clone(),
        stack: None,
    };
    let of_table = figures.iter().filter(|figure| figure.table == name);
    let mut cells: Vec<Cell> = of_table.map(cell).collect();
    cells.extend(unprinted(table, &cells)?);
    Ok(cells)
}

/// What the study says of its devices.
fn facts(study: Study, file: &StudyFile, table: &TableFile) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for device in &file.devices {
        for fact in &table.facts {
            let Some(said) = device.facts.get(fact) else { continue };
            let (number, text) = (said.number().unwrap_or(f64::NAN), said.text());
            let mut figure = empty(study, table, &device.name);
            figure.metric.clone_from(fact);
            (figure.value, figure.value_text) = (number, text.to_owned());
            let printed = Printed::Figure(number, text.to_owned());
            cells.push(Cell { at: coordinates(&table.id, &figure), printed, figure, stack: None });
        }
    }
    Ok(cells)
}

fn empty(study: Study, table: &TableFile, device: &str) -> Figure {
    Figure {
        study,
        table: table.id.clone(),
        device: device.to_owned(),
        config: String::new(),
        op: String::new(),
        block_bytes: None,
        threads: None,
        metric: String::new(),
        value: f64::NAN,
        value_text: String::new(),
    }
}

/// Every property that the figure has.
fn coordinates(table: &str, figure: &Figure) -> Coordinates {
    let mut at = Coordinates::from([
        ("table".to_owned(), table.to_owned()),
        ("device".to_owned(), figure.device.clone()),
        ("op".to_owned(), figure.op.clone()),
        ("metric".to_owned(), figure.metric.clone()),
    ]);
    for part in figure.config.split(',') {
        let (key, value) = part.split_once('=').unwrap_or(("config", part));
        at.insert(key.to_owned(), value.to_owned());
    }
    if let Some(bytes) = figure.block_bytes {
        at.insert("block".to_owned(), bytes.to_string());
    }
    if let Some(threads) = figure.threads {
        at.insert("threads".to_owned(), threads.to_string());
    }
    at.retain(|_, value| !["", "-", "n/a"].contains(&value.as_str()));
    at
}

/// What the grid of a printed table has beyond its figures: the study left it blank.
fn unprinted(table: &TableFile, seen: &[Cell]) -> Result<Vec<Cell>, String> {
    let Some(like) = seen.first() else { return Ok(Vec::new()) };
    let keys = || table.rows.iter().chain(&table.columns).chain(&table.panels);
    let mut cells = Vec::new();
    if table.grid.is_empty() {
        return Ok(cells);
    }
    for point in points(table)? {
        let has = |cell: &Cell, key: &String| cell.at.get(key) == point.get(key);
        let is_here =
            |cell: &&Cell| keys().filter(|key| point.contains_key(*key)).all(|key| has(cell, key));
        if seen.iter().any(|cell| is_here(&cell)) {
            continue;
        }
        cells.push(at_point(table, like.figure.clone(), &point, Printed::Blank, None));
    }
    Ok(cells)
}

fn added(study: Study, file: &StudyFile, table: &TableFile) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for row in &table.stacks {
        let StackFile { device, config, stack } = row;
        let known = file.device(device).ok_or_else(|| format!("there is no device `{device}`"))?;
        let mut figure = empty(study, table, &known.name);
        figure.config.clone_from(config);
        for point in points(table)?.into_iter().filter(has_its_record) {
            cells.push(at_point(table, figure.clone(), &point, Printed::Added, stack.clone()));
        }
    }
    Ok(cells)
}

/// Whether a file of that size is walked in records of that size: none is larger than its file, and
/// IOzone leaves those below 64 KiB out for files above 16 MiB, without -z.
fn has_its_record(point: &Coordinates) -> bool {
    let bytes = |key: &str| point.get(key).and_then(|text| text.parse::<u64>().ok());
    let (Some(file), Some(record)) = (bytes("file"), bytes("block")) else { return true };
    record <= file && (record >= 64 << 10 || file <= 16 << 20)
}

fn at_point(
    table: &TableFile,
    mut figure: Figure,
    point: &Coordinates,
    printed: Printed,
    stack: Option<String>,
) -> Cell {
    for (key, value) in point {
        match key.as_str() {
            "op" => figure.op.clone_from(value),
            "metric" => figure.metric.clone_from(value),
            "block" => figure.block_bytes = value.parse().ok(),
            "threads" => figure.threads = value.parse().ok(),
            "file" => {
                let known = std::mem::take(&mut figure.config);
                figure.config = if known.is_empty() { known } else { known + "," };
                figure.config += &format!("file={value}");
            }
            _ => {}
        }
    }
    (figure.value, figure.value_text) = (f64::NAN, String::new());
    Cell { at: coordinates(&table.id, &figure), printed, figure, stack }
}

/// Every combination of the grid's values.
fn points(table: &TableFile) -> Result<Vec<Coordinates>, String> {
    const KEYS: [&str; 5] = ["op", "metric", "block", "threads", "file"];
    let mut points = vec![Coordinates::new()];
    // Rows first, so that cells come in the order of reading.
    let order = table.panels.iter().chain(&table.rows).chain(&table.columns);
    let mut grid: BTreeMap<&str, &Vec<String>> =
        table.grid.iter().map(|(key, values)| (key.as_str(), values)).collect();
    let mut axes: Vec<(&str, &Vec<String>)> = Vec::new();
    for key in order {
        axes.extend(grid.remove_entry(key.as_str()));
    }
    axes.extend(grid);
    for (key, values) in axes {
        if !KEYS.contains(&key) {
            return Err(format!("grid has `{key}`: it can have {}", KEYS.join(", ")));
        }
        let mut spelt = Vec::new();
        for value in values {
            spelt.extend(if ["block", "file"].contains(&key) {
                sizes(value)?
            } else {
                vec![value.clone()]
            });
        }
        let with = |point: &Coordinates| -> Vec<Coordinates> {
            let one = |value: &String| {
                let mut point = point.clone();
                point.insert(key.to_owned(), value.clone());
                point
            };
            spelt.iter().map(one).collect()
        };
        points = points.iter().flat_map(with).collect();
    }
    Ok(points)
}
