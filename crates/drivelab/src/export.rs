//! `drivelab export`: runs for other programs. What each format holds is the room's
//! (`report::export`).

use crate::{cli::ExportArguments, output, report::save::Outputs};
use anyhow::{Context, Result};
use record::Record;
use report::export::{self, ExportError, Kind};
use std::{path::Path, process::ExitCode};

/// Writes what was asked for; nothing when any of it may not be written.
pub fn export(arguments: &ExportArguments) -> Result<ExitCode> {
    let mut store = output::open_store(arguments.store.as_deref())?;
    store.close_orphans()?;
    let records: Vec<Record> =
        arguments.runs.iter().map(|run| Ok(store.resolve(run)?)).collect::<Result<_>>()?;
    let kind = arguments.kind;
    let mut outputs = Outputs::new(arguments.force);
    let left_out = if kind == Kind::Fio && is_directory(&arguments.to) {
        let parts = records.iter().map(export::fio::files);
        let (files, left_out): (Vec<_>, Vec<_>) = parts.unzip();
        outputs.folder(&arguments.to, kind.format(), files.concat()).context("--to")?;
        left_out.concat()
    } else {
        let all: Vec<&Record> = records.iter().collect();
        let exported = kind.text(&all).map_err(in_words)?;
        outputs.add(&arguments.to, kind.format(), exported.text.into_bytes())?;
        exported.left_out
    };
    for line in outputs.write()? {
        output::talk!("{line}");
    }
    for cell in left_out {
        output::talk!("left out: {cell}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether it is one, or is named as one.
fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

fn in_words(error: ExportError) -> anyhow::Error {
    match error {
        ExportError::SeveralRuns(_) => {
            anyhow::anyhow!(
                "{error}: name one run, or a directory for a file a cell: --to results/"
            )
        }
    }
}
