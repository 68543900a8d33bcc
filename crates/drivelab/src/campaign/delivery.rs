//! The history that many machines share and that a campaign's runs go into: which it is, and what
//! is said of it. A database that is away costs a sentence; `campaign push` or `campaign resume`
//! brings later what it lacks.

use super::words::in_words;
use crate::store::{self, CONNECT};
use crate::{interrupt, output};
use ::campaign::{Campaign, Delivered, Delivery, Survey};
use anyhow::{Result, ensure};
use record::{Place, Store, Tables};
use report::number::counted;
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::Ordering,
};

/// Where the runs of a campaign go besides its directory: what the option names, else the file,
/// else the environment, which counts only where it names a database.
///
/// # Errors
/// An address that is none, one with a password in it, and a drivelab that speaks no PostgreSQL.
pub fn place(option: Option<&Path>, file: Option<&str>, base: &Path) -> Result<Option<Place>> {
    if let Some(named) = option {
        // Looked at as it was typed: `mysql://host/base` is no file.
        store::place(named, "--store")?;
        return Ok(Some(Place::of(&absolute(named, &env::current_dir()?), CONNECT)));
    }
    if let Some(named) = file {
        let place = store::place(Path::new(named), "store")?;
        let has_password = matches!(&place, Place::Server(address) if address.has_password());
        ensure!(
            !has_password,
            "store = \"{place}\": a password in a campaign's file is read by all who see its \
             directory: put it into ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD, mode 0600, or \
             into PGPASSWORD"
        );
        return Ok(Some(Place::of(&absolute(Path::new(named), base), CONNECT)));
    }
    let named = env::var_os(store::VARIABLE).filter(|value| !value.is_empty());
    let place = named.map(|named| store::place(Path::new(&named), store::VARIABLE)).transpose()?;
    Ok(place.filter(|place| place.file().is_none()))
}

/// What an option names, as the command of a worker elsewhere has it.
///
/// # Errors
/// There is no current directory.
pub fn named(option: Option<&Path>) -> Result<Option<PathBuf>> {
    let base = env::current_dir()?;
    Ok(option.map(|named| absolute(named, &base)))
}

/// A file by its whole path: workers are started elsewhere.
fn absolute(named: &Path, base: &Path) -> PathBuf {
    match Place::of(named, CONNECT) {
        Place::File(path) => base.join(path),
        Place::Server(_) => named.to_owned(),
    }
}

/// Looks whether the history can take anything, before a task is begun. One that is away now may
/// be back later, and costs a sentence.
///
/// # Errors
/// What waiting does not mend: a password, a database that is not there, other tables.
pub fn check(place: &Place) -> Result<()> {
    match Store::at_to_push(place, Tables::Made) {
        Err(error) if error.may_pass() => {
            output::talk!("drivelab: {error}; tasks go on, and their runs are pushed later");
            Ok(())
        }
        opened => opened.map(drop).map_err(store::in_words),
    }
}

/// Waits for what is on its way from a campaign whose tasks are done: what is missing costs a
/// sentence.
pub fn end(delivery: Delivery, campaign: &Campaign, place: &Place) {
    let Delivered { missing, error, .. } = delivery.end();
    if let Some(error) = error.map(store::in_words) {
        output::talk!(
            "drivelab: {} not in {place} yet: {error}; later: drivelab campaign push {}",
            are(missing),
            record::quoted(campaign.place())
        );
    }
}

fn are(count: u64) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, "run"))
}

/// `campaign push`: brings there what a history lacks of a campaign.
pub fn push(campaign: &Campaign, place: &Place) -> Result<ExitCode> {
    let stop = interrupt::flag()?;
    let delivery = Delivery::begin(campaign, place.clone(), &stop).map_err(in_words)?;
    delivery.take_all(&Survey::of(campaign).map_err(in_words)?);
    let delivered = delivery.end();
    let known = match delivered.known {
        0 => String::new(),
        1 => "; 1 was there already".to_owned(),
        many => format!("; {many} were there already"),
    };
    let told = format!("pushed {} to {place}{known}", counted(delivered.pushed, "run"));
    match delivered.error {
        _ if stop.load(Ordering::Relaxed) && delivered.missing > 0 => {
            output::talk!("drivelab: interrupted: {told}; the same again goes on");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Some(error) => {
            output::talk!("drivelab: {told}");
            Err(store::in_words(error))
        }
        None => output::print(&format!("{told}\n")).map(|()| ExitCode::SUCCESS),
    }
}
