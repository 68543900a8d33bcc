//! `drivelab help VERB`: what `drivelab VERB --help` says.

use crate::{
    cli::{Cli, HelpArguments},
    complaint, other_words, output,
};
use anyhow::{Result, bail};
use block::names::did_you_mean;
use clap::{Command, CommandFactory, Parser};
use lab::method::BUILT_IN;
use record::Flag;
use std::{iter, path::Path, process::ExitCode};

/// Prints the help of a verb, or of all.
pub fn help(arguments: &HelpArguments) -> Result<ExitCode> {
    find(Cli::command(), &arguments.verbs)?;
    let verbs = arguments.verbs.iter().map(String::as_str);
    let words = iter::once("drivelab").chain(verbs).chain(iter::once("--help"));
    // The parser itself says it: as wide as the terminal, as coloured.
    let Err(help) = Cli::try_parse_from(words) else {
        bail!("`--help` is an option of every verb")
    };
    if help.use_stderr() {
        bail!("{}", complaint::of_the_command_line(&help));
    }
    output::judged(help.print())?;
    Ok(ExitCode::SUCCESS)
}

/// The command of a verb and of the verbs below it.
///
/// # Errors
/// A word that is no verb, with the nearest, or with who tells about it.
pub fn find(command: Command, verbs: &[String]) -> Result<Command> {
    let mut found = command;
    for (at, verb) in verbs.iter().enumerate() {
        if let Some(below) = found.find_subcommand(verb) {
            found = below.clone();
            continue;
        }
        let above = ["drivelab"].into_iter().chain(verbs[..at].iter().map(String::as_str));
        let above = above.collect::<Vec<_>>().join(" ");
        let none = no_verb(verb, &above, &found);
        let stop = if none.ends_with('?') { "" } else { "." };
        bail!("{none}{stop} `{above} --help` lists the verbs")
    }
    Ok(found)
}

/// What is said of a word below `above` that is no verb: where it is one, what does here what it
/// says elsewhere, what measures the target that it names, who tells about it, or what is near.
pub fn no_verb(wrong: &str, above: &str, command: &Command) -> String {
    let shown = || command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let below = || {
        let verb = shown().find(|verb| verb.find_subcommand(wrong).is_some())?;
        Some(format!("`{above} {} {wrong}` is one", verb.get_name()))
    };
    let target = || {
        let is_target = wrong.contains(['/', ':']) || Path::new(wrong).exists();
        is_target.then(|| format!("`drivelab run {wrong}` measures a target"))
    };
    let none = format!("there is no verb `{wrong}`");
    let here = || {
        below()
            .or_else(|| other_words::verb(wrong).map(str::to_owned))
            .or_else(target)
            .or_else(|| elsewhere(wrong))
    };
    let is_top = above == "drivelab";
    let top =
        || Some(format!("`drivelab {}` is one", Cli::command().find_subcommand(wrong)?.get_name()));
    let here = if is_top { here() } else { top() };
    if let Some(here) = here {
        return format!("{none}: {here}");
    }
    let near = did_you_mean(wrong, shown().map(Command::get_name));
    let stop = if near.is_empty() { "" } else { "." };
    format!("{none}{stop}{near}")
}

/// Who tells about a word that is no verb.
fn elsewhere(word: &str) -> Option<String> {
    let who = if BUILT_IN.iter().any(|(name, _)| *name == word) {
        "methods"
    } else if Flag::ALL.iter().any(|flag| flag.name() == word) {
        "explain"
    } else if super::docs::names().any(|name| name == word) {
        "docs"
    } else {
        return None;
    };
    Some(format!("`drivelab {who} {word}` tells about that"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(verbs: &[&str]) -> String {
        let verbs: Vec<String> = verbs.iter().map(|&verb| verb.to_owned()).collect();
        find(Cli::command(), &verbs).expect_err("no verb").to_string()
    }

    #[test]
    fn a_word_that_is_no_verb_is_refused_with_the_nearest() {
        assert_eq!(
            said(&["histroy"]),
            "there is no verb `histroy`. Did you mean `history`? `drivelab --help` lists the verbs"
        );
        assert_eq!(
            said(&["flash", "chekc"]),
            "there is no verb `chekc`. Did you mean `check`? `drivelab flash --help` lists the \
             verbs"
        );
    }

    #[test]
    fn what_another_verb_tells_about_is_said() {
        assert!(said(&["oltp"]).contains("`drivelab methods oltp`"));
        assert!(said(&["burst_credit"]).contains("`drivelab explain burst_credit`"));
        assert!(said(&["terms"]).contains("`drivelab docs terms`"));
        assert!(said(&["measure"]).contains("`drivelab run TARGET` measures"));
        assert!(said(&["flash", "serve"]).contains("`serve`: `drivelab serve` is one"));
    }
}
