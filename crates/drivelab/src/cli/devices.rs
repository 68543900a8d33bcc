//! The command line of `drivelab devices`.

use clap::Args;

/// What `devices --help` opens with.
pub(super) const ABOUT: &str = "\
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
