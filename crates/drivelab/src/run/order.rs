//! What the user ordered, from the command line or from the record of a run that goes on.

use crate::{cli::RunArguments, known::read_file};
use anyhow::{Result, bail};
use lab::{
    method::{BUILT_IN, Method},
    order::Order,
    plan::Options,
};
use record::{Record, State, TargetInfo, TargetKind};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
};

/// An order of `run`, and what it is measured on.
pub struct Ordered {
    /// As they were typed.
    pub targets: Vec<OsString>,
    /// What is measured.
    pub order: Order,
}

impl Ordered {
    /// From the command line.
    pub fn new(arguments: &RunArguments) -> Result<Self> {
        if arguments.targets.len() > 2 {
            bail!(
                "run measures one TARGET or compares two, and {} were named: leave some out",
                arguments.targets.len()
            );
        }
        let mut words = BTreeMap::new();
        let sugar =
            [("engine", &arguments.engine), ("io", &arguments.io), ("data", &arguments.data)];
        for (key, value) in sugar {
            if let Some(value) = value {
                words.insert(format!("set.{key}"), value.clone());
            }
        }
        for (key, value) in &arguments.set {
            words.insert(format!("set.{key}"), value.clone());
        }
        let mut keep = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                words.insert(key.to_owned(), value);
            }
        };
        keep("size", arguments.size.map(|bytes| bytes.to_string()));
        keep("grade", arguments.grade.clone());
        keep("passes", arguments.passes.map(|count| count.to_string()));
        keep("max-time", arguments.max_time.map(|seconds| format!("{seconds}s")));
        keep("max-written", arguments.max_written.map(|bytes| bytes.to_string()));
        keep("on-error", arguments.on_error.clone());
        keep("reads-only", arguments.reads_only.then(|| "true".to_owned()));
        keep("purge", arguments.purge.then(|| "true".to_owned()));
        let (name, text) = method_text(&arguments.method)?;
        let seed = arguments.seed.unwrap_or_else(chosen_seed);
        let labels = labels(&arguments.label);
        let order = Order::from_words(&name, &text, words, seed, labels)?;
        Ok(Self { targets: arguments.targets.clone(), order })
    }

    /// From the record of a run that was interrupted: the same targets, by the same scheme, and the
    /// same tested area.
    ///
    /// # Errors
    /// A run that is complete or running, or that `run` did not begin.
    pub fn resume(record: &Record) -> Result<Self> {
        match record.state {
            State::Complete => {
                bail!("run {0} is complete: `drivelab show {0}` prints it", record.id)
            }
            State::Running => {
                bail!("run {} is still running: wait for its end, or stop it first", record.id)
            }
            State::Interrupted | State::Failed => {}
        }
        if is_of_a_matrix(record) {
            bail!(
                "run {} is part of a matrix, whose file systems are made and removed as it goes: \
                 run the matrix again",
                record.id
            );
        }
        let targets = record.targets.iter().map(place).collect();
        let method = &record.method;
        let (words, labels) = (method.options.clone(), record.labels.clone());
        let order = Order::from_words(&method.name, &method.text, words, record.seed, labels)?;
        // A span that follows from memory or free space may be another by now.
        let span_bytes = Some(method.span_bytes);
        let order = Order { options: Options { span_bytes, ..order.options }, ..order };
        Ok(Self { targets, order })
    }
}

/// What to open for a target of a record. The user may stand elsewhere now: `.` would be another
/// directory.
fn place(target: &TargetInfo) -> OsString {
    match (target.kind, target.place()) {
        // The file that a volume is in is another target: the raw bytes.
        (TargetKind::Flash, Some(path)) => {
            let mut text = OsString::from("flash:");
            text.push(path);
            text
        }
        (
            TargetKind::Directory
            | TargetKind::File
            | TargetKind::NewFile
            | TargetKind::BlockDevice,
            Some(path),
        ) => path.into_os_string(),
        _ => OsString::from(&target.text),
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

/// `KEY=VALUE`, or a value alone.
pub fn labels(given: &[String]) -> BTreeMap<String, String> {
    let pair = |label: &String| match label.split_once('=') {
        Some((key, value)) => (key.to_owned(), value.to_owned()),
        None => ("label".to_owned(), label.clone()),
    };
    given.iter().map(pair).collect()
}

/// A built-in method's text, or a file's: a word with a dot or a slash is a file.
pub fn method_text(named: &OsStr) -> Result<(String, String)> {
    let path = Path::new(named);
    let Some(named) = named.to_str() else {
        let text = read_file("--method", "method file", path)?;
        return Ok((path.display().to_string(), text));
    };
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == named) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    if named.contains(['.', '/']) || path.is_file() {
        let text = read_file("--method", "method file", path)?;
        return Ok((named.to_owned(), text));
    }
    // The error names the nearest.
    let method = Method::built_in(named, &[])?;
    Ok((named.to_owned(), method.text))
}

/// Where choices come from when the user named no seed: short enough for a record's JSON.
pub fn chosen_seed() -> u64 {
    host::entropy() >> 12
}
