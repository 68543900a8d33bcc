//! The command line of `drivelab restore`.

use clap::Args;

/// What `restore --help` opens with.
pub(super) const ABOUT: &str = "\
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
