//! A report's table on a terminal: numbers to three digits, with their unit in the field or in the
//! head.

use super::{
    page::Page,
    style::Paint,
    table::{Align, Table},
};
use crate::{
    chart::{self, Entry, Unit},
    number,
};

/// Puts a table of a report on the page, under its title if it has one.
pub fn put_table(page: &mut Page<'_>, table: &chart::Table) {
    if !table.title.is_empty() {
        page.heading(&table.title);
    }
    // A long unit stands once, in the head of the value, and not again over its interval.
    let name = |at: usize, column: &chart::Column| match &column.unit {
        Some(Unit::Other(_)) if at == 0 || table.columns[at - 1].unit != column.unit => {
            page.style.clean(&column.name_with_unit())
        }
        _ => page.style.clean(&column.name),
    };
    let names: Vec<String> =
        table.columns.iter().enumerate().map(|(at, column)| name(at, column)).collect();
    let head = |(name, column): (&'_ String, &chart::Column)| {
        (name.clone(), if column.unit.is_some() { Align::Right } else { Align::Left })
    };
    let heads: Vec<(String, Align)> = names.iter().zip(&table.columns).map(head).collect();
    let heads: Vec<(&str, Align)> =
        heads.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    let mut lines = Table::new(&heads);
    for row in &table.rows {
        let field = |(entry, column): (&Entry, &chart::Column)| {
            let text = match entry {
                Entry::Empty => "-".to_owned(),
                Entry::Text(text) => page.style.clean(text),
                Entry::Number(value) => match &column.unit {
                    // Drives, sizes, passes: counts are whole.
                    Some(Unit::Number) if value.fract() == 0.0 && value.abs() < 1e6 => {
                        format!("{value:.0}")
                    }
                    Some(Unit::Other(_) | Unit::Number) | None => number::three_digits(*value),
                    Some(unit) => unit.text(*value),
                },
            };
            (text, Paint::Plain)
        };
        lines.painted_row(row.iter().zip(&table.columns).map(field).collect());
    }
    page.table(&lines);
}
