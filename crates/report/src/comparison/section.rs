//! A comparison as a section of a report.

use super::{Comparison, KneeRow, NotComparable, Other, Ratio, Row, show};
use crate::{
    chart::{Column, Entry, Table, Unit},
    document::{Block, Section},
    terminal::{Characters, Style, words},
};
use record::{Cell, PairedVerdict};

/// What a verdict is called.
pub(crate) fn word(verdict: PairedVerdict) -> &'static str {
    match verdict {
        PairedVerdict::Faster => "faster",
        PairedVerdict::Slower => "slower",
        PairedVerdict::Same => "same",
        PairedVerdict::Undecided => "undecided",
    }
}

/// A table for each of the others, or why there is none.
pub fn section(comparison: &Comparison<'_>) -> Section {
    let mut blocks = Vec::new();
    for other in &comparison.others {
        if other.rows.is_empty() {
            let reason = NotComparable::no_cell_of(&comparison.baseline, &other.subject);
            blocks.push(Block::Text(format!("Not compared cell by cell: {reason}.")));
            continue;
        }
        let limits = show::by_limit(&other.knees);
        blocks.extend(limits.iter().map(|rows| Block::Table(knees(comparison, other, rows))));
        blocks.push(Block::Table(table(comparison, other)));
        blocks.push(Block::Text(show::about(other).to_owned()));
        if let Some(effort) = &other.effort {
            let commands = effort.commands.join("; ");
            let takes = show::takes(effort, comparison.baseline.record);
            blocks.push(Block::Text(format!("{takes}: {commands}")));
        }
    }
    blocks.push(Block::Text(
        "Ratio: rate over the baseline's. Same: all of its 95 % interval within 2 %; faster, \
         slower: all of it beyond."
            .to_owned(),
    ));
    Section { title: "Against the baseline".to_owned(), sheet: "Compared", blocks }
}

/// What stands of every ratio.
fn columns() -> Vec<Column> {
    vec![
        Column::text("cell"),
        Column::number("ratio", Unit::Ratio),
        Column::text("verdict"),
        Column::number("95 % from", Unit::Ratio),
        Column::number("to", Unit::Ratio),
        Column::number("baseline", Unit::Iops),
        Column::number("this", Unit::Iops),
    ]
}

fn entries(name: &str, ratio: Option<Ratio>, verdict: &str, iops: [Option<f64>; 2]) -> Vec<Entry> {
    let ends = ratio.and_then(|ratio| ratio.ci95);
    let [baseline, this] = iops.map(Entry::number);
    vec![
        Entry::text(name),
        Entry::number(ratio.map(|ratio| ratio.ratio)),
        Entry::text(verdict),
        Entry::number(ends.map(|[low, _]| low)),
        Entry::number(ends.map(|[_, high]| high)),
        baseline,
        this,
    ]
}

/// Rates that were sought with one limit.
fn knees(comparison: &Comparison<'_>, other: &Other<'_>, rows: &[&KneeRow<'_>]) -> Table {
    let cells: Vec<&Cell> = rows.iter().map(|row| row.cell).collect();
    let style = Style { characters: Characters::Unicode, ..Style::PLAIN };
    let row = |(row, name): (&&KneeRow<'_>, String)| {
        let verdict = row.ratio.map_or("", |ratio| word(ratio.verdict));
        entries(&name, row.ratio, verdict, [row.baseline.iops, row.other.iops])
    };
    let names = words::distinct_names(&cells, &style);
    let rows_of_table = rows.iter().zip(names).map(row).collect();
    let sides = format!("{} against {}", other.subject.name, comparison.baseline.name);
    let title = format!("{}: {sides}", show::sought(rows[0]));
    Table { title, columns: columns(), rows: rows_of_table }
}

fn table(comparison: &Comparison<'_>, other: &Other<'_>) -> Table {
    let mut columns = columns();
    columns.extend([
        Column::number("bandwidth of the baseline", Unit::BytesPerS),
        Column::number("of this", Unit::BytesPerS),
        Column::number("passes of the baseline", Unit::Number),
        Column::number("of this", Unit::Number),
    ]);
    let cells: Vec<&Cell> = other.rows.iter().map(|row| row.baseline).collect();
    let style = Style { characters: Characters::Unicode, ..Style::PLAIN };
    let names = words::distinct_names(&cells, &style);
    let row = |(row, name): (&Row<'_>, String)| {
        let passes = |at: usize| Entry::number(row.ratio.map(|ratio| ratio.passes[at] as f64));
        let bandwidth =
            |cell: &Cell| Entry::number(cell.is_large_block().then_some(cell.bytes_per_s));
        let rates = [row.baseline, row.other].map(|cell| Some(cell.iops));
        let verdict = row.verdict().unwrap_or_default();
        let mut entries = entries(&name, row.ratio, &verdict, rates);
        entries.extend([bandwidth(row.baseline), bandwidth(row.other), passes(0), passes(1)]);
        entries
    };
    let rows = other.rows.iter().zip(names).map(row).collect();
    let title = format!("{} against {}", other.subject.name, comparison.baseline.name);
    Table { title, columns, rows }.without_empty_columns()
}
