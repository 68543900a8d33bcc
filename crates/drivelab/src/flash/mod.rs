//! `drivelab flash`: managed volumes made, looked at, verified, and judged beforehand.
//!
//! ```text
//!   create    target::volume::Site -> flash::Shape -> a volume
//!   status, check, rescue, resize    target::volume::HeldDrive -> flash::tools
//!   predict   a drive's rates -> flash::predict, and models beside it
//! ```

pub mod arguments;
mod check;
mod create;
pub mod predict;
mod ranges;
mod rescue;
mod resize;
mod status;
mod watch;
mod words;

use anyhow::Result;
use arguments::{FlashArguments, FlashVerb};
use std::process::ExitCode;

/// Does what was asked.
pub fn flash(arguments: &FlashArguments) -> Result<ExitCode> {
    match &arguments.verb {
        FlashVerb::Create(arguments) => create::create(arguments),
        FlashVerb::Status(arguments) => status::status(arguments),
        FlashVerb::Check(arguments) => check::check(arguments),
        FlashVerb::Rescue(arguments) => rescue::rescue(arguments),
        FlashVerb::Resize(arguments) => resize::resize(arguments),
        FlashVerb::Predict(arguments) => predict::predict(arguments),
    }
}
