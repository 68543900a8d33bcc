//! The table of the 2007 study "Mtron Flash SSD Single Drive and Raid Array Benchmarks": block
//! sizes down, threads across, operations and bandwidth truncated as its program printed them.

use super::{page::Page, table::Table, words};
use crate::number;
use record::Cell;

pub(super) fn render(page: &mut Page, cells: &[&Cell]) {
    let is_linear = |cell: &&&Cell| cell.pattern == "seq";
    for (op, title) in [("read", "Random reads"), ("write", "Random writes")] {
        let of_op: Vec<&Cell> =
            cells.iter().filter(|cell| !is_linear(cell) && cell.op == op).copied().collect();
        grid(page, title, &of_op);
    }
    let linear: Vec<&Cell> = cells.iter().filter(is_linear).copied().collect();
    if !linear.is_empty() {
        page.gap();
    }
    for cell in linear {
        let marks = page.marks(&cell.flags);
        let notes = if marks.is_empty() { String::new() } else { format!("  notes {marks}") };
        let (size, rate) =
            (number::size(cell.block_bytes), number::bm_flash_bandwidth(cell.bytes_per_s));
        page.line(&format!("Linear {} {size}: {rate}{notes}", cell.op));
    }
    let others: Vec<&Cell> = cells
        .iter()
        .filter(|cell| !is_linear(cell) && cell.op != "read" && cell.op != "write")
        .copied()
        .collect();
    if !others.is_empty() {
        page.gap();
        super::list::render(page, &others);
    }
    if !cells.is_empty() {
        page.gap();
        page.line("IOPS and bandwidth truncated, K = 1024 and M = 1048576 B/s, as that study printed them; intervals and latency are in the record.");
    }
}

fn grid(page: &mut Page, title: &str, cells: &[&Cell]) {
    if cells.is_empty() {
        return;
    }
    page.heading(title);
    let threads = words::distinct(cells, |cell| cell.threads);
    let mut heads = Vec::new();
    for count in &threads {
        heads.push(if *count == 1 { "1 thread".to_owned() } else { format!("{count} threads") });
        heads.push("BW".to_owned());
    }
    heads.push("notes".to_owned());
    let mut table = Table::of_numbers("block", heads.iter().map(String::as_str));
    for block_bytes in words::distinct(cells, |cell| cell.block_bytes) {
        let mut row = vec![short_size(block_bytes)];
        let mut flags = Vec::new();
        for &count in &threads {
            let found =
                cells.iter().find(|cell| cell.block_bytes == block_bytes && cell.threads == count);
            row.push(found.map_or_else(String::new, |cell| truncated(cell.iops)));
            row.push(
                found.map_or_else(String::new, |cell| number::bm_flash_bandwidth(cell.bytes_per_s)),
            );
            flags.extend(found.iter().flat_map(|cell| &cell.flags).copied());
        }
        row.push(page.marks(&flags));
        table.row(row);
    }
    page.table(&table);
}

fn truncated(iops: f64) -> String {
    if iops.is_finite() { format!("{:.0}", iops.trunc()) } else { "-".to_owned() }
}

/// `512`, `4K`, `1M`, as that table names its rows.
fn short_size(bytes: u64) -> String {
    number::size(bytes).replace(" KiB", "K").replace(" MiB", "M").replace(" B", "")
}
