//! The command line of `drivelab study`.

use clap::Args;
use std::path::PathBuf;

/// What `study --help` opens with.
pub const ABOUT: &str = "\
Five published studies of drives, carried whole: what they asked, how they measured, every figure that they printed, \
and where they contradict themselves. Without NAME, lists them.

With NAME, runs the study again on its own drives, modelled, and prints each of its tables with published, computed and \
modelled values and the model's error.";

/// What `study --help` ends with.
pub const HELP: &str = "\
Examples:
  drivelab study                          what there is, and what each asks
  drivelab study cmu2009                  every table, run again
  drivelab study cmu2009 --table VI       one of them
  drivelab study cmu2009 --claims         what it says, and whether its own figures say so
  drivelab study cmu2009 --json all.json  every value, one object each

docs/study-format.md describes the files in studies/ and the JSON.";

/// `drivelab study`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct StudyArguments {
    /// Which study; all are listed without
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// Only this table: its id stands before its title
    #[arg(long, value_name = "ID", requires = "name", conflicts_with = "claims")]
    pub table: Option<String>,

    /// What the study claims, each claim with a verdict computed from its own figures or, where it gives none, from a
    /// model
    #[arg(long, requires = "name")]
    pub claims: bool,

    /// No progress, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,

    /// Write every value to FILE as JSON, one object each; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", requires = "name")]
    pub json: Option<PathBuf>,
}
