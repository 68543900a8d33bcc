//! What verifying a volume found.

use super::{blocks, range_json};
use block::{counted, display_bytes};
use flash::{
    BLOCK_BYTES,
    tools::{CheckReport, Severity, Verdict},
};
use report::terminal::hanging;
use serde_json::{Value, json};
use std::path::Path;

/// The verdict and what was found. `more` says how findings that are left out are listed.
pub fn text(path: &Path, report: &CheckReport, more: &str) -> String {
    let mut text = hanging("volume    ", &format!("{}: {}", path.display(), report.verdict()));
    text += &hanging(
        "verified  ",
        &format!(
            "{} of data, {} of the map, {}; {} read from {}",
            blocks(report.blocks_verified),
            counted(report.pages_verified, "page"),
            counted(report.chunks_verified, "chunk header"),
            display_bytes(report.bytes_read),
            counted(report.segments_read, "segment")
        ),
    );
    if let Some(status) = &report.status {
        let how = if status.report.clean {
            "cleanly"
        } else {
            "not cleanly; its tail was rolled forward in memory"
        };
        text += &hanging("stopped   ", how);
    }
    for finding in &report.findings {
        let label = format!("{:<10}", severity(finding.severity()));
        text += &hanging(&label, &finding.to_string());
    }
    let all: u64 = report.counts.iter().sum();
    let rest = all.saturating_sub(report.findings.len() as u64);
    if rest > 0 {
        text += &format!("          and {rest} more: {more}\n");
    }
    text
}

/// The verdict and every finding, with the bytes of the volume that it is about.
pub fn json(path: &Path, report: &CheckReport) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "severity": severity(finding.severity()),
                "drive_offset": finding.offset(),
                "range": finding.blocks().as_ref().map(range_json),
                "text": finding.to_string(),
            })
        })
        .collect();
    let object = json!({
        "path": null,
        "verdict": match report.verdict() {
            Verdict::Healthy => "healthy",
            Verdict::Repairable => "repairable",
            Verdict::Damaged => "damaged",
            Verdict::Unusable => "unusable",
        },
        "verified_bytes": report.blocks_verified * BLOCK_BYTES,
        "pages_verified": report.pages_verified,
        "chunks_verified": report.chunks_verified,
        "segments_read": report.segments_read,
        "bytes_read": report.bytes_read,
        "stopped_cleanly": report.status.as_ref().map(|status| status.report.clean),
        "findings": findings,
    });
    record::with_paths(object, &[("path", path)])
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Harmless => "harmless",
        Severity::Repaired => "repaired",
        Severity::Doubtful => "doubtful",
        Severity::Lost => "lost",
    }
}
