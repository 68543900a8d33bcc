//! `drivelab show`.

use crate::{
    cli::ShowArguments,
    known::{Named, fail_on, sheets},
    output,
};
use anyhow::Result;
use report::{specification, terminal::Notes};
use std::{ffi::OsStr, process::ExitCode, slice};

/// Prints a run's table, or its record; a data sheet is held against it.
pub fn show(arguments: &ShowArguments) -> Result<ExitCode> {
    let kinds = fail_on::parse(&arguments.decide.fail_on, &[("spec", fail_on::Kind::Spec)])?;
    fail_on::check(&kinds, !arguments.decide.spec.is_empty())?;
    let mut store = crate::store::open(arguments.store.as_deref())?;
    store.close_orphans()?;
    let record = crate::store::find(&store, arguments.store.as_deref(), &arguments.run)?;
    let words = slice::from_ref(&arguments.run);
    let named = Named::all(words, slice::from_ref(&record));
    let sheets = sheets::of(&named, &arguments.decide.spec)?.concat();
    let held = specification::held(&record, &sheets);
    let style = output::style();
    let text = if arguments.json && !arguments.decide.spec.is_empty() {
        serde_json::to_string_pretty(&specification::document(&record, &held))? + "\n"
    } else if arguments.json {
        serde_json::to_string_pretty(&record)? + "\n"
    } else {
        // Another run may be the last one by then.
        let run = match store.contains(&record.id)? {
            true => OsStr::new(&record.id),
            false => &arguments.run,
        };
        let place = output::store_option(arguments.store.as_deref());
        let more = format!("drivelab show {}{place} --explain", record::quoted(run));
        let notes = if arguments.explain { Notes::Explained } else { Notes::Brief { more: &more } };
        report::terminal::run(&record, &style, notes) + &specification::tables(&held, &style)
    };
    output::print(&text)?;
    fail_on::outcome(&kinds, &record, &held)
}
