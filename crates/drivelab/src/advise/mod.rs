//! `drivelab advise`: what to buy for a mix of reads and writes.
//!
//! ```text
//!   words -> advice::Question, Field           arguments.rs, question.rs, field.rs
//!     -> Advice -> page or JSON                crates/advice
//!     words: which option a cure is            words.rs
//! ```
//!
//! `docs/guide/advice.md` has the formulas and describes the JSON.

pub mod arguments;
mod field;
mod question;
mod words;

use crate::output;
use advice::{
    Advice, Going, json,
    page::{self, Hints},
};
use anyhow::Result;
use arguments::AdviseArguments;
use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
};
use target::catalog::Catalog;

/// Answers.
pub fn advise(arguments: &AdviseArguments) -> Result<ExitCode> {
    let catalog = Catalog::load()?;
    let question = question::question(arguments)?;
    let field = field::field(&arguments.names, arguments.store.as_deref(), &catalog, &question)?;
    field.check().map_err(|none| words::nothing_fits(&none, &question))?;
    let talks = !arguments.quiet && stderr().is_terminal();
    let progress = |going: Going| match going {
        _ if !talks => {}
        Going::Modelling { done, of } => {
            let end = if done == of { "\r\x1b[K" } else { "" };
            output::draw!("\rmodelling: {done} of {of} stacks{end}");
        }
        Going::Checking { run } => {
            output::draw!("\rchecking the first as they stand: {run} run\x1b[K");
        }
    };
    let advice = Advice::new(&question, &field, &catalog, &progress)?;
    if talks {
        output::draw!("\r\x1b[K");
    }
    let options = words::Options { currency: &question.currency };
    let text = if arguments.json {
        let document = json::document(&advice, &|reason| options.sentence(reason));
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        page::page(&advice, arguments.limit, &output::style(), &options)
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
