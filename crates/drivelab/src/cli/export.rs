//! The command line of `drivelab export`.

use crate::output::hanging;
use clap::Args;
use report::export::Kind;
use std::{ffi::OsString, path::PathBuf};

/// What `export --help` opens with.
pub(super) const ABOUT: &str = "\
Write one or more runs as other programs take them. What a format cannot hold is left out, and \
said: nothing is guessed.";

fn help() -> String {
    let mut text = String::from("Formats:\n");
    for kind in Kind::ALL {
        let needs = match (kind, crate::export::PARQUET) {
            (Kind::Parquet, None) => "; needs the feature `parquet`",
            _ => "",
        };
        let about = format!("{}{needs}", kind.about());
        text += &hanging(&format!("  {:<12} ", kind.name()), &about);
    }
    text + "\nA file that exists is overwritten when it is an export of drivelab's in \
            this\nformat, or with --force. Every file appears whole or not at all.\n\nExamples:\n  \
            drivelab export last --as csv --to run.csv\n  \
            drivelab export last --as markdown\n  \
            drivelab export nightly --as openmetrics \\\n    \
            --to /var/lib/prometheus/node-exporter/drivelab.prom\n  \
            drivelab export last --as fio --to results/     fio-plot -i results ...\n  \
            drivelab export quick --as fio                  a method as a job file\n\n\
            docs/reference/report-formats.md describes each format."
}

/// `drivelab export`.
#[derive(Args, Debug)]
#[command(after_long_help = help())]
pub struct ExportArguments {
    /// Which runs: an id or the beginning of one, `last`, `last~1`, a label, a record file; of
    /// `fio` also a method, by its name or file
    #[arg(value_name = "RUN", num_args = 0.., default_value = "last")]
    pub runs: Vec<OsString>,

    /// In which format
    #[arg(long = "as", value_name = "FORMAT", required = true, value_parser = kind)]
    pub kind: Kind,

    /// Where to: a file, `-` for stdout, or of `fio` a directory, named with a `/` at its end
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub to: PathBuf,

    /// Overwrite files that are no exports of drivelab's
    #[arg(long)]
    pub force: bool,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let names = || Kind::ALL.map(Kind::name).join(", ");
    Kind::parse(text).ok_or_else(|| format!("there are {}", names()))
}
