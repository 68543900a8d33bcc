//! `drivelab push`: runs of this machine's history into a database that many machines share.

use crate::{
    cli::PushArguments,
    interrupt, output,
    store::{self, in_words},
};
use anyhow::{Result, bail};
use record::{Delivery, DeliveryCount, Ended, Place, Store, Tables};
use report::number::counted;
use std::{path::Path, process::ExitCode};

/// Pushes what the other history lacks.
pub fn push(arguments: &PushArguments) -> Result<ExitCode> {
    let to = destination(arguments)?;
    let here = store::here(arguments.store.as_deref())?;
    if let Some(path) = to.file() {
        let same = [path, &here].map(|path| path.canonicalize().ok());
        if same[0].is_some() && same[0] == same[1] {
            bail!("--to {}: it is the history that is to be pushed: name another", to);
        }
    }
    if let Some(missing) = store::missing(arguments.store.as_deref())? {
        bail!(missing);
    }
    let mut local = Store::open(&here)?;
    local.close_orphans()?;
    let runs = chosen(&local, arguments)?;
    let tables = if arguments.migrate { Tables::BroughtUp } else { Tables::Made };
    let stop = interrupt::flag()?;
    let mut delivery = Delivery::new(local, to.clone(), tables);
    let ended = delivery.carry_out(&runs, &stop);
    let told = told(&delivery, &runs, &to);
    match ended {
        Ok(true) => {
            output::print(&format!("{told}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(false) => {
            output::talk!("drivelab: interrupted: {told}; `drivelab push` goes on");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Err(error) => Err(in_words(error)),
    }
}

fn destination(arguments: &PushArguments) -> Result<Place> {
    if let Some(named) = &arguments.to {
        return store::place(named, "--to");
    }
    match std::env::var_os(store::VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => match store::place(Path::new(&value), store::VARIABLE)? {
            place @ Place::Server(_) => Ok(place),
            Place::File(_) => {
                bail!("where to? Name a database: --to postgresql://USER@HOST/NAME")
            }
        },
        None => bail!(
            "where to? Name a database: --to postgresql://USER@HOST/NAME, or set {}",
            store::VARIABLE
        ),
    }
}

/// The runs that were named, or all that have ended.
fn chosen(local: &Store, arguments: &PushArguments) -> Result<Vec<Ended>> {
    if arguments.runs.is_empty() {
        return Ok(local.ended()?);
    }
    let ended = arguments.runs.iter().map(|named| {
        let id = local.resolve(named)?.id;
        match local.ended_one(&id)? {
            Some(run) => Ok(run),
            None if local.contains(&id)? => bail!("run {id} has not ended yet: push it then"),
            None => bail!(
                "run {id} is a file and not in the history: `drivelab show` reads it, and only \
                 what is in the history is pushed"
            ),
        }
    });
    ended.collect()
}

/// What was brought where, in words.
fn told(delivery: &Delivery, runs: &[Ended], to: &Place) -> String {
    let untouched = DeliveryCount { lacking: runs.len(), pushed: 0 };
    let DeliveryCount { lacking, pushed } = delivery.count().unwrap_or(untouched);
    let before = match runs.len() - lacking {
        0 => String::new(),
        1 => "; 1 was there already".to_owned(),
        many => format!("; {many} were there already"),
    };
    let of = if pushed == lacking { String::new() } else { format!(" of {lacking}") };
    format!("pushed {}{of} to {to}{before}", counted(pushed as u64, "run"))
}
