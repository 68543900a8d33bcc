//! Grids: IOzone's tests over file size and record size.

use super::{Kind, Parts, Subject, bytes_per_s, figure};
use crate::{
    chart::{Axis, Chart, Figure, Grid, Unit},
    terminal::words,
};
use record::Cell;

/// Values in all grids of a method: all that IOzone's automatic mode gives, 18 tests of 133, and
/// about what a page of 3 MB holds beside its tables.
const VALUES_MAX: usize = 2500;

/// Names of the cells that have a file size and a block size, both in more than one value.
pub(super) fn names(cells: &[&Cell]) -> Vec<String> {
    let with_files: Vec<&Cell> =
        cells.iter().filter(|cell| file_bytes(cell).is_some()).copied().collect();
    let is_grid = words::distinct(&with_files, file_bytes).len() > 1
        && words::distinct(&with_files, |cell| cell.block_bytes).len() > 1;
    if is_grid { with_files.iter().map(|cell| cell.name.clone()).collect() } else { Vec::new() }
}

fn file_bytes(cell: &Cell) -> Option<u64> {
    let bytes = words::coordinate_number(cell, "file_bytes")?;
    (bytes >= 1.0).then_some(bytes as u64)
}

fn test(cell: &Cell) -> String {
    words::coordinate_text(cell, "test").unwrap_or_else(|| format!("{} {}", cell.pattern, cell.op))
}

/// A grid a test and subject, of the first tests where there are too many.
pub(super) fn figures(subjects: &[Subject<'_>], parts: &Parts) -> Vec<Figure> {
    let all: Vec<Vec<&Cell>> =
        subjects.iter().map(|subject| parts.cells(subject, Kind::Files)).collect();
    let joined: Vec<&Cell> = all.iter().flatten().copied().collect();
    let tests = words::in_order(&joined, test);
    let drawn = drawn(&tests, &joined);
    let mut note = "Steps show where a file outgrows a cache.".to_owned();
    if drawn < tests.len() {
        let of_all = tests.len();
        note += &format!(
            " {drawn} of {of_all} tests are drawn, the method's first; the record has all."
        );
    }
    let mut figures = Vec::new();
    for test in &tests[..drawn] {
        for (subject, cells) in subjects.iter().zip(&all) {
            let of_test: Vec<&Cell> =
                cells.iter().filter(|cell| self::test(cell) == *test).copied().collect();
            let title = match subjects.len() {
                1 => format!("{test} by file and record size"),
                _ => format!("{test} by file and record size: {}", subject.name),
            };
            figures.extend(grid(title, &note, &of_test));
        }
    }
    figures
}

/// How many tests have room; at least one.
fn drawn(tests: &[String], cells: &[&Cell]) -> usize {
    let mut values = 0;
    let has_room = |test: &&String| {
        values += cells.iter().filter(|cell| self::test(cell) == **test).count();
        values <= VALUES_MAX
    };
    tests.iter().take_while(has_room).count().max(1).min(tests.len())
}

fn grid(title: String, note: &str, cells: &[&Cell]) -> Option<Figure> {
    if cells.is_empty() {
        return None;
    }
    let files = words::distinct(cells, |cell| file_bytes(cell).unwrap_or(0));
    let records = words::distinct(cells, |cell| cell.block_bytes);
    let value = |file: u64, block: u64| {
        let found =
            cells.iter().find(|cell| cell.block_bytes == block && file_bytes(cell) == Some(file));
        found.map(|cell| bytes_per_s(cell))
    };
    let values = files
        .iter()
        .map(|&file| records.iter().map(|&block| value(file, block)).collect())
        .collect();
    let chart = Chart::Grid(Grid {
        x: Axis::sizes("record size"),
        xs: records.iter().map(|&bytes| bytes as f64).collect(),
        y: Axis::sizes("file size"),
        ys: files.iter().map(|&bytes| bytes as f64).collect(),
        value: Axis::log("bandwidth", Unit::BytesPerS),
        values,
    });
    Some(figure(title, note, chart))
}
