//! The default layout: a row a cell.

use super::{
    meaning, notes,
    page::Page,
    style::Paint,
    table::{Align, Table},
    words,
};
use record::Cell;

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    let names = words::distinct_names(cells, page.style);
    let marks: Vec<(String, Paint)> =
        cells.iter().map(|cell| (page.marks(&cell.flags), notes::paint(&cell.flags))).collect();
    let full = table(page, cells, &names, &marks, Columns::BothRates);
    let fits = full.natural_columns() <= page.style.columns();
    let table = if fits { full } else { table(page, cells, &names, &marks, Columns::Headline) };
    page.table(&table);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    Headline,
    BothRates,
}

fn table(
    page: &Page,
    cells: &[&Cell],
    names: &[String],
    marks: &[(String, Paint)],
    columns: Columns,
) -> Table {
    let both = columns == Columns::BothRates;
    let mut heads = vec![("cell", Align::Left), ("rate", Align::Right), ("95 %", Align::Right)];
    heads.extend(both.then_some(("also", Align::Right)));
    let any_burst = cells.iter().any(|cell| cell.burst().is_some());
    heads.extend(any_burst.then_some(("lasting", Align::Right)));
    // What lasts takes the place of the median, where there is no room for both.
    let median = both || !any_burst;
    heads.extend(median.then_some(("p50", Align::Right)));
    heads.push(("p99", Align::Right));
    let any_errors = cells.iter().any(|cell| cell.total.errors > 0);
    heads.extend(any_errors.then_some(("errors", Align::Right)));
    let any_meaning = meaning::any(cells);
    heads.extend(any_meaning.then_some(("rate of", Align::Left)));
    let any_marks = marks.iter().any(|(mark, _)| !mark.is_empty());
    heads.extend(any_marks.then_some(("notes", Align::Left)));
    let mut table = Table::new(&heads);
    for ((cell, name), mark) in cells.iter().zip(names).zip(marks) {
        let latency = cell.latency.as_ref();
        let mut row = vec![
            (name.clone(), Paint::Plain),
            (words::headline(cell), Paint::Strong),
            (words::interval(cell, page.style), Paint::Plain),
        ];
        row.extend(both.then(|| (words::other_rate(cell), Paint::Faint)));
        row.extend(any_burst.then(|| (words::lasting(cell), Paint::Plain)));
        row.extend(median.then(|| (words::percentile(latency, 50.0), Paint::Plain)));
        row.push((words::percentile(latency, 99.0), Paint::Plain));
        row.extend(any_errors.then(|| (cell.total.errors.to_string(), Paint::Wrong)));
        row.extend(any_meaning.then(|| (meaning::word(cell), Paint::Plain)));
        row.extend(any_marks.then(|| mark.clone()));
        table.painted_row(row);
    }
    table
}
