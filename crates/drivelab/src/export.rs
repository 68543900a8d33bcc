//! `drivelab export`: runs for other programs. What each format holds is the room's
//! (`report::export`).

use crate::{cli::ExportArguments, output, report::save::Outputs, run::in_words, store};
use anyhow::{Context, Result, bail};
use lab::method::{BUILT_IN, Method};
use report::{
    Format,
    export::{self, ExportError, Kind, WriteColumns},
};
use std::{
    ffi::OsStr,
    io::{self, IsTerminal},
    path::Path,
    process::ExitCode,
};

/// What writes Parquet; nothing where the feature was left out.
#[cfg(feature = "parquet")]
pub const PARQUET: Option<WriteColumns> = Some(columns::file);
#[cfg(not(feature = "parquet"))]
pub const PARQUET: Option<WriteColumns> = None;

/// Writes what was asked for; nothing when any of it may not be written.
pub fn export(arguments: &ExportArguments) -> Result<ExitCode> {
    let history = arguments.store.as_deref();
    if let (Kind::Fio, [only]) = (arguments.kind, arguments.runs.as_slice())
        && is_method(only, history)?
    {
        return export_method(only, arguments);
    }
    let records = store::load(history, &arguments.runs)?;
    let kind = arguments.kind;
    if kind == Kind::Parquet && arguments.to == Path::new("-") && io::stdout().is_terminal() {
        bail!("Parquet is no text for a terminal: name a file, as in --to runs.parquet");
    }
    let mut outputs = Outputs::new(arguments.force);
    let left_out = if kind == Kind::Fio && is_directory(&arguments.to) {
        let parts = records.iter().map(export::fio::files);
        let (files, left_out): (Vec<_>, Vec<_>) = parts.unzip();
        outputs.folder(&arguments.to, kind.format(), files.concat()).context("--to")?;
        left_out.concat()
    } else {
        let all: Vec<&record::Record> = records.iter().collect();
        let exported = kind.bytes(&all, PARQUET).map_err(refused)?;
        outputs.add(&arguments.to, kind.format(), exported.bytes)?;
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

/// Whether a word is a method and no run: a file of one, or the name of one that no run has.
fn is_method(named: &OsStr, history: Option<&Path>) -> Result<bool> {
    let Some(name) = named.to_str() else { return Ok(false) };
    let ending = Path::new(name).extension().and_then(OsStr::to_str);
    if matches!(ending, Some("toml" | "fio" | "job")) {
        return Ok(true);
    }
    let is_built_in = BUILT_IN.iter().any(|(known, _)| *known == name);
    Ok(is_built_in && store::open(history)?.resolve(named).is_err())
}

/// A method as a job file.
fn export_method(named: &OsStr, arguments: &ExportArguments) -> Result<ExitCode> {
    let (name, text) = run::method_text(named).map_err(in_words)?;
    let method = Method::parse(&name, &text, &[])?;
    let rule = stats::StopRule::for_grade(method.grade);
    let seconds = method.file.seconds_max.unwrap_or(rule.seconds_max);
    let exported = fio_job::job_file(&method, seconds);
    let mut outputs = Outputs::new(arguments.force);
    outputs.add(&arguments.to, Format::FioJob, exported.text.into_bytes())?;
    for line in outputs.write()? {
        output::talk!("{line}");
    }
    for cell in exported.left_out {
        output::talk!("left out: {cell}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether it is one, or is named as one.
fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

fn refused(error: ExportError) -> anyhow::Error {
    match error {
        ExportError::SeveralRuns(_) => {
            anyhow::anyhow!(
                "{error}: name one run, or a directory for a file a cell: --to results/"
            )
        }
        ExportError::NotBuilt(kind) => {
            let feature = kind.name();
            anyhow::anyhow!(
                "{error}: the packages have it, and cargo install --features {feature}; --as csv \
                 writes the same table"
            )
        }
    }
}
