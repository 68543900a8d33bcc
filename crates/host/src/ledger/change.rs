//! What drivelab changes on a machine, one kind a variant. docs/reference/ledger-format.md lists
//! the keys.

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
        #[serde(with = "exact_path")]
        path: PathBuf,
    },
    /// An empty directory is made.
    Directory {
        /// Where.
        #[serde(with = "exact_path")]
        path: PathBuf,
    },
    /// A loop device is attached.
    Loop {
        /// The file behind it.
        #[serde(with = "exact_path")]
        file: PathBuf,
    },
    /// A file system is mounted.
    Mount {
        /// The device, or whatever the file system calls its source.
        source: String,
        /// The directory.
        #[serde(with = "exact_path")]
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

/// A path as its text; one that is no text as `{"exact": ...}`, in [`record::exact`]'s form.
mod exact_path {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::path::{Path, PathBuf};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(PathBuf),
        Bytes { exact: String },
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
        let exact = record::exact(path).map(|exact| Written::Bytes { exact });
        exact.unwrap_or_else(|| Written::Text(path.to_owned())).serialize(out)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Written::deserialize(from)? {
            Written::Text(path) => path,
            Written::Bytes { exact } => record::from_exact(&exact),
        })
    }
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
