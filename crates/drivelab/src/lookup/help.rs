//! `drivelab help VERB`: what `drivelab VERB --help` says.

use crate::{
    cli::{Cli, HelpArguments},
    complaint,
    no_verb::no_verb,
    output,
};
use anyhow::{Result, bail};
use clap::{Command, CommandFactory, Parser};
use std::{iter, process::ExitCode};

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
