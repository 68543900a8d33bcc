//! Block devices as `drivelab devices` tells of them; docs/reference/devices-format.md.

use crate::BlockLayer;
use serde::Serialize;
use std::path::PathBuf;

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Survey {
    /// Of this document.
    pub format: u32,
    /// Drives first, each followed by its partitions; then what is made of them.
    pub devices: Vec<Device>,
    /// What this user could not see, a sentence each.
    pub unseen: Vec<String>,
}

/// One block device.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// Its node.
    pub path: PathBuf,
    /// As a record has it: kind, size, queue, drive.
    pub layer: BlockLayer,
    /// What its owner called it: of a mapping its name.
    pub label: Option<String>,
    /// The word that `--destroy` takes; none where it cannot be told from another drive.
    pub destroy: Option<String>,
    /// What the word is: `serial`, `WWN`, `name`...
    pub destroy_is: Option<String>,
    /// Other words that are taken.
    pub destroy_also: Vec<String>,
    /// Formats recognised on it; none where it could not be read.
    pub holds: Option<Vec<String>>,
    /// Who uses it, a clause each.
    pub uses: Vec<String>,
    /// What an array is about beside answering, a clause each: `resync, 34 % done`.
    pub condition: Vec<String>,
    /// Whether cells that read would run.
    pub reads: bool,
    /// Why not, with the cure.
    pub reads_refused: Option<String>,
    /// Whether cells that write would run, with that word.
    pub writes: bool,
    /// Why not, with the cure.
    pub writes_refused: Option<String>,
    /// The same for lists, without the cure.
    #[serde(skip)]
    pub against: Option<Against>,
    /// What it directly stands on.
    pub below: Vec<String>,
    /// What directly stands on it; its partitions, too.
    pub above: Vec<String>,
}

/// What speaks against writing to a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Against {
    /// What sort of reason.
    pub kind: AgainstKind,
    /// What was found, a clause.
    pub found: String,
}

/// Whether a list that tells what is on a device and who uses it has told the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgainstKind {
    /// Data that was recognised: [`Device::holds`] has them, unless they are on a part of it.
    Data,
    /// A use: one of [`Device::uses`].
    Use,
    /// It cannot be looked at: [`Survey::unseen`] says so where the user is not allowed to.
    Unseen,
    /// Something else.
    Other,
}
