//! What was copied out of a damaged volume.

use super::{blocks, ranges_json};
use crate::volume::Rescued;
use block::{counted, display_bytes};
use flash::{BLOCK_BYTES, tools::RescueReport};
use report::terminal::hanging;
use serde_json::{Value, json};
use std::{ops::Range, path::Path};

/// Ranges that are printed of a kind; all are in the count.
const RANGES_MAX: usize = 8;

/// What was copied, what may be old, what is lost. `all` says how ranges that are left out are
/// listed.
pub fn text(path: &Path, to: &Path, rescued: &Rescued, all: &str) -> String {
    let Rescued { exported_bytes, report } = rescued;
    let size = |ranges: &[Range<u32>]| blocks(RescueReport::blocks(ranges));
    let id = report.volumes.first().map_or_else(String::new, |(id, _)| id.to_string());
    let mut text = hanging(
        "volume    ",
        &format!("{} in {}: {id}", display_bytes(*exported_bytes), path.display()),
    );
    text += &hanging(
        "found     ",
        &format!(
            "{}, {}; {} of the drive cannot be read",
            counted(report.superblocks, "superblock"),
            counted(report.chunks, "chunk"),
            display_bytes(report.bytes_unreadable)
        ),
    );
    text += &hanging("copied    ", &format!("{} to {}", size(&report.recovered), to.display()));
    for (label, ranges) in [("doubtful  ", &report.doubtful), ("lost      ", &report.lost)] {
        let list = match ranges.is_empty() {
            true => "nothing".to_owned(),
            false => format!("{}: {}", size(ranges), offsets(ranges, all)),
        };
        text += &hanging(label, &list);
    }
    for note in report.notes() {
        text += &hanging("note      ", &note);
    }
    text
}

/// What was found and what came of it, with every range.
pub fn json(path: &Path, to: &Path, rescued: &Rescued) -> Value {
    let Rescued { exported_bytes, report } = rescued;
    let object = json!({
        "path": null,
        "to": null,
        "id": report.volumes.first().map(|(id, _)| id.to_string()),
        "exported_bytes": exported_bytes,
        "superblocks": report.superblocks,
        "chunks": report.chunks,
        "chunks_missing": report.chunks_missing,
        "bytes_unreadable": report.bytes_unreadable,
        "recovered": ranges_json(&report.recovered),
        "doubtful": ranges_json(&report.doubtful),
        "lost": ranges_json(&report.lost),
        "notes": report.notes(),
    });
    record::with_paths(object, &[("path", path), ("to", to)])
}

/// Ranges as bytes of the copy.
fn offsets(ranges: &[Range<u32>], all: &str) -> String {
    let bytes = |block: u32| u64::from(block) * BLOCK_BYTES;
    let each = ranges.iter().take(RANGES_MAX);
    let shown: Vec<String> =
        each.map(|range| format!("{}..{}", bytes(range.start), bytes(range.end))).collect();
    let rest = ranges.len().saturating_sub(RANGES_MAX);
    let more = match rest {
        0 => String::new(),
        _ => format!(" and {rest} more ranges: {all}"),
    };
    format!("bytes {}{more}", shown.join(", "))
}
