//! The command line of `drivelab drives`.

use clap::{Args, Subcommand};
use std::{ffi::OsString, path::PathBuf};

/// What `drives --help` opens with.
pub(super) const ABOUT: &str = "\
The catalog: drives that drivelab can model, each with its data sheet, price, and the physical numbers that its model \
is made of, every number with its unit and source.

`drivelab run model:STACK` measures them as if they were on the bench: same methods, same tables, same record, but in \
virtual time, so that minutes take a second and the same seed gives the same answer.";

/// What `drives --help` ends with.
const HELP: &str = "\
STACK is read from the bottom to the top: drives, then layers, parted by `/`.
  NAME                     a drive of the list
  4xNAME+4xNAME            several, to be followed by an array
  NAME:KEY=VALUE,...       port=NAME write-cache=on|off state=fresh|steady
                           used=PERCENT command-queue=N seed=N capacity=SIZE
                           atomic-write=SIZE (what a power cut does not tear)
                           map-memory=SIZE (a drive without DRAM)
  /raid0 /raid1 /raid5 /raid6 /raid10
                           chunk=64K driver=md|host|highpoint|lsi degraded=MEMBER
                           rebuild=on|RATE; driver=generic-bbu cache=256M: a
                           controller whose memory has a battery
  /noop /deadline /cfq /anticipatory
                           read_expire=500ms slice_idle=8ms nr_requests=128
                           and more (docs/reference/catalog-format.md): the kernel's
                           elevators, right on a drive or an array
  /cache /bcache /dm-cache /dm-writecache
                           ssd=NAME size=32G policy=lru|clock|2q|arc|lirs|s3fifo|
                           tinylfu|fifo|smq
                           mode=writethrough|writeback|writearound block=64K
                           fill=request|block bypass-seq=4M dirty=10%
                           map=persistent|memory home=drive|flash spare=28%:
                           flash in front of the drive or array below
                           (docs/reference/cache-layers.md)
  /pin                     ssd=NAME range=0-10%: this part lies on flash
  /tier                    ssd=NAME size=32G epoch=10s block=1M: what is asked for
                           most moves to flash, nothing is there twice
  /ext2 /ext3 /ext4 /xfs   ram=2G elevator=cfq|deadline|noop|anticipatory
                           read-ahead=128K discard=on|off barrier=on|off
                           kernel=VERSION; ext3 has data=ordered|writeback,
                           xfs has lazy-count=0|1; ext3 and ext4
                           journal-on=NAME, xfs log-on=NAME: a second drive;
                           all three metadata-on=NAME, or small-files-on=NAME
                           small=64K, cpus=N: file trees, on two drives, by
                           workers that share N processors
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
$XDG_CONFIG_HOME), as docs/reference/catalog-format.md describes. Of a drive
that you have, in about 15 minutes:
  drivelab run /dev/sdb --method characterise --destroy S3Z9NX0M
  drivelab drives fit last > ~/.config/drivelab/drives/attic.toml";

/// `drivelab drives`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_long_help = HELP)]
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
    /// Fit a catalog file to a measured run, as TOML on stdout; takes up to two minutes
    Fit(FitArguments),
}

/// `drivelab drives fit`.
#[derive(Args, Debug)]
pub struct FitArguments {
    /// Which run, of method characterise, or with the cells of bm-flash: an id, `last`, a label, a
    /// record file
    #[arg(value_name = "RUN")]
    pub run: OsString,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}
