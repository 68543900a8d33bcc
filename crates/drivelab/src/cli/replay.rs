//! The command line of `drivelab replay`.

use block::parse_bytes;
use clap::Args;
use lab::{duration::parse_seconds, workload::replay::Speed};
use std::{ffi::OsString, path::PathBuf};

/// What `replay --help` opens with.
pub(super) const ABOUT: &str = "\
Play a block trace on a target, real or modelled, at its own times: each operation begins when the \
trace says, whatever the ones before it took, and how late it began is told beside its latency. \
The run is kept in the store.

TARGET is what `drivelab run` takes. Places beyond its end are moved into it by modulus, and \
counted.";

/// `drivelab replay`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct ReplayArguments {
    /// The trace: a file, or NAME for blktrace's NAME.blktrace.0, .1, ...
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What to replay it on; two to compare
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<OsString>,

    /// How many times as fast as the trace, such as 1, 2, 0.5; `max` for as fast as it goes
    #[arg(long, value_name = "TIMES|max", default_value = "1", value_parser = speed)]
    pub speed: Speed,

    /// Which of its volumes; `all` for all of them on one area
    #[arg(long, value_name = "NAME")]
    pub volume: Option<String>,

    /// Most operations in flight
    #[arg(long, value_name = "N", default_value = "64",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: u32,

    /// Only the first part of the trace, such as 90s, 10m, 2h of its own time
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub first: Option<f64>,

    /// Size of the area: of the scratch file, or of the first part of a device
    #[arg(long, visible_alias = "span", value_name = "SIZE", value_parser = parse_bytes)]
    pub size: Option<u64>,

    /// Play it so many times
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: u32,

    /// Let writes overwrite this block device: its serial, or what `drivelab devices` says
    #[arg(long, value_name = "SERIAL", help_heading = "Safety")]
    pub destroy: Vec<OsString>,

    /// Leave writes, flushes and trims out
    #[arg(long, help_heading = "Safety")]
    pub reads_only: bool,

    /// Agree to a trace that writes many times the area
    #[arg(long, help_heading = "Safety")]
    pub yes: bool,

    /// Print the plan - operations, bytes, time - and stop
    #[arg(long, help_heading = "Safety")]
    pub dry_run: bool,

    /// Write the record to FILE; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    pub json: Option<PathBuf>,

    /// A note in the record; also a name for RUN
    #[arg(long, value_name = "KEY=VALUE|NAME", help_heading = "Record")]
    pub label: Vec<String>,

    /// Where all random choices come from; the record names it
    #[arg(long, value_name = "N", help_heading = "Record")]
    pub seed: Option<u64>,

    /// The history to keep the run in; a database gets it at the end, see `push`
    #[arg(long, value_name = "PATH", help_heading = "Record")]
    pub store: Option<PathBuf>,

    /// No progress, only the result and errors
    #[arg(long, short, help_heading = "Record")]
    pub quiet: bool,
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let times = text.parse().ok().filter(|times| (0.001..=1e6).contains(times));
    times.map(Speed::Times).ok_or_else(|| "a number from 0.001 to 1000000, or max".to_owned())
}

const HELP: &str = "\
Examples:
  drivelab replay sdb.iolog .                          on a scratch file here
  drivelab replay hm_1.csv model:nvme-tlc --speed 2    on a drive not here
  drivelab replay io_traces.csv /dev/sdb --volume 419 --destroy S3Z9NX0M

`drivelab trace FILE` says what a trace is like; docs/reference/traces.md
describes formats, times and places.";
