//! `drivelab flash resize`.

use super::{arguments::ResizeArguments, watch::Watcher};
use crate::{interrupt, output};
use anyhow::{Result, bail};
use engine::Clock;
use flash::tools::{self, Beyond, DeviceUse, NewSize, Room, ToolError};
use std::process::ExitCode;
use target::volume::{HeldDrive, Use, page::resize};

/// Gives a volume another size.
pub fn resize(arguments: &ResizeArguments) -> Result<ExitCode> {
    let path = &arguments.path;
    let size = NewSize {
        exported_bytes: arguments.size,
        device: match arguments.whole_drive {
            true => DeviceUse::Whole,
            false => DeviceUse::Keep,
        },
        beyond: match arguments.discard {
            true => Beyond::Discard,
            false => Beyond::Refuse,
        },
        room: match arguments.overcommit {
            true => Room::Overcommitted,
            false => Room::Held,
        },
    };
    let mut drive = HeldDrive::open(path, Use::Write, Clock::start())?;
    let watcher = Watcher::new(arguments.quiet)?;
    let outcome = tools::resize(&mut *drive.engine, &size, &mut |progress| watcher.see(progress));
    watcher.finish();
    match outcome {
        Ok(resized) => output::print(&resize::text(path, &resized))?,
        Err(ToolError::Stopped) => {
            output::talk!(
                "drivelab: interrupted: the volume has its old size or the new one, \
                 `drivelab flash status` says which"
            );
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        Err(error @ ToolError::Overcommits { .. }) => bail!(
            "{}: {error}, or add --overcommit for a volume whose writes find \"no space\" before \
             it is full",
            path.display()
        ),
        Err(error) => bail!("{}: {error}", path.display()),
    }
    Ok(ExitCode::SUCCESS)
}
