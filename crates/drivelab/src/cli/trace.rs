//! The command line of `drivelab trace`.

use clap::Args;
use std::path::PathBuf;

/// What `trace --help` opens with.
pub(super) const ABOUT: &str = "\
Say what a block trace is like: reads and writes, sizes, sequentiality, footprint, reuse, what a \
cache would miss, bursts and write skew. It is read once, in bounded memory, whatever its size.";

/// `drivelab trace`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct TraceArguments {
    /// The trace: a file, `-` for stdin, or NAME for blktrace's NAME.blktrace.0, .1, ...
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Which of its volumes; `all` for all of them together
    #[arg(long, value_name = "NAME")]
    pub volume: Option<String>,

    /// Write it as JSON to FILE; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a page with charts to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Overwrite a page that is none of drivelab's
    #[arg(long)]
    pub force: bool,
}

const HELP: &str = "\
Formats, recognised by what is in the file:
  fio iolog (version 2 and 3), blktrace (binary, version 7), blkparse text,
  MSR Cambridge, SYSTOR '17, Alibaba, Tencent CBS, FIU, SPC, vscsi (1 and 2)

Examples:
  drivelab trace iolog.txt
  drivelab trace sdb --html sdb.html            sdb.blktrace.0, sdb.blktrace.1, ...
  zcat hm_1.csv.gz | drivelab trace -
  drivelab trace io_traces.csv --volume 419

docs/reference/traces.md describes the formats and each number.";
