//! Bonnie++'s CSV line: 27 fields of version 1.03, 48 of 1.96 and 1.97, 50 of 1.98 (which 2.00
//! writes, its number of directories one field late). Rates are KiB a second and files a second.
//! `+++++` stands for a phase under half a second, which tells nothing.

use crate::{
    ImportError,
    csv::fields,
    draft::{CellDraft, Draft, PassDraft},
    number,
};
use serde_json::json;

/// Where a version keeps its fields.
struct Layout {
    name: usize,
    size: usize,
    chunk: Option<usize>,
    seekers: Option<usize>,
    concurrency: Option<usize>,
    /// The first of six pairs of rate and processor.
    blocks: usize,
    files: usize,
    /// The first of six pairs.
    tree: usize,
    /// The first of twelve latencies.
    latencies: Option<usize>,
    fields: usize,
}

const OF_1_03: Layout = Layout {
    name: 0,
    size: 1,
    chunk: None,
    seekers: None,
    concurrency: None,
    blocks: 2,
    files: 14,
    tree: 15,
    latencies: None,
    fields: 27,
};
const OF_1_97: Layout = Layout {
    name: 2,
    size: 5,
    chunk: Some(6),
    seekers: None,
    concurrency: Some(3),
    blocks: 7,
    files: 19,
    tree: 24,
    latencies: Some(36),
    fields: 48,
};
const OF_1_98: Layout = Layout {
    name: 2,
    size: 5,
    chunk: Some(6),
    seekers: Some(8),
    concurrency: Some(3),
    blocks: 9,
    files: 21,
    tree: 26,
    latencies: Some(38),
    fields: 50,
};

/// Name, operation, pattern, bytes of a block where it is not the chunk.
const BLOCKS: [(&str, &str, &str, Option<u64>); 6] = [
    ("put-byte", "write", "seq", Some(1)),
    ("put-block", "write", "seq", None),
    ("rewrite", "read_modify_write", "seq", None),
    ("get-byte", "read", "seq", Some(1)),
    ("get-block", "read", "seq", None),
    ("seeks", "read_dirty", "random", None),
];
const TREE: [(&str, &str, &str); 6] = [
    ("sequential-create", "create", "creation"),
    ("sequential-stat", "stat", "readdir"),
    ("sequential-delete", "unlink", "readdir"),
    ("random-create", "create", "creation"),
    ("random-stat", "stat", "random"),
    ("random-delete", "unlink", "random"),
];
/// Bonnie++'s own block where its line names none.
const CHUNK: u64 = 8192;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| layout(&fields(line)).is_some())
}

fn layout(fields: &[String]) -> Option<&'static Layout> {
    let rate =
        |text: &String| text.is_empty() || text.starts_with("++") || number::plain(text).is_some();
    let fits = |layout: &Layout| {
        fields.len() == layout.fields
            && fields[layout.blocks..layout.blocks + 12].iter().all(rate)
            && number::binary(fields[layout.size].split(':').next().unwrap_or_default()).is_some()
    };
    let found = match fields.first().map(String::as_str) {
        Some("1.98") => &OF_1_98,
        Some("1.96" | "1.97") => &OF_1_97,
        // 1.9x has its version in front, 1.03 the machine's name.
        _ => &OF_1_03,
    };
    fits(found).then_some(found)
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("bonnie++");
    for line in text.lines() {
        let fields = fields(line.trim_end());
        let Some(layout) = layout(&fields) else { continue };
        draft.version = if layout.name == 0 { "1.03" } else { fields[1].as_str() }.to_owned();
        if draft.host.is_empty() {
            draft.host.clone_from(&fields[layout.name]);
        }
        blocks(&mut draft, &fields, layout);
        tree(&mut draft, &fields, layout);
    }
    draft.note("Bonnie++ tells no path and no time: what it ran on is absent");
    Ok(draft)
}

/// A field's rate, or why there is none.
fn rate(text: &str) -> Result<f64, &'static str> {
    match text {
        "" => Err("it was not asked for"),
        text if text.starts_with("++") => {
            Err("it took under half a second, which tells nothing: take a larger size")
        }
        text => number::plain(text).ok_or("its figure is no number"),
    }
}

fn latency(fields: &[String], layout: &Layout, at: usize, cell: &mut CellDraft) {
    let text = layout.latencies.and_then(|first| fields.get(first + at));
    if let Some(ns) = text.and_then(|text| number::duration_ns(text)) {
        cell.coordinates.insert("latency_max_ns".to_owned(), json!(ns));
    }
}

fn processor(text: &str, cell: &mut CellDraft) {
    if let Some(percent) = number::plain(text) {
        cell.coordinates.insert("processor_percent".to_owned(), json!(percent));
    }
}

fn blocks(draft: &mut Draft, fields: &[String], layout: &Layout) {
    // Of 1.03, `300M:64k` is a size and a chunk.
    let (size, chunk) = fields[layout.size].split_once(':').unwrap_or((&fields[layout.size], ""));
    let chunk = layout.chunk.map_or(chunk, |at| &fields[at]);
    let chunk = number::binary(chunk).filter(|bytes| *bytes > 0).unwrap_or(CHUNK);
    let concurrency = layout.concurrency.and_then(|at| fields[at].parse().ok()).unwrap_or(1);
    for (at, (name, op, pattern, bytes)) in BLOCKS.into_iter().enumerate() {
        let pair = layout.blocks + 2 * at;
        let value = match rate(&fields[pair]) {
            Ok(value) => value,
            Err(why) => {
                draft.leave_out(name, why);
                continue;
            }
        };
        let is_seeks = name == "seeks";
        let block_bytes = bytes.unwrap_or(chunk);
        let block = block_bytes as f64;
        let bytes_per_s = if is_seeks { value * block } else { value * 1024.0 };
        let seekers = layout.seekers.and_then(|at| fields[at].parse().ok());
        let mut cell = CellDraft {
            name: name.to_owned(),
            op,
            pattern: pattern.to_owned(),
            block_bytes,
            threads: if is_seeks { seekers.unwrap_or(3) } else { concurrency },
            depth: 1,
            engine: "sync".to_owned(),
            io: "buffered".to_owned(),
            bounded_by_bytes: true,
            passes: vec![PassDraft {
                iops: bytes_per_s / block,
                bytes_per_s,
                ..PassDraft::default()
            }],
            ..CellDraft::default()
        };
        if let Some(bytes) = number::binary(size) {
            cell.coordinates.insert("file_bytes".to_owned(), json!(bytes));
        }
        if is_seeks && seekers.is_none() {
            cell.notes.push("the number of seekers is the default, 3".to_owned());
        }
        latency(fields, layout, at, &mut cell);
        processor(&fields[pair + 1], &mut cell);
        draft.add(cell);
    }
}

fn tree(draft: &mut Draft, fields: &[String], layout: &Layout) {
    let files = number::plain(&fields[layout.files]).map(|number| number * 1024.0);
    let Some(files) = files.filter(|files| *files > 0.0) else { return };
    for (at, (name, op, pattern)) in TREE.into_iter().enumerate() {
        let pair = layout.tree + 2 * at;
        let value = match rate(&fields[pair]) {
            Ok(value) => value,
            Err(why) => {
                draft.leave_out(name, why);
                continue;
            }
        };
        let mut cell = CellDraft {
            name: name.to_owned(),
            op,
            pattern: pattern.to_owned(),
            threads: 1,
            depth: 1,
            engine: "tree".to_owned(),
            io: "buffered".to_owned(),
            bounded_by_bytes: true,
            passes: vec![PassDraft { iops: value, ..PassDraft::default() }],
            ..CellDraft::default()
        };
        cell.coordinates.insert("files".to_owned(), json!(files));
        latency(fields, layout, 6 + at, &mut cell);
        processor(&fields[pair + 1], &mut cell);
        draft.add(cell);
    }
}
