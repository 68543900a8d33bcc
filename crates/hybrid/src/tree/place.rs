//! What of a file system lies on flash, what on the disks: as STACKs, and in words.

use crate::Mode;
use block::display_bytes;
use target::stack::{Part, Stack};

/// Where the parts of a file system lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// All of it on the disks.
    Disks,
    /// All of it on one of this drive.
    Flash {
        /// The drive.
        ssd: String,
    },
    /// All of it on the disks, with one of this drive in front as a cache of blocks.
    Cache {
        /// The drive.
        ssd: String,
        /// Bytes of it.
        size_bytes: u64,
        /// What becomes of a write.
        mode: Mode,
    },
    /// The journal, or XFS' log, on one of this drive.
    Journal {
        /// The drive.
        ssd: String,
    },
    /// Inodes, directories, maps and the journal on one of this drive.
    Metadata {
        /// The drive.
        ssd: String,
    },
    /// The same, and the data of files of at most so many bytes.
    SmallFiles {
        /// The drive.
        ssd: String,
        /// Bytes of a small file, at most.
        small_bytes: u64,
    },
}

impl Place {
    /// In a table.
    pub fn name(&self) -> String {
        match self {
            Self::Disks => "disks alone".to_owned(),
            Self::Flash { ssd } => format!("{ssd} alone"),
            Self::Cache { ssd, size_bytes, mode } => {
                format!("{ssd} {} {}", display_bytes(*size_bytes), mode.name())
            }
            Self::Journal { ssd } => format!("{ssd} journal"),
            Self::Metadata { ssd } => format!("{ssd} metadata"),
            Self::SmallFiles { ssd, .. } => format!("{ssd} metadata, small"),
        }
    }

    /// In a word or two.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Disks => "disks alone",
            Self::Flash { .. } => "flash alone",
            Self::Cache { mode, .. } => mode.name(),
            Self::Journal { .. } => "journal",
            Self::Metadata { .. } => "metadata",
            Self::SmallFiles { .. } => "metadata, small files",
        }
    }

    /// The flash drive that stands beside disks.
    pub fn beside(&self) -> Option<&str> {
        match self {
            Self::Cache { ssd, .. }
            | Self::Journal { ssd }
            | Self::Metadata { ssd }
            | Self::SmallFiles { ssd, .. } => Some(ssd),
            Self::Disks | Self::Flash { .. } => None,
        }
    }

    /// As it can be modelled: `file_system` on the disks, on flash, or on both.
    pub(super) fn stack(&self, disks: &Stack, file_system: &Part, block_bytes: u64) -> Stack {
        let mut top = file_system.clone();
        let mut set = |key: &str, value: String| top.settings.push((key.to_owned(), value));
        let mut stack = disks.clone();
        match self {
            Self::Disks => {}
            Self::Flash { ssd } => stack = ssd.parse().expect("a drive's name is a STACK"),
            Self::Cache { ssd, size_bytes, mode } => {
                let settings = [
                    ("ssd", ssd.clone()),
                    ("size", size_bytes.to_string()),
                    ("mode", mode.name().to_owned()),
                    ("block", block_bytes.to_string()),
                    // A journal is written in order, and would pass by as a stream.
                    ("bypass-seq", "0".to_owned()),
                ];
                stack = crate::way::with_layer(disks, "cache", &settings);
            }
            Self::Journal { ssd } => {
                let key = if file_system.name == "xfs" { "log-on" } else { "journal-on" };
                set(key, ssd.clone());
            }
            Self::Metadata { ssd } => set("metadata-on", ssd.clone()),
            Self::SmallFiles { ssd, small_bytes } => {
                set("metadata-on", ssd.clone());
                set("small-files-on", ssd.clone());
                set("small", small_bytes.to_string());
            }
        }
        stack.layers.push(top);
        stack
    }

    /// What is there after a power cut; all of them keep what was flushed
    /// (docs/reference/cache-layers.md).
    pub fn after_power_cut(&self) -> &'static str {
        match self {
            Self::Cache { mode, .. } => mode.after_power_cut(),
            _ => "what was flushed",
        }
    }

    /// What is there when the flash drive has died.
    pub fn without_ssd(&self) -> &'static str {
        match self {
            Self::Disks => "nothing is lost",
            Self::Cache { mode, .. } => mode.without_ssd(),
            Self::Journal { .. } => "what only the journal had is lost, and a check is due",
            Self::Flash { .. } | Self::Metadata { .. } | Self::SmallFiles { .. } => "all is lost",
        }
    }
}
