//! Power cuts under a program: what each round found.

use serde::{Deserialize, Serialize};

/// Rounds of power cuts of modelled drives, and which promises of a program they broke.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PowerCuts {
    /// The program, with what was set.
    pub program: String,
    /// File system, how it is made and mounted: `fs=ext4, mount=noatime`.
    pub configuration: String,
    /// What the drives make of flushes: `honoured`; `early` and `ignored` are planted faults.
    pub flushes: String,
    /// What the planted fault is, in words; absent where flushes are honoured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The member that the array lacked after each cut, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_member: Option<u16>,
    /// Number of the first round that was ordered.
    pub first: u32,
    /// Number of the last.
    pub last: u32,
    /// Those that have ended, in their order.
    pub rounds: Vec<PowerCutRound>,
}

/// What a round found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PowerCutRound {
    /// Which: with the run's seed all that it is drawn from.
    pub round: u32,
    /// Seconds from the first promise to the cut.
    pub cut_after_s: f64,
    /// Sectors that the drives held otherwise before the cut.
    pub sectors_changed: u64,
    /// What the program says.
    pub promises: Promises,
    /// Why what is left cannot be used, in the check's words.
    pub broken: Option<String>,
    /// What the file system's own check says.
    pub file_system: FileSystemState,
    /// Seconds until the file system was mounted again, its journal replayed.
    pub mounted_after_s: f64,
}

/// Promises of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Promises {
    /// Heard before the power went.
    pub made: u64,
    /// Not there afterwards.
    pub lost: u64,
    /// Something else is there.
    pub torn: u64,
}

/// What became of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FileSystemState {
    /// There was none.
    #[serde(rename = "none")]
    None,
    /// It was mounted, and its checker finds nothing.
    #[serde(rename = "sound")]
    Sound,
    /// It was mounted, and its checker finds something.
    #[serde(rename = "damaged")]
    Damaged,
    /// It cannot be mounted.
    #[serde(rename = "cannot be mounted")]
    Unmountable,
}

impl FileSystemState {
    /// Whether the power cut damaged it.
    pub fn is_broken(self) -> bool {
        matches!(self, Self::Damaged | Self::Unmountable)
    }

    /// The word in tables and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sound => "sound",
            Self::Damaged => "damaged",
            Self::Unmountable => "cannot be mounted",
        }
    }
}

impl PowerCutRound {
    /// Whether a promise was broken, or nothing can be used.
    pub fn is_broken(&self) -> bool {
        self.promises.lost + self.promises.torn > 0
            || self.broken.is_some()
            || self.file_system.is_broken()
    }
}

impl PowerCuts {
    /// Promises of all rounds.
    pub fn promises(&self) -> Promises {
        let mut sum = Promises::default();
        for round in &self.rounds {
            sum.made += round.promises.made;
            sum.lost += round.promises.lost;
            sum.torn += round.promises.torn;
        }
        sum
    }

    /// Promises a second before the power went, of those behind the first of each round.
    pub fn promises_per_s(&self) -> Option<f64> {
        let heard = self.rounds.iter().filter(|round| round.promises.made > 0);
        let (mut made, mut seconds) = (0, 0.0);
        for round in heard {
            made += round.promises.made - 1;
            seconds += round.cut_after_s;
        }
        (seconds > 0.0).then(|| made as f64 / seconds)
    }

    /// Rounds that broke a promise.
    pub fn broken(&self) -> impl Iterator<Item = &PowerCutRound> {
        self.rounds.iter().filter(|round| round.is_broken())
    }

    /// Rounds in which the cut changed nothing and nothing was broken, so that nothing was put to
    /// the test.
    pub fn idle(&self) -> usize {
        let is_idle = |round: &&PowerCutRound| round.sectors_changed == 0 && !round.is_broken();
        self.rounds.iter().filter(is_idle).count()
    }

    /// The round that comes next; none when all have ended.
    pub fn next(&self) -> Option<u32> {
        let next = self.rounds.last().map_or(self.first, |last| last.round + 1);
        (next <= self.last).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_broken_by_a_promise_by_the_check_and_by_the_file_system() {
        let kept = PowerCutRound {
            round: 1,
            cut_after_s: 0.01,
            sectors_changed: 4,
            promises: Promises { made: 3, lost: 0, torn: 0 },
            broken: None,
            file_system: FileSystemState::Sound,
            mounted_after_s: 0.02,
        };
        assert!(!kept.is_broken());
        let promises = |lost, torn| Promises { made: 3, lost, torn };
        let others = [
            PowerCutRound { promises: promises(1, 0), ..kept.clone() },
            PowerCutRound { promises: promises(0, 1), round: 2, ..kept.clone() },
            PowerCutRound { broken: Some(String::new()), round: 3, ..kept.clone() },
            PowerCutRound { file_system: FileSystemState::Damaged, round: 4, ..kept.clone() },
            PowerCutRound { file_system: FileSystemState::Unmountable, round: 5, ..kept },
        ];
        assert!(others.iter().all(PowerCutRound::is_broken));
        let mut cuts = PowerCuts {
            program: "sqlite".to_owned(),
            configuration: "fs=ext4".to_owned(),
            flushes: "honoured".to_owned(),
            fault: None,
            lost_member: None,
            first: 1,
            last: 6,
            rounds: others.to_vec(),
        };
        assert_eq!(cuts.promises(), Promises { made: 15, lost: 1, torn: 1 });
        assert_eq!((cuts.broken().count(), cuts.idle(), cuts.next()), (5, 0, Some(6)));
        cuts.last = 5;
        assert_eq!(cuts.next(), None);
        cuts.rounds.clear();
        assert_eq!(cuts.next(), Some(1));
    }

    #[test]
    fn names_are_those_of_the_documents() {
        use FileSystemState::{Damaged, None, Sound, Unmountable};
        for state in [None, Sound, Damaged, Unmountable] {
            assert_eq!(serde_json::to_value(state).expect("JSON"), state.name());
        }
    }
}
