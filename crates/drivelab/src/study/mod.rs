//! `drivelab study`: published studies, listed, run again, and judged.
//!
//! ```text
//!   study             study::list   what each asks
//!   study NAME, --claims, --json, --html       study::{print, page}: tables, claims, JSON, a page
//!   study --on        on.rs       its method on the user's target, by run or by matrix
//!                                 study::page::yours: the user's column beside the published drives
//! ```

pub mod arguments;
mod on;
mod words;

use crate::{
    output,
    report::save::{Format, Outputs},
};
use anyhow::{Result, anyhow};
use arguments::StudyArguments;
use block::names::did_you_mean;
use report::terminal::Page;
use std::{
    io::{IsTerminal, stderr},
    path::Path,
    process::ExitCode,
    thread,
};
use study::{
    Dossier, Models, Shown, Study, TableFile,
    page::{self, json, yours},
};
use target::catalog::Catalog;

/// Lists the studies, or runs one again.
pub fn study(arguments: &StudyArguments) -> Result<ExitCode> {
    let Some(name) = &arguments.name else {
        output::print(&study::list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let dossier = Dossier::open(named(name)?);
    match arguments.on.is_some() || arguments.loop_directory.is_some() {
        true => on_target(&dossier, arguments),
        false => on_models(&dossier, arguments),
    }
}

/// The study on its own drives.
fn on_models(dossier: &Dossier, arguments: &StudyArguments) -> Result<ExitCode> {
    check_outputs(arguments)?;
    let shown = shown(dossier, arguments)?;
    let tables = shown.tables(dossier);
    let models = match shown {
        Shown::Table(_) => modelled(dossier, &tables, arguments.quiet)?,
        // Claims read figures of other studies, too.
        Shown::Claims | Shown::Tables => {
            modelled(dossier, &dossier.file.tables.iter().collect::<Vec<_>>(), arguments.quiet)?
        }
    };
    if let Some(path) = &arguments.json {
        let rows = if arguments.claims {
            json::claims(dossier, &models)?
        } else {
            json::cells(dossier, &models, &tables)
        };
        if write_json(path, &rows)? == Written::ToStdout {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if arguments.html.is_some() || arguments.svg.is_some() {
        for line in drawn(dossier, &models, arguments)?.write()? {
            output::talk!("{line}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let judge = format!("drivelab study {} --claims", dossier.study.name());
    let text = study::print(dossier, &models, shown, &judge, &output::style());
    output::print(&text?)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a file that cannot be written before hours of measuring or computing, not after them.
fn check_outputs(arguments: &StudyArguments) -> Result<()> {
    output::check_json(arguments.json.as_deref())?;
    if let Some(path) = &arguments.html {
        Outputs::new(arguments.force).add(path, Format::Html, Vec::new())?;
    }
    if let Some(directory) = &arguments.svg {
        Outputs::new(arguments.force).folder(directory, Format::Svg, Vec::new())?;
    }
    Ok(())
}

/// The page and the drawings that were asked for.
fn drawn(dossier: &Dossier, models: &Models, arguments: &StudyArguments) -> Result<Outputs> {
    let mut outputs = Outputs::new(arguments.force);
    let document = page::document(dossier, models)?;
    if let Some(path) = &arguments.html {
        outputs.add(path, Format::Html, report::html::page(&document).into_bytes())?;
    }
    if let Some(directory) = &arguments.svg {
        outputs.drawings(directory, document.figures())?;
    }
    Ok(outputs)
}

/// The study's method on the user's target.
fn on_target(dossier: &Dossier, arguments: &StudyArguments) -> Result<ExitCode> {
    check_outputs(arguments)?;
    if !arguments.dry_run {
        drop(crate::store::open_here(arguments.store.as_deref())?);
    }
    let Some(measured) = on::measure(dossier, arguments)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let written = match &arguments.json {
        Some(path) => write_json(path, &json::yours(dossier, &measured.seen()))?,
        None => Written::ToFile,
    };
    if let Some(path) = &arguments.html {
        let document = yours::document(dossier, &measured.seen());
        let mut outputs = Outputs::new(arguments.force);
        outputs.add(path, Format::Html, report::html::page(&document).into_bytes())?;
        outputs.write()?.iter().for_each(|line| output::talk!("{line}"));
    }
    let mut printed = Ok(());
    if written == Written::ToFile {
        let style = output::style();
        let mut page = Page::new(&style);
        let store = output::store_option(arguments.store.as_deref());
        yours::print(&mut page, dossier, &measured.seen(), &store);
        let mut text = page.finish();
        for matrix in measured.parts.iter().filter_map(on::Part::matrix) {
            text += &format!("\n{}", matrix.page.text);
        }
        printed = output::print(&text);
    }
    let code = measured.conclude()?;
    printed.map(|()| code)
}

/// Where JSON went: with nothing beside it, or to a file.
#[derive(PartialEq, Eq)]
enum Written {
    ToStdout,
    ToFile,
}

fn write_json(path: &Path, rows: &[serde_json::Value]) -> Result<Written> {
    let text = serde_json::to_string_pretty(rows)? + "\n";
    if path == Path::new("-") {
        output::print(&text)?;
        return Ok(Written::ToStdout);
    }
    output::write_json(path, &text)?;
    Ok(Written::ToFile)
}

fn named(name: &str) -> Result<Study> {
    Study::named(name).ok_or_else(|| {
        let near = did_you_mean(name, Study::ALL.into_iter().map(Study::name));
        anyhow!("there is no study `{name}`.{near} `drivelab study` lists them")
    })
}

/// What is to be printed.
fn shown<'d>(dossier: &'d Dossier, arguments: &StudyArguments) -> Result<Shown<'d>> {
    match &arguments.table {
        _ if arguments.claims => Ok(Shown::Claims),
        None => Ok(Shown::Tables),
        Some(id) => Shown::table(dossier, id).map_err(|ids| {
            let (study, ids) = (dossier.study.name(), ids.join(", "));
            anyhow!("--table: {study} has no table `{id}`: there are {ids}")
        }),
    }
}

/// Tables of the study on modelled drives, on all processors; how far it is on stderr.
fn modelled(dossier: &Dossier, tables: &[&TableFile], quiet: bool) -> Result<Models> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let talks = !quiet && stderr().is_terminal();
    let progress = |done: usize, of: usize| {
        if talks {
            let end = if done == of { "\r\x1b[K" } else { "" };
            output::draw!("\rmodelling: {done} of {of} cells{end}");
        }
    };
    Ok(Models::run(dossier, &Catalog::load()?, tables, threads, &progress))
}
