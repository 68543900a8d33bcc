//! The command line of `drivelab report`.

use crate::output::hanging;
use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// What `report --help` opens with.
pub(super) const ABOUT: &str = "\
Write one or more runs as pictures and tables, for people and for programs. Several runs stand side by side: those of one \
method share their charts, and what differed between their machines is named first.";

/// What `report --help` ends with: the tables from their own list, so that it cannot go stale.
fn report_help() -> String {
    let mut text = String::from("Tables:\n");
    for kind in report::derive::KINDS {
        text += &hanging(&format!("  {:<14} ", kind.name), kind.about);
    }
    text + "\nA file that exists is overwritten when it is a report of drivelab's, or with\n--force. `-` is \
            stdout. Every file appears whole or not at all.\n\nExamples:\n  \
            drivelab report last --html report.html\n  \
            drivelab report last --csv - | head\n  \
            drivelab report last --svg pictures\n  \
            drivelab report last~1 last --price last~1=89EUR --price last=129EUR --html two.html\n  \
            drivelab report disk ssd --baseline disk --table price,same-money\n  \
            drivelab report last --spec sheet.toml --table specification\n\n\
            docs/reference/report-formats.md describes the columns of the CSV,\n\
            docs/reference/derived-tables.md the tables."
}

/// `drivelab report`.
#[derive(Args, Debug)]
#[command(after_long_help = report_help())]
pub struct ReportArguments {
    /// Which runs: an id or the beginning of one, `last`, `last~1`, a label, a record file
    #[arg(value_name = "RUN", num_args = 0.., default_value = "last")]
    pub runs: Vec<OsString>,

    /// One page for a browser, with charts; it needs nothing else and no network
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub html: Option<PathBuf>,

    /// A workbook: a sheet for every table, with charts of the spreadsheet's own
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub xlsx: Option<PathBuf>,

    /// A table in long form, one row a value
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    pub csv: Option<PathBuf>,

    /// One drawing a chart, in a directory that is made if need be
    #[arg(long, value_name = "DIR", help_heading = "What to write")]
    pub svg: Option<PathBuf>,

    /// What a run's drives cost; what `run --price` kept and what the catalog prints of modelled
    /// drives need not be said
    #[arg(long, value_name = "RUN=129EUR", help_heading = "What to know")]
    pub price: Vec<String>,

    /// A data sheet to hold the runs against: a file, a drive of the catalog, or `catalog`.
    /// RUN=FILE for one of several
    #[arg(long, value_name = "FILE|NAME", help_heading = "What to know")]
    pub spec: Vec<OsString>,

    /// Tables to derive, printed and added to --html, --xlsx, --csv: names from the list below, or
    /// `all`
    #[arg(long, value_name = "NAME,...", help_heading = "What to derive")]
    pub table: Vec<String>,

    /// What others are held against: a RUN that is named, or one of their targets; else the first
    #[arg(long, value_name = "RUN", help_heading = "What to derive")]
    pub baseline: Option<String>,

    /// Overwrite files that are no reports of drivelab's
    #[arg(long, help_heading = "What to know")]
    pub force: bool,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH", help_heading = "What to know")]
    pub store: Option<PathBuf>,
}
