//! `drivelab trace`: what a block trace is like. Reading and reckoning is the room's (`trace`).

use crate::{cli::TraceArguments, output, report::save::Outputs, trace_file::Named};
use anyhow::{Result, bail};
use report::Format;
use std::{path::Path, process::ExitCode};
use trace::{
    Analysis, Characterisation,
    page::{self, Subject},
};

/// Reads the trace and prints what it is like.
pub fn trace(arguments: &TraceArguments) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let named = Named { file: &arguments.file, volume: arguments.volume.as_deref() };
    let (seen, subject) = characterise(&named)?;
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

/// What the named volume of a trace is like.
pub fn characterise(named: &Named<'_>) -> Result<(Characterisation, Subject)> {
    let mut trace = named.open()?;
    let mut analysis = Analysis::default();
    let mut first_volume = None;
    loop {
        let Some(access) = trace.next_access().map_err(|error| named.wrong(error))? else { break };
        // Of several volumes of which none was named only the number of accesses matters.
        let is_first = *first_volume.get_or_insert(access.volume) == access.volume;
        if named.volume.is_some() || is_first {
            analysis.add(&access);
        }
    }
    named.check(&trace)?;
    let seen = analysis.conclude();
    if seen.operations() == 0 {
        bail!("{} has no access to a drive: name another trace", named.name());
    }
    let subject = Subject {
        name: named.name(),
        format: trace.format(),
        volume: named.chosen().map(str::to_owned),
        volumes: trace.volumes().by_count().len(),
        remarks: trace.remarks(),
    };
    Ok((seen, subject))
}
