//! Data sheets: a file of the user's, or the figures that the catalog has of a drive.

use super::{Named, places, read_file};
use anyhow::{Context, Result, bail};
use block::names::did_you_mean;
use record::TargetInfo;
use report::{runs, specification::Specification};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};
use target::catalog::{Catalog, DriveEntry};

/// The word for the figures that the catalog has of what was measured.
const CATALOG: &str = "catalog";

/// For each record the data sheet of each target, where there is one. `given` are `FILE`, a
/// catalog's drive or `catalog`, with `NAME=` in front for one run or target alone.
pub fn of(named: &[Named<'_>], given: &[OsString]) -> Result<Vec<Vec<Option<Specification>>>> {
    let mut sheets: Vec<Vec<Option<Specification>>> =
        named.iter().map(|run| vec![None; run.targets.len()]).collect();
    for text in given {
        let (name, source) = match text.to_str() {
            Some(text) => {
                let (name, source) = parted(named, text);
                (name, OsStr::new(source))
            }
            None => parted_by_bytes(text),
        };
        for (run, target) in places(named, name, &format!("--spec {}", text.display()))? {
            sheets[run][target] = Some(load(source, &named[run].targets[target])?);
        }
    }
    Ok(sheets)
}

/// The same where FILE is no text.
fn parted_by_bytes(text: &OsStr) -> (Option<&str>, &OsStr) {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').filter(|_| !Path::new(text).is_file());
    let name = at.and_then(|at| std::str::from_utf8(&bytes[..at]).ok());
    match name.filter(|name| !name.contains('/')) {
        Some(name) => (Some(name), OsStr::from_bytes(&bytes[name.len() + 1..])),
        None => (None, text),
    }
}

/// `NAME=SOURCE`, where NAME is known and may hold a `=` of its own, as a STACK does; else SOURCE.
fn parted<'t>(named: &[Named<'_>], text: &'t str) -> (Option<&'t str>, &'t str) {
    let of_run = |run: &Named<'_>| {
        let targets = run.targets.iter().map(|target| target.text.len());
        targets.chain([run.word.len(), run.id.len()]).collect::<Vec<_>>()
    };
    let mut lengths: Vec<usize> = named.iter().flat_map(of_run).collect();
    lengths.sort_unstable();
    for length in lengths.into_iter().rev() {
        let Some((name, rest)) = text.split_at_checked(length) else { continue };
        let is_known = named.iter().any(|run| !run.targets_of(name).is_empty());
        if let Some(source) = rest.strip_prefix('=').filter(|_| is_known) {
            return (Some(name), source);
        }
    }
    match text.split_once('=') {
        Some((name, source)) if !Path::new(text).is_file() && !name.contains('/') => {
            (Some(name), source)
        }
        _ => (None, text),
    }
}

fn load(source: &OsStr, target: &TargetInfo) -> Result<Specification> {
    let path = Path::new(source);
    let source = &*source.to_string_lossy();
    if source == CATALOG {
        let catalog = Catalog::load()?;
        return of_drive(drive_of(target, &catalog)?);
    }
    if path.is_file()
        || path.to_str().is_none()
        || source.contains('/')
        || source.ends_with(".toml")
    {
        let text = read_file("--spec", "data sheet", path)?;
        return Ok(Specification::parse(source, &text)?);
    }
    let catalog = Catalog::load()?;
    let Some(drive) = catalog.drive(source) else {
        let near = did_you_mean(source, catalog.drive_names());
        bail!(
            "--spec {source} is no file, and the catalog has no drive of this name.{near} `drivelab drives` lists \
             them, and docs/reference/spec-format.md says how to write a file"
        );
    };
    of_drive(drive)
}

fn of_drive(drive: &DriveEntry) -> Result<Specification> {
    let sheet = Specification::of_catalog(&drive.entry.file, drive.entry.text())?;
    sheet.with_context(|| {
        format!(
            "the catalog has no figures of {}'s data sheet: write them into a file, as \
             docs/reference/spec-format.md says",
            drive.name()
        )
    })
}

/// The catalog's drive that lies under a target: by the name in a STACK, or the model that a drive
/// gives.
fn drive_of<'c>(target: &TargetInfo, catalog: &'c Catalog) -> Result<&'c DriveEntry> {
    let drives = runs::drives(target);
    let [only] = &drives[..] else {
        bail!("--spec catalog wants one drive, and {} has {}: {A_NAME}", target.text, drives.len());
    };
    if only.count > 1 {
        bail!("--spec catalog wants one drive, and {} has {}: {A_NAME}", target.text, only.count);
    }
    let of_model = |drive: &&DriveEntry| {
        let printed = drive.data_sheet.lines.iter().find(|(key, _)| key == "model");
        printed.is_some_and(|(_, printed)| *printed == only.name)
    };
    let drive = catalog.drive(&only.name).or_else(|| catalog.drives().iter().find(of_model));
    drive.with_context(|| {
        format!(
            "the catalog does not have the drive under {} ({}): {A_NAME}",
            target.text, only.name
        )
    })
}

/// What to write instead.
const A_NAME: &str = "write --spec with the name of one of `drivelab drives`, or with a file";
