//! `drivelab report`: runs as pictures and tables for people and programs.
//!
//! ```text
//!   RUN...        -> records; prices, data sheets   known (beside it)
//!   records       -> texts of all files             report (the crate)
//!   texts         -> files, all or none refused     save.rs
//! ```

pub mod save;

use crate::{
    cli::ReportArguments,
    known::{Named, prices, sheets},
    output,
};
use anyhow::{Context, Result, anyhow, bail};
use record::Record;
use report::{
    derive::{self, Evidence},
    runs::{self, Run},
    specification,
};
use save::{Format, Outputs};
use std::{path::Path, process::ExitCode};

/// Writes what was asked for; nothing when any of it may not be written.
pub fn report(arguments: &ReportArguments) -> Result<ExitCode> {
    let asked = [&arguments.html, &arguments.xlsx, &arguments.csv, &arguments.svg];
    let kinds = derive::kinds(&arguments.table).map_err(|unknown| anyhow!("--table {unknown}"))?;
    if asked.iter().all(|path| path.is_none()) && kinds.is_empty() {
        bail!(
            "nothing to write: add one or more of --html FILE, --xlsx FILE, --csv FILE, --svg DIR, --table NAME"
        );
    }
    let records = crate::store::load(arguments.store.as_deref(), &arguments.runs)?;
    let named = Named::all(&arguments.runs, &records);
    let prices = prices::of(&named, &arguments.price)?;
    let sheets = sheets::of(&named, &arguments.spec)?;
    let runs: Vec<Run<'_>> =
        records.iter().zip(prices).map(|(record, prices)| Run { record, prices }).collect();

    let evidence = Evidence::of(&runs, &sheets, &named, arguments.baseline.as_deref())
        .map_err(|none| anyhow!("--baseline {none}"))?;

    let mut outputs = Outputs::new(arguments.force);
    if arguments.html.is_some() || arguments.xlsx.is_some() {
        // Named, it is what everything is held against, in pages as in tables.
        let baseline = arguments.baseline.as_ref().and(evidence.subjects.get(evidence.baseline));
        let baseline = baseline.map(|subject| (subject.record, subject.target));
        let mut document = runs::document_against(&runs, baseline);
        let held =
            records.iter().zip(&sheets).flat_map(|(record, s)| specification::held(record, s));
        for held in held {
            let section = specification::section(held.specification, &held.findings, &held.of);
            document.sections.insert(document.sections.len().saturating_sub(1), section);
        }
        if let Some(section) = derive::section(&kinds, &evidence) {
            document.sections.insert(document.sections.len().saturating_sub(1), section);
        }
        if let Some(path) = &arguments.html {
            outputs.add(path, Format::Html, report::html::page(&document).into_bytes())?;
        }
        if let Some(path) = &arguments.xlsx {
            let workbook = report::xlsx::workbook(&document);
            outputs.add(path, Format::Xlsx, workbook.context("cannot make the workbook")?)?;
        }
    }
    if let Some(path) = &arguments.csv {
        let records: Vec<&Record> = records.iter().collect();
        let mut text = report::long_form::csv(&records);
        for kind in &kinds {
            for table in kind.derive(&evidence).unwrap_or_default() {
                text += &report::long_form::derived(kind.name, &table);
            }
        }
        outputs.add(path, Format::Csv, text.into_bytes())?;
    }
    if let Some(directory) = &arguments.svg {
        let groups = runs::by_method(&runs);
        let figures: Vec<_> = groups.iter().map(|group| runs::figures(group)).collect();
        outputs.drawings(directory, figures.iter().flat_map(|figures| figures.all()))?;
    }
    let stdout_is_taken = asked.iter().any(|path| path.as_deref() == Some(Path::new("-")));
    for line in outputs.write()? {
        output::talk!("{line}");
    }
    if !stdout_is_taken {
        output::print(&derive::text(&kinds, &evidence, &output::style()))?;
    }
    Ok(ExitCode::SUCCESS)
}
