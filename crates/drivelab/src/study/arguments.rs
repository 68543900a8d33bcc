//! The command line of `drivelab study`.

use crate::key_value::key_value;
use block::parse_bytes;
use clap::Args;
use lab::duration::parse_seconds;
use lab::workload::OnError;
use std::{ffi::OsString, path::PathBuf};

/// What `study --help` opens with.
pub const ABOUT: &str = "\
Five published studies of drives, carried whole: what they asked, how they measured, every figure that they printed, \
and where they contradict themselves. Without NAME, lists them.

With NAME, runs the study again on its own drives, modelled, and prints each of its tables with published, computed and \
modelled values - fitted on what is printed, or predicted - and the model's error. With --on, runs its method on a target of yours, as `drivelab run` would, and \
prints your column beside the published drives. The studies that compare file systems and write caches (latency2016, \
martin2008) do so with --loop DIR, and --on a block device or a model, as `drivelab matrix` would: it needs root, and says what \
of their settings is not to be had. In a directory they take the file system that is there.";

/// What `study --help` ends with.
pub const HELP: &str = "\
Examples:
  drivelab study                          what there is, and what each asks
  drivelab study cmu2009                  every table, run again
  drivelab study cmu2009 --table VI       one of them
  drivelab study cmu2009 --claims         what it says, and whether its own figures say so
  drivelab study easyco2007 --on .        its method on the drive under this directory
  drivelab study easyco2007 --on model:sata-tlc
  drivelab study cmu2009 --on . --price 129EUR --spec sheet.toml
  drivelab study latency2016 --loop .     ext4, XFS and raw on a loop device
  drivelab study latency2016 --on /dev/sdb --destroy S3Z9NX0M
  drivelab study martin2008 --loop . --dry-run   every command, nothing is done
  drivelab study cmu2009 --json all.json  every value, one object each
  drivelab study cmu2009 --html cmu.html  its charts, redrawn with the models beside them

docs/reference/study-format.md describes the files in studies/ and the JSON.";

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

    /// What the study claims, each claim with a verdict computed from its own figures or, where it
    /// gives none, from a model
    #[arg(long, requires = "name")]
    pub claims: bool,

    /// Run the study's method on TARGET: a directory, a file, a device, `model:STACK`
    #[arg(long, value_name = "TARGET", requires = "name", conflicts_with_all = ["claims", "table"],
          help_heading = "On a target of yours", group = "yours")]
    pub on: Option<OsString>,

    /// Run it on file systems on a loop device over a scratch file in this directory
    #[arg(long = "loop", value_name = "DIR", requires = "name", conflicts_with_all = ["claims", "table", "on"],
          help_heading = "On a target of yours", group = "yours")]
    pub loop_directory: Option<PathBuf>,

    /// Size of that scratch file
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = parse_bytes,
          help_heading = "On a target of yours")]
    pub loop_size: u64,

    /// Change a setting of every cell, as in `drivelab run`
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, requires = "yours",
          help_heading = "On a target of yours")]
    pub set: Vec<(String, String)>,

    /// Size of the tested area
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "yours",
          help_heading = "On a target of yours")]
    pub size: Option<u64>,

    /// Passes over the whole method
    #[arg(long, value_name = "N", requires = "yours", help_heading = "On a target of yours",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: Option<u32>,

    /// Time for all cells of a method together, such as 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, requires = "yours",
          help_heading = "On a target of yours")]
    pub max_time: Option<f64>,

    /// Write no more than this, all methods and passes together; 8 GiB unless you say so
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "yours",
          help_heading = "On a target of yours")]
    pub max_written: Option<u64>,

    /// What the drive cost, for the study's tables of prices, such as 129EUR
    #[arg(long, value_name = "129EUR", requires = "yours", help_heading = "On a target of yours")]
    pub price: Vec<String>,

    /// Its data sheet, for what the study holds against makers' figures: a file
    /// (docs/reference/spec-format.md), a drive of the catalog, or `catalog` for what it has of the
    /// drive measured
    #[arg(
        long,
        value_name = "FILE|NAME",
        requires = "yours",
        help_heading = "On a target of yours"
    )]
    pub spec: Vec<OsString>,

    /// Let write cells overwrite the block device with this serial
    #[arg(long, value_name = "SERIAL", requires = "yours", help_heading = "On a target of yours")]
    pub destroy: Vec<OsString>,

    /// What a request that fails ends: the whole run, its cell, or nothing: then failures are
    /// counted
    #[arg(long, value_name = "WHAT", value_parser = OnError::NAMES, requires = "yours",
          help_heading = "On a target of yours")]
    pub on_error: Option<String>,

    /// Agree to a plan that writes many times the tested area
    #[arg(long, requires = "yours", help_heading = "On a target of yours")]
    pub yes: bool,

    /// Print the plan - cells, bytes, time - and stop
    #[arg(long, requires = "yours", help_heading = "On a target of yours")]
    pub dry_run: bool,

    /// Where all random choices come from
    #[arg(long, value_name = "N", requires = "yours", help_heading = "On a target of yours")]
    pub seed: Option<u64>,

    /// The history to keep the run in; a database gets it at the end, see `push`
    #[arg(long, value_name = "PATH", requires = "name", help_heading = "On a target of yours")]
    pub store: Option<PathBuf>,

    /// No progress, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,

    /// Write the study as a page to FILE: its charts with modelled values over published ones, its
    /// tables, its claims with verdicts, its method; `-` is stdout
    #[arg(long, value_name = "FILE", requires = "name", conflicts_with_all = ["claims", "table"],
          help_heading = "As pictures")]
    pub html: Option<PathBuf>,

    /// Write its charts as SVG files into DIR
    #[arg(long, value_name = "DIR", requires = "name", conflicts_with_all = ["claims", "table", "yours"],
          help_heading = "As pictures")]
    pub svg: Option<PathBuf>,

    /// Overwrite files that are no reports of drivelab's
    #[arg(long, requires = "name", help_heading = "As pictures")]
    pub force: bool,

    /// Write every value to FILE as JSON, one object each; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", requires = "name")]
    pub json: Option<PathBuf>,
}
