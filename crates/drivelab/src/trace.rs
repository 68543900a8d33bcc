//! `drivelab trace`: what a block trace is like. Reading and reckoning is the room's (`trace`).

use crate::{cli::TraceArguments, output, report::save::Outputs};
use anyhow::{Error, Result, anyhow};
use report::Format;
use run::{CannotTrace, TraceFile, Volume};
use std::{path::Path, process::ExitCode};
use trace::{
    Analysis, Characterisation,
    page::{self, Subject},
};

/// The word for all volumes together.
const ALL: &str = "all";

/// Reads the trace and prints what it is like.
pub fn trace(arguments: &TraceArguments) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let file = file(&arguments.file, arguments.volume.as_deref());
    let (seen, subject) = characterise(&file).map_err(in_words)?;
    let json = || -> Result<String> {
        Ok(serde_json::to_string_pretty(&page::json(&seen, &subject))? + "\n")
    };
    if let Some(path) = &arguments.html {
        let origin = format!("drivelab {}, {}", env!("CARGO_PKG_VERSION"), host::now());
        let text = report::html::page(&page::document(&seen, &subject, &origin));
        let mut outputs = Outputs::new(arguments.force);
        outputs.add(path, Format::Html, text.into_bytes())?;
        for line in outputs.write()? {
            output::talk!("{line}");
        }
    }
    match arguments.json.as_deref() {
        Some(path) if path == Path::new("-") => return print(&json()?),
        Some(path) => output::write_json(path, &json()?)?,
        None => {}
    }
    print(&page::terminal(&seen, &subject, &output::style()))
}

fn print(text: &str) -> Result<ExitCode> {
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// A trace as it is named on the command line.
pub fn file(file: &Path, volume: Option<&str>) -> TraceFile {
    let volume = match volume {
        None => Volume::Only,
        Some(ALL) => Volume::All,
        Some(name) => Volume::Named(name.to_owned()),
    };
    TraceFile { file: file.to_owned(), volume, made: None }
}

/// Why a trace is of no use, with the option and the cure.
pub fn in_words(error: CannotTrace) -> Error {
    match &error {
        CannotTrace::Several(..) => {
            anyhow!("{error}: choose one with --volume NAME, or --volume all for all together")
        }
        CannotTrace::NoVolume(_, _, volume) => anyhow!("--volume {volume}: {error}"),
        _ => error.into(),
    }
}

/// What a trace is like.
pub fn characterise(file: &TraceFile) -> Result<(Characterisation, Subject), CannotTrace> {
    let mut trace = file.open()?;
    let mut analysis = Analysis::default();
    let mut first_volume = None;
    while let Some(access) = trace.next_access().map_err(|error| file.wrong(error))? {
        let is_first = *first_volume.get_or_insert(access.volume) == access.volume;
        // Of several volumes of which none was named only the number of accesses matters.
        if file.volume != Volume::Only || is_first {
            analysis.add(&access);
        }
    }
    file.check(&trace)?;
    let seen = analysis.conclude();
    if seen.operations() == 0 {
        return Err(CannotTrace::Nothing(file.name()));
    }
    let subject = Subject {
        name: file.name(),
        format: trace.format(),
        volume: file.chosen().map(str::to_owned),
        volumes: trace.volumes().by_count().len(),
        remarks: trace.remarks(),
    };
    Ok((seen, subject))
}
