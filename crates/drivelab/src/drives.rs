//! `drivelab drives`: the catalog on screen, and proposals for it.
//!
//! ```text
//!   drives            target::catalog::page::list           one line a drive
//!   drives NAME       target::catalog::page::{drive, host}  data sheet, price, parameters
//!   drives fit RUN    target::propose
//! ```

use crate::{
    cli::{DrivesArguments, DrivesVerb},
    output,
};
use anyhow::{Result, bail};
use block::names::did_you_mean;
use std::process::ExitCode;
use target::catalog::{Catalog, page};

/// Shows the catalog, an entry of it, or a proposal.
pub fn drives(arguments: &DrivesArguments) -> Result<ExitCode> {
    let text = match (&arguments.verb, &arguments.name) {
        (Some(DrivesVerb::Fit(fit)), _) => {
            let mut store = output::open_store(fit.store.as_deref())?;
            store.close_orphans()?;
            target::propose(&store.resolve(&fit.run)?)?
        }
        (None, Some(name)) => entry(&Catalog::load()?, name)?,
        (None, None) => page::list(&Catalog::load()?),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A drive's page, or a port's, or an array driver's.
fn entry(catalog: &Catalog, name: &str) -> Result<String> {
    if let Some(drive) = catalog.drive(name) {
        return Ok(page::drive(drive, catalog));
    }
    if let Some(host) = catalog.port(name).or_else(|| catalog.driver(name)) {
        return Ok(page::host(host));
    }
    // The port that is none is no drive that anybody looks for.
    let hosts = catalog.ports().iter().chain(catalog.drivers()).map(|host| host.name());
    let hosts = hosts.filter(|name| *name != "none");
    let near = did_you_mean(name, catalog.drive_names().chain(hosts));
    bail!("there is no drive `{name}`.{near} `drivelab drives` lists them")
}
