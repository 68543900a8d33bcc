//! `drivelab flash`: managed volumes made, looked at, verified, and judged beforehand.
//!
//! ```text
//!   create                   target::volume::Site -> flash::Shape -> make
//!   status, check, resize    target::volume::HeldDrive -> flash::tools
//!   rescue                   target::volume::rescue
//!   predict                  a drive's rates -> advice::volume, and models beside it
//!   what they print          target::volume::page, advice::forecast_page
//! ```

pub mod arguments;
mod check;
mod create;
pub mod predict;
mod rescue;
mod resize;
mod status;
mod watch;

use anyhow::Result;
use arguments::{FlashArguments, FlashVerb};
use std::process::ExitCode;

/// Exit code of a finding.
const FOUND: u8 = 1;

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
