//! Two names of one drive: what is written through one is not seen by whoever uses the other.
//!
//! ```text
//!   one WWN                                  one drive
//!   no WWN of either, and one serial,
//!       model and size                       one drive
//!   slots of one USB reader                  two drives, whatever they say
//! ```

use super::{Reason, claims};
use crate::{
    identify::{identity_of, stack::kind_of, usb_device},
    roots::Roots,
    sysfs::{BlockDevice, closure, disks},
};
use record::DriveIdentity;

/// Other paths to the drive, each with what both have. A reader without a medium is no path to
/// anything.
pub(super) fn same_drive(
    disk: &BlockDevice,
    drive: &DriveIdentity,
    roots: &Roots,
) -> Vec<(BlockDevice, &'static str)> {
    let one_reader = |other: &BlockDevice| {
        let own = usb_device(disk);
        own.is_some() && own == usb_device(other)
    };
    let same = |other: &BlockDevice| {
        let its = identity_of(other, roots);
        if let (Some(this), Some(that)) = (&drive.wwn, &its.wwn) {
            return (this == that).then_some("WWN");
        }
        let serials = drive.serial.is_some() && drive.serial == its.serial;
        (serials && drive.model == its.model && disk.bytes() == other.bytes())
            .then_some("serial, model and size")
    };
    let others = drives_beside(disk, roots).into_iter().filter(|other| !one_reader(other));
    others.filter_map(|other| same(&other).map(|same| (other, same))).collect()
}

/// Other drives with this serial: name spaces, units of one array, or what a maker gave the same to
/// all.
pub(super) fn with_serial(disk: &BlockDevice, serial: &str, roots: &Roots) -> Vec<BlockDevice> {
    let mut others = drives_beside(disk, roots);
    others.retain(|other| identity_of(other, roots).serial.as_deref() == Some(serial));
    others
}

fn drives_beside(disk: &BlockDevice, roots: &Roots) -> Vec<BlockDevice> {
    let mut others = disks(roots);
    others.retain(|other| {
        other.number != disk.number && other.bytes() > 0 && kind_of(other) == "disk"
    });
    others
}

/// What a device stands on by other paths than those it uses, partition for partition; empty for a
/// drive with one path.
pub(super) fn other_paths(device: &BlockDevice, roots: &Roots) -> Vec<BlockDevice> {
    let mut own = vec![device.clone()];
    own.extend(closure(&own, |device| super::loops::below(device, roots)));
    let mut others: Vec<BlockDevice> = Vec::new();
    let parents: Vec<_> = own.iter().filter_map(|part| Some(part.parent()?.number)).collect();
    for part in own.iter().filter(|part| !parents.contains(&part.number)) {
        let disk = part.parent().unwrap_or_else(|| part.clone());
        if kind_of(&disk) != "disk" {
            continue;
        }
        for (other, _) in same_drive(&disk, &identity_of(&disk, roots), roots) {
            let is_same_part = |its: &BlockDevice| {
                its.integer("start") == part.integer("start") && its.bytes() == part.bytes()
            };
            let its = part.parent().and_then(|_| other.partitions().into_iter().find(is_same_part));
            let other = its.unwrap_or(other);
            let is_known = own.iter().chain(&others).any(|known| known.number == other.number);
            if !is_known {
                others.push(other);
            }
        }
    }
    others
}

/// Who uses the same drive by another path. Paths that are used side by side, under one multipath
/// device that is judged, are not others.
pub(super) fn claim_elsewhere(device: &BlockDevice, roots: &Roots) -> Option<Reason> {
    other_paths(device, roots).into_iter().find_map(|other| {
        let reason = Box::new(claims::claim_on(&other, roots)?);
        Some(Reason::SameDrive { other: other.name, reason })
    })
}
