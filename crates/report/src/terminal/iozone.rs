//! File sizes down, record sizes across, a grid a test: KiB/s as IOzone reports. And the form of
//! the 2009 CMU study: record sizes down, mean and standard deviation over passes beside our
//! interval.

use super::{
    meaning,
    page::Page,
    table::{Align, Table},
    words,
};
use crate::number;
use record::Cell;
use std::cmp::Ordering;

/// A grid a test.
pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    for test in words::in_order(cells, test) {
        let of_test: Vec<&Cell> =
            cells.iter().filter(|cell| self::test(cell) == test).copied().collect();
        page.heading(&format!("{test}, KiB/s"));
        grid(page, &of_test);
    }
}

fn grid(page: &mut Page, cells: &[&Cell]) {
    let records = words::distinct(cells, |cell| cell.block_bytes);
    let names: Vec<String> = records.iter().map(|&bytes| number::size(bytes)).collect();
    let any_interval = cells.iter().any(|cell| words::half_width(cell).is_some());
    let last = if any_interval { &["widest 95 %", "notes"][..] } else { &["notes"] };
    let names = names.iter().map(String::as_str).chain(last.iter().copied());
    let mut table = Table::of_numbers("file \\ record", names);
    for file_bytes in words::distinct(cells, file_bytes) {
        let mut flags = Vec::new();
        let mut widest: Option<&Cell> = None;
        let mut row = vec![file_bytes.map_or_else(|| "-".to_owned(), number::size)];
        for &block_bytes in &records {
            let found = cells.iter().find(|cell| {
                cell.block_bytes == block_bytes && self::file_bytes(cell) == file_bytes
            });
            row.push(found.map_or_else(String::new, |cell| field(cell)));
            widest = found.into_iter().copied().chain(widest).max_by(|a, b| by_half_width(a, b));
            flags.extend(found.iter().flat_map(|cell| &cell.flags).copied());
        }
        row.extend(
            any_interval
                .then(|| widest.map_or_else(String::new, |cell| words::interval(cell, page.style))),
        );
        row.push(page.marks(&flags));
        table.row(row);
    }
    page.table(&table);
}

fn by_half_width(a: &Cell, b: &Cell) -> Ordering {
    let share = |cell| words::half_width(cell).unwrap_or(-1.0);
    share(a).total_cmp(&share(b))
}

/// The rate, and behind it what it is the rate of.
fn field(cell: &Cell) -> String {
    let text = format!("{} {}", kib_per_s(cell.bytes_per_s), meaning::letter(cell));
    text.trim_end().to_owned()
}

/// IOzone prints whole KiB/s, cut off.
fn kib_per_s(bytes_per_s: f64) -> String {
    let value = (bytes_per_s / 1024.0).trunc();
    if value.abs() < 1e15 { format!("{value:.0}") } else { number::significant(value) }
}

fn file_bytes(cell: &Cell) -> Option<u64> {
    words::coordinate_number(cell, "file_bytes")
        .filter(|&bytes| bytes >= 0.0)
        .map(|bytes| bytes as u64)
}

/// IOzone's name of the test, or the operation in words.
fn test(cell: &Cell) -> String {
    words::coordinate_text(cell, "test").unwrap_or_else(|| format!("{} {}", cell.pattern, cell.op))
}

/// Record sizes down: MB/s of 2^20 for sequential tests, IOPS for random ones, mean and standard
/// deviation as that study gives them, then our median and interval.
pub(super) fn render_cmu(page: &mut Page, cells: &[&Cell]) {
    for test in words::in_order(cells, test) {
        let of_test: Vec<&Cell> =
            cells.iter().filter(|cell| self::test(cell) == test).copied().collect();
        let is_random = of_test.iter().all(|cell| cell.pattern != "seq");
        page.heading(&format!("{test}, {}", if is_random { "IOPS" } else { "MB/s (2^20)" }));
        let mut table = Table::new(&[
            ("record", Align::Left),
            ("passes", Align::Right),
            ("mean", Align::Right),
            ("std dev", Align::Right),
            ("median", Align::Right),
            ("95 %", Align::Right),
            ("rate of", Align::Left),
            ("notes", Align::Left),
        ]);
        let mut sorted = of_test;
        sorted.sort_by_key(|cell| cell.block_bytes);
        for cell in sorted {
            let scale = if is_random { 1.0 } else { cell.block_bytes as f64 / 1_048_576.0 };
            let unit = |iops: f64| two_decimals(iops * scale);
            table.row(vec![
                number::size(cell.block_bytes),
                cell.passes.len().to_string(),
                unit(cell.iops_mean),
                cell.iops_stddev.map_or_else(|| "-".to_owned(), unit),
                unit(cell.iops),
                words::interval(cell, page.style),
                meaning::word(cell),
                page.marks(&cell.flags),
            ]);
        }
        page.table(&table);
    }
}

/// The study prints one or two decimals: enough of them to compare with it.
fn two_decimals(value: f64) -> String {
    if value.abs() < 1e12 { format!("{value:.2}") } else { number::significant(value) }
}
