//! What is ordered of a run, and the same from the record of a run that goes on.

use crate::{CannotRun, Refusal};
use host::Consent;
use lab::{order::Order, plan::Options};
use record::{Record, State, TargetInfo, TargetKind};
use target::{BadTarget, Permission, TargetText};

/// What is to be measured, on what, and what may be lost for it.
#[derive(Clone, Debug)]
pub struct RunOrder {
    /// One, or two to compare.
    pub targets: Vec<TargetText>,
    /// The method and its options.
    pub method: Order,
    /// Which devices may be overwritten.
    pub consent: Consent,
    /// What is done to the devices first.
    pub purge: Purge,
    /// How much it may write.
    pub wear: Wear,
}

/// Whether the devices forget everything before the first cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purge {
    /// They are as they were.
    Nothing,
    /// All that is on them is discarded.
    WholeDevices,
}

/// What is to be done with an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is planned, and nothing is written.
    Plan,
    /// It is measured.
    Measure,
}

/// How much may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wear {
    /// What nobody has to be asked about: so many times the tested area as the method allows.
    Unasked,
    /// The user has agreed to more.
    AgreedTo,
}

impl RunOrder {
    /// From the record of a run that was interrupted: the same targets, by the same scheme, and the
    /// same tested area.
    ///
    /// # Errors
    /// A run that is complete or running, or that a run did not begin.
    pub fn resume(record: &Record, consent: Consent) -> Result<Self, CannotRun> {
        let id = record.id.clone();
        match record.state {
            State::Complete => return Err(Refusal::Complete(id).into()),
            State::Running => return Err(Refusal::Running(id).into()),
            State::Interrupted | State::Failed => {}
        }
        if is_of_a_matrix(record) {
            return Err(Refusal::OfMatrix(id).into());
        }
        if record.method.name == crate::REPLAY {
            return Err(Refusal::OfReplay(id).into());
        }
        if record.power_cuts.is_some() {
            return Err(Refusal::OfPowerCuts(id).into());
        }
        let targets = record.targets.iter().map(place).collect::<Result<_, _>>()?;
        let method = &record.method;
        let (words, labels) = (method.options.clone(), record.labels.clone());
        let order = Order::from_words(&method.name, &method.text, words, record.seed, labels)?;
        // A span that follows from memory or free space may be another by now.
        let span_bytes = Some(method.span_bytes);
        let order = Order { options: Options { span_bytes, ..order.options }, ..order };
        // It was asked, and the devices were purged, when it was begun.
        let (purge, wear) = (Purge::Nothing, Wear::AgreedTo);
        Ok(Self { targets, method: order, consent, purge, wear })
    }

    /// What the targets may be opened for.
    pub fn permission(&self) -> Permission {
        Permission {
            consent: self.consent.clone(),
            reads_only: self.method.options.reads_only || !self.method.writes(),
        }
    }
}

/// What to open for a target of a record. The user may stand elsewhere now: `.` would be another
/// directory.
fn place(target: &TargetInfo) -> Result<TargetText, BadTarget> {
    match (target.kind, target.place()) {
        // The file that a volume is in is another target: the raw bytes.
        (TargetKind::Flash, Some(path)) => Ok(TargetText::Flash(path)),
        (
            TargetKind::Directory
            | TargetKind::File
            | TargetKind::NewFile
            | TargetKind::BlockDevice,
            Some(path),
        ) => Ok(TargetText::Path(path)),
        _ => target.text.parse(),
    }
}

/// Whether its targets are configurations, which no TARGET names: `matrix` made them, for itself or
/// for a study.
fn is_of_a_matrix(record: &Record) -> bool {
    let words = &record.command_line;
    let is_word = |target: &TargetInfo| {
        let given =
            |word: &String| *word == target.text || word.ends_with(&format!("={}", target.text));
        words.iter().any(given)
    };
    match words.get(1).map(String::as_str) {
        Some("matrix") => true,
        Some("study") => !record.targets.iter().all(is_word),
        _ => false,
    }
}
