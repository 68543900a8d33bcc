//! What is ordered: a method with its options, as words that a record keeps, so that a run which
//! goes on has the same.
//!
//! ```text
//!   Options, settings of every cell -> words {size: 1073741824, set.depth: 4, ...}
//!   words + method -> Order -> Plan (of the targets' offers)
//!   Order, Plan, Opening (who, when, on what) -> a Record without cells
//! ```

mod resume;

pub use resume::difference;

use crate::{
    duration::parse_seconds,
    method::{Method, MethodError, parse_grade},
    plan::{Options, Plan},
    target::Time,
};
use block::parse_bytes;
use record::{
    Calibration, Environment, FORMAT, MethodInfo, Record, State, TargetInfo, Tool, VERSION, Warning,
};
use std::{collections::BTreeMap, str::FromStr};

/// A method and its options, before there is a target.
#[derive(Clone, Debug)]
pub struct Order {
    /// What is measured.
    pub method: Method,
    /// As they were read from [`Self::words`].
    pub options: Options,
    /// The options as the record keeps them: `size` and `max-written` in bytes, `grade`, `passes`,
    /// `max-time` with its unit, `on-error`, `until`, `slower`, `reads-only`, and `set.KEY` of
    /// every cell.
    pub words: BTreeMap<String, String>,
    /// Notes in the record.
    pub labels: BTreeMap<String, String>,
}

/// Why words are no order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OrderError {
    /// The method's text, or a setting of its cells.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// The value of an option.
    #[error("{reason}")]
    Option {
        /// Its name among the words.
        name: String,
        /// What is wrong with the value.
        reason: String,
    },
}

impl Order {
    /// From options and settings of every cell. `text` is the method's TOML, `name` what it is
    /// called.
    ///
    /// # Errors
    /// A method, or a setting that is none.
    pub fn new(
        name: &str,
        text: &str,
        settings: &[(String, String)],
        options: &Options,
        labels: BTreeMap<String, String>,
    ) -> Result<Self, OrderError> {
        // What a run has that goes on is what it had at first, by the same way.
        Self::from_words(name, text, words(settings, options), options.seed, labels)
    }

    /// From words. `text` is the method's TOML, `name` what it is called.
    ///
    /// # Errors
    /// A method or an option that is none.
    pub fn from_words(
        name: &str,
        text: &str,
        words: BTreeMap<String, String>,
        seed: u64,
        labels: BTreeMap<String, String>,
    ) -> Result<Self, OrderError> {
        let settings: Vec<(String, String)> = words
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix("set.")?.to_owned(), value.clone())))
            .collect();
        let method = Method::parse(name, text, &settings)?;
        let options = Options {
            grade: read(&words, "grade", parse_grade)?,
            span_bytes: read(&words, "size", parse_bytes)?,
            written_bytes_max: read(&words, WRITTEN, parse_bytes)?,
            seconds_max: read(&words, "max-time", parse_seconds)?,
            passes: read(&words, "passes", u32::from_str)?,
            on_error: read(&words, "on-error", FromStr::from_str)?,
            until: read(&words, "until", FromStr::from_str)?,
            slower: read(&words, "slower", FromStr::from_str)?,
            reads_only: words.contains_key("reads-only"),
            seed,
        };
        Ok(Self { method, options, words, labels })
    }

    /// Writes no more than this; without it what its plan says.
    pub fn limit_written(&mut self, bytes: Option<u64>) {
        self.options.written_bytes_max = bytes;
        self.words.remove(WRITTEN);
        self.words.extend(bytes.map(|bytes| (WRITTEN.to_owned(), bytes.to_string())));
    }

    /// Whether any of its cells writes.
    pub fn writes(&self) -> bool {
        self.method.cells.iter().any(crate::method::CellSpec::writes)
    }

    /// The record of a run that begins, without cells.
    pub fn record(&self, plan: &Plan, opening: Opening) -> Record {
        let notes = plan.notes.iter().map(|text| Warning { flag: None, text: text.clone() });
        let method = MethodInfo {
            name: plan.method.file.name.clone(),
            title: Some(plan.method.file.title.clone()),
            layout: plan.method.file.layout.clone(),
            grade: plan.grade.name().to_owned(),
            text: plan.method.text.clone(),
            options: self.words.clone(),
            span_bytes: plan.span_bytes,
            passes: plan.passes,
            not_measured: None,
        };
        Record {
            labels: self.labels.clone(),
            left_out: plan.left_out.clone(),
            warnings: notes.collect(),
            ..opening.record(method, plan.seed)
        }
    }
}

/// How many bytes may be written, among the words.
const WRITTEN: &str = "max-written";

/// Options and settings as a record keeps them.
fn words(settings: &[(String, String)], options: &Options) -> BTreeMap<String, String> {
    let set = settings.iter().map(|(key, value)| (format!("set.{key}"), value.clone()));
    let given = [
        ("size", options.span_bytes.map(|bytes| bytes.to_string())),
        ("grade", options.grade.map(|grade| grade.name().to_owned())),
        ("passes", options.passes.map(|count| count.to_string())),
        ("max-time", options.seconds_max.map(|seconds| format!("{seconds}s"))),
        (WRITTEN, options.written_bytes_max.map(|bytes| bytes.to_string())),
        ("on-error", options.on_error.map(|what| what.to_string())),
        ("until", options.until.map(|condition| condition.to_string())),
        ("slower", options.slower.map(|times| times.to_string())),
        ("reads-only", options.reads_only.then(|| "true".to_owned())),
    ];
    let given = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    set.chain(given).collect()
}

/// Notes as they are typed: `KEY=VALUE`, or a value alone.
pub fn labels(given: &[String]) -> BTreeMap<String, String> {
    let pair = |label: &String| match label.split_once('=') {
        Some((key, value)) => (key.to_owned(), value.to_owned()),
        None => ("label".to_owned(), label.clone()),
    };
    given.iter().map(pair).collect()
}

fn read<T, E: ToString>(
    words: &BTreeMap<String, String>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, OrderError> {
    let wrong = |error: E| OrderError::Option { name: name.to_owned(), reason: error.to_string() };
    words.get(name).map(|text| parse(text).map_err(wrong)).transpose()
}

/// Who measures, when, and on what: what a record says besides its order and its plan.
#[derive(Clone, Debug)]
pub struct Opening {
    /// A fresh one.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Whose clock.
    pub time: Time,
    /// What is measured.
    pub targets: Vec<TargetInfo>,
    /// On which machine.
    pub environment: Environment,
    /// What an operation of the measuring program itself costs.
    pub calibration: Calibration,
    /// As it was typed.
    pub command_line: Vec<String>,
    /// By which program.
    pub tool: Tool,
}

impl Opening {
    /// The record of a run of which nothing is known yet but this, its method and its seed.
    pub fn record(self, method: MethodInfo, seed: u64) -> Record {
        Record {
            format: FORMAT.to_owned(),
            version: VERSION,
            id: self.id,
            state: State::Running,
            error: None,
            tool: self.tool,
            command_line: self.command_line,
            labels: BTreeMap::new(),
            campaign: None,
            started: self.started,
            finished: None,
            time: self.time.name().to_owned(),
            seed,
            targets: self.targets,
            environment: self.environment,
            method,
            calibration: vec![self.calibration],
            cells: Vec::new(),
            left_out: Vec::new(),
            failed: Vec::new(),
            paired: Vec::new(),
            rounds: None,
            knees: Vec::new(),
            power_cuts: None,
            expectations: Vec::new(),
            flags: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        method::{BUILT_IN, parse_grade},
        workload::OnError,
    };
    use std::num::NonZeroU32;

    /// A run that goes on is planned from the words of its record, and a limit that a study shares
    /// out is among them.
    #[test]
    fn the_words_of_an_order_give_the_same_options_again() {
        let options = Options {
            grade: parse_grade("normal").ok(),
            span_bytes: Some(3 << 20),
            written_bytes_max: Some(5 << 30),
            seconds_max: Some(0.1 + 0.2),
            seed: 7,
            reads_only: true,
            passes: Some(4),
            on_error: Some(OnError::Count),
            until: "p99.9<500us".parse().ok(),
            slower: NonZeroU32::new(20),
        };
        let (name, text) = BUILT_IN[0];
        let settings = [("block".to_owned(), "8K".to_owned())];
        let order = |options| Order::new(name, text, &settings, options, BTreeMap::new());
        let mut order = order(&options).expect("an order");
        assert_eq!(order.options, options);
        order.limit_written(Some(1 << 20));
        let words = order.words.clone();
        let again = Order::from_words(name, text, words, 7, BTreeMap::new()).expect("an order");
        assert_eq!(again.options, Options { written_bytes_max: Some(1 << 20), ..options });
        assert_eq!(again.words.get("set.block").map(String::as_str), Some("8K"));
        order.limit_written(None);
        assert_eq!(order.words.get(WRITTEN), None);
    }
}
