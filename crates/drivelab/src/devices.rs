//! `drivelab devices`: what block devices there are, what is on them, and what may be done to them.
//!
//! ```text
//!   host::devices::survey -> record::devices::Survey -> report::devices: list | page, or JSON
//! ```

use crate::{cli::DevicesArguments, output};
use anyhow::{Result, bail};
use host::{
    Roots,
    devices::{Device, Survey, Which, survey, survey_one},
};
use report::devices::{self, Wording};
use std::process::ExitCode;

const WORDING: Wording =
    Wording { destroy: "--destroy", tells_all: "`drivelab devices NAME` tells all of one, uncut." };

/// Prints all devices, or one.
pub fn devices(arguments: &DevicesArguments) -> Result<ExitCode> {
    let roots = Roots::default();
    let survey = match &arguments.name {
        None => survey(if arguments.all { Which::All } else { Which::Used }, &roots),
        Some(name) => one(name, &roots)?,
    };
    let text = match (&arguments.name, arguments.json) {
        (_, true) => serde_json::to_string_pretty(&survey)? + "\n",
        (Some(_), false) => {
            let style = output::style_of_list();
            let pages = survey.devices.iter().map(|device| devices::page(device, &WORDING, &style));
            let pages: Vec<String> = pages.collect();
            pages.join("\n") + &devices::unseen(&survey, style.width)
        }
        (None, false) => devices::list(&survey, &WORDING, &output::style_of_list(), output::rows()),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn one(name: &str, roots: &Roots) -> Result<Survey> {
    let Some(mut found) = survey_one(name, roots) else {
        let path = std::path::Path::new("/dev").join(name);
        let near = host::missing::did_you_mean(&path, &[], roots);
        bail!("there is no block device `{name}`.{near} `drivelab devices` lists them")
    };
    for device in &mut found.devices {
        // Wear, and what else only the drive knows.
        let layer = std::slice::from_mut(&mut device.layer);
        host::ask_tools(layer, roots);
        host::ask_health(layer, host::Moment::Before, roots);
    }
    Ok(found)
}

/// The rows of the page in `drivelab web`.
pub fn rows_for_web() -> web::site::devices::Devices {
    let survey = survey(Which::Used, &Roots::default());
    let row = |device: &Device| web::site::devices::Row {
        name: device.name.clone(),
        bus: devices::bus(device),
        size: devices::size(device),
        word: device.destroy.clone(),
        measured: devices::measured_in_words(device),
        what: devices::what(device, &survey).join("; "),
        cure: device.writes_refused.clone(),
    };
    web::site::devices::Devices {
        option: WORDING.destroy,
        rows: survey.devices.iter().map(row).collect(),
        unseen: survey.unseen.clone(),
    }
}
