//! `drivelab advise`: what to buy for a mix of reads and writes.
//!
//! ```text
//!   words -> Question {need, workload}         arguments.rs, question.rs
//!   names -> Candidates, refused ones apart    candidates.rs, recorded.rs
//!     -> Answered {offer, check, basis}        modelled.rs: study::steady, flash::predict
//!     -> study::advice::rank, the first run as they stand   check.rs
//!     -> a page with its reasons, or JSON      page.rs, reasons.rs, json.rs
//! ```
//!
//! `docs/guide/advice.md` has the formulas and describes the JSON.

pub mod arguments;
mod candidates;
mod check;
mod json;
mod modelled;
mod page;
mod question;
mod reasons;
mod recorded;

use crate::output;
use anyhow::Result;
use arguments::AdviseArguments;
use candidates::{Candidate, Field};
use modelled::Answered;
use question::Question;
use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
};
use study::advice::{Offer, Ranking, Refusal};
use target::catalog::Catalog;

/// Everything that an answer is made of.
struct Advice<'a> {
    question: &'a Question,
    catalog: &'a Catalog,
    /// Each of the offers with where it comes from.
    answered: Vec<(&'a Candidate, Answered)>,
    /// The same, for the ranking.
    offers: Vec<Offer>,
    /// Indices of offers, ranked.
    ranking: Ranking,
    /// What was out of the question before it was modelled.
    refused: &'a [(String, Option<f64>, Refusal)],
    /// What cannot be built, and why.
    impossible: Vec<(&'a str, String)>,
    /// What the user should know.
    notes: &'a [String],
}

/// Answers.
pub fn advise(arguments: &AdviseArguments) -> Result<ExitCode> {
    let catalog = Catalog::load()?;
    let question = Question::new(arguments)?;
    let field = Field::new(&arguments.names, arguments.store.as_deref(), &catalog, &question)?;
    field.check(&question)?;
    let talks = !arguments.quiet && stderr().is_terminal();
    let progress = |done: usize, of: usize| {
        if talks {
            let end = if done == of { "\r\x1b[K" } else { "" };
            output::draw!("\rmodelling: {done} of {of} stacks{end}");
        }
    };
    let answers = modelled::answer(&field.candidates, &catalog, &question, &progress)?;
    let (mut answered, mut impossible) = (Vec::new(), Vec::new());
    for (candidate, answer) in field.candidates.iter().zip(answers) {
        match answer {
            Ok(answer) => answered.push((candidate, answer)),
            Err(reason) => impossible.push((candidate.name.as_str(), reason)),
        }
    }
    let running = |run: usize| {
        if talks {
            output::draw!("\rchecking the first as they stand: {run} run\x1b[K");
        }
    };
    let (offers, ranking) = check::ranked(&mut answered, &catalog, &question, &running)?;
    if talks {
        output::draw!("\r\x1b[K");
    }
    let advice = Advice {
        ranking,
        question: &question,
        catalog: &catalog,
        answered,
        offers,
        refused: &field.refused,
        impossible,
        notes: &field.notes,
    };
    let text = if arguments.json {
        serde_json::to_string_pretty(&json::document(&advice))? + "\n"
    } else {
        page::page(&advice, arguments.limit, &output::style())
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
