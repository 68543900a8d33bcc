//! `study.toml`: what a study asked, how, on which drives, its tables and its claims.
//! `docs/reference/study-format.md` describes it.

use crate::Study;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A study, but for its figures.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// Its title.
    pub title: String,
    /// Who wrote it, where that is stated.
    pub authors: Option<String>,
    /// The year of its measurements.
    pub year: u32,
    /// Who published it.
    pub source: String,
    /// What it asks, one sentence.
    pub asks: String,
    /// What of it is not carried.
    pub lacking: Option<String>,
    /// Its method, in order.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// The machines that it measured on.
    #[serde(default, rename = "host")]
    pub hosts: Vec<Host>,
    /// The commands that it gave, as far as it prints them.
    #[serde(default, rename = "command")]
    pub commands: Vec<CommandLine>,
    /// The methods of ours that repeat it on a user's target.
    #[serde(default)]
    pub on: Vec<On>,
    /// What it measured.
    #[serde(default, rename = "device")]
    pub devices: Vec<Device>,
    /// How values of coordinates are printed.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
    /// Its tables, and those that are added.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableFile>,
    /// Its charts, and those that are added.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureFile>,
    /// Where it contradicts itself.
    #[serde(default, rename = "note")]
    pub notes: Vec<NoteFile>,
    /// What it says in prose.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimFile>,
}

/// A step of the method.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What the study did.
    pub did: String,
    /// What stands for it here.
    pub ours: String,
}

/// A machine that a study measured on.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What it is called.
    pub name: String,
    /// Processor, memory, system, controller, as far as stated.
    pub has: String,
    /// The ids of the devices that were measured on it.
    pub measured: Vec<String>,
}

/// A command that a study gave.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    /// What for.
    pub does: String,
    /// The words.
    pub line: String,
}

/// A method of ours that repeats a part of the study on a user's target.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct On {
    /// A built-in method.
    pub method: String,
    /// Settings of every cell, as `drivelab run --set` takes them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Size of the tested area, where the method's own would write more than a first look is worth.
    pub size: Option<String>,
    /// The configuration that its cells get.
    #[serde(default)]
    pub config: String,
    /// From a cell's `test` coordinate, or its pattern and operation, to the study's operation.
    pub ops: BTreeMap<String, String>,
    /// The tables in which its cells stand.
    pub tables: Vec<String>,
    /// Where file systems can be made: settings of the matrix that it is measured under, and their
    /// levels.
    #[serde(default)]
    pub matrix: BTreeMap<String, String>,
    /// Settings that the study had and this kernel has not: each with the level that the matrix
    /// refuses by name.
    #[serde(default)]
    pub gone: Vec<(String, String)>,
}

/// A device that was measured, or is spoken of.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The word in expressions.
    pub id: String,
    /// The word in `published.csv`, and in the catalog if it is there.
    pub name: String,
    /// The word in tables.
    pub short: String,
    /// In full.
    pub title: String,
    /// Further words in expressions.
    #[serde(default)]
    pub groups: Vec<String>,
    /// What is stated of it, by name of the fact.
    #[serde(default)]
    pub facts: BTreeMap<String, Fact>,
}

/// What a study states of a device.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// A number, and how it is printed.
    Number(f64, String),
    /// Words.
    Text(String),
}

impl Fact {
    /// As printed.
    pub fn text(&self) -> &str {
        match self {
            Self::Number(_, text) | Self::Text(text) => text,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number, _) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

/// A table.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// The word in expressions.
    pub id: String,
    /// In our words.
    pub title: String,
    /// Its name in `published.csv`; none for a table that is added.
    pub published: Option<String>,
    /// The study that printed it, if it is another one; then it is read by expressions and not
    /// shown.
    pub of: Option<String>,
    /// Facts of the devices, which are its cells.
    #[serde(default)]
    pub facts: Vec<String>,
    /// Unit of the values, for the eye.
    pub unit: String,
    /// What stands beside the printed figures.
    #[serde(default)]
    pub beside: Beside,
    /// Digits behind the point of computed and modelled values.
    #[serde(default)]
    pub decimals: usize,
    /// The coordinates that tell rows apart.
    pub rows: Vec<String>,
    /// The coordinates that tell columns apart.
    pub columns: Vec<String>,
    /// The coordinate with a grid for each of its values.
    pub panels: Option<String>,
    /// Values that coordinates have even where no figure is printed.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<String>>,
    /// Values that follow from others.
    #[serde(default)]
    pub derived: Vec<Derived>,
    /// How such values are called.
    #[serde(default)]
    pub follows: Follows,
    /// In an added table: what is modelled for each row.
    #[serde(default, rename = "stack")]
    pub stacks: Vec<StackFile>,
}

/// What stands beside printed figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// A model of what was measured: its error counts.
    #[default]
    Model,
    /// Something of ours that does the same job in its own way: the ratio counts.
    Ours,
}

/// How far values that follow from others are to be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follows {
    /// Printed figures compute them.
    #[default]
    Computed,
    /// Printed figures only make sense with them: the study does not state them.
    Implied,
}

impl Follows {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Computed => "computed",
            Self::Implied => "implied",
        }
    }
}

/// Cells of a table that follow from others.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    /// A filter: for these cells only.
    #[serde(default, rename = "where")]
    pub filter: String,
    /// The expression.
    pub value: String,
}

/// What is modelled for the cells of an added table.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackFile {
    /// The cells' device.
    pub device: String,
    /// The cells' configuration.
    #[serde(default)]
    pub config: String,
    /// The STACK, without `model:`; none where the cells are derived.
    pub stack: Option<String>,
}

/// A chart of cells.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureFile {
    /// In file names and links; unique in the study.
    pub id: String,
    /// What the study calls it: `Fig. 1`; none for a chart that is added.
    pub printed: Option<String>,
    /// In our words.
    pub title: String,
    /// The cells: a selection.
    pub of: String,
    /// How it is drawn.
    #[serde(default)]
    pub kind: FigureKind,
    /// The coordinates that tell groups of bars apart; for lines the one they run over.
    pub over: Vec<String>,
    /// The coordinates that tell series apart. Without, what is printed and what is modelled are
    /// the two series of one chart; with, they are two charts.
    #[serde(default)]
    pub series: Vec<String>,
    /// Of the values.
    #[serde(default)]
    pub scale: FigureScale,
    /// What is measured, at the axis of the values; the unit without.
    pub measure: Option<String>,
    /// The values' unit, short, if the metric does not say it.
    pub unit: Option<String>,
    /// How to read it.
    #[serde(default)]
    pub note: String,
}

/// How a chart is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Named things side by side.
    #[default]
    Bars,
    /// Values over sizes or counts.
    Lines,
}

/// How the values of a chart are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureScale {
    /// In equal steps.
    #[default]
    Linear,
    /// In equal ratios.
    Log,
}

/// A contradiction or a misprint, where it stands.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteFile {
    /// The cells it concerns; the whole study without.
    pub at: Option<String>,
    /// In our words.
    pub text: String,
}

/// A claim made in prose.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// Unique in the study.
    pub id: String,
    /// In our words.
    pub text: String,
    /// What sort of sentence it is.
    pub kind: ClaimKind,
    /// The figure as printed, with its unit.
    #[serde(default)]
    pub printed: String,
    /// The relation wanted between what is computed and what is printed.
    #[serde(default)]
    pub is: Relation,
    /// The printed numbers.
    #[serde(default)]
    pub value: Vec<f64>,
    /// One unit of the last printed digit, only where it is a zero that counts, as in 1.0; else it
    /// is found from `value`. One for all values, or one each.
    #[serde(default)]
    pub step: Vec<f64>,
    /// The expression over what the study printed.
    pub compute: Option<String>,
    /// The expression over modelled values.
    pub experiment: Option<String>,
    /// The expression over what a user measured; none where the claim says nothing of other drives.
    pub yours: Option<String>,
    /// What else is told beside the verdict, from printed figures: in words, and an expression.
    #[serde(default)]
    pub also: Vec<(String, String)>,
    /// Of a wish or a question: the command that gives an answer on a target of the user's.
    pub command: Option<String>,
    /// What is missing where nothing can be computed; else what to know of the computation.
    pub why: Option<String>,
}

/// What sort of sentence a claim is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// Something seen.
    Fact,
    /// A cause or a case that was not measured.
    Conjecture,
    /// Something asked and left open.
    Question,
    /// Something that the authors would do, or have.
    Wish,
}

impl ClaimKind {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Conjecture => "conjecture",
            Self::Question => "question",
            Self::Wish => "wish",
        }
    }

    /// Whether it asks for something: it is then answered or not, instead of right or wrong.
    pub fn asks(self) -> bool {
        matches!(self, Self::Question | Self::Wish)
    }
}

/// The relation wanted between computed and printed numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
pub enum Relation {
    /// The computed numbers are the printed ones, in order.
    #[serde(rename = "=")]
    Equal,
    /// Every computed number is below.
    #[serde(rename = "<")]
    Below,
    /// Every computed number is not above.
    #[serde(rename = "<=")]
    AtMost,
    /// Every computed number is above.
    #[serde(rename = ">")]
    Above,
    /// Every computed number is not below.
    #[serde(rename = ">=")]
    AtLeast,
    /// Every computed number lies between the two printed ones.
    #[serde(rename = "in")]
    Within,
    /// Every computed number is within a tenth.
    #[serde(rename = "about")]
    About,
    /// The expression gives 1.
    #[default]
    #[serde(rename = "true")]
    True,
}

/// A study's file that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("studies/{study}/study.toml: {complaint}")]
pub struct BadStudy {
    study: &'static str,
    complaint: String,
}

impl BadStudy {
    pub(crate) fn new(study: Study, complaint: impl Into<String>) -> Self {
        Self { study: study.name(), complaint: complaint.into() }
    }
}

impl StudyFile {
    /// Reads the text of a `study.toml`.
    ///
    /// # Errors
    /// The line of a syntax error, or the name of an unknown key.
    pub fn parse(study: Study, text: &str) -> Result<Self, BadStudy> {
        toml::from_str(text).map_err(|error| BadStudy::new(study, error.to_string()))
    }

    /// The table of this id.
    pub fn table(&self, id: &str) -> Option<&TableFile> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// The device of this id or name.
    pub fn device(&self, word: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.id == word || device.name == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_carried_study_can_be_read() {
        for study in Study::ALL {
            let file = study.file();
            assert!(file.asks.ends_with('?'), "{}: {}", study.name(), file.asks);
        }
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let text = "title = 'a'\nyear = 1\nsource = 'b'\nasks = 'c?'\nverdict = 'ok'\n";
        let error = StudyFile::parse(Study::Cmu2009, text).expect_err("no such key").to_string();
        assert!(error.contains("cmu2009") && error.contains("verdict"), "{error}");
    }
}
