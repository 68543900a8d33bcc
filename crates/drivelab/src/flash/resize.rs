//! `drivelab flash resize`.

use super::{arguments::ResizeArguments, watch::Watcher, words};
use crate::{
    interrupt,
    output::{self, hanging},
};
use anyhow::{Result, bail};
use block::display_bytes;
use engine::Clock;
use flash::tools::{self, Beyond, DeviceUse, NewSize, Resized, Room, ToolError};
use std::{path::Path, process::ExitCode};
use target::volume::{HeldDrive, Use};

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
        Ok(resized) => output::print(&described(path, &resized))?,
        Err(ToolError::Stopped) => {
            output::talk!(
                "drivelab: interrupted: the volume has its old size or the new one, `drivelab flash status` says which"
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

fn described(path: &Path, resized: &Resized) -> String {
    let Resized { before, after, blocks_discarded } = resized;
    let from_to = |before: u64, after: u64| match before == after {
        true => format!("{}, as before", display_bytes(after)),
        false => format!("{} instead of {}", display_bytes(after), display_bytes(before)),
    };
    let (old, new) = (&before.shape, &after.shape);
    let mut text = hanging(
        "volume    ",
        &format!("{}: {}", path.display(), from_to(old.exported_bytes, new.exported_bytes)),
    );
    text += &hanging("drive     ", &from_to(old.device_bytes, new.device_bytes));
    if after.mapped_max < after.exported_blocks {
        let room = words::blocks(after.mapped_max.into());
        text +=
            &hanging("thin      ", &format!("{room} can be written at a time, then \"no space\""));
    }
    let spare = 1.0 - new.exported_bytes as f64 / new.device_bytes as f64;
    text += &hanging("spare     ", &words::percent(spare.max(0.0)));
    if *blocks_discarded > 0 {
        text += &hanging("discarded ", &words::blocks(*blocks_discarded));
    }
    text
}
