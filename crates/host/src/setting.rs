//! Settings of a block device: the drive's own write cache, and the kernel's queue above it.
//!
//! The two are told apart with care. A drive's *write cache* is switched on the drive, and what it
//! costs is a matter of the drive. The kernel's `queue/write_cache` tells the kernel whether to
//! send flushes at all; "write through" there leaves the drive's cache as it is and removes what
//! makes it safe (Documentation/block/writeback_cache_control.rst).

mod write_cache;

pub use write_cache::{Switch, WriteCache};
pub(crate) use write_cache::{is_ata, refuse_shared, said};

use crate::{
    error::{ErrorKind, HostError},
    roots::{Roots, read_text},
};
use serde::{Deserialize, Serialize};
use std::{fmt, fs};

/// A setting of the kernel's block queue, in `/sys/block/NAME/queue`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// The input/output scheduler.
    Scheduler,
    /// Read-ahead, KiB.
    ReadAheadKb,
    /// Whether the kernel sends flushes; not the drive's cache.
    WriteCache,
}

impl Attribute {
    /// The file's name.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::ReadAheadKb => "read_ahead_kb",
            Self::WriteCache => "write_cache",
        }
    }

    /// What the setting is now.
    ///
    /// # Errors
    /// When the device has no such setting.
    pub fn read(self, device: &str, roots: &Roots) -> Result<String, HostError> {
        let path = self.path(device, roots);
        let text = read_text(&path).ok_or_else(|| {
            let sentence = format!("{device} has no setting {self}: leave it out");
            HostError::new(ErrorKind::NotFound, sentence)
        })?;
        Ok(chosen(&text).to_owned())
    }

    /// What the kernel would take; empty where any number goes.
    pub fn choices(self, device: &str, roots: &Roots) -> Vec<String> {
        match self {
            Self::ReadAheadKb => Vec::new(),
            Self::WriteCache => vec!["write back".to_owned(), "write through".to_owned()],
            Self::Scheduler => read_text(&self.path(device, roots))
                .unwrap_or_default()
                .split_whitespace()
                .map(|word| word.trim_matches(['[', ']']).to_owned())
                .collect(),
        }
    }

    /// Changes the setting, and asks whether the kernel did.
    ///
    /// # Errors
    /// When the kernel refuses, or took something else.
    pub fn write(self, device: &str, wanted: &str, roots: &Roots) -> Result<(), HostError> {
        let path = self.path(device, roots);
        fs::write(&path, wanted).map_err(|error| HostError::io("write", &path, error))?;
        let now = self.read(device, roots)?;
        if now == wanted {
            return Ok(());
        }
        let sentence = format!("the kernel set {self} of {device} to {now}, not to {wanted}");
        Err(HostError::new(ErrorKind::Io, sentence))
    }

    fn path(self, device: &str, roots: &Roots) -> std::path::PathBuf {
        roots.sys.join("block").join(device).join("queue").join(self.file_name())
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.file_name())
    }
}

/// The word in brackets of `none [mq-deadline] kyber`, else the whole text.
fn chosen(text: &str) -> &str {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_queue_setting_is_read_chosen_from_and_written() {
        let top = tempfile::tempdir().expect("a directory");
        let roots = Roots::below(top.path());
        let queue = roots.sys.join("block/sdb/queue");
        fs::create_dir_all(&queue).expect("a queue");
        fs::write(queue.join("scheduler"), "none [mq-deadline] kyber\n").expect("a setting");
        fs::write(queue.join("read_ahead_kb"), "128\n").expect("a setting");
        let scheduler = Attribute::Scheduler;
        assert_eq!(scheduler.read("sdb", &roots).expect("it is there"), "mq-deadline");
        assert_eq!(scheduler.choices("sdb", &roots), ["none", "mq-deadline", "kyber"]);
        Attribute::ReadAheadKb.write("sdb", "4096", &roots).expect("it is taken");
        assert_eq!(Attribute::ReadAheadKb.read("sdb", &roots).expect("it is there"), "4096");
        let error = Attribute::WriteCache.read("sdb", &roots).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    proptest! {
        #[test]
        fn no_text_of_the_kernel_panics(text in "\\PC{0,80}") {
            let _ = chosen(&text);
        }
    }
}
