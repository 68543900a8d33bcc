//! What stands in the way of a matrix.

use crate::axis::{Axis, BadAxis};
use host::{HostError, guard};
use lab::{plan::PlanError, runner::RunError, target::TargetError};
use record::StoreError;
use std::{fmt, io, path::PathBuf};
use target::{BadTarget, catalog::BadCatalog, stack::BadStack};

/// Why a matrix cannot be had, or ended.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// What was asked for cannot be had here; nothing was touched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A level is none, or is gone from the kernel.
    #[error(transparent)]
    Axis(#[from] BadAxis),
    /// A cell could not be measured, or the user stopped it.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The machine or the device.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The guard holds a device back.
    #[error(transparent)]
    Guard(#[from] guard::Refusal),
    /// A method has no plan for the device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The target of a configuration.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A TARGET's text.
    #[error(transparent)]
    Text(#[from] BadTarget),
    /// A STACK's text.
    #[error(transparent)]
    Stack(#[from] BadStack),
    /// The drive catalog.
    #[error(transparent)]
    Catalog(#[from] BadCatalog),
    /// The history.
    #[error("the record could not be kept: {0}")]
    Store(#[from] StoreError),
    /// A file or a device of the matrix's own.
    #[error("{what}: {source}")]
    Io {
        /// What failed, in words.
        what: String,
        /// How.
        source: io::Error,
    },
    /// The device is not there any more, in a sentence.
    #[error("{0}")]
    Gone(String),
    /// A process of ours did not do its part.
    #[error("{0}")]
    Process(String),
    /// What was changed could not be put back.
    #[error("{0}; then `drivelab restore`")]
    LeftChanged(String),
    /// One of these, and under which configuration.
    #[error("{place}: {error}")]
    Under {
        /// The configuration.
        place: String,
        /// What happened there.
        error: Box<MatrixError>,
    },
}

impl MatrixError {
    /// Whether the user stopped it.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Run(RunError::Interrupted))
    }

    /// Whether it says that the device is not there any more.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Gone(_) => true,
            Self::Under { error, .. } => error.is_gone(),
            _ => false,
        }
    }
}

/// What cannot be had here, in words that leave the option to the reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Which option is meant, and what may be done about it.
    pub kind: RefusalKind,
    /// What is wrong.
    pub text: String,
}

/// What a refusal is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// The directory of the scratch file; the text begins with its name.
    Directory,
    /// That directory is none that a file can be made in.
    KernelsDirectory,
    /// The size of that scratch file; the text begins with it.
    FileBytes,
    /// What was named is no block device: a directory or a file could be used another way.
    NoDevice(NoDevice),
    /// It needs root.
    NotRoot,
    /// A level of this axis cannot be had; the text begins with the level.
    Level(Axis),
    /// This axis cannot be had on a loop device over a file.
    NoAxisOfFile(Axis),
    /// This axis cannot be had on this device.
    NoAxis(Axis),
    /// A program that checks what a power cut left is missing.
    NoChecker,
    /// The device is too small for a file system.
    SmallForFileSystem(&'static str),
    /// The device is too small for the tested area.
    SmallForArea,
    /// What was to be a pivot is none; the text begins with it.
    Pivot,
    /// A method runs in rounds of its own; the text begins with its name.
    Method,
    /// A method has no plan here.
    NoPlan,
    /// It writes more than the whole drive once.
    Wears,
}

/// What was named in the place of a block device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoDevice {
    /// This directory, as it was written.
    Directory(PathBuf),
    /// A file.
    File,
    /// Nothing is there.
    Nothing,
    /// Another kind of target.
    Other,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            RefusalKind::Level(axis) => write!(formatter, "{axis} {}", self.text),
            _ => formatter.write_str(&self.text),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, text: String) -> Self {
        Self { kind, text }
    }
}

/// A failed system call in words.
pub(crate) trait InWords<T> {
    fn in_words(self, what: &str) -> Result<T, MatrixError>;
}

impl<T, E: Into<io::Error>> InWords<T> for Result<T, E> {
    fn in_words(self, what: &str) -> Result<T, MatrixError> {
        self.map_err(|error| MatrixError::Io { what: what.to_owned(), source: error.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was looked for in the sentence.
    #[test]
    fn a_device_that_is_gone_is_known_under_its_configuration_too() {
        let under = |error| {
            let place = "fs=raw".to_owned();
            MatrixError::Under { place, error: Box::new(error) }
        };
        let gone = under(MatrixError::Gone("/dev/sdx is gone".to_owned()));
        assert!(gone.is_gone());
        assert_eq!(gone.to_string(), "fs=raw: /dev/sdx is gone");
        assert!(!under(MatrixError::Process("/dev/sdx is gone".to_owned())).is_gone());
    }
}
