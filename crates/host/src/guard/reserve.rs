//! A device that was agreed to, while programs work on it that must open it themselves: mkfs,
//! mount, wipefs.
//!
//! An exclusive hold would keep them out. What is kept instead is a plain descriptor, so that the
//! kernel gives the device's name and number to no other, and what the device was, which is
//! compared before its name is handed out.

use super::{
    Cleared, Consent, Held, Permit, Reason, Refusal, identity::Identity, judge_destruction,
};
use crate::{roots::Roots, sysfs::BlockDevice};
use engine::{Access, Caching, OpenError, Syncing, reopen};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// The right to have a device overwritten by programs, one after the other, for as long as it is
/// the same device.
#[derive(Debug)]
pub struct Reserved {
    path: PathBuf,
    identity: Identity,
    _file: File,
    _below: Vec<File>,
}

impl Permit {
    /// For reading, so that closing it tells nobody of a change, and unclaimed.
    fn reopened(&self) -> Result<File, OpenError> {
        let (access, caching, syncing) = (Access::Read, Caching::Buffered, Syncing::None);
        reopen(&self.held.file, &self.held.path, access, caching, syncing)
    }

    /// Gives the exclusive hold up, and keeps the device.
    ///
    /// # Errors
    /// [`Reason::NotABlockDevice`] of a file, or the system's.
    pub fn reserve(self) -> Result<Reserved, Refusal> {
        let path = self.path().to_owned();
        let refuse = |reason| Refusal { path: path.clone(), reason };
        let file = self
            .reopened()
            .map_err(|error| refuse(Reason::Unreadable { error: error.to_string() }))?;
        let Held { identity, below, .. } = self.held;
        let identity = identity.ok_or_else(|| refuse(Reason::NotABlockDevice))?;
        Ok(Reserved { path, identity, _file: file, _below: below })
    }
}

impl Reserved {
    /// The device's path, for programs. [`check`](Self::check) comes first, each time.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which device it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Consent to this very device.
    pub fn consent(&self) -> Consent {
        Consent::to(self.identity.clone())
    }

    /// Whether its name still leads to it.
    ///
    /// # Errors
    /// [`Reason::Exchanged`] with what is different.
    pub fn check(&self, roots: &Roots) -> Result<(), Refusal> {
        check(&self.path, &self.identity, roots)
    }

    /// Judges it anew and holds it exclusively: it must be as empty as before, and the same.
    ///
    /// # Errors
    /// What is on it, who uses it, or what is different.
    pub fn judge_again(&self, roots: &Roots) -> Result<Permit, Refusal> {
        judge_destruction(&self.path, roots)
            .and_then(|cleared: Cleared| cleared.confirm(&self.consent()))
            .map_err(gone)
    }
}

/// A device that was there is not misspelt.
fn gone(refusal: Refusal) -> Refusal {
    match refusal.reason {
        Reason::Missing => {
            let difference = "none has its name any more".to_owned();
            Refusal { reason: Reason::Exchanged { difference }, ..refusal }
        }
        _ => refusal,
    }
}

/// Which device is at `path`; what it holds is not looked at.
///
/// # Errors
/// When there is none, or /sys says nothing about it.
pub fn identity_at(path: &Path, roots: &Roots) -> Result<Identity, Refusal> {
    let refuse = |reason| Refusal { path: path.to_owned(), reason };
    let facts = std::fs::metadata(path).map_err(|error| refuse(super::unreadable(error)))?;
    let number = super::number_of(&facts).ok_or_else(|| refuse(Reason::NotABlockDevice))?;
    let device = BlockDevice::numbered(number, roots).ok_or_else(|| refuse(Reason::Unknown))?;
    Ok(Identity::of(&device, roots))
}

/// Whether `path` leads to the device that was `known`.
///
/// # Errors
/// [`Reason::Exchanged`] with what is different.
pub fn check(path: &Path, known: &Identity, roots: &Roots) -> Result<(), Refusal> {
    match known.difference(&identity_at(path, roots).map_err(gone)?) {
        None => Ok(()),
        Some(difference) => {
            Err(Refusal { path: path.to_owned(), reason: Reason::Exchanged { difference } })
        }
    }
}
