//! What a living ledger holds of its changes by descriptor, to put those back that others may have
//! moved meanwhile.
//!
//! A killed process holds nothing any more: `restore` goes by the paths in the ledger, through no
//! link.

use super::put_back::{PATIENCE, PAUSE, detaching, in_use};
use crate::{
    directory::{Directory, GivenBack},
    error::HostError,
};
use engine::raw::{LoopDevice, loop_backing};
use std::{ffi::OsString, fs::File, sync::Arc, thread, time::Instant};

/// A change that is held.
#[derive(Debug)]
pub(super) enum Held {
    /// A file, and where it was made.
    File { directory: Directory, name: OsString, file: Arc<File> },
    /// A directory, and where it was made.
    Directory { parent: Directory, name: OsString, directory: Directory },
    /// A loop device over a file of ours.
    Loop(LoopDevice),
}

impl Held {
    /// Puts it back, or finds that there is nothing to do.
    ///
    /// # Errors
    /// The system's; that somebody uses it.
    pub(super) fn put_back(self, log: &mut dyn FnMut(&str)) -> Result<(), HostError> {
        match self {
            Self::File { directory, name, file } => {
                let path = directory.path().join(&name);
                let failed = |error| HostError::io("remove", &path, error);
                match directory.give_back(&name, &file).map_err(failed)? {
                    GivenBack::Removed => log(&format!("rm {}", path.display())),
                    GivenBack::Emptied => {
                        log(&format!("truncate --size 0 what was {}", path.display()));
                    }
                    GivenBack::AlreadyGone => {}
                }
                Ok(())
            }
            Self::Directory { parent, name, directory } => {
                let path = parent.path().join(&name);
                let removed = parent.remove_directory(&name, &directory);
                if removed.map_err(|error| HostError::io("remove", &path, error))? {
                    log(&format!("rmdir {}", path.display()));
                }
                Ok(())
            }
            Self::Loop(device) => detach(device, log),
        }
    }
}

fn detach(device: LoopDevice, log: &mut dyn FnMut(&str)) -> Result<(), HostError> {
    let path = device.path().to_owned();
    log(&detaching(&path).to_string());
    let failed = |error| HostError::io("detach", &path, error);
    let ours = loop_backing(device.device()).ok().flatten();
    device.detach().map_err(failed)?;
    // The kernel lets go of it when the last opener has closed it.
    let deadline = Instant::now() + PATIENCE;
    loop {
        // A free device may be gone altogether; of a file whose server is gone the kernel cannot
        // tell.
        let is_ours = File::open(&path).is_ok_and(|device| match loop_backing(&device) {
            Ok(found) => found.is_some() && found == ours,
            Err(_) => true,
        });
        if !is_ours {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(in_use(&path));
        }
        thread::sleep(PAUSE);
    }
}
