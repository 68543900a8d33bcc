//! What is there while one configuration is measured: a block device, and the processes behind it.

use crate::{error::MatrixError, journal::Outside};
use host::{
    Consent, HostError, Ledger, Permit, Roots,
    guard::{self, Identity},
    judge_lending,
    ledger::Mark,
};
use std::{path::PathBuf, process::Child};
use target::Permission;

/// What is there while one configuration is measured.
pub struct Attached {
    /// The block device.
    pub device: PathBuf,
    /// Which it is: what has its name later is compared with it.
    pub(crate) identity: Identity,
    /// Where its file system's journal is to lie, if not inside, and which device that is.
    pub(crate) journal: Option<(Outside, Identity)>,
    /// Processes of ours behind it.
    pub(crate) children: Vec<Child>,
}

impl Attached {
    /// What is at `device` now: a loop device that drivelab has just attached itself.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn new(device: PathBuf, children: Vec<Child>) -> Result<Self, MatrixError> {
        let identity = guard::identity_at(&device, &Roots::default())?;
        Ok(Self { device, identity, journal: None, children })
    }

    /// Leave to overwrite this device, and no other that has its name by then.
    pub fn permission(&self) -> Permission {
        Permission { consent: Consent::to(self.identity.clone()), reads_only: false }
    }

    /// The second device.
    pub(crate) fn journal(&self) -> Option<&Outside> {
        self.journal.as_ref().map(|(outside, _)| outside)
    }

    /// Refuses to go on by name where that leads to another device by now.
    ///
    /// # Errors
    /// It does.
    pub fn check(&self) -> Result<(), MatrixError> {
        Ok(self.checking()()?)
    }

    /// What [`check`](Self::check) does, for later.
    pub fn checking(&self) -> impl Fn() -> Result<(), HostError> + 'static {
        let mut known = vec![(self.device.clone(), self.identity.clone())];
        known.extend(self.journal.iter().map(|(at, which)| (at.device.clone(), which.clone())));
        move || {
            let mut known = known.iter();
            known.try_for_each(|(at, which)| Ok(guard::check(at, which, &Roots::default())?))
        }
    }

    /// The device held exclusively, to be written.
    ///
    /// # Errors
    /// Somebody else holds it.
    pub fn permit(&self) -> Result<Permit, MatrixError> {
        let cleared = judge_lending(&self.device, &Roots::default())?;
        Ok(cleared.confirm(&Consent::to(self.identity.clone()))?)
    }

    /// Takes it away, and waits for the processes behind it.
    ///
    /// # Errors
    /// Something is left changed.
    pub fn detach(mut self, ledger: &mut Ledger, mark: Mark) -> Result<(), MatrixError> {
        let failures = ledger.put_back_to(mark);
        for child in &mut self.children {
            let _ = child.wait();
        }
        match failures.first() {
            None => Ok(()),
            Some(failure) => Err(MatrixError::LeftChanged(failure.to_string())),
        }
    }
}
