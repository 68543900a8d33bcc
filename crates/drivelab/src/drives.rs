//! `drivelab drives`: the catalog on screen, and proposals for it.
//!
//! ```text
//!   drives            target::catalog::page::list           one line a drive
//!   drives NAME       target::catalog::page::{drive, host}  data sheet, price, parameters
//!   drives fit RUN    target::propose
//! ```

use crate::{
    cli::{DrivesArguments, DrivesVerb, FitArguments},
    output,
    progress::{self, Talk},
    store,
};
use anyhow::{Result, anyhow, bail};
use block::names::did_you_mean;
use std::{
    io::{IsTerminal, stdout},
    process::ExitCode,
    slice,
};
use target::{
    NoProposal,
    catalog::{Catalog, page},
};

/// What a fit seeks, one after the other.
const STAGES: u64 = 5;

/// Shows the catalog, an entry of it, or a proposal.
pub fn drives(arguments: &DrivesArguments) -> Result<ExitCode> {
    let text = match (&arguments.verb, &arguments.name) {
        (Some(DrivesVerb::Fit(arguments)), _) => fit(arguments)?,
        (None, Some(name)) => entry(&Catalog::load()?, name)?,
        (None, None) => page::list(&Catalog::load()?),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A catalog file of a run. Where it goes into a file, the errors of the model are told as well.
fn fit(arguments: &FitArguments) -> Result<String> {
    let run = slice::from_ref(&arguments.run);
    let record = store::load(arguments.store.as_deref(), run)?.remove(0);
    let bar = progress::bar(STAGES, "{pos}/{len}", Talk::Normal);
    let proposal = target::propose(&record, &mut |what| {
        let Some(bar) = &bar else { return };
        bar.set_message(format!("fitting {what}; two minutes at most"));
        bar.inc(1);
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let proposal = proposal.map_err(|bad| with_cure(&bad))?;
    if !stdout().is_terminal() {
        proposal.errors.iter().for_each(|line| output::talk!("{line}"));
    }
    Ok(proposal.toml)
}

/// Why there is no proposal, with the option that helps.
fn with_cure(bad: &NoProposal) -> anyhow::Error {
    match bad {
        NoProposal::Missing { .. } => anyhow!(
            "{bad}: `drivelab run TARGET --method characterise` measures them all, `--method \
             bm-flash` the least"
        ),
        NoProposal::NotWhole { .. } => anyhow!(
            "{bad}: give `drivelab run TARGET --method characterise` leave to write and a larger \
             --size, and let it come to its end"
        ),
        NoProposal::TwoTargets { .. }
        | NoProposal::Modelled { .. }
        | NoProposal::NotOneDrive { .. } => anyhow!("{bad}"),
    }
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
    let mut near = did_you_mean(name, hosts);
    if near.is_empty() {
        near = catalog.did_you_mean_drive(name);
    }
    bail!("there is no drive `{name}`.{near} `drivelab drives` lists them")
}
