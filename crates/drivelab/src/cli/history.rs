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

    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub limit: usize,

    /// The history to read
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

    /// The history to read
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,

    /// Data sheets and findings.
    #[command(flatten)]
    pub decide: DecideArguments,
}
