//! The command line of `drivelab history` and `drivelab show`.

use crate::run::arguments::DecideArguments;
use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// `drivelab history`.
#[derive(Args, Debug)]
pub struct HistoryArguments {
    /// One JSON object a run instead of a table
    #[arg(long)]
    pub json: bool,

    /// Rates of each model of drive over all machines instead of a list of runs
    #[arg(long, conflicts_with = "limit")]
    pub fleet: bool,

    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub limit: usize,

    /// Only runs that have all these words, in id, method, target, machine, drives, labels or flags
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub find: String,

    /// Only runs of this machine
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub host: String,

    /// Only runs on a drive with this in its model, serial number or firmware
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub drive: String,

    /// Only runs of this campaign
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub campaign: String,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// `drivelab show`.
#[derive(Args, Debug)]
pub struct ShowArguments {
    /// Which run: an id or the beginning of one, `last`, `last~1`, a label, a record file
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: OsString,

    /// Say of each note what it means, what was seen, and what to do
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,

    /// Print the record itself; with --spec, what became of each entry of the data sheet
    /// (docs/reference/spec-format.md)
    #[arg(long)]
    pub json: bool,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,

    /// Data sheets and findings.
    #[command(flatten)]
    pub decide: DecideArguments,
}
