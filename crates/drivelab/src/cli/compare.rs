//! The command line of `drivelab compare`.

use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// What `compare --help` opens with.
pub(super) const ABOUT: &str = "\
Compare runs with the first one named, the baseline: what differs between machines and methods first, then every cell \
that both have, as the ratio of their rates with its 95 % interval and a verdict. Cells belong together when operation, \
pattern, block, threads, depth, kind of I/O and every other coordinate are the same.

A verdict is `faster` or `slower` when the whole interval lies beyond 2 %, `same` when all of it lies within, and \
`undecided` otherwise. The targets of one run are compared in pairs, for their passes alternated. Runs made apart are \
not: the interval is wider, and what changed on the machine in between stays in the difference.";

/// What `compare --help` ends with.
const HELP: &str = "\
Examples:
  drivelab compare before-upgrade last
  drivelab compare last                        the two targets of one run
  drivelab compare base.json last --json > verdicts.json

In continuous integration: keep the record of a run you trust, and compare
with it. `undecided` is no finding, so that noise alone breaks no build; what
must be decided needs passes (run --grade normal or publish).
  drivelab run /mnt/scratch --label now
  drivelab compare base.json now --fail-on slower

Exit codes: 0 compared, 1 a finding that --fail-on names, 2 nothing to compare.";

/// `drivelab compare`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct CompareArguments {
    /// Which runs, the baseline first; one alone if it has two targets
    #[arg(value_name = "RUN", required = true, num_args = 1..)]
    pub runs: Vec<OsString>,

    /// One JSON document instead of tables
    #[arg(long)]
    pub json: bool,

    /// What a run's drives cost, for ratios for the money; what `run --price` kept need not be said
    #[arg(long, value_name = "RUN=129EUR")]
    pub price: Vec<String>,

    /// End with exit code 1 when this is found: `slower`, a cell that is slower than the
    /// baseline's, or flags by name, in any run but the baseline
    #[arg(long, value_name = "slower|FLAG,...")]
    pub fail_on: Vec<String>,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}
