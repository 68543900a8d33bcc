//! The command line of `drivelab serve`.

use crate::values::{flushes, slower};
use block::parse_bytes;
use clap::{ArgGroup, Args};
use std::{ffi::OsString, num::NonZeroU32, path::PathBuf};
use target::serve::Flushes;

/// What `serve --help` opens with.
pub(super) const ABOUT: &str = "\
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
const HELP: &str = "\
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
#[command(after_long_help = HELP)]
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

    /// For tests, with --power-cut: what the drives make of flushes and FUA: honoured, early
    /// (answered first, carried out at the next flush), ignored
    #[arg(long, value_name = "HOW", requires = "power_cut", default_value = "honoured",
          hide_short_help = true,
          value_parser = flushes)]
    pub flushes: Flushes,

    /// For tests, with --power-cut: after a cut an array starts without member N
    ///
    /// As after a crash that takes a drive with it. The first member is 0.
    #[arg(long, value_name = "N", requires = "power_cut", hide_short_help = true)]
    pub lose_member: Option<u16>,

    /// For tests, with --power-cut: take `status`, `cut`, `cut-in-flush` at unix:PATH
    ///
    /// A line asks, a line of JSON answers: for a test harness that cuts at a moment of its own.
    #[arg(long, value_name = "ADDRESS", requires = "power_cut", hide_short_help = true)]
    pub control: Option<OsString>,

    /// For tests, with --power-cut: write to FILE what clients change, until the power is cut
    ///
    /// Every write with its bytes, every discard and every flush, in an order in which the drives
    /// may have done so. FILE must not exist. `power-cut --record-writes` adds the promises of a
    /// program, and `power-cut --replay` cuts at every place of it.
    #[arg(long, value_name = "FILE", requires = "power_cut", hide_short_help = true)]
    pub record_writes: Option<PathBuf>,

    /// Of models: let their time pass N times slower
    ///
    /// Every answer takes N times as long, so that what client, kernel and this machine add is a
    /// share N times smaller. A client that sees R requests a second sees R x N of the drive: `run`
    /// and `matrix` take the same --slower N, and show the drive's. From 1 to 1,000; `auto` is as
    /// many as make the way to a client 1 % of a lone random read.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = slower_or_auto,
          hide_default_value = true)]
    pub slower: Slower,

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

/// How many times slower.
#[derive(Clone, Copy, Debug)]
pub enum Slower {
    /// So many.
    Times(NonZeroU32),
    /// As many as make the way to a client small.
    Auto,
}

fn slower_or_auto(text: &str) -> Result<Slower, String> {
    match text {
        "auto" => Ok(Slower::Auto),
        text => slower(text).map(Slower::Times),
    }
}

/// Bytes a second, such as `20M` or `20M/s`.
fn scrub_rate(text: &str) -> Result<u64, String> {
    match parse_bytes(text.strip_suffix("/s").unwrap_or(text)) {
        Ok(0) => Err("nothing would ever be read: write a rate such as 20M".to_owned()),
        outcome => outcome.map_err(|error| error.to_string()),
    }
}
