//! `drivelab hybrid`: flash beside disks, for the workload of a trace. Words become a question
//! here, and the answer a page; `crates/hybrid` answers.

pub mod arguments;
mod setup;

use crate::{interrupt, known::prices, output, report::save::Outputs, trace};
use anyhow::{Error, Result, anyhow, bail, ensure};
use arguments::HybridArguments;
use block::display_bytes;
use hybrid::{
    Answer, Going, HybridError, Mode, Prices, Question, json,
    page::{self, More},
    tree::{self, Place, TreeAnswer, TreeQuestion},
};
use lab::method::Method;
use report::{Format, document::Document};
use run::{MeasuredBy, TraceFile};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{IsTerminal, stderr},
    path::Path,
    process::ExitCode,
};
use target::{catalog::Catalog, stack::Stack};

/// Prices of the catalog are in this.
const CATALOG_CURRENCY: &str = "USD";

/// Requests in flight, unless it is said.
const DEPTH: u16 = 32;
/// Files of so many bytes are modelled in some seconds.
const SOON_BYTES: u64 = 16 << 30;
/// Bytes of a cache's block, unless they are said.
const BLOCK_BYTES: u64 = 64 << 10;
/// The same beside a file system, which writes pages.
const FILE_BLOCK_BYTES: u64 = 4 << 10;
/// A file of so many bytes is small, unless it is said.
const SMALL_BYTES: u64 = 64 << 10;

/// Answers.
pub fn hybrid(arguments: &HybridArguments) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let catalog = Catalog::load()?;
    let disks = arguments.disks.strip_prefix("model:").unwrap_or(&arguments.disks);
    let disks: Stack = disks.parse().map_err(|bad| anyhow!("--disks {disks}: {bad}"))?;
    let prices = given(arguments, &disks)?;
    let method = arguments.method.as_deref().map(read_method).transpose()?;
    if let Some(method) = method.as_ref().filter(|method| tree::is_on_files(method)) {
        return on_files(arguments, method, disks, prices, &catalog);
    }
    if let Some(option) = only_for_files(arguments) {
        bail!("{option} is for a method on files, such as maildir: leave it out");
    }
    let question = Question {
        trace: workload(arguments, method.as_ref(), &disks, &catalog)?,
        disks,
        ssds: arguments.ssd.clone(),
        depth: arguments.depth.unwrap_or(DEPTH),
        block_bytes: arguments.block.unwrap_or(BLOCK_BYTES),
        size_bytes: arguments.size,
        policy: arguments.policy,
        modes: modes(arguments),
        prices,
        checks: arguments.checks,
        seed: arguments.seed,
    };
    let stop = interrupt::flag()?;
    let talks = talks(arguments);
    let progress = |going: Going| match going {
        _ if !talks => {}
        Going::Reading => output::draw!("\rreading the trace\x1b[K"),
        Going::Modelling { done, of } => output::draw!("\rmodelling: {done} of {of} stacks\x1b[K"),
        Going::Checking { done, of } => output::draw!("\rreplaying: {done} of {of} ways\x1b[K"),
    };
    let by: MeasuredBy = crate::run::measured_by();
    let answer = Answer::new(question, &catalog, &by, &progress, &stop);
    let Some(answer) = ended(answer, talks)? else {
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    };
    let best = answer.best_cache().filter(|_| arguments.commands);
    let commands = best.map(|best| setup::commands(&best.way, answer.seen.block_bytes));
    let more = More { details: arguments.details, commands: commands.unwrap_or_default() };
    let document = |origin: &str| page::document(&answer, origin);
    let text = || page::page(&answer, &more, &output::style());
    give_out(arguments, &document, &|| json::document(&answer), &text)
}

/// The same for a method on files.
fn on_files(
    arguments: &HybridArguments,
    method: &Method,
    disks: Stack,
    prices: Prices,
    catalog: &Catalog,
) -> Result<ExitCode> {
    if let Some(option) = only_for_blocks(arguments) {
        bail!(
            "{option} is for a trace or a method on blocks; {} runs whole, on files, on each way: \
             leave it out",
            method.file.name
        );
    }
    // A block of which a part is written and which is not there goes to the disks: larger ones
    // would keep what a file system syncs from flash.
    let block_bytes = arguments.block.unwrap_or(FILE_BLOCK_BYTES);
    let question = TreeQuestion {
        method: (method.file.name.clone(), method.text.clone()),
        disks,
        ssds: arguments.ssd.clone(),
        file_system: tree::file_system(arguments.fs.as_deref().unwrap_or("ext4"))?,
        small_bytes: arguments.small.unwrap_or(SMALL_BYTES),
        block_bytes,
        size_bytes: arguments.size,
        modes: modes(arguments),
        prices,
        seed: arguments.seed,
    };
    let written_bytes = question.written_bytes().map_err(in_words)?;
    if written_bytes > SOON_BYTES && !arguments.quiet {
        output::talk!(
            "drivelab: {} writes up to {} of files on each way, in virtual time: that takes \
             minutes; fewer or smaller files answer sooner",
            question.method.0,
            display_bytes(written_bytes)
        );
    }
    let stop = interrupt::flag()?;
    let talks = talks(arguments);
    let progress = |done, of| {
        if talks {
            output::draw!("\rrunning: {done} of {of} ways\x1b[K");
        }
    };
    let by: MeasuredBy = crate::run::measured_by();
    let answer = TreeAnswer::new(question, catalog, &by, &progress, &stop);
    let Some(answer) = ended(answer, talks)? else {
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    };
    let best = answer.best_beside().filter(|_| arguments.commands);
    let commands = best.map(|best| match &best.place {
        Place::Cache { ssd, size_bytes, mode } => {
            let own = format!("LRU, {}", mode.name());
            setup::of_cache(ssd, *size_bytes, *mode, &own, (block_bytes, "0"))
        }
        place => setup::of_place(place, &answer.question.file_system.name),
    });
    let more = More { details: arguments.details, commands: commands.unwrap_or_default() };
    let document = |origin: &str| tree::print::document(&answer, origin);
    let text = || tree::page::page(&answer, &more, &output::style());
    give_out(arguments, &document, &|| tree::print::json(&answer), &text)
}

fn talks(arguments: &HybridArguments) -> bool {
    !arguments.quiet && stderr().is_terminal()
}

/// `None` if the user stopped it.
fn ended<A>(answer: Result<A, HybridError>, talks: bool) -> Result<Option<A>> {
    if talks {
        output::draw!("\r\x1b[K");
    }
    match answer {
        Err(HybridError::Stopped) => Ok(None),
        Err(error) => Err(in_words(error)),
        Ok(answer) => Ok(Some(answer)),
    }
}

/// The page with charts to its file, then the answer as text or as JSON.
fn give_out(
    arguments: &HybridArguments,
    document: &dyn Fn(&str) -> Document,
    json: &dyn Fn() -> serde_json::Value,
    text: &dyn Fn() -> String,
) -> Result<ExitCode> {
    if let Some(path) = &arguments.html {
        let origin = format!("drivelab {}, {}", env!("CARGO_PKG_VERSION"), host::now());
        let text = report::html::page(&document(&origin));
        let mut outputs = Outputs::new(arguments.force);
        outputs.add(path, Format::Html, text.into_bytes())?;
        for line in outputs.write()? {
            output::talk!("{line}");
        }
    }
    let json = || -> Result<String> { Ok(serde_json::to_string_pretty(&json())? + "\n") };
    match arguments.json.as_deref() {
        Some(path) if path == Path::new("-") => output::print(&json()?)?,
        path => {
            path.map_or(Ok(()), |path| output::write_json(path, &json()?))?;
            output::print(&text())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn modes(arguments: &HybridArguments) -> Vec<Mode> {
    match arguments.mode.as_slice() {
        [] => vec![Mode::Through, Mode::Back],
        modes => modes.to_vec(),
    }
}

/// An option that a trace has no use for.
fn only_for_files(arguments: &HybridArguments) -> Option<&'static str> {
    let given = [("--fs", arguments.fs.is_some()), ("--small", arguments.small.is_some())];
    given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

/// An option that a method on files has no use for.
fn only_for_blocks(arguments: &HybridArguments) -> Option<&'static str> {
    let given = [
        ("--depth", arguments.depth.is_some()),
        ("--policy", arguments.policy.is_some()),
        ("--checks", arguments.checks.is_some()),
    ];
    given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

fn read_method(named: &OsStr) -> Result<Method> {
    let (name, text) = run::method_text(named)?;
    Ok(Method::parse(&name, &text, &[])?)
}

/// The trace, or what a method on blocks asks for.
fn workload(
    arguments: &HybridArguments,
    method: Option<&Method>,
    disks: &Stack,
    catalog: &Catalog,
) -> Result<TraceFile> {
    if let Some(method) = method {
        return Ok(hybrid::method::trace(method, disks, catalog, arguments.seed)?);
    }
    let file = arguments.trace.as_ref().expect("clap asks for one of both");
    let trace = trace::file(file, arguments.volume.as_deref());
    ensure!(
        !trace.is_stdin(),
        "a trace is read before it is replayed, and standard input can be read once: name a file"
    );
    Ok(trace)
}

/// `NAME=129EUR`, all in one currency, of drives that are in question.
fn given(arguments: &HybridArguments, disks: &Stack) -> Result<Prices> {
    let (mut given, mut currency) = (BTreeMap::new(), None);
    for text in &arguments.price {
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
    let named = |name: &String| {
        arguments.ssd.contains(name)
            || disks.members.iter().any(|member| member.drive.name == *name)
    };
    if let Some(name) = given.keys().find(|name| !named(name)) {
        bail!("--price {name}=...: it is neither one of the disks nor an --ssd");
    }
    Ok(Prices { given, currency: currency.unwrap_or_else(|| CATALOG_CURRENCY.to_owned()) })
}

fn in_words(error: HybridError) -> Error {
    match error {
        HybridError::Trace(error) => trace::in_words(error),
        error => error.into(),
    }
}
