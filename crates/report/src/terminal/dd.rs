//! What dd says of a copy, the way the 2016 study reads it, and the flush that dd leaves out.

use super::{page::Page, style::Paint, words};
use crate::number;
use record::{Cell, Pass};

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    for cell in cells {
        page.heading(&words::name(cell, page.style));
        for pass in &cell.passes {
            copy_line(page, pass);
        }
        reading(page, cell);
        let marks = page.marks(&cell.flags);
        if !marks.is_empty() {
            page.line(&format!("notes {marks}"));
        }
    }
}

/// dd's own line: bytes, seconds, rate of the one copy.
fn copy_line(page: &mut Page, pass: &Pass) {
    let total = pass.total;
    let rate = number::rate(total.bytes as f64 / total.seconds);
    let (sold, binary) = (number::capacity(total.bytes), number::size(total.bytes));
    let sizes = if sold == binary { sold } else { format!("{sold}, {binary}") };
    let seconds = number::significant(total.seconds);
    page.line(&format!("{} bytes ({sizes}) copied, {seconds} s, {rate}", total.bytes));
    if let Some(flush_s) = pass.flush_s {
        let whole = number::rate(total.bytes as f64 / (total.seconds + flush_s));
        let flush = number::duration_ns(flush_s * 1e9);
        page.hanging("  ", &format!("final flush {flush}: {whole} with it"), Paint::Plain);
    }
}

/// Small blocks are read as time per operation: seconds for 1,000 writes are milliseconds per
/// write. Large ones as bandwidth.
fn reading(page: &mut Page, cell: &Cell) {
    let interval = words::bracketed_interval(cell, page.style);
    let text = if cell.is_large_block() {
        format!("= {} {interval}", number::rate(cell.bytes_per_s))
    } else {
        let each = number::duration_ns(1e9 / cell.iops);
        let thousand = number::significant(1000.0 / cell.iops);
        format!("= {each} per {} {interval}: {thousand} s for 1000", cell.op)
    };
    page.line(&text);
}
