//! A volume that is made, or nothing of it left.

use super::{ManagedVolume, Site};
use block::Rng;
use engine::Clock;
use flash::{Shape, VolumeId};
use host::guard::Inode;
use lab::target::TargetError;
use std::fs;

/// Makes an empty volume of that shape, and stops it. A file that was made for it is removed when
/// that fails.
///
/// # Errors
/// No room, somebody was quicker, or the drive failed.
pub fn make(site: Site, shape: Shape) -> Result<(), TargetError> {
    let new_file = site.new_file().map(ToOwned::to_owned);
    let drive = site.take(Clock::start())?;
    let path = drive.path.clone();
    let made = new_file.map(|path| (drive.lock.inode(), path));
    let created = ManagedVolume::create(drive, shape, volume_id());
    let stopped = created.and_then(|volume| {
        volume.stop().map_err(|error| {
            TargetError::refused(format!("the drive failed as it was written: {error:?}"))
        })
    });
    stopped.map_err(|error| {
        // What somebody else has put there meanwhile is theirs.
        if let Some((inode, path)) = made
            && inode == Inode::at(&path)
        {
            let _ = fs::remove_file(path);
        }
        TargetError { message: format!("{}: {error}", path.display()), ..error }
    })
}

fn volume_id() -> VolumeId {
    let mut id = [0; 16];
    Rng::new(host::entropy(), 0xf1a5).fill(&mut id);
    VolumeId(id)
}
