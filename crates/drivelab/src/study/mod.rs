//! `drivelab study`: published studies, listed and run again.

pub mod arguments;
mod list;

use crate::output;
use anyhow::{Result, bail};
use arguments::StudyArguments;
use lab::names::did_you_mean;
use std::process::ExitCode;
use study::Study;

/// Lists the studies, or runs one again.
pub fn study(arguments: &StudyArguments) -> Result<ExitCode> {
    let Some(name) = &arguments.name else {
        output::print(&list::list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let _study = named(name)?;
    bail!("this release lists the studies and does not run them again yet: see `drivelab study`")
}

fn named(name: &str) -> Result<Study> {
    Study::named(name).map_or_else(
        || {
            let near = did_you_mean(name, Study::ALL.into_iter().map(Study::name));
            bail!("there is no study `{name}`.{near} `drivelab study` lists them")
        },
        Ok,
    )
}
