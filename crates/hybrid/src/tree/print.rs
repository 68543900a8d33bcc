//! The answer as JSON, and as a document with a chart; `docs/guide/hybrid.md` explains the keys.

use super::{CellFound, TreeAnswer, TreeFound, page::title};
use report::{
    chart::{Axis, BarSeries, Bars, Chart, Column, Entry, Figure, Table, Unit, Value},
    document::{Block, Document, Section},
};
use serde_json::{Value as Json, json};

/// `format` of the document.
const FORMAT: &str = "drivelab-hybrid-files";
/// Its `version`.
const VERSION: u32 = 1;

/// All of it.
pub fn json(answer: &TreeAnswer) -> Json {
    let question = &answer.question;
    json!({
        "format": FORMAT,
        "version": VERSION,
        "method": question.method.0,
        "file_system": question.file_system.to_string(),
        "disks": question.disks.to_string(),
        "ssds": question.ssds,
        "small_bytes": question.small_bytes,
        "currency": question.prices.currency,
        "seed": question.seed,
        "verdict": answer.verdict(),
        "ways": answer.found.iter().map(way).collect::<Vec<_>>(),
        "left_out": answer.left_out.iter().map(|(place, why)| json!({
            "name": place.name(),
            "why": why,
        })).collect::<Vec<_>>(),
    })
}

/// Keys whose values are not known are left out.
fn way(found: &TreeFound) -> Json {
    let mut object = json!({
        "name": found.place.name(),
        "stack": found.stack.to_string(),
        "power_cut": found.place.after_power_cut(),
        "without_ssd": found.place.without_ssd(),
        "capacity_bytes": found.capacity_bytes,
        "iops": found.iops,
        "cells": found.cells.iter().map(cell).collect::<Vec<_>>(),
    });
    let keys = object.as_object_mut().expect("it was written as one");
    let known = [
        ("p99_ns", found.p99_ns().map(|ns| json!(ns))),
        ("price", found.price.map(|price| json!(price))),
        ("price_per_iops", found.price_per_iops().map(|price| json!(price))),
        ("flash_written_bytes", found.flash_bytes.map(|bytes| json!(bytes))),
    ];
    keys.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    object
}

fn cell(cell: &CellFound) -> Json {
    json!({
        "name": cell.name,
        "operations": cell.operations,
        "iops": cell.iops,
        "p99_ns": cell.p99_ns,
        "from_memory": cell.is_cached,
    })
}

/// The same with a chart; `origin` is when and by what it was made.
pub fn document(answer: &TreeAnswer, origin: &str) -> Document {
    let section = |title: &str, block| Section {
        title: title.to_owned(),
        sheet: "Hybrid",
        blocks: vec![block],
    };
    let figure = Figure {
        id: "ways".to_owned(),
        title: "Operations a second".to_owned(),
        note: "Of all cells, one after the other: as many operations as the disks did.".to_owned(),
        chart: rates(answer),
    };
    Document {
        title: title(answer),
        origin: origin.to_owned(),
        summary: answer.verdict(),
        highlights: Vec::new(),
        doubts: None,
        sections: vec![
            section("Ways", Block::Figure(Box::new(figure))),
            section("All ways", Block::Table(all_ways(answer))),
            section("Cells", Block::Table(all_cells(answer))),
        ],
    }
}

fn rates(answer: &TreeAnswer) -> Chart {
    let values = answer.found.iter().map(|found| Some(Value::from(found.iops))).collect();
    Chart::Bars(Bars {
        group_title: "on flash".to_owned(),
        groups: answer.found.iter().map(|found| found.place.name()).collect(),
        value: Axis::linear("rate", Unit::Iops),
        series: vec![BarSeries { name: "rate".to_owned(), source: String::new(), values }],
    })
}

fn all_ways(answer: &TreeAnswer) -> Table {
    let currency = &answer.question.prices.currency;
    let columns = vec![
        Column::text("on flash"),
        Column::number("all cells", Unit::Iops),
        Column::number("p99 of the slowest cell", Unit::Ns),
        Column::number(&format!("price, {currency}"), Unit::Number),
        Column::number(&format!("{currency}/IOPS"), Unit::Number),
        Column::number("written to it", Unit::Bytes),
        Column::text("after a power cut"),
        Column::text("without the SSD"),
    ];
    let row = |found: &TreeFound| {
        vec![
            Entry::text(&found.place.name()),
            Entry::number(Some(found.iops)),
            Entry::number(found.p99_ns().map(|ns| ns as f64)),
            Entry::number(found.price),
            Entry::number(found.price_per_iops()),
            Entry::number(found.flash_bytes.map(|bytes| bytes as f64)),
            Entry::text(found.place.after_power_cut()),
            Entry::text(found.place.without_ssd()),
        ]
    };
    Table { title: String::new(), columns, rows: answer.found.iter().map(row).collect() }
}

fn all_cells(answer: &TreeAnswer) -> Table {
    let cells = answer.disks().cells.iter();
    let mut columns = vec![Column::text("on flash")];
    columns.extend(cells.map(|cell| Column::number(&cell.name, Unit::Iops)));
    let row = |found: &TreeFound| {
        let mut row = vec![Entry::text(&found.place.name())];
        row.extend(found.cells.iter().map(|cell| Entry::number(Some(cell.iops))));
        row
    };
    Table { title: String::new(), columns, rows: answer.found.iter().map(row).collect() }
}
