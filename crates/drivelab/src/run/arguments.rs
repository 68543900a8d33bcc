//! The command line of `drivelab run`.

use crate::{key_value::key_value, output::hanging, values::slower};
use block::parse_bytes;
use clap::Args;
use lab::{duration::parse_seconds, workload::OnError};
use std::{ffi::OsString, num::NonZeroU32, path::PathBuf};

/// What `run --help` opens with.
pub const ABOUT: &str = "\
Measure a target and print a table: every number with its 95 % interval, and with a flag where something makes it \
less than it seems. The run is kept in the store.

TARGET is a directory (a scratch file is made in it and removed), a file that does not exist yet (made and \
removed; its name needs an ending, as new.img), a file that exists (read cells only: it is never \
written), a block device (see --destroy), `model:STACK` \
(drives that are not on the bench, in virtual time: see `drivelab drives --help`), `flash:PATH` (a managed volume: see \
`drivelab flash --help`), `memory:SIZE` (a drive of RAM, or with `/flash` behind it a managed volume on one), or \
`null:` (the engine's own cost). Two targets are compared: their passes alternate, and the table ends with a verdict for \
each cell.";

/// `drivelab run`.
#[derive(Args, Debug)]
#[command(after_long_help = run_help())]
pub struct RunArguments {
    /// What to measure; two to compare
    #[arg(value_name = "TARGET", num_args = 0.., default_value = ".")]
    pub targets: Vec<OsString>,

    /// The workload: one of those listed below, a TOML file of your own, or a job file of fio's
    #[arg(long, value_name = "NAME|FILE", default_value = "quick", help_heading = "What to run")]
    pub method: OsString,

    /// Change a setting of every cell: op, pattern, block, threads, depth, file, bound, rate...
    /// `block=4K..1M` doubles, `threads=1;4` lists
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "What to run")]
    pub set: Vec<(String, String)>,

    /// auto, sync, uring, stdio or stdio:block (its buffer of one block)
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub engine: Option<String>,

    /// direct, buffered, direct,dsync, direct,sync, direct,hugepages
    #[arg(long, value_name = "HOW", help_heading = "What to run")]
    pub io: Option<String>,

    /// random, zeros or compressible:PERCENT
    #[arg(long, value_name = "KIND", help_heading = "What to run")]
    pub data: Option<String>,

    /// Search for the highest rate of each cell at which its latency holds this: `p99<1ms`; also
    /// p50, p99.9, mean
    #[arg(long, value_name = "CONDITION", help_heading = "What to run")]
    pub until: Option<String>,

    /// Size of the tested area: of the scratch file, or of the first part of a device
    #[arg(long, visible_alias = "span", value_name = "SIZE", value_parser = parse_bytes,
          help_heading = "How much")]
    pub size: Option<u64>,

    /// quick (±5 %, 1 pass), normal (±2 %, 3 passes) or publish (±1 %, 5 passes)
    #[arg(long, value_name = "GRADE", value_parser = ["quick", "normal", "publish"],
          help_heading = "How much")]
    pub grade: Option<String>,

    /// Passes over the whole method
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
          help_heading = "How much")]
    pub passes: Option<u32>,

    /// Time for all cells together, such as 90s, 10m, 2h: shorter than planned, or longer
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, help_heading = "How much")]
    pub max_time: Option<f64>,

    /// The target's drives are served with `serve --slower N`: measure in their time
    ///
    /// Rates are multiplied and latencies divided by N, and every cell takes N times as long. The
    /// processor time of an operation stays this machine's.
    #[arg(long, value_name = "N", value_parser = slower, help_heading = "How much",
          hide_short_help = true)]
    pub slower: Option<NonZeroU32>,

    /// Write no more than this to each target, fills included
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "How much")]
    pub max_written: Option<u64>,

    /// Let write cells overwrite this block device: its serial, or what `drivelab devices` says
    #[arg(long, value_name = "SERIAL", help_heading = "Safety")]
    pub destroy: Vec<OsString>,

    /// Run only cells that read
    #[arg(long, help_heading = "Safety")]
    pub reads_only: bool,

    /// Discard everything on the device first (TRIM); needs --destroy
    #[arg(long, requires = "destroy", help_heading = "Safety")]
    pub purge: bool,

    /// What a request that fails ends: the whole run, its cell, or nothing: then failures are
    /// counted
    #[arg(long, value_name = "WHAT", value_parser = OnError::NAMES, help_heading = "Safety")]
    pub on_error: Option<String>,

    /// Agree to a plan that writes many times the tested area
    #[arg(long, help_heading = "Safety")]
    pub yes: bool,

    /// Print the plan - cells, bytes, time - and stop
    #[arg(long, help_heading = "Safety")]
    pub dry_run: bool,

    /// Go on with a run that was interrupted or failed, as it was ordered; add --destroy again for
    /// a device
    #[arg(long, value_name = "RUN", conflicts_with_all = KEPT_BY_RESUME, help_heading = "Record")]
    pub resume: Option<OsString>,

    /// Write the record to FILE; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    pub json: Option<PathBuf>,

    /// A note in the record; also a name for RUN
    #[arg(long, value_name = "KEY=VALUE|NAME", help_heading = "Record")]
    pub label: Vec<String>,

    /// What the drives under the target cost; kept in the record, for `report` and `compare`.
    /// TARGET=129EUR for one of two
    #[arg(long, value_name = "129EUR", help_heading = "Record")]
    pub price: Vec<String>,

    /// Where all random choices come from; the record names it
    #[arg(long, value_name = "N", help_heading = "Record")]
    pub seed: Option<u64>,

    /// The history to keep the run in; a database gets it at the end, see `push`
    #[arg(long, value_name = "PATH", help_heading = "Record")]
    pub store: Option<PathBuf>,

    /// No progress, only the result and errors
    #[arg(long, short, help_heading = "Record")]
    pub quiet: bool,

    /// Data sheets and findings.
    #[command(flatten)]
    pub decide: DecideArguments,
}

/// What a run is held against, and what of it is a finding.
#[derive(Args, Debug)]
pub struct DecideArguments {
    /// Hold the run against a data sheet: a file (docs/reference/spec-format.md), a drive of the
    /// catalog, or `catalog` for what it has of the drive measured. TARGET=FILE for one of several
    #[arg(long, value_name = "FILE|NAME", help_heading = "Decide")]
    pub spec: Vec<OsString>,

    /// End with exit code 1 when this is found: `spec`, an entry of the data sheet that fails, or
    /// flags by name
    #[arg(long, value_name = "spec|FLAG,...", help_heading = "Decide")]
    pub fail_on: Vec<String>,
}

/// What a resumed run takes from its record, so that all its cells are of one kind.
const KEPT_BY_RESUME: [&str; 20] = [
    "targets",
    "method",
    "set",
    "engine",
    "io",
    "data",
    "until",
    "size",
    "grade",
    "passes",
    "max_time",
    "slower",
    "max_written",
    "reads_only",
    "on_error",
    "purge",
    "label",
    "price",
    "seed",
    "dry_run",
];

/// The methods, from their own files, so that the list cannot go stale.
fn run_help() -> String {
    let mut text = String::from("Methods:\n");
    for (name, toml) in lab::method::BUILT_IN {
        text += &hanging(&format!("  {name:<16} "), title(toml));
    }
    text + "\nExamples:\n  \
            drivelab run .                                 the drive under this directory\n  \
            drivelab run /mnt/a /mnt/b --method oltp       two volumes side by side\n  \
            drivelab run /dev/sdb --method bm-flash --destroy S3Z9NX0M\n  \
            drivelab run . --method saturation --dry-run   what it would write\n  \
            drivelab run . --method etcd --until 'p99<1ms' how many a second hold it\n  \
            drivelab run model:intel-x25e-32/ext3:ram=4G   a drive not here\n\n\
            Exit codes: 0 the plan completed (flags or not), 1 a finding that\n\
            --fail-on names, 2 could not run or a cell failed, 130 interrupted."
}

/// Of a method's file, without reading the rest of it: this is done at every start.
fn title(toml: &str) -> &str {
    let mut lines = toml.lines();
    let found = lines.find_map(|line| line.strip_prefix("title = \"")?.strip_suffix('"'));
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every start of the program worked out all cells of all methods for this list: half of the
    /// 120 ms that `--version` took, and a second in a guest.
    #[test]
    fn the_list_of_methods_has_the_titles_of_their_files() {
        for (name, toml) in lab::method::BUILT_IN {
            let method = lab::method::Method::parse(name, toml, &[]).expect("it is built in");
            assert_eq!(title(toml), method.file.title, "{name}");
            assert!(run_help().contains(&format!("\n  {name} ")), "{name}");
        }
    }
}
