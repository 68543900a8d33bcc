//! A replay: latencies from when the trace has an operation begin, and how late it began.

use super::{
    page::Page,
    table::{Align, Table},
};
use crate::number::{self, counted};
use record::{Cell, Latency, Replay};

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("", Align::Left),
        right("done"),
        right("p50"),
        right("p99"),
        right("max"),
        right("sent p99"),
        right("late p50"),
        right("late p99"),
        right("late max"),
    ]);
    for cell in cells {
        let Some(replay) = &cell.replay else { continue };
        let marks = page.marks(&cell.flags);
        let done = number::count(cell.total.operations);
        let name =
            if marks.is_empty() { cell.op.clone() } else { format!("{} ({marks})", cell.op) };
        let mut row = vec![name, done];
        row.extend(latencies(cell.latency.as_ref()));
        row.push(at(replay.service.as_ref(), 99.0));
        let late = replay.lateness.as_ref();
        row.extend([at(late, 50.0), at(late, 99.0), max(late)]);
        table.row(row);
        if let Some(flushes) = &cell.flush_latency {
            let mut row = vec!["flush".to_owned(), number::count(flushes.n)];
            row.extend(latencies(Some(flushes)));
            row.extend([(); 4].map(|()| String::new()));
            table.row(row);
        }
    }
    page.table(&table);
    let Some(first) = cells.iter().find_map(|cell| cell.replay.as_ref()) else { return };
    let times = match first.speed {
        Some(_) => {
            "Latencies count from when the trace has an operation begin, `sent` from its \
             submission; `late` lies between the two."
        }
        None => "As fast as it went: latencies count from submission.",
    };
    page.line(times);
    for sentence in moved(cells).into_iter().chain(first.remarks.iter().cloned()) {
        page.line(&sentence);
    }
}

fn latencies(latency: Option<&Latency>) -> [String; 3] {
    [at(latency, 50.0), at(latency, 99.0), max(latency)]
}

fn at(latency: Option<&Latency>, percent: f64) -> String {
    let found = latency.and_then(|latency| latency.percentile(percent));
    found.map_or("-".to_owned(), |ns| number::duration_ns(ns as f64))
}

fn max(latency: Option<&Latency>) -> String {
    latency.map_or("-".to_owned(), |latency| number::duration_ns(latency.max_ns as f64))
}

/// What was not where the trace has it.
fn moved(cells: &[&Cell]) -> Vec<String> {
    let sum = |of: fn(&Replay) -> u64| -> u64 {
        cells.iter().filter_map(|cell| cell.replay.as_ref()).map(of).sum()
    };
    let mut sentences = Vec::new();
    let (wrapped, aligned) = (sum(|replay| replay.wrapped), sum(|replay| replay.aligned));
    if wrapped > 0 {
        let wrapped = counted(wrapped, "operation");
        sentences.push(format!("{wrapped} beyond the area, moved into it by modulus."));
    }
    if aligned > 0 {
        let aligned = counted(aligned, "operation");
        sentences.push(format!("{aligned} put on whole blocks of the target."));
    }
    sentences
}
