//! `drivelab flash rescue`.

use super::{FOUND, arguments::RescueArguments, watch::Watcher};
use crate::{interrupt, output};
use anyhow::{Context, Error, Result};
use flash::{VolumeId, tools::Plan};
use std::process::ExitCode;
use target::volume::{self, RescueError, page::rescue};

/// Copies out what is readable of a damaged volume.
pub fn rescue(arguments: &RescueArguments) -> Result<ExitCode> {
    let (path, to) = (&arguments.path, &arguments.to);
    let plan = Plan {
        volume: arguments.volume.as_deref().map(volume_id).transpose()?,
        exported_bytes: arguments.size,
    };
    let watcher = Watcher::new(arguments.quiet)?;
    let outcome = volume::rescue(path, to, &plan, &mut |progress| watcher.see(progress));
    watcher.finish();
    let rescued = match outcome {
        Ok(rescued) => rescued,
        Err(RescueError::Stopped) => {
            output::talk!("drivelab: interrupted: nothing was kept");
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        Err(error) if error.is_of_copy() => return Err(Error::new(error).context("--to")),
        Err(error) => return Err(error.into()),
    };
    output::print(&match arguments.json {
        true => serde_json::to_string_pretty(&rescue::json(path, to, &rescued))? + "\n",
        false => rescue::text(path, to, &rescued, "--json lists them"),
    })?;
    let is_whole = rescued.report.doubtful.is_empty() && rescued.report.lost.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

/// As `status` and `rescue` print it: 32 hexadecimal digits.
fn volume_id(text: &str) -> Result<VolumeId> {
    volume::parse_volume_id(text).with_context(|| {
        format!("--volume: `{text}` is no volume's id: it has 32 hexadecimal digits")
    })
}
