//! Cells in words, and the pieces of numbers that every layout shows alike.

use super::style::Style;
use crate::number;
use record::Cell;
use std::collections::BTreeMap;

/// `sequential read 1 MiB, 8 deep`; threads, and an access that is not plain direct, are named when
/// there is something to say.
pub(crate) fn name(cell: &Cell, style: &Style) -> String {
    if is_tree(cell) {
        return style.clean(&tree_name(cell));
    }
    let block = coordinate_text(cell, "block_mix");
    let block = block.unwrap_or_else(|| number::size(cell.block_bytes));
    let mut text = format!("{} {} {block}", pattern(&cell.pattern), operation(cell));
    if cell.queue_depth > 1 {
        text += &format!(", {} deep", cell.queue_depth);
    }
    if cell.threads > 1 {
        text += &format!(", {} threads", cell.threads);
    }
    for word in cell.io.split(',') {
        text += match word {
            "direct" | "" => "",
            "buffered" => ", buffered",
            "dsync" => ", durable",
            "sync" => ", durable with metadata",
            other => return style.clean(&format!("{text}, {other}")),
        };
    }
    style.clean(&text)
}

/// Whether a cell's operations are on files of a tree, not on blocks.
pub(crate) fn is_tree(cell: &Cell) -> bool {
    cell.engine == "tree"
}

/// `stat as listed, 20000 files`; random names where they are made, sizes where bytes of files are
/// moved, threads and fsync where there are some.
fn tree_name(cell: &Cell) -> String {
    let order = match cell.pattern.as_str() {
        "readdir" => " as listed",
        "random" => " in random order",
        _ => "",
    };
    let files = coordinate_text(cell, "files").unwrap_or_default();
    let mut text = format!("{}{order}, {files} files", cell.op.replace('_', " "));
    if let Some(size) = coordinate_text(cell, "file_size").filter(|size| size != "0 B") {
        text += &format!(" of {size}");
    }
    if cell.op == "create" && coordinate_text(cell, "names").as_deref() == Some("random") {
        text += ", random names";
    }
    if cell.threads > 1 {
        text += &format!(", {} threads", cell.threads);
    }
    match coordinate_text(cell, "sync").as_deref() {
        None | Some("none") => text,
        Some("both") => format!("{text}, fsync of file and directory"),
        Some(what) => format!("{text}, fsync of the {what}"),
    }
}

/// Names that tell the cells apart: by their other coordinates, or else by the method's own names.
pub(crate) fn distinct_names(cells: &[&Cell], style: &Style) -> Vec<String> {
    let plain: Vec<String> = cells.iter().map(|cell| name(cell, style)).collect();
    let longer = replace_repeated(&plain, |at| {
        let described = cells[at].coordinates.keys().map(|key| {
            let value = coordinate_text(cells[at], key).unwrap_or_default();
            format!("{key} {value}")
        });
        let described = described.collect::<Vec<_>>().join(", ");
        style.clean(&format!("{}, {described}", plain[at]))
    });
    replace_repeated(&longer, |at| style.clean(&cells[at].name))
}

fn replace_repeated(names: &[String], other: impl Fn(usize) -> String) -> Vec<String> {
    let mut counts = BTreeMap::<&str, u32>::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let name = |(at, name): (usize, &String)| {
        if counts[name.as_str()] > 1 { other(at) } else { name.clone() }
    };
    names.iter().enumerate().map(name).collect()
}

/// How a cell goes over its area.
pub(crate) fn pattern(pattern: &str) -> String {
    match pattern {
        "seq" => "sequential".to_owned(),
        "permutation" => "each block once".to_owned(),
        "hot_cold" => "hot/cold".to_owned(),
        "rewrite" => "same block".to_owned(),
        other => other.to_owned(),
    }
}

fn operation(cell: &Cell) -> String {
    match (cell.op.as_str(), read_percent(cell)) {
        ("mixed", Some(percent)) => format!("{percent:.0}/{:.0} read/write", 100.0 - percent),
        ("read_modify_write", _) => "read-modify-write".to_owned(),
        ("write_zeroes", _) => "write zeroes".to_owned(),
        ("read_dirty", _) => match coordinate_number(cell, "dirty_percent") {
            Some(percent) => format!("read ({percent:.0} % written back)"),
            None => "read (some written back)".to_owned(),
        },
        (other, _) => other.to_owned(),
    }
}

/// Share of reads in percent: from the operation, or from a mix's `read_percent`.
pub(crate) fn read_percent(cell: &Cell) -> Option<f64> {
    let (op, ratio) = cell.op.split_once(':').unwrap_or((&cell.op, ""));
    match op {
        "read" => Some(100.0),
        "write" => Some(0.0),
        "mixed" => coordinate_number(cell, "read_percent").or_else(|| ratio.parse().ok()),
        _ => None,
    }
    .filter(|percent: &f64| (0.0..=100.0).contains(percent))
}

/// A coordinate as a number, whether it was written as one or as text.
pub(crate) fn coordinate_number(cell: &Cell, key: &str) -> Option<f64> {
    let value = cell.coordinates.get(key)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// A coordinate as text; a whole number without its `.0`.
pub(crate) fn coordinate_text(cell: &Cell, key: &str) -> Option<String> {
    let value = cell.coordinates.get(key)?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(match (value.is_f64(), text.strip_suffix(".0")) {
        (true, Some(whole)) => whole.to_owned(),
        _ => text,
    })
}

/// The headline: bandwidth of large blocks, operations of small ones.
pub(crate) fn headline(cell: &Cell) -> String {
    if cell.is_large_block() { number::rate(cell.bytes_per_s) } else { operations(cell) }
}

/// Operations per second; those on whole files are no I/Os.
fn operations(cell: &Cell) -> String {
    let unit = if is_tree(cell) { "/s" } else { " IOPS" };
    format!("{}{unit}", number::iops(cell.iops))
}

/// Beside a burst the rate that lasts, or that it was not seen; nothing beside any other rate,
/// which lasts itself.
pub(crate) fn lasting(cell: &Cell) -> String {
    match lasting_rates(cell) {
        None => String::new(),
        Some(None) => NOT_SEEN.to_owned(),
        Some(Some([iops, bytes_per_s])) => headline(&Cell { iops, bytes_per_s, ..cell.clone() }),
    }
}

/// Instead of a rate that lasts, where the burst did not end in sight.
pub(crate) const NOT_SEEN: &str = "not seen";

/// Of a burst, the rate that lasts as operations and bytes a second, where it was seen.
pub(crate) fn lasting_rates(cell: &Cell) -> Option<Option<[f64; 2]>> {
    let burst = cell.burst()?;
    if burst.cut {
        return Some(Some([cell.iops, cell.bytes_per_s]));
    }
    let block = if cell.iops > 0.0 { cell.bytes_per_s / cell.iops } else { 0.0 };
    Some(burst.lasting_iops.map(|iops| [iops, iops * block]))
}

/// The other of the two.
pub(crate) fn other_rate(cell: &Cell) -> String {
    if cell.is_large_block() { operations(cell) } else { number::rate(cell.bytes_per_s) }
}

/// Half of the 95 % interval, such as `+-1.6 %`; `-` when there is none.
pub(crate) fn interval(cell: &Cell, style: &Style) -> String {
    match half_width(cell) {
        Some(share) => format!("{}{}", style.plus_minus(), number::percent(share)),
        None => "-".to_owned(),
    }
}

/// The interval in brackets after a rate.
pub(crate) fn bracketed_interval(cell: &Cell, style: &Style) -> String {
    match half_width(cell) {
        Some(_) => format!("({})", interval(cell, style)),
        None => "(no interval)".to_owned(),
    }
}

/// Half of the 95 % interval over the value.
pub(crate) fn half_width(cell: &Cell) -> Option<f64> {
    let from_interval = || {
        let [low, high] = cell.iops_ci95?;
        Some((high - low) / 2.0 / cell.iops)
    };
    cell.half_width_relative.or_else(from_interval).filter(|share| share.is_finite())
}

/// A latency percentile with its unit; `-` where the sample was too small.
pub(crate) fn percentile(latency: Option<&record::Latency>, percent: f64) -> String {
    let at = latency.and_then(|latency| latency.percentile(percent));
    at.map_or_else(|| "-".to_owned(), |ns| number::duration_ns(ns as f64))
}

/// Every different value of `key` over the cells, in order.
pub(crate) fn distinct<T: Ord>(cells: &[&Cell], key: impl Fn(&Cell) -> T) -> Vec<T> {
    let mut values: Vec<T> = cells.iter().map(|cell| key(cell)).collect();
    values.sort();
    values.dedup();
    values
}

/// Every different value of `key` over the cells, in the order of the method.
pub(crate) fn in_order<T: PartialEq>(cells: &[&Cell], key: impl Fn(&Cell) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for cell in cells {
        let value = key(cell);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}
