//! What a power cut left of a configuration, and what that says of its class.

use super::durability::Durability;
use record::FileSystemState;
use std::fmt;

/// What was found when the power was back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerCut {
    /// Files, or ranges of a raw device, whose last contents had been flushed: fsync(2) had
    /// returned.
    pub flushed: u32,
    /// Those of them that hold what was flushed.
    pub intact: u32,
    /// Files that show bytes which were never written to them, and are not zero.
    pub foreign: u32,
    /// The file system.
    pub file_system: FileSystemState,
    /// Sectors of the drives that the cut changed: where there are none, nothing was put to the
    /// test.
    pub lost_sectors: u64,
}

impl PowerCut {
    /// The best class that it can have after this. One cut proves none: another may find more.
    pub fn class(&self) -> Durability {
        assert!(self.intact <= self.flushed, "{} of {}", self.intact, self.flushed);
        use FileSystemState::{Damaged, Unmountable};
        if matches!(self.file_system, Damaged | Unmountable) {
            Durability::MayCorrupt
        } else if self.foreign > 0 {
            Durability::MayShowStaleData
        } else if self.intact < self.flushed {
            Durability::MayLoseAcknowledgedWrites
        } else {
            Durability::SurvivesPowerLoss
        }
    }

    /// Whether it is worse than the class says.
    pub fn disproves(&self, predicted: Durability) -> bool {
        self.class() > predicted
    }
}

impl fmt::Display for PowerCut {
    /// `64 of 64 flushed files intact, sound`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.file_system {
            FileSystemState::None => "ranges",
            _ => "files",
        };
        write!(formatter, "{} of {} flushed {noun} intact", self.intact, self.flushed)?;
        if self.foreign > 0 {
            write!(formatter, ", {} show what was never written to them", self.foreign)?;
        }
        formatter.write_str(match self.file_system {
            FileSystemState::None => "",
            FileSystemState::Sound => ", sound",
            FileSystemState::Damaged => ", damaged",
            FileSystemState::Unmountable => ", cannot be mounted",
        })?;
        let nothing = if self.lost_sectors == 0 { "; the caches held nothing to lose" } else { "" };
        formatter.write_str(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(intact: u32, foreign: u32, file_system: FileSystemState) -> PowerCut {
        PowerCut { flushed: 64, intact, foreign, file_system, lost_sectors: 9 }
    }

    #[test]
    fn the_worst_that_is_found_is_the_class() {
        let sound = FileSystemState::Sound;
        for (found, class) in [
            (cut(64, 0, sound), Durability::SurvivesPowerLoss),
            (cut(64, 0, FileSystemState::None), Durability::SurvivesPowerLoss),
            (cut(63, 0, sound), Durability::MayLoseAcknowledgedWrites),
            (cut(64, 1, sound), Durability::MayShowStaleData),
            (cut(60, 1, sound), Durability::MayShowStaleData),
            (cut(64, 0, FileSystemState::Damaged), Durability::MayCorrupt),
            (cut(0, 0, FileSystemState::Unmountable), Durability::MayCorrupt),
        ] {
            assert_eq!(found.class(), class, "{found}");
        }
    }

    #[test]
    fn a_class_is_disproved_by_what_is_worse_and_by_nothing_else() {
        let lost = cut(63, 0, FileSystemState::Sound);
        assert!(lost.disproves(Durability::SurvivesPowerLoss));
        assert!(!lost.disproves(Durability::MayLoseAcknowledgedWrites));
        assert!(!lost.disproves(Durability::MayCorrupt));
        assert!(!cut(64, 0, FileSystemState::Sound).disproves(Durability::SurvivesPowerLoss));
    }

    #[test]
    fn it_says_what_it_rests_on() {
        let text = cut(64, 0, FileSystemState::Sound).to_string();
        assert_eq!(text, "64 of 64 flushed files intact, sound");
        let nothing = PowerCut { lost_sectors: 0, ..cut(64, 0, FileSystemState::None) };
        assert!(
            nothing.to_string().ends_with("ranges intact; the caches held nothing to lose"),
            "{nothing}"
        );
    }
}
