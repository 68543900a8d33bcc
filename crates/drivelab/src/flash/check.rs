//! `drivelab flash check`.

use super::{FOUND, arguments::CheckArguments, watch::Watcher};
use crate::{interrupt, output};
use anyhow::{Result, bail};
use engine::Clock;
use flash::tools::{self, ToolError, Verdict};
use std::process::ExitCode;
use target::volume::{HeldDrive, Use, page::check};

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
    output::print(&match arguments.json {
        true => serde_json::to_string_pretty(&check::json(path, &report))? + "\n",
        false => check::text(path, &report, "--findings N lists more, --json all"),
    })?;
    Ok(match report.verdict() {
        Verdict::Healthy => ExitCode::SUCCESS,
        Verdict::Repairable | Verdict::Damaged | Verdict::Unusable => ExitCode::from(FOUND),
    })
}
