//! The command line of `drivelab flash`.

use block::parse_bytes;
use clap::{Args, Subcommand};
use lab::workload::Pattern;
use std::{ffi::OsString, path::PathBuf};

/// What `flash --help` opens with.
pub const ABOUT: &str = "\
Managed flash volumes: a layer that turns random writes into sequential ones. Every write goes to the head of a log in \
large, aligned pieces, a map remembers where each block lies, and a cleaner makes space. On a drive whose random \
writes are slow (old flash, QLC, SMR, RAID-5, cheap cloud volumes) they come near the sequential rate, as far as space \
that holds no data allows: `predict` says how far, and where the layer harms.

A volume lives in a file or on a block device, together with all it needs. What was flushed survives a power cut; \
docs/reference/fault-model.md says what that means, docs/reference/flash-format.md what lies \
where.";

/// What `flash --help` ends with.
pub const HELP: &str = "\
Examples:
  drivelab flash predict model:qlc                 is it worth it?
  drivelab flash create vol.img --drive-size 10G   a volume in a new file
  drivelab flash create /dev/sdb --destroy S3Z9NX0M
  drivelab flash status vol.img
  drivelab flash check vol.img
  drivelab flash rescue vol.img --to image.raw
  drivelab flash resize vol.img --size 6G
  drivelab run flash:vol.img                       measure it, in process

Exit codes: 0 done, 1 `check` or `rescue` found damage, 2 could not be done,
130 interrupted.";

const CREATE_ABOUT: &str = "\
Make a managed volume, empty, on a block device or in a file; what was there is lost. Prints how it is laid out, the \
memory it will need, and what share of the drive's sequential write rate random writes will have, by how full it is.

A file that does not exist is made with --drive-size. What exists must be named by --destroy: a device by its serial \
(without one: its name), a file that holds data by its path. A device that is mounted, in use, or holds anything but \
an older volume is refused.";

const RESCUE_ABOUT: &str = "\
Copy what is readable of a damaged volume to a new file, whatever is left of its superblocks, its root and its map: all \
of the drive is read and searched for parts of the log. The drive is never written.

What comes out is a plain image of the volume, with holes where nothing was. What may be older than what was written \
last is listed as doubtful, what cannot be read as lost; exit code 1 if there is either.";

const RESIZE_ABOUT: &str = "\
Give a volume that nobody uses another size, or let it use all of a drive that has grown. Nothing moves, so it takes a \
moment; whenever it is cut short, the volume has its old size or the new one.

A smaller size is refused while there is data beyond it, unless --discard says that it may go; a \
larger one than the drive can hold, unless --overcommit says that writes may find no space.";

const PREDICT_ABOUT: &str = "\
Say what a managed volume would make of a drive, before there is one: by how much of the drive holds data, the write \
amplification of uniform random writes (the closed form), the share of the sequential write rate that is left (the limit), \
and the operations a second with and without the layer. Below the break-even fill the layer helps; above, or where a \
drive writes at random as fast as sequentially, it harms.

A model is asked for its rates in virtual time; of a real drive a stored run tells them that has random and sequential \
4 KiB and 1 MiB cells, such as one of method `quick`. Skew makes it better than said here, small flushed writes make \
it worse.";

const PREDICT_HELP: &str = "\
Examples:
  drivelab flash predict model:mtron-pro-32
  drivelab flash predict model:qlc:state=steady --write-share 30%
  drivelab flash predict model:4xmtron-pro-32/raid5:chunk=64K --measure
  drivelab flash predict model:mtron-pro-32 --measure --skew 20/80 --fill 60%,80%
  drivelab flash predict model:mtron-pro-32 --measure --html curve.html
  drivelab flash predict last --svg curve.svg
  drivelab flash predict model:qlc --trace web.csv --volume hm.1 --measure";

/// What to do.
#[derive(Subcommand, Debug)]
pub enum FlashVerb {
    #[command(about = "Make a volume on a block device or in a file", long_about = CREATE_ABOUT)]
    Create(CreateArguments),
    /// Say how a volume stands: fill, clean pool, write amplification, wear, errors; writes nothing
    Status(StatusArguments),
    /// Verify everything that is alive against its checksums; writes nothing, exit code 1 on
    /// findings
    Check(CheckArguments),
    #[command(about = "Copy out what is readable of a damaged volume", long_about = RESCUE_ABOUT)]
    Rescue(RescueArguments),
    #[command(about = "Give a volume another size", long_about = RESIZE_ABOUT)]
    Resize(ResizeArguments),
    #[command(about = "Say where the layer helps a drive and where it harms", long_about = PREDICT_ABOUT)]
    Predict(PredictArguments),
}

/// `drivelab flash`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct FlashArguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: FlashVerb,
}

/// `drivelab flash create`.
#[derive(Args, Debug)]
pub struct CreateArguments {
    /// A block device, or a file
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    /// Make a file of this size, with all its space taken
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Where")]
    pub drive_size: Option<u64>,

    /// Overwrite the device with this serial (`drivelab devices` has it), or the file of this name
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    pub destroy: Vec<OsString>,

    /// Take all space of a file that exists and has holes; a file that is made has none
    #[arg(long, help_heading = "Where")]
    pub preallocate: bool,

    /// Share of the drive that the volume does not export [default: 28%]
    #[arg(long, value_name = "PERCENT", value_parser = per_mille, conflicts_with = "size",
          help_heading = "Size")]
    pub spare: Option<u32>,

    /// The volume's size instead; more than the drive holds is thin provisioning
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Size")]
    pub size: Option<u64>,

    /// The array's full stripe, without parity [default: as an md array says it]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Layout")]
    pub stripe: Option<u64>,

    /// Whether the drive below is RAID-5 or RAID-6: `protected` or `none` [default: as md says it]
    #[arg(long, value_name = "WORD", value_parser = ["none", "protected"], help_heading = "Layout")]
    pub parity: Option<String>,

    /// What the drive erases at once [default: 1 MiB, where partitions begin]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Layout")]
    pub erase_unit: Option<u64>,

    /// What is cleaned at once [default: near 32 MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Layout")]
    pub segment: Option<u64>,

    /// The longest append [default: near 1 MiB, in whole stripes]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Layout")]
    pub chunk: Option<u64>,

    /// Where small synchronous writes go under parity; 0 for none
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Layout")]
    pub ring: Option<u64>,

    /// When checksums are looked at: at every `read` (2 GiB of memory a TiB), or at `cleaning` and
    /// check (1 GiB)
    #[arg(long, value_name = "WORD", value_parser = ["read", "cleaning"], default_value = "read",
          hide_possible_values = true, help_heading = "Layout")]
    pub checksums: String,

    /// Print what would be made, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// `drivelab flash status`.
#[derive(Args, Debug)]
pub struct StatusArguments {
    /// The file or device that the volume is on
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    /// One JSON object instead
    #[arg(long)]
    pub json: bool,
}

/// `drivelab flash check`.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// The file or device that the volume is on
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    /// How many findings are listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub findings: usize,

    /// One JSON object instead, with all findings
    #[arg(long, conflicts_with = "findings")]
    pub json: bool,

    /// No progress, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `drivelab flash rescue`.
#[derive(Args, Debug)]
pub struct RescueArguments {
    /// The file or device that the volume is on
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    /// The image that is made; it must not exist
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,

    /// Which volume, where parts of several are found; else the one of which most is left
    #[arg(long, value_name = "ID")]
    pub volume: Option<String>,

    /// The volume's size, where no superblock is left to say it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub size: Option<u64>,

    /// One JSON object instead, with all ranges
    #[arg(long)]
    pub json: bool,

    /// No progress, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `drivelab flash resize`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct ResizeArguments {
    /// The file or device that the volume is on
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    /// The volume's new size
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, group = "what")]
    pub size: Option<u64>,

    /// Use all of a file or device that is larger than before
    #[arg(long, group = "what")]
    pub whole_drive: bool,

    /// Let the volume be larger than what the drive can hold (thin provisioning)
    #[arg(long, requires = "size")]
    pub overcommit: bool,

    /// Lose the data beyond a smaller end
    #[arg(long, requires = "size")]
    pub discard: bool,

    /// No progress, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `drivelab flash predict`.
#[derive(Args, Debug)]
#[command(after_long_help = PREDICT_HELP)]
pub struct PredictArguments {
    /// `model:STACK`, or a RUN of a real target that measured its random and sequential rates
    #[arg(value_name = "STACK|RUN")]
    pub drive: OsString,

    /// Share of the operations that write
    #[arg(long, value_name = "PERCENT", value_parser = per_mille, default_value = "100%")]
    pub write_share: u32,

    /// Say what it comes to for the workload of a block trace, too (docs/reference/traces.md)
    #[arg(long, value_name = "FILE", conflicts_with = "write_share")]
    pub trace: Option<PathBuf>,

    /// Which of the trace's volumes; `all` for all of them together
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub volume: Option<String>,

    /// Measure managed volumes on the model, too
    #[arg(long)]
    pub measure: bool,

    /// Shares of the drive that hold data where it is measured; if none is named, the trace's, or
    /// 25%,50%,72%
    #[arg(long, value_name = "PERCENT,...", value_delimiter = ',', value_parser = per_mille, requires = "measure")]
    pub fill: Vec<u32>,

    /// Which blocks are overwritten where it is measured: `uniform`, `20/80` (20 % take 80 % of the
    /// writes), `zipf:0.99` [default: the trace's, or uniform]
    #[arg(long, value_name = "SKEW", value_parser = skew, requires = "measure")]
    pub skew: Option<Pattern>,

    /// Draw the curve into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// A page with the curve, its table and the forecast
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Overwrite files that are no reports of drivelab's
    #[arg(long)]
    pub force: bool,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// `uniform`, `20/80`, `zipf:0.99`.
fn skew(text: &str) -> Result<Pattern, String> {
    let named = match text {
        "uniform" => Some(Pattern::Random),
        _ if text.contains('/') => Pattern::parse(&format!("hot_cold:{text}")),
        _ => Pattern::parse(text).filter(|pattern| matches!(pattern, Pattern::Zipf { .. })),
    };
    named.ok_or_else(|| "write `uniform`, a pair such as `20/80`, or `zipf:0.99`".to_owned())
}

/// A percentage, in thousandths.
fn per_mille(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|percent| (0.0..=100.0).contains(percent));
    let number = number.ok_or("write a percentage from 0% to 100%, such as 28%")?;
    Ok((number * 10.0).round() as u32)
}
