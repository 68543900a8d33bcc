//! A database's view: the log's commits first, the data streams that ran beside it after.

use super::{list, page::Page, words};
use crate::number;
use record::Cell;

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    let mut rest = Vec::new();
    for cell in cells {
        if is_log(cell) { commits(page, cell) } else { rest.push(*cell) }
    }
    if !rest.is_empty() {
        page.heading("Data streams");
        list::render(page, &rest);
    }
}

/// The stream that makes its appends durable.
fn is_log(cell: &Cell) -> bool {
    cell.op == "commit" || cell.flush_latency.is_some()
}

fn commits(page: &mut Page, cell: &Cell) {
    page.heading(&words::name(cell, page.style));
    let flush = cell.flush_latency.as_ref();
    // A commit is one operation; a log that flushes every n writes commits as often as it flushes.
    let (share, latency) = match (flush, cell.latency.as_ref()) {
        (Some(flush), Some(appends)) if cell.op != "commit" && appends.n > 0 => {
            (flush.n as f64 / appends.n as f64, Some(flush))
        }
        (flush, appends) => (1.0, appends.or(flush)),
    };
    let rate = number::iops(cell.iops * share);
    page.line(&format!("{rate} commits/s {}", words::bracketed_interval(cell, page.style)));
    let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|percent| words::percentile(latency, percent));
    page.line(&format!("commit latency p50 {p50}, p99 {p99}, p99.9 {p999}"));
    let marks = page.marks(&cell.flags);
    if !marks.is_empty() {
        page.line(&format!("notes {marks}"));
    }
}
