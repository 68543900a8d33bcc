//! What is readable of a damaged volume, copied to a new file.

use super::{HeldDrive, Use};
use block::IoError;
use engine::{Clock, raw::sync_directory_of};
use flash::{
    VolumeId,
    tools::{Plan, Progress, RescueReport, ToolError, survey},
};
use host::{HostError, directory::remove_made, missing::refuse_in_kernels_place};
use lab::target::TargetError;
use std::{
    fs::{File, OpenOptions},
    io,
    ops::ControlFlow,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A copy that was made.
pub struct Rescued {
    /// Its size.
    pub exported_bytes: u64,
    /// What was found, and what came of it.
    pub report: RescueReport,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    /// The watcher said so.
    #[error("it was stopped")]
    Stopped,
    /// The damaged volume: nothing left of it, or its drive failed.
    #[error("{}: {error}", path.display())]
    Volume {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        error: ToolError,
    },
    /// Its drive cannot be opened.
    #[error(transparent)]
    Drive(#[from] TargetError),
    /// The copy is where no files are.
    #[error(transparent)]
    Place(#[from] HostError),
    /// The copy cannot be made.
    #[error("{what}")]
    Image {
        /// What failed, with the cure.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// The copy cannot be written.
    #[error("cannot write {}: {error}; it was removed again", path.display())]
    Write {
        /// The copy.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl RescueError {
    /// Whether it is about the copy, and not about the volume.
    pub fn is_of_copy(&self) -> bool {
        matches!(self, Self::Place(_) | Self::Image { .. } | Self::Write { .. })
    }
}

/// Copies it to `to`, which must not exist; the volume's drive is never written. A copy that came
/// to no end is removed.
///
/// # Errors
/// Nothing is left of the volume; the copy cannot be made or written; a drive failed.
pub fn rescue(
    path: &Path,
    to: &Path,
    plan: &Plan,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Rescued, RescueError> {
    let of_tool = |error| match error {
        ToolError::Stopped => RescueError::Stopped,
        error => RescueError::Volume { path: path.to_owned(), error },
    };
    let mut drive = HeldDrive::open(path, Use::Read, Clock::start())?;
    let found = survey(&mut *drive.engine, plan, watch).map_err(of_tool)?;
    let exported_bytes = found.exported_bytes();
    let file = make(to, exported_bytes)?;
    let mut failed = None;
    let mut put = |offset: u64, data: &[u8]| {
        file.write_all_at(data, offset).map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            failed = Some(error);
            IoError::Os(errno)
        })
    };
    let copied = found.copy_out(&mut *drive.engine, &mut put, watch);
    let outcome = match failed {
        Some(error) => Err(RescueError::Write { path: to.to_owned(), error }),
        None => copied.map_err(of_tool),
    };
    let report = outcome.inspect_err(|_| {
        // The error that counts is the one that is returned.
        let _ = remove_made(to, &file);
    })?;
    let flushed = file.sync_all().and_then(|()| sync_directory_of(to));
    flushed.map_err(|source| image(format!("cannot flush {}", to.display()), source))?;
    Ok(Rescued { exported_bytes, report })
}

/// A volume's id as it is printed: 32 hexadecimal digits.
pub fn parse_volume_id(text: &str) -> Option<VolumeId> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).step_by(2).map(byte).collect();
    bytes.filter(|_| text.len() == 32)?.try_into().ok().map(VolumeId)
}

/// A new file, with holes where the volume has no data.
fn make(path: &Path, bytes: u64) -> Result<File, RescueError> {
    refuse_in_kernels_place(path)?;
    let shown = path.display();
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = made.map_err(|source| {
        image(format!("cannot make {shown}; name a file that does not exist yet"), source)
    })?;
    let sized = file.set_len(bytes);
    sized.map_err(|source| image(format!("cannot size {shown}"), source))?;
    Ok(file)
}

fn image(what: String, source: io::Error) -> RescueError {
    RescueError::Image { what, source }
}
