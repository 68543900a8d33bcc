//! The command lines of what tells about drivelab itself: `methods`, `explain`, `docs`, `help`,
//! `man`, `completions`.

use clap::{Args, ValueEnum};
use std::{ffi::OsString, path::PathBuf};

/// `drivelab methods`.
#[derive(Args, Debug)]
#[command(after_long_help = METHODS_HELP)]
pub struct MethodsArguments {
    /// The method to tell about: a name of the list, or a file as `run --method` takes it
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<OsString>,

    /// Print its file instead, to make one's own of it
    #[arg(long, requires = "name")]
    pub toml: bool,
}

const METHODS_HELP: &str = "\
Examples:
  drivelab methods                             all of them, a line each
  drivelab methods oltp                        what it does, cell by cell
  drivelab methods oltp --toml > mine.toml     to change it:
  drivelab run . --method mine.toml
  drivelab methods job.fio --toml              a job file of fio's as a method

docs/reference/methodology.md has the keys of such a file.";

/// `drivelab explain`.
#[derive(Args, Debug)]
#[command(after_long_help = EXPLAIN_HELP)]
pub struct ExplainArguments {
    /// The flags to explain; all that there are without one
    #[arg(value_name = "FLAG")]
    pub flags: Vec<String>,
}

const EXPLAIN_HELP: &str = "\
Examples:
  drivelab explain                             every flag with its meaning
  drivelab explain not_converged lying_flush
  drivelab show last --explain                 the flags of a run, with what was seen";

/// `drivelab docs`.
#[derive(Args, Debug)]
#[command(after_long_help = DOCS_HELP)]
pub struct DocsArguments {
    /// The page to print; all that there are without one
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

const DOCS_HELP: &str = "\
Examples:
  drivelab docs                                every page with its title
  drivelab docs methodology | less
  drivelab docs docs/reference/terms.md        as the help names it";

/// `drivelab help`.
#[derive(Args, Debug)]
pub struct HelpArguments {
    /// The verb, and the verb below it; without one the help of all
    #[arg(value_name = "VERB")]
    pub verbs: Vec<String>,
}

/// `drivelab man`.
#[derive(Args, Debug)]
#[command(after_long_help = MAN_HELP)]
pub struct ManArguments {
    /// The verb whose page to print, and the verb below it; without one the first page
    #[arg(value_name = "VERB", conflicts_with = "to")]
    pub verbs: Vec<String>,

    /// Write all pages into this directory, which is made if need be
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

const MAN_HELP: &str = "\
Examples:
  drivelab man | man -l -
  drivelab man flash create | man -l -
  drivelab man --to ~/.local/share/man/man1    then `man drivelab-run`

Pages that drivelab made are overwritten, and nothing else.";

/// `drivelab completions`.
#[derive(Args, Debug)]
#[command(after_long_help = COMPLETIONS_HELP)]
pub struct CompletionsArguments {
    /// Of which shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  drivelab completions bash > ~/.local/share/bash-completion/completions/drivelab
  drivelab completions fish > ~/.config/fish/completions/drivelab.fish
  drivelab completions zsh > ~/.zfunc/_drivelab

zsh looks into directories of its `fpath` alone: `fpath+=~/.zfunc` before
`compinit` in ~/.zshrc. Packages bring these files with them.";

/// A shell that completes words.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The help would say each name twice.
pub enum Shell {
    Bash,
    Fish,
    Zsh,
}
