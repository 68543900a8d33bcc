//! `drivelab hybrid`: flash beside disks, for the workload of a trace. Words become a question
//! here, and the answer a page; `crates/hybrid` answers.

pub mod arguments;
mod setup;

use crate::{interrupt, known::prices, output, report::save::Outputs, trace};
use anyhow::{Error, Result, anyhow, bail, ensure};
use arguments::HybridArguments;
use hybrid::{
    Answer, Going, HybridError, Mode, Question, json,
    page::{self, More},
};
use report::Format;
use run::{MeasuredBy, TraceFile};
use std::{
    collections::BTreeMap,
    io::{IsTerminal, stderr},
    path::Path,
    process::ExitCode,
};
use target::{catalog::Catalog, stack::Stack};

/// Prices of the catalog are in this.
const CATALOG_CURRENCY: &str = "USD";

/// Answers.
pub fn hybrid(arguments: &HybridArguments) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let catalog = Catalog::load()?;
    let question = question(arguments, &catalog)?;
    let stop = interrupt::flag()?;
    let talks = !arguments.quiet && stderr().is_terminal();
    let progress = |going: Going| match going {
        _ if !talks => {}
        Going::Reading => output::draw!("\rreading the trace\x1b[K"),
        Going::Modelling { done, of } => output::draw!("\rmodelling: {done} of {of} stacks\x1b[K"),
        Going::Checking { done, of } => output::draw!("\rreplaying: {done} of {of} ways\x1b[K"),
    };
    let by: MeasuredBy = crate::run::measured_by();
    let answer = Answer::new(question, &catalog, &by, &progress, &stop);
    if talks {
        output::draw!("\r\x1b[K");
    }
    let answer = match answer {
        Err(HybridError::Stopped) => return Ok(ExitCode::from(interrupt::EXIT_CODE)),
        Err(error) => return Err(in_words(error)),
        Ok(answer) => answer,
    };
    if let Some(path) = &arguments.html {
        let origin = format!("drivelab {}, {}", env!("CARGO_PKG_VERSION"), host::now());
        let text = report::html::page(&page::document(&answer, &origin));
        let mut outputs = Outputs::new(arguments.force);
        outputs.add(path, Format::Html, text.into_bytes())?;
        for line in outputs.write()? {
            output::talk!("{line}");
        }
    }
    let json =
        || -> Result<String> { Ok(serde_json::to_string_pretty(&json::document(&answer))? + "\n") };
    match arguments.json.as_deref() {
        Some(path) if path == Path::new("-") => output::print(&json()?)?,
        path => {
            path.map_or(Ok(()), |path| output::write_json(path, &json()?))?;
            let best = answer.best_cache().filter(|_| arguments.commands);
            let commands = best.map(|best| setup::commands(&best.way, answer.seen.block_bytes));
            let commands = commands.unwrap_or_default();
            let more = More { details: arguments.details, commands };
            output::print(&page::page(&answer, &more, &output::style()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn question(arguments: &HybridArguments, catalog: &Catalog) -> Result<Question> {
    let disks = arguments.disks.strip_prefix("model:").unwrap_or(&arguments.disks);
    let disks: Stack = disks.parse().map_err(|bad| anyhow!("--disks {disks}: {bad}"))?;
    let trace = workload(arguments, &disks, catalog)?;
    let (given, currency) = given(&arguments.price)?;
    let named = |name: &String| {
        arguments.ssd.contains(name)
            || disks.members.iter().any(|member| member.drive.name == *name)
    };
    if let Some(name) = given.keys().find(|name| !named(name)) {
        bail!("--price {name}=...: it is neither one of the disks nor an --ssd");
    }
    let modes = match arguments.mode.as_slice() {
        [] => vec![Mode::Through, Mode::Back],
        modes => modes.to_vec(),
    };
    Ok(Question {
        trace,
        disks,
        ssds: arguments.ssd.clone(),
        depth: arguments.depth,
        block_bytes: arguments.block,
        size_bytes: arguments.size,
        policy: arguments.policy,
        modes,
        given,
        currency,
        checks: arguments.checks,
        seed: arguments.seed,
    })
}

/// The trace, or what a method asks for.
fn workload(arguments: &HybridArguments, disks: &Stack, catalog: &Catalog) -> Result<TraceFile> {
    if let Some(named) = &arguments.method {
        let (name, text) = run::method_text(named)?;
        let method = lab::method::Method::parse(&name, &text, &[])?;
        return Ok(hybrid::method::trace(&method, disks, catalog, arguments.seed)?);
    }
    let file = arguments.trace.as_ref().expect("clap asks for one of both");
    let trace = trace::file(file, arguments.volume.as_deref());
    ensure!(
        !trace.is_stdin(),
        "a trace is read before it is replayed, and standard input can be read once: name a file"
    );
    Ok(trace)
}

/// `NAME=129EUR`, all in one currency.
fn given(texts: &[String]) -> Result<(BTreeMap<String, f64>, String)> {
    let (mut given, mut currency) = (BTreeMap::new(), None);
    for text in texts {
        let Some((name, amount)) = text.rsplit_once('=') else {
            bail!("--price {text} does not say of what: write NAME={text}, NAME a drive");
        };
        let money = prices::money(&format!("--price {text}"), amount)?;
        let known = currency.get_or_insert_with(|| money.currency.clone());
        ensure!(
            *known == money.currency,
            "--price {text} is in {}, and others in {known}: write all in one currency, for \
             nothing is converted",
            money.currency
        );
        given.insert(name.to_owned(), money.amount);
    }
    Ok((given, currency.unwrap_or_else(|| CATALOG_CURRENCY.to_owned())))
}

fn in_words(error: HybridError) -> Error {
    match error {
        HybridError::Trace(error) => trace::in_words(error),
        error => error.into(),
    }
}
