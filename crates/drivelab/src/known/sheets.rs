//! Data sheets: a file of the user's, or the figures that the catalog has of a drive.

use super::{Named, read_file};
use anyhow::{Result, anyhow, bail};
use record::TargetInfo;
use report::{
    known::{parted, places},
    specification::Specification,
};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};
use target::catalog::{Catalog, NoSheet, drive_under, sheet_of};

/// The word for the figures that the catalog has of what was measured.
const CATALOG: &str = "catalog";

/// What to write instead.
const A_NAME: &str = "write --spec with the name of one of `drivelab drives`, or with a file";

/// For each record the data sheet of each target, where there is one. `given` are `FILE`, a
/// catalog's drive or `catalog`, with `NAME=` in front for one run or target alone.
pub fn of(named: &[Named<'_>], given: &[OsString]) -> Result<Vec<Vec<Option<Specification>>>> {
    let mut sheets: Vec<Vec<Option<Specification>>> =
        named.iter().map(|run| vec![None; run.targets.len()]).collect();
    for text in given {
        let (name, source) = parted(named, text, &|path| path.is_file());
        let places = places(named, name)
            .map_err(|not_here| anyhow!("--spec {} {not_here}", text.display()))?;
        for (run, target) in places {
            sheets[run][target] = Some(load(source, &named[run].targets[target])?);
        }
    }
    Ok(sheets)
}

fn load(source: &OsStr, target: &TargetInfo) -> Result<Specification> {
    let path = Path::new(source);
    let is_path = path.is_file() || path.to_str().is_none();
    let source = &*source.to_string_lossy();
    if source != CATALOG && (is_path || source.contains('/') || source.ends_with(".toml")) {
        let text = read_file("--spec", "data sheet", path)?;
        return Ok(Specification::parse(source, &text)?);
    }
    let catalog = Catalog::load()?;
    let drive = match catalog.drive(source) {
        _ if source == CATALOG => drive_under(target, &catalog).map_err(in_words)?,
        Some(drive) => drive,
        None => {
            let near = catalog.did_you_mean_drive(source);
            bail!(
                "--spec {source} is no file, and the catalog has no drive of this name.{near} \
                 `drivelab drives` lists them, and docs/reference/spec-format.md says how to \
                 write a file"
            );
        }
    };
    sheet_of(drive).map_err(in_words)
}

fn in_words(none: NoSheet) -> anyhow::Error {
    match none {
        NoSheet::NotOneDrive { .. } => {
            anyhow!("--spec catalog wants one drive, and {none}: {A_NAME}")
        }
        NoSheet::UnknownDrive { .. } => anyhow!("{none}: {A_NAME}"),
        NoSheet::NoFigures { .. } => {
            anyhow!("{none}: write them into a file, as docs/reference/spec-format.md says")
        }
        NoSheet::Bad(bad) => bad.into(),
    }
}
