//! Whether a target is still the one that a run began on: a name says little, and a record of two
//! drives is of none.

use crate::{BlockLayer, TargetInfo, TargetKind};
use serde::{Deserialize, Serialize};

/// What tells a target from another that bears its name, beside the serials of its drives.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TargetIdentity {
    /// Of a file or directory.
    pub inode: Option<u64>,
    /// When it was made, nanoseconds since 1970, where the file system tells.
    pub born_ns: Option<i64>,
    /// The id that the file system was made with, 16 hexadecimal digits, where statvfs(3) tells one
    /// that lasts.
    pub file_system: Option<String>,
    /// The managed flash volume's id, 32 hexadecimal digits.
    pub volume: Option<String>,
    /// The kernel's number for this attachment of a block device, never given twice in one boot.
    pub diskseq: Option<u64>,
    /// The boot in which that was.
    pub boot: Option<String>,
}

impl TargetInfo {
    /// In what `now` is not the target that `self` was, in a few words; `None` where nothing is
    /// known to differ. What only one of both tells is not compared.
    pub fn difference(&self, now: &Self) -> Option<String> {
        if self.kind != now.kind {
            let (was, is) = (self.kind.words(), now.kind.words());
            return Some(format!("it was {was} and is {is}"));
        }
        let mut pairs: Vec<(&str, Option<String>, Option<String>)> = Vec::new();
        // Of a directory it is the free space, which comes and goes.
        if !matches!(self.kind, TargetKind::Directory | TargetKind::NewFile | TargetKind::Null) {
            let size = |info: &Self| Some(format!("{} B", info.capacity_bytes));
            pairs.push(("size", size(self), size(now)));
        }
        let fs = |info: &Self| info.file_system.as_ref().map(|found| found.kind.clone());
        pairs.push(("file system", fs(self), fs(now)));
        let layers = |info: &Self| Some(info.stack.len().to_string());
        pairs.push(("number of layers below", layers(self), layers(now)));
        let found = pairs.into_iter().find_map(unequal);
        let below = || self.stack.iter().zip(&now.stack).find_map(|(was, is)| layer(was, is));
        found.or_else(below).or_else(|| self.identity_difference(now))
    }

    fn identity_difference(&self, now: &Self) -> Option<String> {
        let (was, is) = (self.identity.as_ref()?, now.identity.as_ref()?);
        let hex = |number: u64| number.to_string();
        let pairs = [
            ("volume", was.volume.clone(), is.volume.clone()),
            ("file system's id", was.file_system.clone(), is.file_system.clone()),
            ("inode", was.inode.map(hex), is.inode.map(hex)),
            (
                "time of making",
                was.born_ns.map(|ns| ns.to_string()),
                is.born_ns.map(|ns| ns.to_string()),
            ),
        ];
        let found = pairs.into_iter().find_map(unequal);
        let same_boot = was.boot.is_some() && was.boot == is.boot;
        found.or_else(|| {
            let attached = ("attachment (diskseq)", was.diskseq.map(hex), is.diskseq.map(hex));
            unequal(attached).filter(|_| same_boot && !self.is_told_by_drives())
        })
    }

    /// Whether serials say which target it is: then it is the same after it was plugged in again. A
    /// loop device's file may be any on its drive.
    fn is_told_by_drives(&self) -> bool {
        let mut drives = self.stack.iter().filter_map(|layer| layer.drive.as_ref()).peekable();
        drives.peek().is_some()
            && drives.all(|drive| drive.serial.is_some() || drive.wwn.is_some())
            && self.stack.iter().all(|layer| layer.kind != "loop")
    }
}

/// What differs between two layers of the same place. Names such as `sdb` are given anew at every
/// boot.
fn layer(was: &BlockLayer, is: &BlockLayer) -> Option<String> {
    let drive = |layer: &BlockLayer, of: fn(&crate::DriveIdentity) -> Option<String>| {
        layer.drive.as_ref().and_then(of)
    };
    let serial = |layer| drive(layer, |found| found.serial.clone());
    let wwn = |layer| drive(layer, |found| found.wwn.clone());
    let model = |layer| drive(layer, |found| found.model.clone());
    let start = |layer: &BlockLayer| layer.start_bytes.map(|bytes| format!("{bytes} B"));
    let pairs = [
        ("kind", Some(was.kind.clone()), Some(is.kind.clone())),
        ("serial", serial(was), serial(is)),
        ("WWN", wwn(was), wwn(is)),
        ("model", model(was), model(is)),
        ("size", Some(format!("{} B", was.bytes)), Some(format!("{} B", is.bytes))),
        ("start", start(was), start(is)),
    ];
    let found = pairs.into_iter().find_map(unequal)?;
    Some(format!("below it, {} ({}): {found}", is.name, is.kind))
}

fn unequal((what, was, is): (&str, Option<String>, Option<String>)) -> Option<String> {
    let (was, is) = (was?, is?);
    (was != is).then(|| format!("its {what} was {was} and is {is}"))
}

impl TargetKind {
    /// What it is, in a sentence: `a directory`.
    fn words(self) -> &'static str {
        match self {
            Self::Directory => "a directory",
            Self::File => "a file",
            Self::NewFile => "a new file",
            Self::BlockDevice => "a block device",
            Self::Null => "nothing (`null:`)",
            Self::Model => "a model",
            Self::Flash => "a managed flash volume",
            Self::Memory => "a drive of memory",
            Self::Imported => "what another program measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn target() -> TargetInfo {
        example::full().targets.remove(0)
    }

    /// `--resume` opened what was named and asked nothing: a disk that had been exchanged gave the
    /// second half of a record that then was `complete`.
    #[test]
    fn another_drive_volume_file_or_size_is_told_in_a_few_words() {
        type Change = fn(&mut TargetInfo);
        let cases: [(&str, Change); 7] = [
            ("it was ", |now| now.kind = TargetKind::Memory),
            ("serial", |now| drive(now).serial = Some("OTHER".to_owned())),
            ("WWN", |now| drive(now).wwn = Some("naa.other".to_owned())),
            ("size", |now| now.stack.last_mut().expect("a drive").bytes += 512),
            ("volume", |now| identity(now).volume = Some("f".repeat(32))),
            ("inode", |now| identity(now).inode = Some(1)),
            ("number of layers", |now| now.stack.truncate(0)),
        ];
        for (word, change) in cases {
            let mut now = target();
            change(&mut now);
            let said = target().difference(&now).expect(word);
            assert!(said.contains(word), "{word}: {said}");
        }
        assert_eq!(target().difference(&target()), None);
    }

    #[test]
    fn what_changes_by_itself_or_is_not_known_is_no_difference() {
        let mut now = target();
        now.flags.clear();
        now.stack.last_mut().expect("a drive").name = "sdz".to_owned();
        drive(&mut now).temperature_celsius = Some(70.0);
        now.identity = None;
        assert_eq!(target().difference(&now), None);
        drive(&mut now).serial = None;
        assert_eq!(target().difference(&now), None);
    }

    /// Without a serial the kernel's count of attachments is all that tells, within its boot.
    #[test]
    fn a_drive_without_a_serial_is_told_by_its_attachment() {
        let with = |diskseq: u64, boot: &str| {
            let mut info = target();
            for layer in info.stack.iter_mut().filter_map(|layer| layer.drive.as_mut()) {
                (layer.serial, layer.wwn) = (None, None);
            }
            let identity = identity(&mut info);
            (identity.diskseq, identity.boot) = (Some(diskseq), Some(boot.to_owned()));
            info
        };
        assert!(
            with(1, "a").difference(&with(2, "a")).is_some_and(|said| said.contains("diskseq"))
        );
        assert_eq!(with(1, "a").difference(&with(1, "a")), None);
        assert_eq!(with(1, "a").difference(&with(2, "b")), None);
    }

    fn drive(info: &mut TargetInfo) -> &mut crate::DriveIdentity {
        info.stack.iter_mut().find_map(|layer| layer.drive.as_mut()).expect("a drive")
    }

    fn identity(info: &mut TargetInfo) -> &mut TargetIdentity {
        info.identity.get_or_insert_default()
    }
}
