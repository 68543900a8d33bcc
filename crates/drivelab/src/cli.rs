//! The command line, as `--help` shows it.

use crate::{
    advise::arguments as advise, flash::arguments as flash, matrix::arguments as matrix,
    output::hanging, study::arguments as study,
};
use block::parse_bytes;
use clap::{ArgGroup, Args, Parser, Subcommand};
use lab::duration::parse_seconds;
use lab::workload::OnError;
use std::{ffi::OsString, path::PathBuf};

/// A storage laboratory: measures a drive, file system or array, and says how sure it is.
#[derive(Parser, Debug)]
#[command(name = "drivelab", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "RUN is a run's id, a unique beginning of one, `last`, `last~1`, a --label value, or a \
                        record file.\n\nStart with: drivelab run ."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Verb {
    #[command(about = "Measure a directory, file, block device or modelled drive", long_about = RUN_ABOUT)]
    Run(Box<RunArguments>),
    #[command(about = "Re-run a published study, on its own drives modelled or on yours", long_about = study::ABOUT)]
    Study(Box<study::StudyArguments>),
    #[command(about = "Measure every combination of file system, write cache, TRIM and other settings", long_about = matrix::ABOUT)]
    Matrix(Box<matrix::MatrixArguments>),
    #[command(about = "Put back what a killed run left changed on this machine", long_about = RESTORE_ABOUT)]
    Restore(RestoreArguments),
    #[command(about = "Managed flash volumes: make, look at, check, predict", long_about = flash::ABOUT)]
    Flash(Box<flash::FlashArguments>),
    #[command(about = "Serve a target as a network block device (NBD)", long_about = SERVE_ABOUT)]
    Serve(ServeArguments),
    /// List the runs in the store, newest first
    History(HistoryArguments),
    /// Print a run's table again
    Show(ShowArguments),
    #[command(about = "Compare runs, cell by cell, with intervals", long_about = COMPARE_ABOUT)]
    Compare(CompareArguments),
    #[command(about = "Say what to buy for a mix of reads and writes", long_about = advise::ABOUT)]
    Advise(Box<advise::AdviseArguments>),
    #[command(about = "Write runs as pictures and tables", long_about = REPORT_ABOUT)]
    Report(ReportArguments),
    #[command(about = "List the drives that can be modelled, show one, or propose one from a run")]
    #[command(long_about = DRIVES_ABOUT)]
    Drives(DrivesArguments),
    #[command(about = "List this machine's block devices: what is on them, and what may be done", long_about = DEVICES_ABOUT)]
    Devices(DevicesArguments),
    #[command(about = "Show the history in a browser, on this machine", long_about = WEB_ABOUT)]
    Web(WebArguments),
}

/// What `run --help` opens with.
const RUN_ABOUT: &str = "\
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

    /// The workload: one of those listed below, or a TOML file of your own
    #[arg(long, value_name = "NAME|FILE", default_value = "quick", help_heading = "What to run")]
    pub method: OsString,

    /// Change a setting of every cell: op, pattern, block, threads, depth, file, bound, rate...
    /// `block=4K..1M` doubles, `threads=1;4` lists
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "What to run")]
    pub set: Vec<(String, String)>,

    /// auto, sync, uring, stdio or stdio:block (its buffer of one block)
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub engine: Option<String>,

    /// direct, buffered, direct,dsync, direct,sync
    #[arg(long, value_name = "HOW", help_heading = "What to run")]
    pub io: Option<String>,

    /// random, zeros or compressible:PERCENT
    #[arg(long, value_name = "KIND", help_heading = "What to run")]
    pub data: Option<String>,

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

    /// The history to keep the run in
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
const KEPT_BY_RESUME: [&str; 18] = [
    "targets",
    "method",
    "set",
    "engine",
    "io",
    "data",
    "size",
    "grade",
    "passes",
    "max_time",
    "max_written",
    "reads_only",
    "on_error",
    "purge",
    "label",
    "price",
    "seed",
    "dry_run",
];

/// What `serve --help` opens with.
const SERVE_ABOUT: &str = "\
Serve a target to NBD clients - qemu, nbdkit, libnbd, the Linux kernel - or as a disk of this machine's kernel (ublk), \
until SIGTERM or Ctrl-C, which answer what is under way, flush everything, and remove the socket or the disk. A second \
signal, a second later or more, ends it at once.

TARGET is a file or a block device, changed only if its name is given with --destroy as well; `flash:PATH`, a managed \
volume; `memory:SIZE` or `memory:SIZE/flash`; or `model:STACK`, drives that are not on the bench and answer when they \
would: see `drivelab drives --help`. Memory and models forget everything when the server ends. What is served is locked \
against a second server, and a device must not be mounted.

What FLUSH and FUA cover is durable when they are answered, on whichever connection it was written. If a flush ever \
fails, no change is acknowledged any more.";

/// What `serve --help` ends with.
const SERVE_HELP: &str = "\
Examples:
  truncate -s 10G disk.img
  drivelab serve disk.img --destroy disk.img --nbd unix:/tmp/disk.sock
  drivelab serve /dev/sdb --read-only --nbd tcp:127.0.0.1:10809
  drivelab serve flash:volume --nbd unix:/tmp/volume.sock
  drivelab serve model:hdd-7200-cmr --nbd unix:/tmp/slow.sock
  drivelab serve flash:volume --ublk --restartable

A Unix socket is its owner's alone. TCP listens on the named address only,
and whoever reaches that may read and write: NBD has no passwords.

Exit codes: 0 stopped by a signal with everything durable, 2 could not serve,
or a flush failed.";

/// `drivelab serve`. First lines are short, so that `-h` fits a terminal of 80 x 24.
#[derive(Args, Debug)]
#[command(after_long_help = SERVE_HELP)]
#[command(override_usage = "drivelab serve [OPTIONS] <TARGET> <--nbd <ADDRESS> | --ublk[=<N>]>")]
#[command(group = ArgGroup::new("front").required(true))]
pub struct ServeArguments {
    /// What to serve
    #[arg(value_name = "TARGET", required_unless_present = "ublk_remove")]
    pub target: Option<OsString>,

    /// unix:PATH or tcp:HOST:PORT (0: any free port)
    #[arg(long, value_name = "ADDRESS", group = "front")]
    pub nbd: Option<OsString>,

    /// As the disk /dev/ublkbN of this machine
    ///
    /// Without a number the first that is free, or the one that a killed server of the same target
    /// left. Linux 6.4 or later with the driver ublk_drv, and root. See docs/reference/ublk.md.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, group = "front",
          conflicts_with_all = ["name", "power_cut"])]
    pub ublk: Option<Option<u32>>,

    /// Serve nothing: remove the disk that a killed server left
    ///
    /// Whoever still uses /dev/ublkbN gets I/O errors. A server of its target, with --restartable,
    /// takes it up again instead, and nobody gets any.
    #[arg(
        long,
        value_name = "N",
        group = "front",
        conflicts_with = "target",
        hide_short_help = true
    )]
    pub ublk_remove: Option<u32>,

    /// Let clients read, and change nothing
    #[arg(long, conflicts_with = "destroy")]
    pub read_only: bool,

    /// Let clients change the file or device so named
    ///
    /// The name of a file, or a device's serial; `drivelab devices` has the word of each.
    #[arg(long, value_name = "NAME")]
    pub destroy: Vec<OsString>,

    /// What clients call it; no name always works
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub name: String,

    /// Survive `kill -9` under clients that reconnect
    ///
    /// A write to a managed volume is answered when the drive has it, not when it is in memory, so
    /// that a server that is started anew has lost nothing that was answered. With --ublk the disk
    /// waits for that server; without this it goes with the one that was killed.
    #[arg(long, conflicts_with = "volatile_cache")]
    pub restartable: bool,

    /// Verify a managed volume daily, at RATE a second
    ///
    /// Everything is read and held against its checksum, at a rate such as 20M. What is found is in
    /// the status, the metrics and the summary.
    #[arg(long, value_name = "RATE", value_parser = scrub_rate)]
    pub scrub: Option<u64>,

    /// Tell OpenMetrics at unix:PATH or tcp:HOST:PORT
    ///
    /// Requests, latencies and the volume's state, at /metrics.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<OsString>,

    /// Let other machines read the metrics, too
    #[arg(long, requires = "metrics")]
    pub metrics_remote: bool,

    /// Say on descriptor N that clients can connect
    ///
    /// `ready URI` and a line feed; then it is closed. A service manager that set NOTIFY_SOCKET is
    /// told as well.
    #[arg(long, value_name = "N")]
    pub ready_fd: Option<i32>,

    /// Keep the process's number there while it runs
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,

    /// For tests: make `kill -9` a power cut
    ///
    /// Writes stay in memory until a flush, as in a drive's volatile cache; what reaches the drive
    /// early is drawn from SEED.
    #[arg(long, value_name = "SEED", conflicts_with = "read_only")]
    pub volatile_cache: Option<u64>,

    /// For tests, of models: SIGUSR1 cuts their power
    ///
    /// Every client is disconnected; of what the drives' write caches held and no flush covered
    /// stays what is drawn from SEED, and is served again.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["read_only", "volatile_cache"])]
    pub power_cut: Option<u64>,

    /// Say what happens as JSON on stdout, a line an event
    ///
    /// `{"event":"ready","address":URI}` when clients can connect, `power_cut` after each power
    /// cut, `stopped` at the end; no sentences.
    #[arg(long, hide_short_help = true)]
    pub json: bool,

    /// No status and no summary, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// What `drives --help` opens with.
const DRIVES_ABOUT: &str = "\
The catalog: drives that drivelab can model, each with its data sheet, price, and the physical numbers that its model \
is made of, every number with its unit and source.

`drivelab run model:STACK` measures them as if they were on the bench: same methods, same tables, same record, but in \
virtual time, so that minutes take a second and the same seed gives the same answer.";

/// What `drives --help` ends with.
const DRIVES_HELP: &str = "\
STACK is read from the bottom to the top: drives, then layers, parted by `/`.
  NAME                     a drive of the list
  4xNAME+4xNAME            several, to be followed by an array
  NAME:KEY=VALUE,...       port=NAME write-cache=on|off state=fresh|steady
                           used=PERCENT command-queue=N seed=N capacity=SIZE
  /raid0 /raid1 /raid5 /raid6 /raid10
                           chunk=64K driver=md|highpoint|lsi degraded=MEMBER
                           rebuild=on|RATE
  /noop /deadline /cfq /anticipatory
                           read_expire=500ms slice_idle=8ms nr_requests=128
                           and more (docs/reference/catalog-format.md): the kernel's
                           elevators, right on a drive or an array
  /ext2 /ext3 /ext4 /xfs   ram=2G elevator=cfq|deadline|noop|anticipatory
                           read-ahead=128K discard=on|off barrier=on|off
                           kernel=VERSION; ext3 has data=ordered|writeback,
                           xfs has lazy-count=0|1
  /flash                   spare=28% cleaning=auto|greedy|cost-benefit|sepbit|fifo
                           segment=SIZE chunk=SIZE ring=SIZE stripe=SIZE
                           erase-unit=SIZE checksums=read|cleaning
                           drive-size=SIZE: a managed volume (`drivelab flash`)
                           on the drive or array below it

Examples:
  drivelab drives intel-x25e-32
  drivelab run model:mtron-pro-32:port=onboard --method bm-flash
  drivelab run model:4xmtron-pro-32/raid5:chunk=64K --method bm-flash
  drivelab run model:mtron-pro-32/flash:spare=28% --method bm-flash
  drivelab run model:hdd-7200-cmr/ext4:ram=4G --io buffered

Your own drives: one TOML each in ~/.config/drivelab/drives (or below
$XDG_CONFIG_HOME), as docs/reference/catalog-format.md describes. A first draft:
  drivelab run /dev/sdb --method bm-flash --destroy S3Z9NX0M
  drivelab drives fit last > ~/.config/drivelab/drives/attic.toml";

/// `drivelab drives`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_long_help = DRIVES_HELP)]
pub struct DrivesArguments {
    /// A drive, port or array driver to show; all drives without one
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// What else to do.
    #[command(subcommand)]
    pub verb: Option<DrivesVerb>,
}

/// What else `drives` does.
#[derive(Subcommand, Debug)]
pub enum DrivesVerb {
    /// Propose a catalog file from a measured run, as TOML on stdout
    Fit(FitArguments),
}

/// `drivelab drives fit`.
#[derive(Args, Debug)]
pub struct FitArguments {
    /// Which run, of method bm-flash or with its cells: an id, `last`, a label, a record file
    #[arg(value_name = "RUN")]
    pub run: OsString,

    /// The history to read
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// What `devices --help` opens with.
const DEVICES_ABOUT: &str = "\
Every block device of this machine: bus, model, size, the word that --destroy takes for it, what is on it and who uses it, whether \
drivelab would measure it, and if not, why. Nothing is written, and nothing is held.

As an ordinary user it says what it could not see.";

/// `drivelab devices`.
#[derive(Args, Debug)]
pub struct DevicesArguments {
    /// All about one: a kernel name, a path, or the word after --destroy
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// Loop devices without a file and disks of memory, too
    #[arg(long)]
    pub all: bool,

    /// As JSON (docs/reference/devices-format.md)
    #[arg(long)]
    pub json: bool,
}

/// What `restore --help` opens with.
const RESTORE_ABOUT: &str = "\
Put back what a run left changed on this machine because it was killed or the machine went down: mounts, loop devices, write caches, \
schedulers, read-ahead, servers, scratch files. Newest first, each after a look at what is there now; what somebody else has changed \
since is left and said. A run that still runs is left alone.

As root it finds what root's runs left, whatever HOME was (docs/reference/ledger-format.md).";

/// `drivelab restore`.
#[derive(Args, Debug)]
pub struct RestoreArguments {
    /// Say what is changed, and change nothing
    #[arg(long)]
    pub list: bool,
}

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

/// What `compare --help` opens with.
const COMPARE_ABOUT: &str = "\
Compare runs with the first one named, the baseline: what differs between machines and methods first, then every cell \
that both have, as the ratio of their rates with its 95 % interval and a verdict. Cells belong together when operation, \
pattern, block, threads, depth, kind of I/O and every other coordinate are the same.

A verdict is `faster` or `slower` when the whole interval lies beyond 2 %, `same` when all of it lies within, and \
`undecided` otherwise. The targets of one run are compared in pairs, for their passes alternated. Runs made apart are \
not: the interval is wider, and what changed on the machine in between stays in the difference.";

/// What `compare --help` ends with.
const COMPARE_HELP: &str = "\
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
#[command(after_long_help = COMPARE_HELP)]
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

    /// The history to read
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// What `report --help` opens with.
const REPORT_ABOUT: &str = "\
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

    /// The history to read
    #[arg(long, value_name = "PATH", help_heading = "What to know")]
    pub store: Option<PathBuf>,
}

/// What `web --help` opens with.
const WEB_ABOUT: &str = "\
Show the history in a browser: list and search all runs, open a run's report, compare runs, and watch one that is \
going on, cell by cell. Open the address that it prints; Ctrl-C ends it.

The pages come from this machine and ask nobody else for anything. They show the history as it is, also while runs are being \
added, and change nothing in it.";

/// What `web --help` ends with.
const WEB_HELP: &str = "\
Examples:
  drivelab web
  drivelab web --port 0                        any port that is free; it prints which
  drivelab web --store lab.sqlite
  ssh -t -L 3752:127.0.0.1:3752 lab drivelab web
                                               the history of the machine `lab`,
                                               at http://localhost:3752/ here

Only this machine can reach it. With --listen and --allow-remote others can,
too, by the machine's number: all of them may read all runs, with no password
and no encryption. A tunnel as above is safer.

Exit codes: 0 ended by a signal, 2 could not listen.";

/// `drivelab web`.
#[derive(Args, Debug)]
#[command(after_long_help = WEB_HELP)]
pub struct WebArguments {
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 3752)]
    pub port: u16,

    /// The address to listen on, as a number; others than those of this machine alone need
    /// --allow-remote
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: String,

    /// Let other machines read the history: whoever reaches the address given by --listen may
    #[arg(long, requires = "listen")]
    pub allow_remote: bool,

    /// The history to show
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// Bytes a second, such as `20M` or `20M/s`.
fn scrub_rate(text: &str) -> Result<u64, String> {
    match parse_bytes(text.strip_suffix("/s").unwrap_or(text)) {
        Ok(0) => Err("nothing would ever be read: write a rate such as 20M".to_owned()),
        outcome => outcome.map_err(|error| error.to_string()),
    }
}

/// Reads `key=value`.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE, such as block=4K".to_owned()),
    }
}

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
    use clap::CommandFactory;

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

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
