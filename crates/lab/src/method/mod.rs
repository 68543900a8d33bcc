//! Methods as data: which cells, in which order, until when.
//!
//! ```text
//!   methods/*.toml (compiled in) or the user's file  ->  MethodFile  --axes, --set-->  Method: cells
//! ```
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod axis;
mod cell;
mod file;

pub use axis::Axis;
pub use cell::{BLOCK_BYTES_MAX, CacheState, CellBound, CellSpec, FileState, FinalFlush};
pub use file::{CellFile, MethodFile, Order, RoundsFile, SET_KEYS};

use crate::{names::did_you_mean, statistics::Grade};
use block::parse_bytes;
use std::collections::BTreeSet;

/// The methods that come with drivelab, by name, in the order of `--help`.
pub const BUILT_IN: &[(&str, &str)] = &[("quick", include_str!("../../../../methods/quick.toml"))];

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
    /// How well to measure unless the user says otherwise.
    pub grade: Grade,
    /// Most bytes that one time-bounded pass of a cell writes.
    pub written_max: Option<u64>,
}

/// How large the tested area is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SpanRule {
    /// This many bytes.
    Bytes(u64),
    /// This many times the machine's memory.
    Memory(f64),
    /// The whole device; a directory needs `--size`.
    Capacity,
    /// As large as the largest file of the cells.
    LargestFile,
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
            toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        let mut user = CellFile::default();
        for (key, value) in settings {
            let value = Axis::parse(value).map_err(&wrong)?;
            match file.axes.get_mut(key) {
                Some(axis) => *axis = value,
                None => user.set(key, value).map_err(&wrong)?,
            }
        }
        let cells = cells(&file, &user).map_err(&wrong)?;
        let span = span_rule(&file.span).map_err(&wrong)?;
        let grade_text = file.grade.as_deref().unwrap_or("normal");
        let grade = parse_grade(grade_text).map_err(&wrong)?;
        let written_max = file
            .written_max
            .as_deref()
            .map(parse_bytes)
            .transpose()
            .map_err(|e| wrong(e.to_string()))?;
        if let Some(rounds) = &file.rounds
            && !cells.iter().any(|cell| cell.name == rounds.tracked)
        {
            return Err(wrong(format!(
                "rounds.tracked = `{}` is none of its cells",
                rounds.tracked
            )));
        }
        Ok(Self { text: text.to_owned(), cells, span, grade, written_max, file })
    }

    /// A method that comes with drivelab.
    ///
    /// # Errors
    /// The nearest names when there is none of that name.
    pub fn built_in(name: &str, settings: &[(String, String)]) -> Result<Self, MethodError> {
        let known = || BUILT_IN.iter().map(|(name, _)| *name);
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::parse(name, text, settings),
            None => Err(MethodError {
                method: format!("`{name}`"),
                reason: format!(
                    "there is none of this name.{} There are: {}; or name a TOML file.",
                    did_you_mean(name, known()),
                    known().collect::<Vec<_>>().join(", ")
                ),
            }),
        }
    }

    /// The largest area any cell needs: its file, or the span.
    pub fn largest_file_bytes(&self) -> Option<u64> {
        self.cells.iter().filter_map(|cell| cell.file_bytes).max()
    }
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

fn span_rule(text: &str) -> Result<SpanRule, String> {
    if let Some(factor) = text.strip_suffix("x memory") {
        let factor = factor.trim().parse::<f64>();
        return match factor {
            Ok(factor) if factor > 0.0 => Ok(SpanRule::Memory(factor)),
            _ => Err(format!("span = `{text}`: a number before `x memory`")),
        };
    }
    match text {
        "capacity" => Ok(SpanRule::Capacity),
        "largest file" => Ok(SpanRule::LargestFile),
        size => match parse_bytes(size).map_err(|error| format!("span: {error}"))? {
            0 => Err("span = 0 tests nothing".to_owned()),
            bytes => Ok(SpanRule::Bytes(bytes)),
        },
    }
}

/// Multiplies the method's axes, then each cell's own.
fn cells(file: &MethodFile, user: &CellFile) -> Result<Vec<CellSpec>, String> {
    if file.cells.is_empty() {
        return Err("it has no [[cell]]".to_owned());
    }
    let mut outer = vec![CellFile::default()];
    for key in ["file", "op", "pattern", "block", "threads", "depth"] {
        let Some(axis) = file.axes.get(key) else { continue };
        let values = axis.0.iter();
        outer = outer
            .iter()
            .flat_map(|cell| values.clone().map(move |value| (cell, value)))
            .map(|(cell, value)| {
                let mut one = cell.clone();
                one.set(key, Axis(vec![value.clone()]))?;
                Ok(one)
            })
            .collect::<Result<_, String>>()?;
    }
    if let Some(wrong) = file
        .axes
        .keys()
        .find(|key| !["file", "op", "pattern", "block", "threads", "depth"].contains(&key.as_str()))
    {
        return Err(format!("axes.{wrong}: axes are file, op, pattern, block, threads, depth"));
    }
    let mut cells = Vec::new();
    for around in &outer {
        for (number, written) in file.cells.iter().enumerate() {
            let whole = file.defaults.overlaid(around).overlaid(written).overlaid(user);
            let expanded =
                cell::expand(&whole).map_err(|reason| format!("cell {}: {reason}", number + 1))?;
            cells.extend(expanded);
        }
    }
    // IOzone skips what does not fit: a record larger than its file.
    cells.retain(|cell| {
        cell.file_bytes.is_none_or(|bytes| {
            cell.streams.iter().all(|stream| u64::from(stream.block_bytes) <= bytes)
        })
    });
    if cells.is_empty() {
        return Err("no record size fits any file size".to_owned());
    }
    make_names_unique(&mut cells);
    Ok(cells)
}

/// Cells that differ in something their name does not say get the test's name or a number.
fn make_names_unique(cells: &mut [CellSpec]) {
    let mut taken = BTreeSet::new();
    for cell in cells {
        if let Some(test) = cell.coordinates.get("test") {
            cell.name = format!("{}-{}", test.replace(' ', "-"), cell.name);
        }
        let mut name = cell.name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}#{number}", cell.name);
            number += 1;
        }
        cell.name = name;
    }
}
