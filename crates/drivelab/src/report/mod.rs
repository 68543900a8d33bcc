//! `drivelab report`: runs as pictures and tables for people and programs.
//!
//! ```text
//!   RUN...        -> records, prices                prices.rs
//!   records       -> texts of all files             report (the crate)
//!   texts         -> files, all or none refused     save.rs
//! ```

mod prices;
pub mod save;

use crate::{cli::ReportArguments, output};
use anyhow::{Context, Result, bail};
use record::Record;
use report::runs::{self, Run};
use save::{Format, Outputs};
use std::process::ExitCode;

/// Writes what was asked for; nothing when any of it may not be written.
pub fn report(arguments: &ReportArguments) -> Result<ExitCode> {
    let asked = [&arguments.html, &arguments.xlsx, &arguments.csv, &arguments.svg];
    if asked.iter().all(|path| path.is_none()) {
        bail!(
            "nothing to write: add one or more of --html FILE, --xlsx FILE, --csv FILE, --svg DIR"
        );
    }
    let mut store = output::open_store(arguments.store.as_deref())?;
    store.close_orphans()?;
    let records: Vec<Record> =
        arguments.runs.iter().map(|run| Ok(store.resolve(run)?)).collect::<Result<_>>()?;
    let prices = prices::of(&arguments.runs, &records, &arguments.price)?;
    let runs: Vec<Run<'_>> =
        records.iter().zip(prices).map(|(record, prices)| Run { record, prices }).collect();

    let mut outputs = Outputs::new(arguments.force);
    if arguments.html.is_some() || arguments.xlsx.is_some() {
        let document = runs::document(&runs);
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
        outputs.add(path, Format::Csv, report::long_form::csv(&records).into_bytes())?;
    }
    if let Some(directory) = &arguments.svg {
        let groups = runs::by_method(&runs);
        let figures: Vec<_> = groups.iter().map(|group| runs::figures(group)).collect();
        outputs.drawings(directory, figures.iter().flat_map(|figures| figures.all()))?;
    }
    for line in outputs.write()? {
        eprintln!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}
