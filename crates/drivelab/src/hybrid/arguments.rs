//! The command line of `drivelab hybrid`.

use block::parse_bytes;
use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// What `hybrid --help` opens with.
pub const ABOUT: &str = "\
Say which way of putting flash beside disks does most for the workload of a block trace: disks \
alone, flash alone, flash as a cache in front of the disks by size, policy and mode, a range of \
the disks pinned on flash, or a tier that moves what is asked for often. For a method on files: \
the journal, the metadata, or these and small files on flash.

The trace tells what a cache of each size would hit, fill and write back; the drives are modelled \
in the state that they are in after a year; and the first ways are checked by a replay of the \
whole trace on the modelled stack. docs/guide/hybrid.md has the formulas.";

/// What `hybrid --help` ends with.
pub const HELP: &str = "\
Examples:
  drivelab hybrid --trace web.csv --disks 4xhdd-7200-cmr/raid5 --ssd nvme-tlc
  drivelab hybrid --trace io.csv --volume 419 --disks 2xhdd-7200-cmr/raid1 \\
    --ssd nvme-tlc --ssd sata-tlc --price hdd-7200-cmr=180EUR \\
    --price nvme-tlc=75EUR --price sata-tlc=60EUR
  drivelab hybrid --trace sdb --disks hdd-7200-cmr --ssd sata-tlc \\
    --size 32G --mode writeback --commands
  drivelab hybrid --method oltp --disks 4xhdd-7200-cmr/raid5 --ssd nvme-tlc
  drivelab hybrid --method maildir --fs xfs --disks 4xhdd-7200-cmr/raid5 \
    --ssd sata-tlc --commands

Exit codes: 0 answered, 2 could not answer, 130 interrupted.";

/// `drivelab hybrid`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP, group = clap::ArgGroup::new("workload").required(true))]
pub struct HybridArguments {
    /// The workload: a block trace (docs/reference/traces.md)
    #[arg(long, value_name = "FILE", group = "workload", help_heading = "The workload")]
    pub trace: Option<PathBuf>,

    /// The workload: a method, instead of a trace. One on blocks asks 100,000 operations of its
    /// cells, as fast as they go; one on files runs whole on a modelled file system
    #[arg(
        long,
        value_name = "NAME|FILE",
        group = "workload",
        conflicts_with = "volume",
        help_heading = "The workload"
    )]
    pub method: Option<OsString>,

    /// Which of the trace's volumes; `all` for all of them together
    #[arg(long, value_name = "NAME", help_heading = "The workload")]
    pub volume: Option<String>,

    /// Requests in flight [default: 32]; a method on files says itself how many workers ask
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256),
          help_heading = "The workload")]
    pub depth: Option<u16>,

    /// The file system of a method on files: ext3, ext4 or xfs, with its settings, such as
    /// `xfs:ram=256M` [default: ext4]
    #[arg(long, value_name = "LAYER", help_heading = "The workload")]
    pub fs: Option<String>,

    /// A file of at most so many bytes is small [default: 64K]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "The workload")]
    pub small: Option<u64>,

    /// The disks, with their array if they have one: a STACK
    #[arg(long, value_name = "STACK", help_heading = "The drives")]
    pub disks: String,

    /// A flash drive by its name in the catalog; may be given several times
    #[arg(long, value_name = "NAME", required = true, help_heading = "The drives")]
    pub ssd: Vec<String>,

    /// What one drive costs; the catalog's prices need not be said
    #[arg(long, value_name = "NAME=129EUR", help_heading = "The drives")]
    pub price: Vec<String>,

    /// Only caches, pinned ranges and tiers of this size [default: several, by what the trace
    /// touches; a tier takes the whole drive]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "The caches")]
    pub size: Option<u64>,

    /// Only this policy [default: the one that misses least at each size]
    #[arg(long, value_name = "POLICY", value_parser = policy, help_heading = "The caches")]
    pub policy: Option<cache::Policy>,

    /// Only this mode: writethrough, writeback or writearound; may be given several times
    /// [default: writethrough and writeback]
    #[arg(long, value_name = "MODE", value_parser = mode, help_heading = "The caches")]
    pub mode: Vec<hybrid::Mode>,

    /// Bytes of a cache's block, a power of two from 4K to 1M [default: 64K, and 4K for a method on
    /// files]
    #[arg(long, value_name = "SIZE", value_parser = block, help_heading = "The caches")]
    pub block: Option<u64>,

    /// How many of the first ways are checked by a replay of the whole trace, besides the disks and
    /// tiers; 0: no way is, and there is no tier [default: three, or more while that is at most a
    /// million requests together]
    #[arg(long, value_name = "N", help_heading = "The answer")]
    pub checks: Option<usize>,

    /// All ways, what goes where, and the misses of each size and policy
    #[arg(long, help_heading = "The answer")]
    pub details: bool,

    /// How the best cache, or the best place of a file system's parts, is set up: commands to be
    /// run by hand
    #[arg(long, help_heading = "The answer")]
    pub commands: bool,

    /// One JSON document with everything to FILE; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE", help_heading = "The answer")]
    pub json: Option<PathBuf>,

    /// Write a page with charts to FILE
    #[arg(long, value_name = "FILE", help_heading = "The answer")]
    pub html: Option<PathBuf>,

    /// Overwrite a page that is none of drivelab's
    #[arg(long, help_heading = "The answer")]
    pub force: bool,

    /// Where all random choices come from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "The answer")]
    pub seed: u64,

    /// No progress, only the answer and errors
    #[arg(long, short)]
    pub quiet: bool,
}

fn policy(text: &str) -> Result<cache::Policy, String> {
    // What smq does hangs on the time, which a count of misses does not know.
    let known = cache::Policy::ALL.into_iter().filter(|policy| *policy != cache::Policy::Smq);
    let named = known.clone().find(|policy| policy.name() == text);
    named.ok_or_else(|| {
        let all: Vec<_> = known.map(cache::Policy::name).collect();
        let near = block::names::did_you_mean(text, all.iter().copied());
        format!("policies are {}.{near}", all.join(", "))
    })
}

fn mode(text: &str) -> Result<hybrid::Mode, String> {
    let all = hybrid::Mode::ALL;
    all.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
        let all = all.map(hybrid::Mode::name);
        let near = block::names::did_you_mean(text, all);
        format!("modes are {}.{near}", all.join(", "))
    })
}

fn block(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|bad| bad.to_string())?;
    let fits = bytes.is_power_of_two() && (4096..=1 << 20).contains(&bytes);
    fits.then_some(bytes).ok_or_else(|| {
        "a cache's block is a power of two from 4K to 1M: write such as 64K".to_owned()
    })
}
