//! The command line of `drivelab matrix`.

use super::words::in_words;
use crate::{
    key_value::key_value,
    run::{order::typed, words::in_words as run_in_words},
    values::slower,
};
use anyhow::Result;
use block::parse_bytes;
use clap::Args;
use host::Consent;
use lab::duration::parse_seconds;
use lab::{
    method::parse_grade,
    order::{Order, labels},
    plan::Options,
    workload::OnError,
};
use matrix::{Axes, Axis, BadAxis, Choice, MatrixOrder, PowerCuts, ROUNDS, Wear, in_turns, page};
use std::{
    ffi::{OsStr, OsString},
    num::NonZeroU32,
    path::{Path, PathBuf},
};

/// What `matrix --help` opens with.
pub const ABOUT: &str = "\
Measure a method under every combination of settings: file system, the drive's write cache, TRIM, fill, options of mkfs \
and mount, place of the journal, scheduler, read-ahead. Prints every configuration, pivot tables, what each setting does with its 95 % interval, and the \
best configuration - for each class of what a power cut may leave.

TARGET is a block device that --destroy names: everything on it is lost. With `--loop DIR` it is a loop device over a scratch file in \
that directory, safe to try, which ranks file systems over this host's own and not a device. `model:STACK` is served over NBD and \
attached, so that real file systems run on a drive that is not here, in real time; at the end its power is cut once under every \
configuration, to see what is left of what was flushed.

Every change on the machine is written down before it is made and put back: at the end, after Ctrl-C, and by `drivelab restore` \
after a kill. It needs root.";

/// What `matrix --help` ends with.
pub const HELP: &str = "\
Examples:
  drivelab matrix --loop . --fs raw,ext4,xfs,btrfs --discard on,off
  drivelab matrix --loop . --fs ext4 --mount 'noatime;noatime,data=writeback'
  drivelab matrix /dev/sdb --destroy S3Z9NX0M --fs ext4,xfs --write-cache on,off
  drivelab matrix model:intel-520-120 --fs ext4,xfs --write-cache on,off
  drivelab matrix --loop . --fs ext4,xfs --journal inside,64M
  drivelab matrix --loop . --fs xfs,ext4 --html matrix.html
  drivelab matrix --loop . --fs xfs --dry-run      every command, and nothing is done

Levels are parted by commas; those of --mount and --mkfs, which hold commas
themselves, by semicolons. An empty level, as in ';noatime', is one, too;
'noatime;ext4:data=writeback' has one that is ext4's alone.

--write-cache is the drive's own (of NVMe its controller's), and is read back
from the drive after each change; no tool is needed. A model is served anew.
--kernel-flush off leaves the drive as it is and keeps the kernel from flushing
it: fast, and no good unless the drive has no volatile cache.

Exit codes: 0 the plan completed, 2 could not run or a cell failed, 130
interrupted.";

/// `drivelab matrix`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP, group = clap::ArgGroup::new("measured").required(true))]
pub struct MatrixArguments {
    /// A block device, or model:STACK
    #[arg(value_name = "TARGET", group = "measured")]
    pub target: Option<OsString>,

    /// Make a loop device over a scratch file in this directory
    #[arg(long = "loop", value_name = "DIR", group = "measured")]
    pub loop_directory: Option<PathBuf>,

    /// Size of that scratch file
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = parse_bytes)]
    pub loop_size: u64,

    /// raw, ext2, ext3, ext4, xfs, btrfs, f2fs
    #[arg(long, value_name = "NAMES", default_value = "raw,ext4,xfs", help_heading = "Settings")]
    pub fs: String,

    /// The drive's own write cache: on,off
    #[arg(long, value_name = "ON,OFF", help_heading = "Settings")]
    pub write_cache: Option<String>,

    /// Tell the drive of free blocks as they come (TRIM): on,off
    #[arg(long, value_name = "ON,OFF", help_heading = "Settings")]
    pub discard: Option<String>,

    /// Percent that is full before measuring, after churn: 0,50,90
    #[arg(long, value_name = "PERCENTS", help_heading = "Settings")]
    pub fill: Option<String>,

    /// Options of mkfs, levels parted by semicolons
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, help_heading = "Settings")]
    pub mkfs: Option<String>,

    /// Options of mount, levels parted by semicolons
    #[arg(long, value_name = "OPTIONS", help_heading = "Settings")]
    pub mount: Option<String>,

    /// Where the journal lies: inside, a SIZE (a second loop device), or a device that --destroy
    /// names: inside,64M
    #[arg(long, value_name = "PLACES", help_heading = "Settings")]
    pub journal: Option<String>,

    /// The kernel's scheduler, such as none,mq-deadline
    #[arg(long, value_name = "NAMES", help_heading = "Settings")]
    pub scheduler: Option<String>,

    /// The kernel's read-ahead in KiB, such as 128,4096
    #[arg(long, value_name = "KIB", help_heading = "Settings")]
    pub read_ahead: Option<String>,

    /// Whether the kernel flushes the drive: on,off. Off risks what is on it
    #[arg(long, value_name = "ON,OFF", help_heading = "Settings")]
    pub kernel_flush: Option<String>,

    /// Methods, each measured under every configuration
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "dd-latency,dd-bandwidth",
        value_delimiter = ',',
        help_heading = "What to run"
    )]
    pub method: Vec<OsString>,

    /// Change a setting of every cell, as with `run`
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "What to run")]
    pub set: Vec<(String, String)>,

    /// Size of the tested area
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "What to run")]
    pub size: Option<u64>,

    /// Rounds over all configurations, each in a new order
    #[arg(long, value_name = "N", default_value_t = ROUNDS, help_heading = "What to run",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: u32,

    /// quick, normal or publish: how well each cell is measured
    #[arg(long, value_name = "GRADE", help_heading = "What to run")]
    pub grade: Option<String>,

    /// Time for all cells of a method together
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, help_heading = "What to run")]
    pub max_time: Option<f64>,

    /// Let a model's time pass N times slower, and measure in its time
    ///
    /// A model is served with `serve --slower N`, so that what kernel and host add is a share N
    /// times smaller, and all rates and latencies are the drives' own. A device is one that such a
    /// server is behind.
    #[arg(long, value_name = "N", value_parser = slower, help_heading = "What to run")]
    pub slower: Option<NonZeroU32>,

    /// Where the order and all random choices come from
    #[arg(long, value_name = "N", help_heading = "What to run")]
    pub seed: Option<u64>,

    /// Let everything on the device with this serial be lost; `drivelab devices` has the word of
    /// each
    #[arg(long, value_name = "SERIAL", help_heading = "Safety")]
    pub destroy: Vec<OsString>,

    /// What a request that fails ends: the whole matrix, its cell, or nothing: then failures are
    /// counted
    #[arg(long, value_name = "WHAT", value_parser = OnError::NAMES, help_heading = "Safety")]
    pub on_error: Option<String>,

    /// Write more than the whole drive once, all turns together
    #[arg(long, help_heading = "Safety")]
    pub yes: bool,

    /// Print every command that would be run, and stop
    #[arg(long, help_heading = "Safety")]
    pub dry_run: bool,

    /// Of a model: do not cut its power to check the class of what that leaves
    #[arg(long, help_heading = "What to run")]
    pub no_power_cut: bool,

    /// Two settings for a pivot table; may be given again
    #[arg(long, value_name = "ROWS,COLUMNS", help_heading = "Output")]
    pub pivot: Vec<String>,

    /// Write the records, one a method, as a JSON list; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,

    /// Write everything as a page to FILE: configurations, pivots, effects, the best of each class,
    /// as charts and tables; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,

    /// Overwrite a file that is no page of drivelab's
    #[arg(long, requires = "html", help_heading = "Output")]
    pub force: bool,

    /// A note in the records; also a name for RUN
    #[arg(long, value_name = "KEY=VALUE|NAME", help_heading = "Output")]
    pub label: Vec<String>,

    /// The history to keep the runs in; a database gets them at the end, see `push`
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub store: Option<PathBuf>,

    /// No progress and no log of steps, only the result and errors
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

impl MatrixArguments {
    /// What is ordered.
    ///
    /// # Errors
    /// A setting, a method or an option that is none.
    pub fn to_order(&self) -> Result<MatrixOrder> {
        let axes = self.axes().map_err(|bad| in_words(bad.into()))?;
        let pivots =
            page::pivots(&self.pivot, &axes).map_err(|refusal| in_words(refusal.into()))?;
        let seed = self.seed.unwrap_or_else(host::chosen_seed);
        let directory = self.loop_directory.as_deref();
        // What is only planned writes nothing.
        let agreed = self.yes || self.dry_run;
        Ok(MatrixOrder {
            choice: choice(directory, self.loop_size, self.target.as_deref(), &self.destroy),
            axes,
            pivots,
            methods: self
                .method
                .iter()
                .map(|name| self.method(name, seed))
                .collect::<Result<_>>()?,
            rounds: self.passes,
            cuts: if self.no_power_cut { PowerCuts::None } else { PowerCuts::All },
            wear: if agreed { Wear::AgreedTo } else { Wear::Unasked },
            seed,
        })
    }

    fn method(&self, name: &OsStr, seed: u64) -> Result<Order> {
        let options = Options {
            grade: typed(&self.grade, parse_grade)?,
            span_bytes: self.size,
            seconds_max: self.max_time,
            seed,
            passes: Some(self.passes),
            on_error: typed(&self.on_error, str::parse)?,
            until: None,
            slower: self.slower,
            ..Options::default()
        };
        let (name, text) = run::method_text(name).map_err(run_in_words)?;
        let order = Order::new(&name, &text, &self.set, &options, labels(&self.label))?;
        in_turns(order).map_err(|refusal| in_words(refusal.into()))
    }

    /// The settings that were asked for.
    fn axes(&self) -> Result<Axes, BadAxis> {
        let all = [
            (Axis::Fs, Some(&self.fs)),
            (Axis::WriteCache, self.write_cache.as_ref()),
            (Axis::Discard, self.discard.as_ref()),
            (Axis::Fill, self.fill.as_ref()),
            (Axis::Mkfs, self.mkfs.as_ref()),
            (Axis::Mount, self.mount.as_ref()),
            (Axis::Journal, self.journal.as_ref()),
            (Axis::Scheduler, self.scheduler.as_ref()),
            (Axis::ReadAhead, self.read_ahead.as_ref()),
            (Axis::KernelFlush, self.kernel_flush.as_ref()),
        ];
        Axes::of(all.into_iter().filter_map(|(axis, text)| Some((axis, text?.as_str()))))
    }
}

/// What is measured on, of which the command line has one or the other.
pub fn choice(
    directory: Option<&Path>,
    bytes: u64,
    target: Option<&OsStr>,
    destroy: &[OsString],
) -> Choice {
    match directory {
        Some(directory) => {
            let consent = Consent::typed(destroy);
            Choice::Loop { directory: directory.to_owned(), bytes, consent }
        }
        None => Choice::Target {
            word: target.expect("the command line has one or the other").to_owned(),
            consent: Consent::typed(destroy),
        },
    }
}
