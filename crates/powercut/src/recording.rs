//! The log of what a program's file system sent to the drives, while a round lasts.
//!
//! The server writes it; its length, when a promise is heard here, says what the promise may stand
//! on: all that was answered by then is in the file, and the promise counts from there on.

use crate::error::PowerCutError;
use host::{Directory, Ledger, ledger::Change};
use std::{
    ffi::OsString,
    fs,
    io::{Error, ErrorKind},
    path::{Path, PathBuf},
};
use target::write_log::{self, WriteLogError};

/// A log that is being written.
pub struct Recording {
    /// Where it is written: in the ledger, so that one that is interrupted leaves nothing.
    partial: PathBuf,
    whole: PathBuf,
}

impl Recording {
    /// Refuses a file that is there already, or cannot be named to the server.
    pub fn check(path: &Path) -> Result<(), PowerCutError> {
        if path.symlink_metadata().is_ok() {
            let exists = Error::new(
                ErrorKind::AlreadyExists,
                "it is there already: name another file, or remove it",
            );
            return Err(failed(path, exists.into()));
        }
        if path.to_str().is_none() || path.file_name().is_none() {
            let error = Error::new(ErrorKind::InvalidInput, "it is no name of a file in text");
            return Err(failed(path, error.into()));
        }
        Ok(())
    }

    pub fn begin(ledger: &mut Ledger, path: &Path) -> Result<Self, PowerCutError> {
        Self::check(path)?;
        let whole = std::path::absolute(path).map_err(|error| failed(path, error.into()))?;
        let parent = whole.parent().unwrap_or(Path::new("/"));
        // The ledger names files by a way that no link bends.
        let parent = parent.canonicalize().map_err(|error| failed(path, error.into()))?;
        Directory::open_canonical(&parent)?;
        let name = whole.file_name().expect("it was checked");
        let mut beside = OsString::from(name);
        beside.push(".partial");
        let (partial, whole) = (parent.join(beside), parent.join(name));
        if partial.symlink_metadata().is_ok() {
            let error = Error::new(
                ErrorKind::AlreadyExists,
                "it is there already, a recording that has not ended: remove it",
            );
            return Err(failed(&partial, error.into()));
        }
        ledger.make(Change::File { path: partial.clone() }, || Ok(()))?;
        Ok(Self { partial, whole })
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// How long it is now.
    pub fn bytes(&self) -> u64 {
        self.partial.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Adds the promises, each with the length of the log when it was heard; those behind were
    /// heard after the power went. Then it takes its name.
    pub fn finish(
        self,
        promised: &[String],
        log_bytes: &[u64],
        command: &[String],
    ) -> Result<(), PowerCutError> {
        let whole = self.bytes();
        let marks = log_bytes.iter().copied().chain(std::iter::repeat(whole));
        let promises: Vec<_> = marks.zip(promised.iter().cloned()).collect();
        write_log::finish(&self.partial, &promises, command).map_err(|error| match error {
            WriteLogError::NoEnd => failed(
                &self.whole,
                Error::other(
                    "it could not be written whole: make room, or record for a shorter time",
                )
                .into(),
            ),
            error => failed(&self.whole, error),
        })?;
        fs::rename(&self.partial, &self.whole).map_err(|error| failed(&self.whole, error.into()))
    }
}

/// What went wrong with which file.
pub fn failed(path: &Path, source: WriteLogError) -> PowerCutError {
    PowerCutError::Log { path: path.display().to_string(), source }
}
