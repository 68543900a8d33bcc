//! `drivelab flash check`.

use super::{arguments::CheckArguments, words};
use crate::{
    interrupt,
    output::{self, hanging},
};
use anyhow::{Result, bail};
use block::display_bytes;
use engine::Clock;
use flash::tools::{self, CheckReport, Progress, Severity, ToolError, Verdict};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::IsTerminal, ops::ControlFlow, path::Path, process::ExitCode, sync::atomic::Ordering,
};
use target::volume::{HeldDrive, Use};

/// Exit code of a finding.
const FOUND: u8 = 1;

/// Verifies a volume and says what is wrong with it.
pub fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let path = &arguments.path;
    let mut drive = HeldDrive::open(path, Use::Read, Clock::start())?;
    let stop = interrupt::flag()?;
    let bar = bar(arguments.quiet);
    let mut watch = |progress: Progress| {
        bar.set_message(progress.doing);
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let outcome = tools::check(&mut *drive.engine, arguments.findings, &mut watch);
    bar.finish_and_clear();
    let report = match outcome {
        Ok(report) => report,
        Err(ToolError::Stopped) => {
            eprintln!("drivelab: interrupted before the end: nothing is known of the rest");
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        Err(error) => bail!("{}: {error}", path.display()),
    };
    output::print(&described(path, &report))?;
    match report.verdict() {
        Verdict::Healthy => Ok(ExitCode::SUCCESS),
        Verdict::Repairable | Verdict::Damaged | Verdict::Unusable => Ok(ExitCode::from(FOUND)),
    }
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let look = ProgressStyle::with_template("{bar:24} {percent:>3}%  {eta:>4} left  {wide_msg}");
    bar.set_style(look.expect("the template is valid").progress_chars("=> "));
    bar
}

fn described(path: &Path, report: &CheckReport) -> String {
    let mut text = hanging("volume    ", &format!("{}: {}", path.display(), report.verdict()));
    text += &hanging(
        "verified  ",
        &format!(
            "{} of data, {} pages of the map, {} chunk headers; {} read from {} segments",
            words::blocks(report.blocks_verified),
            report.pages_verified,
            report.chunks_verified,
            display_bytes(report.bytes_read),
            report.segments_read
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
        text += &format!("          and {rest} more: --findings lists them\n");
    }
    text
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Harmless => "harmless",
        Severity::Repaired => "repaired",
        Severity::Doubtful => "doubtful",
        Severity::Lost => "lost",
    }
}
