//! Which device it is: what a later opening is compared with, since a name is only where it was
//! found.

use super::{inode::Inode, loops::Backing};
use crate::{identify::identity_of, roots::Roots, sysfs::BlockDevice};
use block::display_bytes;
use record::DriveIdentity;

/// A block device as it was judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Its number.
    pub(super) number: Inode,
    /// Its size.
    pub(super) bytes: u64,
    /// The drive's serial.
    pub(super) serial: Option<String>,
    /// The drive's world-wide name.
    pub(super) wwn: Option<String>,
    /// Goes up with every medium and every attachment (Documentation/ABI/testing/sysfs-block, Linux
    /// 5.15).
    pub(super) sequence: Option<u64>,
    /// What is behind a loop device.
    pub(super) backing: Option<Inode>,
}

impl Identity {
    /// Of the device, or of the disk that a partition is on, as the kernel has it now.
    pub(super) fn of(device: &BlockDevice, roots: &Roots) -> Self {
        let disk = device.parent().unwrap_or_else(|| device.clone());
        let DriveIdentity { serial, wwn, .. } = identity_of(&disk, roots);
        Self {
            number: Inode::Device(device.number),
            bytes: device.bytes(),
            serial,
            wwn,
            sequence: disk.integer("diskseq"),
            backing: Backing::of(device, roots).and_then(|backing| backing.inode),
        }
    }

    /// What tells `now` from this one, a clause; `None` where nothing does.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let texts = [("serial", &self.serial, &now.serial), ("WWN", &self.wwn, &now.wwn)];
        if let Some((what, was, is)) = texts.into_iter().find(|(_, was, is)| was != is) {
            return Some(format!("its {what} was {}, and is {} now", word(was), word(is)));
        }
        if self.bytes != now.bytes {
            let [was, is] = [self.bytes, now.bytes].map(display_bytes);
            return Some(format!("it had {was}, and has {is} now"));
        }
        if self.number != now.number || self.backing != now.backing {
            return Some("another device has its name now".to_owned());
        }
        (self.sequence != now.sequence)
            .then(|| "it was taken away and attached again since".to_owned())
    }
}
