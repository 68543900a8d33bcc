//! `cargo xtask bench`: drivelab beside a hand-written loop and fio, in one run, taking turns.
//!
//! It prints what it saw and asserts nothing: on another machine, or a busy one, the numbers
//! differ, and that is no defect. `docs/results/benchmark.md` says how to read them.

mod agreement;
mod bonnie;
mod case;
mod child;
mod closed_loop;
mod contender;
mod directory;
mod flash;
mod hand;
mod machine;
mod model;
mod paced;
mod sample;
mod scratch;
mod serve;

use crate::check::root;
use anyhow::{Context, Result, bail, ensure};
use case::Case;
use contender::{Bench, FILE_BYTES};
use scratch::Scratch;
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    slice,
};

/// What was asked for on the command line.
struct Options {
    cases: Vec<&'static Case>,
    agreement: bool,
    seconds: Option<u64>,
    rounds: Option<usize>,
}

/// Runs the parts that `arguments` name.
pub fn run(arguments: &[String]) -> Result<()> {
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "hand") {
        return hand::run(rest);
    }
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "bonnie") {
        return bonnie::run(rest);
    }
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "model") {
        return model::run(rest);
    }
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "flash") {
        return flash::run(rest);
    }
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "directory") {
        return directory::run(rest);
    }
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "paced") {
        return paced::run(rest);
    }
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "serve") {
        return serve::run(rest);
    }
    let options = Options::parse(arguments)?;
    child::catch_signals()?;
    let drivelab = build()?;
    let target_directory =
        drivelab.parent().and_then(Path::parent).context("the target directory")?;
    let scratch = Scratch::create(target_directory)?;
    let file = scratch.path().join("written");
    let bench = Bench { file, scratch, drivelab, fio: machine::fio_version() };
    machine::print(&bench)?;
    println!("\nWriting a file of {} MiB ...", FILE_BYTES >> 20);
    scratch::write_file(&bench.file, FILE_BYTES)?;
    for case in &options.cases {
        case.run(&bench, options.seconds.unwrap_or(case.seconds), options.rounds.unwrap_or(7))?;
    }
    if options.agreement {
        agreement::run(&bench, options.seconds.unwrap_or(5), options.rounds.unwrap_or(12))?;
    }
    println!("\nLoad at the end: {}", machine::load());
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { cases: Vec::new(), agreement: false, seconds: None, rounds: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut count = || count(&mut arguments, argument, 3600);
            match argument.as_str() {
                "--seconds" => options.seconds = Some(count()?),
                "--rounds" => options.rounds = Some(count()? as usize),
                "agreement" => options.agreement = true,
                letter => {
                    let named: Vec<_> =
                        case::CASES.iter().filter(|case| case.letter == letter).collect();
                    ensure!(
                        !named.is_empty(),
                        "`{letter}` is unknown: there are a, b, c, d, agreement, bonnie, directory, flash, model, paced, serve, --seconds, --rounds"
                    );
                    options.cases.extend(named);
                }
            }
        }
        if options.cases.is_empty() && !options.agreement {
            options.cases = case::CASES.iter().collect();
        }
        Ok(options)
    }
}

/// The whole number that follows `word`, 1 to `most`.
fn count(words: &mut slice::Iter<'_, String>, word: &str, most: u64) -> Result<u64> {
    let text = words.next().map_or("", String::as_str);
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.with_context(|| format!("{word} `{text}`: a whole number, 1 to {most}"))
}

/// Builds drivelab's release binary; where it is.
fn build() -> Result<PathBuf> {
    println!("cargo build --release --package drivelab");
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(["build", "--quiet", "--release", "--package", "drivelab"])
        .current_dir(root())
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "drivelab does not build");
    let own = env::current_exe()?;
    let drivelab = own.with_file_name("drivelab");
    if !drivelab.is_file() {
        bail!("{} is not there: start this by `cargo xtask bench`", drivelab.display());
    }
    Ok(drivelab)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options> {
        Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn cases_are_named_by_letter_and_all_are_meant_by_none() {
        let options = parse("").expect("valid");
        assert!(options.cases.len() == case::CASES.len() && !options.agreement);
        let options = parse("b agreement --seconds 3 --rounds 4").expect("valid");
        assert!(options.agreement && options.cases.iter().all(|case| case.letter == "b"));
        assert_eq!((options.seconds, options.rounds), (Some(3), Some(4)));
        let options = parse("agreement").expect("valid");
        assert!(options.cases.is_empty());
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_there_is() {
        for text in ["e", "--second 1", "--seconds", "--seconds x", "--rounds 0"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
