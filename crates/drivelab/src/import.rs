//! `drivelab import`: what other programs measured, as runs in the history. What is read of each
//! format is the room's (`import`).

use crate::{cli::ImportArguments, output};
use anyhow::{Result, anyhow, bail};
use import::{DriveFile, ImportError, Kind};
use record::{
    Record, Store,
    input::{RECORD_BYTES_MAX, read_bytes},
};
use report::terminal::Notes;
use std::{collections::BTreeMap, path::Path, process::ExitCode};

/// Takes all of them in, or none.
pub fn import(arguments: &ImportArguments) -> Result<ExitCode> {
    let now = jiff::Timestamp::now().round(jiff::Unit::Second)?.to_string();
    let labels: BTreeMap<String, String> = lab::order::labels(&arguments.label);
    let (mut records, mut drives) = (Vec::new(), Vec::new());
    for path in &arguments.files {
        let bytes = read_bytes(path, RECORD_BYTES_MAX)
            .map_err(|error| anyhow!("cannot read {}: {error}", path.display()))?;
        if Kind::of(&bytes) == Some(Kind::Drive) {
            let found = DriveFile::read(&String::from_utf8_lossy(&bytes));
            drives.extend(found.into_iter().map(|drive| (path, drive)));
            continue;
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let mut record = import::import(&name, &bytes, &now)
            .map_err(|error| anyhow!("cannot import {}: {}", path.display(), in_words(&error)))?;
        record.labels.clone_from(&labels);
        records.push((path, record));
    }
    if records.is_empty() {
        bail!("cannot import {}: {}", arguments.files[0].display(), ImportError::DriveAlone);
    }
    for (path, drive) in &drives {
        let mut is_entered = false;
        for (_, record) in &mut records {
            is_entered |= drive.enter(record);
        }
        if !is_entered {
            output::talk!("{}: {} is no target of these results", path.display(), drive.name());
        }
    }
    if arguments.dry_run {
        for (_, record) in &records {
            show(record, "drivelab import FILE, then drivelab show last")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut store = crate::store::open_here(arguments.store.as_deref())?;
    let several = records.len() > 1;
    for (path, record) in &records {
        taken_in(&mut store, record, path, arguments, several)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The error with the cure that the command line knows.
fn in_words(error: &ImportError) -> String {
    let cure = match error {
        ImportError::Unknown => {
            "`drivelab import --help` lists what is; a record of drivelab's own \
             is read by `drivelab show FILE`"
        }
        ImportError::FioText => "fio --output-format=json --output=FILE ...",
        _ => return error.to_string(),
    };
    format!("{error}: {cure}")
}

fn taken_in(
    store: &mut Store,
    record: &Record,
    path: &Path,
    arguments: &ImportArguments,
    several: bool,
) -> Result<()> {
    let place = output::store_option(arguments.store.as_deref());
    let id = &record.id;
    if store.contains(id)? {
        output::talk!(
            "{}: it is in the history already: drivelab show {id}{place}",
            path.display()
        );
        return Ok(());
    }
    store.save(record)?;
    crate::store::deliver(arguments.store.as_deref(), id);
    if several {
        let cells = record.cells.len();
        let results = if cells == 1 { "result" } else { "results" };
        return output::print(&format!(
            "{}: {} {}, {cells} {results}: drivelab show {id}{place}\n",
            path.display(),
            record.tool.name,
            record.tool.version,
        ));
    }
    show(record, &format!("drivelab show {id}{place} --explain"))
}

fn show(record: &Record, more: &str) -> Result<()> {
    output::print(&report::terminal::run(record, &output::style(), Notes::Brief { more }))
}
