//! What is ordered.

use matrix::Configuration;
use record::PowerCuts;
use std::{
    ffi::OsString,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};
use target::{serve::Flushes, stack::Stack};

/// Rounds of power cuts.
#[derive(Clone, Debug)]
pub struct PowerCutOrder {
    /// The drives, and the layers on them.
    pub stack: Stack,
    /// What the drives make of flushes.
    pub flushes: Flushes,
    /// The member that an array lacks after the cut: the crash took it along.
    pub lost_member: Option<u16>,
    /// File system, and how it is made and mounted.
    pub configuration: Configuration,
    /// The file system takes so much of the drives, from their beginning: a large one takes long to
    /// make, and says no more.
    pub bytes: u64,
    /// What works on it.
    pub program: Program,
    /// Where all choices come from.
    pub seed: u64,
    /// The power goes so long after the first promise at latest.
    pub within: Duration,
    /// A file that gets what the program's file system sent, and the promises; then the power goes
    /// at the end of the time.
    pub record_writes: Option<PathBuf>,
    /// A workload that promises nothing for so long, or a check that takes longer, has failed.
    pub patience: Duration,
}

/// A program that promises and checks.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is called in a table.
    pub name: String,
    /// The program and its arguments; a phase and the place follow.
    pub words: Vec<OsString>,
    /// It is one of ours, which has files.
    pub is_built_in: bool,
    /// One process of it can check again and again.
    pub checks_again: bool,
}

/// Where a program works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A file system that is mounted here.
    Directory(PathBuf),
    /// The drives themselves, which it attaches as it likes.
    Served {
        /// Where they are served.
        uri: String,
        /// Where it is started.
        directory: PathBuf,
    },
}

impl Place {
    /// Its working directory.
    pub fn directory(&self) -> &Path {
        match self {
            Self::Directory(directory) | Self::Served { directory, .. } => directory,
        }
    }
}

/// What a program is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Work, and say what is promised, until the power goes.
    Run,
    /// Say which promises are not kept.
    Check,
    /// The same, of a built-in program, as often as it is asked.
    Checks,
}

impl Phase {
    /// The argument that says so.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Check => "check",
            Self::Checks => "checks",
        }
    }
}

impl PowerCutOrder {
    /// A sentence about a check that does not end.
    pub(crate) fn late(&self) -> String {
        format!(
            "the check did not end within {} s: `{} check` must print `lost ID`, `torn ID` or \
             `broken WHY` and end",
            self.patience.as_secs(),
            self.program.shown()
        )
    }

    /// No round of it yet: a round's number and the seed are all that it is drawn from.
    pub fn begun(&self, rounds: RangeInclusive<u32>) -> PowerCuts {
        PowerCuts {
            program: self.program.name.clone(),
            configuration: self.configuration.to_string(),
            flushes: self.flushes.name().to_owned(),
            fault: self.flushes.fault().map(ToOwned::to_owned),
            lost_member: self.lost_member,
            first: *rounds.start(),
            last: *rounds.end(),
            rounds: Vec::new(),
        }
    }
}

impl Program {
    /// As it would be typed.
    pub fn shown(&self) -> String {
        let words = self.words.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    /// The file that it is.
    pub(crate) fn file_name(&self) -> String {
        let name = Path::new(&self.words[0]).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The command line of a phase.
    pub fn command(&self, phase: Phase, place: &Place) -> Vec<OsString> {
        let mut words = self.words.clone();
        words.push(phase.word().into());
        words.push(match place {
            Place::Directory(directory) => directory.into(),
            Place::Served { uri, .. } => uri.into(),
        });
        words
    }
}
