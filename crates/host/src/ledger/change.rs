//! What drivelab changes on a machine, one kind a variant. docs/ledger-format.md lists the keys.

use super::DriveMark;
use crate::setting::{Attribute, Switch, WriteCache};
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};

/// One change, as a ledger keeps it: enough to put back what was before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// A file is made.
    File {
        /// Where.
        path: PathBuf,
    },
    /// An empty directory is made.
    Directory {
        /// Where.
        path: PathBuf,
    },
    /// A loop device is attached.
    Loop {
        /// The file behind it.
        file: PathBuf,
    },
    /// A file system is mounted.
    Mount {
        /// The device, or whatever the file system calls its source.
        source: String,
        /// The directory.
        at: PathBuf,
        /// `ext4`, `xfs`, `fuse`...
        fs: String,
        /// As mount(8) takes them after `-o`; may be empty.
        options: String,
    },
    /// A drive's volatile write cache is switched by the drive's own switch.
    WriteCache {
        /// The device, such as `/dev/sdb`.
        device: PathBuf,
        /// How the drive is told.
        switch: Switch,
        /// Before.
        was: WriteCache,
        /// After.
        now: WriteCache,
        /// What the kernel believed before, `queue/write_cache`: switching the drive may change it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
        /// Which drive it was.
        #[serde(default, skip_serializing_if = "DriveMark::is_empty")]
        drive: DriveMark,
    },
    /// A setting of the kernel's block queue.
    Queue {
        /// The kernel's name: `sdb`.
        device: String,
        /// Which setting.
        attribute: Attribute,
        /// Before.
        was: String,
        /// After.
        now: String,
        /// Which drive it was.
        #[serde(default, skip_serializing_if = "DriveMark::is_empty")]
        drive: DriveMark,
    },
    /// A process is started that outlives a killed drivelab.
    Process {
        /// Its program's file name.
        program: String,
        /// One of its arguments, found with no other process of that program.
        mark: String,
    },
}

impl fmt::Display for Change {
    /// What is there because of the change: `ext4 from /dev/loop0 at /run/x`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(formatter, "file {}", path.display()),
            Self::Directory { path } => write!(formatter, "directory {}", path.display()),
            Self::Loop { file } => write!(formatter, "loop device over {}", file.display()),
            Self::Mount { source, at, fs, .. } => {
                write!(formatter, "{fs} from {source} at {}", at.display())
            }
            Self::WriteCache { device, was, now, .. } => {
                write!(formatter, "write cache of {}: {now}, was {was}", device.display())
            }
            Self::Queue { device, attribute, was, now, .. } => {
                write!(formatter, "{attribute} of {device}: {now}, was {was}")
            }
            Self::Process { program, mark } => write!(formatter, "process {program} of {mark}"),
        }
    }
}
