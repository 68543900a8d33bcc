//! CrystalDiskMark's and KDiskMark's text. A rate is operations times bytes: KDiskMark's own MB/s
//! are KiB over 1000, some 2.4 % too few, and older CrystalDiskMarks print no operations for
//! sequential tests.

use crate::{
    ImportError,
    draft::{CellDraft, Draft, PassDraft},
    number,
};
use record::Latency;
use serde_json::json;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| test(line, "read").is_some())
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let k = text.contains("KDiskMark (");
    let mut draft = Draft::new(if k { "KDiskMark" } else { "CrystalDiskMark" });
    let (mut op, mut mix) = ("read", None);
    for line in text.lines() {
        let line = line.trim().trim_start_matches("> ").trim();
        match line.split_whitespace().next() {
            Some("[Read]") => (op, mix) = ("read", None),
            Some("[Write]") => (op, mix) = ("write", None),
            Some("[Mix]") => (op, mix) = ("mixed", line.strip_prefix("[Mix]")),
            _ => about(&mut draft, line),
        }
        if let Some(mut cell) = test(line, op) {
            if let Some(mix) = mix {
                cell.coordinates.insert("mix".to_owned(), json!(mix.trim()));
            }
            if k {
                cell.notes.push(
                    "KDiskMark's MB/s are KiB over 1000: the rate here is operations times bytes"
                        .to_owned(),
                );
            }
            check(&mut cell, k);
            draft.add(cell);
        }
    }
    draft.note("the best of the repetitions, as the program prints it");
    if draft.started.is_some() {
        draft.note("the file does not tell the zone of its time: UTC is taken for it");
    }
    Ok(draft)
}

fn about(draft: &mut Draft, line: &str) {
    if let Some(rest) = line.strip_prefix("CrystalDiskMark ") {
        draft.version = rest.split(' ').next().unwrap_or_default().to_owned();
    } else if let Some(rest) = line.strip_prefix("KDiskMark (") {
        draft.version = rest.split(')').next().unwrap_or_default().to_owned();
    } else if let Some((key, value)) = line.split_once(':') {
        let value = value.trim();
        match key.trim() {
            "Date" => {
                draft.started = number::time("%Y/%m/%d %H:%M:%S", value)
                    .or_else(|| number::time("%Y-%m-%d %H:%M:%S", value))
            }
            "OS" => draft.distribution = Some(value.to_owned()),
            "Comment" => draft.note(&format!("comment: {value}")),
            "Test" => draft.note(&format!("test: {value}")),
            _ => {}
        }
    }
}

/// `SEQ    1MiB (Q=  8, T= 1):  3564.567 MB/s [   3399.4 IOPS] <  2350.12 us>`, the words
/// `Sequential` and `Random` as well, and `Random Read 4KB (QD=32) : ...` of before.
fn test(line: &str, op: &'static str) -> Option<CellDraft> {
    let (what, figures) =
        line.trim().trim_start_matches("> ").trim().split_once(" MB/s").and_then(
            |(head, tail)| {
                let at = head.rfind(':')?;
                Some((head[..at].trim(), (head[at + 1..].trim(), tail)))
            },
        )?;
    let (rate, tail) = figures;
    let megabytes = number::plain(rate)?;
    let kind = what.split_whitespace().next()?.to_ascii_uppercase();
    let pattern = match kind.as_str() {
        "SEQ" | "SEQUENTIAL" => "seq",
        "RND" | "RANDOM" => "random",
        _ => return None,
    };
    let op = match () {
        () if what.contains(" Read") => "read",
        () if what.contains(" Write") => "write",
        () => op,
    };
    let (name, asked) = what.split_once('(').map_or((what, ""), |(name, rest)| (name, rest));
    let count = |key: &str| -> Option<u32> {
        let (_, rest) = asked.split_once(key)?;
        let rest = rest.trim_start();
        let end = rest.find(|l: char| !l.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let size: String =
        name.split_whitespace().skip(1).filter(|word| !["Read", "Write"].contains(word)).collect();
    // Of before, sequential tests are of 1 MiB and name no size where they have no queue.
    let block_bytes = if size.is_empty() && pattern == "seq" {
        if asked.is_empty() { 1 << 20 } else { 128 << 10 }
    } else {
        number::binary(&size)?
    };
    let depth = count("Q=").or_else(|| count("QD=")).unwrap_or(1);
    let threads = count("T=").unwrap_or(1);
    let between = |open: char, close: &str| {
        let (_, rest) = tail.split_once(open)?;
        number::plain(rest.split_once(close)?.0)
    };
    let iops = between('[', "IOPS]");
    let us = between('<', "us>");
    let block = block_bytes as f64;
    let bytes_per_s = iops.map_or(megabytes * 1e6, |iops| iops * block);
    let mut cell = CellDraft {
        name: format!("{pattern}-{op}-{block_bytes}-t{threads}-q{depth}"),
        op,
        pattern: pattern.to_owned(),
        block_bytes,
        threads,
        depth,
        io: "direct".to_owned(),
        ..CellDraft::default()
    };
    cell.coordinates.insert("MB_per_s_printed".to_owned(), json!(megabytes));
    if size.is_empty() && !asked.is_empty() {
        cell.notes.push("the size of a block is that of the program's default".to_owned());
    }
    cell.passes.push(PassDraft {
        iops: iops.unwrap_or(bytes_per_s / block),
        bytes_per_s,
        latency: us
            .filter(|us| *us > 0.0)
            .map(|us| Latency { mean_ns: us * 1e3, ..Latency::default() }),
        ..PassDraft::default()
    });
    Some(cell)
}

fn check(cell: &mut CellDraft, k: bool) {
    let megabytes = cell.coordinates["MB_per_s_printed"].as_f64().unwrap_or(0.0);
    let printed = if k { megabytes * 1.024e6 } else { megabytes * 1e6 };
    let rate = cell.passes[0].bytes_per_s;
    // Three digits behind the point, of operations one.
    if (printed - rate).abs() > 1e3 + 0.06 * cell.block_bytes as f64 {
        cell.check("MB/s against operations a second", printed, rate);
    }
}
