//! `drivelab flash check`.

use super::{arguments::CheckArguments, ranges, watch::Watcher, words};
use crate::{
    interrupt,
    output::{self, hanging},
};
use anyhow::{Result, bail};
use block::display_bytes;
use engine::Clock;
use flash::tools::{self, CheckReport, Severity, ToolError, Verdict};
use report::number::counted;
use serde_json::{Value, json};
use std::{path::Path, process::ExitCode};
use target::volume::{HeldDrive, Use};

/// Exit code of a finding.
pub const FOUND: u8 = 1;

/// Verifies a volume and says what is wrong with it.
pub fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let path = &arguments.path;
    let mut drive = HeldDrive::open(path, Use::Read, Clock::start())?;
    let watcher = Watcher::new(arguments.quiet)?;
    let findings_max = if arguments.json { usize::MAX } else { arguments.findings };
    let outcome =
        tools::check(&mut *drive.engine, findings_max, &mut |progress| watcher.see(progress));
    watcher.finish();
    let report = match outcome {
        Ok(report) => report,
        Err(ToolError::Stopped) => {
            output::talk!("drivelab: interrupted before the end: nothing is known of the rest");
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        Err(error) => bail!("{}: {error}", path.display()),
    };
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&as_json(path, &report))? + "\n",
        false => described(path, &report),
    };
    output::print(&text)?;
    match report.verdict() {
        Verdict::Healthy => Ok(ExitCode::SUCCESS),
        Verdict::Repairable | Verdict::Damaged | Verdict::Unusable => Ok(ExitCode::from(FOUND)),
    }
}

fn described(path: &Path, report: &CheckReport) -> String {
    let mut text = hanging("volume    ", &format!("{}: {}", path.display(), report.verdict()));
    text += &hanging(
        "verified  ",
        &format!(
            "{} of data, {} of the map, {}; {} read from {}",
            words::blocks(report.blocks_verified),
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
        text += &format!("          and {rest} more: --findings N lists more, --json all\n");
    }
    text
}

/// The verdict and every finding, with the bytes of the volume that it is about.
fn as_json(path: &Path, report: &CheckReport) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "severity": severity(finding.severity()),
                "drive_offset": finding.offset(),
                "range": finding.blocks().as_ref().map(ranges::as_json),
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
        "verified_bytes": report.blocks_verified * flash::BLOCK_BYTES,
        "pages_verified": report.pages_verified,
        "chunks_verified": report.chunks_verified,
        "segments_read": report.segments_read,
        "bytes_read": report.bytes_read,
        "stopped_cleanly": report.status.as_ref().map(|status| status.report.clean),
        "findings": findings,
    });
    output::with_paths(object, &[("path", path)])
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Harmless => "harmless",
        Severity::Repaired => "repaired",
        Severity::Doubtful => "doubtful",
        Severity::Lost => "lost",
    }
}
