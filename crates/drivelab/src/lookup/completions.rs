//! `drivelab completions`: a script that completes words in a shell.

use super::docs;
use crate::{
    cli::{Cli, CompletionsArguments, Shell},
    output,
};
use anyhow::Result;
use clap::{Command, CommandFactory, builder::PossibleValuesParser};
use clap_complete::shells;
use lab::method::BUILT_IN;
use record::Flag;
use std::process::ExitCode;

/// Prints the script.
pub fn completions(arguments: &CompletionsArguments) -> Result<ExitCode> {
    let mut command = with_names(Cli::command());
    let mut script = Vec::new();
    let name = "drivelab";
    match arguments.shell {
        Shell::Bash => clap_complete::generate(shells::Bash, &mut command, name, &mut script),
        Shell::Fish => clap_complete::generate(shells::Fish, &mut command, name, &mut script),
        Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, name, &mut script),
    }
    output::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// The command line with the names that can be asked about: a shell lists them, and an error says
/// the nearest instead.
fn with_names(command: Command) -> Command {
    let known = |command: Command, verb: &str, argument: &str, names: Vec<&'static str>| {
        command.mut_subcommand(verb, |verb| {
            verb.mut_arg(argument, |it| it.value_parser(PossibleValuesParser::new(names)))
        })
    };
    let methods = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let flags = Flag::ALL.iter().map(|flag| flag.name()).collect();
    let command = known(command, "methods", "name", methods);
    let command = known(command, "explain", "flags", flags);
    known(command, "docs", "name", docs::names().collect())
}
