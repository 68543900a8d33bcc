//! Methods as data: which cells, in which order, until when.
//!
//! ```text
//!   methods/*.toml (compiled in) or the user's file  ->  MethodFile  --axes, --set-->  Method: cells
//! ```
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod axis;
mod cell;
mod choice;
mod complaint;
mod expand;
mod expect;
mod file;
mod fio_words;
mod rule;
mod scalar;
mod stream;
mod tree;
mod value;

pub use axis::Axis;
pub use cell::{CacheState, CellBound, CellSpec, FileState, FinalFlush, RateOf};
pub use expect::Expect;
pub use file::{CellFile, ExpectFile, MethodFile, Order, RoundsFile, SET_KEYS};
pub use rule::{SpanRule, WrittenRule};
pub use scalar::Scalar;
pub use tree::TreeFile;
pub use value::BLOCK_BYTES_MAX;

use block::names::did_you_mean;
pub use complaint::complaint;
use expand::{User, cells};
pub use fio_words::settings_of;
use rule::{fill_rule, span_rule, written_rule};
use stats::Grade;

/// The methods that come with drivelab, by name, in the order of `--help`.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("quick", include_str!("../../methods/quick.toml")),
    ("bm-flash", include_str!("../../methods/bm-flash.toml")),
    ("iozone", include_str!("../../methods/iozone.toml")),
    ("iozone-cmu", include_str!("../../methods/iozone-cmu.toml")),
    ("iozone-stfc", include_str!("../../methods/iozone-stfc.toml")),
    ("dd-latency", include_str!("../../methods/dd-latency.toml")),
    ("dd-bandwidth", include_str!("../../methods/dd-bandwidth.toml")),
    ("dd-stream", include_str!("../../methods/dd-stream.toml")),
    ("oltp", include_str!("../../methods/oltp.toml")),
    ("etcd", include_str!("../../methods/etcd.toml")),
    ("wal", include_str!("../../methods/wal.toml")),
    ("kafka", include_str!("../../methods/kafka.toml")),
    ("ai-checkpoint", include_str!("../../methods/ai-checkpoint.toml")),
    ("snia-iops", include_str!("../../methods/snia-iops.toml")),
    ("snia-throughput", include_str!("../../methods/snia-throughput.toml")),
    ("snia-latency", include_str!("../../methods/snia-latency.toml")),
    ("saturation", include_str!("../../methods/saturation.toml")),
    ("quota", include_str!("../../methods/quota.toml")),
    ("characterise", include_str!("../../methods/characterise.toml")),
    ("bonnie", include_str!("../../methods/bonnie.toml")),
    ("small-files", include_str!("../../methods/small-files.toml")),
    ("maildir", include_str!("../../methods/maildir.toml")),
    ("untar-build-delete", include_str!("../../methods/untar-build-delete.toml")),
];

/// A method that cannot be used: which one, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("method {method}: {reason}")]
pub struct MethodError {
    /// The method's name or file.
    pub method: String,
    /// One or two sentences.
    pub reason: String,
}

/// A method with its axes multiplied out.
#[derive(Clone, PartialEq, Debug)]
pub struct Method {
    /// The file it came from, parsed.
    pub file: MethodFile,
    /// The file's text.
    pub text: String,
    /// Cells in the order written.
    pub cells: Vec<CellSpec>,
    /// The tested area.
    pub span: SpanRule,
    /// How often all that the target offers is written before the first cell, if not the tested
    /// area alone is.
    pub precondition: Option<u32>,
    /// How well to measure unless the user says otherwise.
    pub grade: Grade,
    /// Most bytes that each writing stream writes in one pass that nothing else bounds.
    pub written_max: WrittenRule,
    /// Most bytes that all cells of a quick run write to something that wears.
    pub run_written_max: Option<u64>,
    /// What latencies must hold.
    pub expect: Vec<Expect>,
}

impl Method {
    /// Reads a method's text. `name` is for messages; `settings` are the user's `--set` keys.
    ///
    /// # Errors
    /// [`MethodError`] with the line of a syntax error or unknown key, or the cell's wrong setting.
    pub fn parse(
        name: &str,
        text: &str,
        settings: &[(String, String)],
    ) -> Result<Self, MethodError> {
        let wrong = |reason: String| MethodError { method: name.to_owned(), reason };
        let mut file: MethodFile =
            toml::from_str(text).map_err(|error| wrong(complaint(text, &error)))?;
        // Nothing is more than a NaN: a method that has one would never ask.
        if file.ask_above.is_nan() || file.ask_above < 0.0 {
            let ask_above = file.ask_above;
            return Err(wrong(format!("ask_above = {ask_above}: a number, 0 or more")));
        }
        let user = User::new(&mut file, settings).map_err(&wrong)?;
        let cells = cells(&file, text, &user).map_err(&wrong)?;
        let span = span_rule(&file.span).map_err(&wrong)?;
        let precondition = file.precondition.as_deref().map(fill_rule).transpose();
        let precondition = precondition.map_err(&wrong)?;
        let grade_text = file.grade.as_deref().unwrap_or("normal");
        let grade = parse_grade(grade_text).map_err(&wrong)?;
        let written_max = written_rule(file.written_max.as_deref()).map_err(&wrong)?;
        let run_written_max = file.run_written_max.as_deref().map(block::parse_bytes).transpose();
        let run_written_max =
            run_written_max.map_err(|error| wrong(format!("run_written_max: {error}")))?;
        if let Some(rounds) = &mut file.rounds {
            rounds.tracked = tracked(&rounds.tracked, &cells).map_err(&wrong)?;
        }
        let expect = expect::read(&file.expect, &cells).map_err(&wrong)?;
        let text = text.to_owned();
        Ok(Self {
            text,
            expect,
            cells,
            span,
            precondition,
            grade,
            written_max,
            run_written_max,
            file,
        })
    }

    /// A method that comes with drivelab.
    ///
    /// # Errors
    /// When there is none of that name: those whose description has the word, or near names.
    pub fn built_in(name: &str, settings: &[(String, String)]) -> Result<Self, MethodError> {
        let known = || BUILT_IN.iter().map(|(name, _)| *name);
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::parse(name, text, settings),
            None => Err(MethodError {
                method: format!("`{name}`"),
                reason: format!(
                    "there is none of this name.{} There are: {}; or name a TOML file.",
                    described_by(name).unwrap_or_else(|| did_you_mean(name, known())),
                    known().collect::<Vec<_>>().join(", ")
                ),
            }),
        }
    }

    /// How often the area is written before the first cell.
    pub fn fill(&self) -> u32 {
        self.file.fill.unwrap_or(0)
    }

    /// Has the area written once first, if its author says nothing of that and a cell may read
    /// before one has written: a file that is new holds nothing to read.
    pub fn fill_what_is_new(&mut self) {
        let is_first = |cell: &CellSpec| cell.reads() && cell.file == FileState::AsIs;
        let as_written = self.file.order == Order::Fixed
            || self.cells.iter().any(|cell| cell.file == FileState::New);
        let reads_first = match as_written {
            true => self.cells.first().is_some_and(is_first),
            false => self.cells.iter().any(is_first),
        };
        self.file.fill.get_or_insert(u32::from(reads_first));
    }

    /// The largest area any cell needs: its file, or the span.
    pub fn largest_file_bytes(&self) -> Option<u64> {
        self.cells.iter().filter_map(|cell| cell.file_bytes).max()
    }

    /// The smallest block that a cell moves.
    pub(crate) fn smallest_block_bytes(&self) -> Option<u64> {
        let streams = self.cells.iter().flat_map(|cell| &cell.streams);
        streams.map(|stream| stream.block_bytes.into()).min()
    }
}

/// ` Described with this word: ...`: up to five methods, first those whose title has it.
fn described_by(word: &str) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let whose = |text_of: fn(MethodFile) -> String| {
        let has_it = move |text: &str, word: &str| {
            let file = toml::from_str(text);
            file.is_ok_and(|file| text_of(file).to_ascii_lowercase().contains(word))
        };
        let word = &word;
        BUILT_IN.iter().filter(move |(_, text)| has_it(text, word)).map(|(name, _)| *name)
    };
    let mut names: Vec<&str> = whose(|file| file.title).collect();
    let more: Vec<&str> = whose(|file| file.about).filter(|name| !names.contains(name)).collect();
    names.extend(more);
    names.truncate(5);
    let is_found = word.len() > 2 && !names.is_empty();
    is_found.then(|| format!(" Described with this word: {}.", names.join(", ")))
}

/// Reads `quick`, `normal`, `publish`.
///
/// # Errors
/// A sentence that names them.
pub fn parse_grade(text: &str) -> Result<Grade, String> {
    match text {
        "quick" => Ok(Grade::Quick),
        "normal" => Ok(Grade::Normal),
        "publish" => Ok(Grade::Publish),
        other => Err(format!("grade `{other}` is unknown: there are quick, normal, publish")),
    }
}

/// The full name of the one cell that `written` names, or begins the name of.
fn tracked(written: &str, cells: &[CellSpec]) -> Result<String, String> {
    let begins = format!("{written}-");
    let mut fitting = cells
        .iter()
        .map(|cell| &cell.name)
        .filter(|name| *name == written || name.starts_with(&begins));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one.clone()),
        (None, _) => Err(format!(
            "rounds.tracked = `{written}` is none of its cells: keep that cell among those that --set leaves"
        )),
        (Some(one), Some(other)) => Err(format!(
            "rounds.tracked = `{written}` is both {one} and {other}: name one, or set one value"
        )),
    }
}
