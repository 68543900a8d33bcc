//! `drivelab power-cut`: promises under power cuts.
//!
//! ```text
//!   arguments -> PowerCutOrder
//!   powercut::check, powercut::rounds     crates/powercut
//!   -> a line a round, the verdict, JSON
//! ```

pub mod arguments;

use crate::{interrupt, matrix::caller, output, restore};
use anyhow::{Error, Result, anyhow, bail};
use arguments::{CaseArguments, Phase, PowerCutArguments};
use matrix::{MatrixError, RefusalKind};
use powercut::{Audience, PowerCutError, RoundResult, cases, page};
use std::{io, path::Path, process::ExitCode};

/// Cuts, and says what was kept.
pub fn power_cut(arguments: &PowerCutArguments) -> Result<ExitCode> {
    let order = arguments.to_order()?;
    output::check_json(arguments.json.as_deref())?;
    let caller = caller()?;
    powercut::check(&order, &caller).map_err(in_words)?;
    let stop = interrupt::flag()?;
    if let Some(sentence) = restore::left_behind() {
        output::talk!("drivelab: {sentence}");
    }
    let to_stdout = arguments.json.as_deref() == Some(Path::new("-"));
    let mut told = Told { shows: !arguments.quiet && !to_stdout, verbose: arguments.verbose };
    if told.shows {
        output::print(&page::head(&order))?;
    }
    let (outcome, ended) = powercut::rounds(&order, &caller, &mut told, &stop);
    // First for who waits: a file may not fit on its disk.
    if !to_stdout {
        output::print(&page::verdict(&outcome, again))?;
    }
    if let Some(path) = arguments.json.as_deref() {
        let json = serde_json::to_string_pretty(&page::json(&order, &outcome))? + "\n";
        if to_stdout { output::print(&json)? } else { output::write_json(path, &json)? }
    }
    match ended {
        Err(PowerCutError::Interrupted) => {
            output::talk!("drivelab: interrupted; everything is put back");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Err(error) => Err(in_words(error)),
        Ok(()) if outcome.broken().next().is_some() => Ok(ExitCode::from(1)),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// The command line that runs a round again: without what chose the rounds.
fn again(round: u32) -> String {
    let mut words = crate::complaint::words_typed().into_iter();
    let (mut kept, mut after) = (vec!["drivelab".to_owned()], Vec::new());
    words.next();
    while let Some(word) = words.next() {
        match word.as_str() {
            // What follows is the program's.
            "--" => {
                after.push(word);
                after.extend(words.by_ref());
            }
            "--rounds" | "--round" | "--json" => drop(words.next()),
            _ if ["--rounds=", "--round=", "--json="].iter().any(|it| word.starts_with(it)) => {}
            _ => kept.push(word),
        }
    }
    kept.extend(["--round".to_owned(), round.to_string()]);
    kept.extend(after);
    kept.iter().map(record::quoted).collect::<Vec<_>>().join(" ")
}

/// One sentence with the cure.
fn in_words(error: PowerCutError) -> Error {
    match error {
        PowerCutError::Raw => anyhow!("--fs raw: {error}"),
        PowerCutError::Matrix(MatrixError::Refused(refusal)) => match refusal.kind {
            RefusalKind::NotRoot => anyhow!(
                "power-cut attaches devices and mounts file systems: run it as root (`sudo \
                 drivelab power-cut ...`)"
            ),
            _ => crate::matrix::in_words(MatrixError::Refused(refusal)),
        },
        PowerCutError::Matrix(error) => crate::matrix::in_words(error),
        error => error.into(),
    }
}

struct Told {
    shows: bool,
    verbose: bool,
}

impl Audience for Told {
    fn step(&self) -> Box<dyn FnMut(&str)> {
        let verbose = self.verbose;
        Box::new(move |step| {
            if verbose {
                output::talk!("+ {step}");
            }
        })
    }

    fn round(&mut self, result: &RoundResult) {
        if self.shows {
            // Who closed the pipe is told by the verdict.
            let _ = output::print(&page::line(result));
        }
    }
}

/// A built-in case, in a process of its own.
pub fn case(arguments: &CaseArguments) -> Result<ExitCode> {
    if !cases::CASES.iter().any(|(name, _)| *name == arguments.case) {
        bail!("{}: `drivelab power-cut` starts this", arguments.case);
    }
    powercut::die_with_parent();
    let phase = match arguments.phase {
        Phase::Run => powercut::Phase::Run,
        Phase::Check => powercut::Phase::Check,
    };
    let (mut told, mut said) = (io::stdin().lock(), io::stdout().lock());
    let CaseArguments { case, set, directory, .. } = arguments;
    cases::run(case, set, phase, directory, &mut told, &mut said)
        .map_err(|failure| anyhow!("{failure}"))?;
    Ok(ExitCode::SUCCESS)
}
