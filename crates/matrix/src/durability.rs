//! What a power cut leaves of a configuration, as a class. It speaks of what fsync(2) was answered
//! for, and of the file system itself; what was never flushed may be lost under every class.

use super::{axes::Configuration, axis::Axis, journal_place::Place};
use std::fmt;

/// From the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Durability {
    /// What was flushed is there.
    SurvivesPowerLoss,
    /// What was answered for may be gone.
    MayLoseAcknowledgedWrites,
    /// A file may hold what another one held before.
    MayShowStaleData,
    /// The file system itself may be damaged.
    MayCorrupt,
}

/// What is known of the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// The drive may answer writes that are not durable; `None`: unknown, taken for yes.
    pub volatile_cache: Option<bool>,
}

impl Durability {
    /// The class of a configuration, and why.
    ///
    /// Sources: Documentation/block/writeback_cache_control.rst (flushes), ext4(5) (data=writeback,
    /// barrier), ext2 has no journal (Documentation/filesystems/ext2.rst).
    pub fn of(configuration: &Configuration, machine: Machine) -> (Self, &'static str) {
        // Of the cache of a second device nothing is known.
        let has_second = Place::of_journal(configuration) != Place::Inside;
        let cache_is_off = !has_second
            && (configuration.level(Axis::WriteCache) == Some("off")
                || machine.volatile_cache == Some(false));
        let has_no_flushes = configuration.level(Axis::KernelFlush) == Some("off");
        let mount = configuration.level(Axis::Mount).unwrap_or_default();
        let has = |wanted: &str| mount.split(',').any(|option| option.trim() == wanted);
        if has_no_flushes && !cache_is_off {
            return match configuration.is_raw() {
                true => (Self::MayLoseAcknowledgedWrites, "the kernel sends the drive no flushes"),
                false => (
                    Self::MayCorrupt,
                    "the kernel sends no flushes: journal and data may be out of order",
                ),
            };
        }
        match configuration.fs() {
            "ext2" => (Self::MayCorrupt, "ext2 has no journal: it needs fsck after a power cut"),
            _ if has("data=writeback") => {
                (Self::MayShowStaleData, "data=writeback does not order data before metadata")
            }
            "ext4" if has("journal_async_commit") => (
                Self::MayCorrupt,
                "journal_async_commit commits before the journal's blocks are durable",
            ),
            "f2fs" if has("fsync_mode=nobarrier") => {
                (Self::MayLoseAcknowledgedWrites, "fsync_mode=nobarrier does not flush the drive")
            }
            _ if has_no_flushes => (
                Self::SurvivesPowerLoss,
                "the drive has no volatile cache, so nothing needs flushing",
            ),
            _ => (Self::SurvivesPowerLoss, "flushes reach the drive"),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::SurvivesPowerLoss => "survives power loss",
            Self::MayLoseAcknowledgedWrites => "may lose acknowledged writes",
            Self::MayShowStaleData => "may show stale data",
            Self::MayCorrupt => "may corrupt",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axes;

    fn class(words: &[(Axis, &str)], machine: Machine) -> Durability {
        let mut axes = Axes::default();
        for (axis, text) in words {
            axes.add(*axis, text).expect("levels");
        }
        Durability::of(&axes.configurations()[0], machine).0
    }

    #[test]
    fn a_setting_is_as_safe_as_the_drive_below_it() {
        let unknown = Machine::default();
        let protected = Machine { volatile_cache: Some(false) };
        let no_flush = [(Axis::Fs, "ext4"), (Axis::KernelFlush, "off")];
        assert_eq!(class(&no_flush, unknown), Durability::MayCorrupt);
        assert_eq!(class(&no_flush, protected), Durability::SurvivesPowerLoss);
        let raw = [(Axis::Fs, "raw"), (Axis::KernelFlush, "off")];
        assert_eq!(class(&raw, unknown), Durability::MayLoseAcknowledgedWrites);
        let off = [(Axis::Fs, "ext4"), (Axis::KernelFlush, "off"), (Axis::WriteCache, "off")];
        assert_eq!(class(&off, unknown), Durability::SurvivesPowerLoss);
        let outside = [&off[..], &[(Axis::Journal, "64M")]].concat();
        assert_eq!(class(&outside, protected), Durability::MayCorrupt);
        let writeback = [(Axis::Fs, "ext3"), (Axis::Mount, "noatime,data=writeback")];
        assert_eq!(class(&writeback, protected), Durability::MayShowStaleData);
        assert_eq!(class(&[(Axis::Fs, "ext2")], protected), Durability::MayCorrupt);
        assert_eq!(class(&[(Axis::Fs, "xfs")], unknown), Durability::SurvivesPowerLoss);
    }
}
