//! A drive or a port of the catalog, as its file says it.

use super::{schema::DriveKind, section::BadCatalog};
use block::names::did_you_mean;
use std::{collections::BTreeMap, fmt, ops::Range};

/// Most numbers of one drive that may be fitted.
pub const FITTED_MAX: usize = 12;

/// Where a number comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Fitted on published or measured cells; the source names them.
    Fit,
    /// The maker's data sheet.
    DataSheet,
    /// Printed in a study.
    Published,
    /// Of the drives that a generic kind names; the source says how far they lie apart.
    Median,
    /// Typical of its kind; the source says of what.
    Assumed,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Fit, Self::DataSheet, Self::Published, Self::Median, Self::Assumed];

    /// The word in files and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::DataSheet => "data sheet",
            Self::Published => "published",
            Self::Median => "median",
            Self::Assumed => "assumed",
        }
    }
}

/// A number or a word of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// In the parameter's own unit.
    Number(f64),
    /// One of a few words.
    Word(String),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Word(word) => formatter.write_str(word),
        }
    }
}

/// One physical number of a drive, with its unit and where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// As the file says it.
    pub value: Value,
    /// Its unit, empty for a word.
    pub unit: String,
    /// Where it comes from.
    pub from: Origin,
    /// Which cells, sheet, study or assumption.
    pub source: String,
    /// Of which drives it is the median, where they are not those of the whole kind.
    pub of: Vec<String>,
    /// How many of the model's unit one `unit` is.
    pub(super) factor: f64,
    /// Where the value stands in the file.
    pub(super) span: Range<usize>,
}

impl Parameter {
    /// In the model's unit: ns, bytes, bytes per second, picoseconds per byte, a count...
    ///
    /// # Panics
    /// On a word: the schema said that this is a number.
    pub fn base(&self) -> f64 {
        match self.value {
            Value::Number(number) => number * self.factor,
            Value::Word(_) => panic!("a word is no number"),
        }
    }
}

/// Text of a data sheet: as printed, with its source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataSheet {
    /// Who printed it.
    pub source: String,
    /// What is said, by name, in the order of the file.
    pub lines: Vec<(String, String)>,
}

/// What it cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Price {
    /// In US dollars; absent where only words were printed.
    pub usd: Option<f64>,
    /// As printed.
    pub text: String,
    /// When it was asked, or printed; a price without a date may be of any year.
    pub date: Option<PriceDate>,
    /// Who printed it.
    pub source: String,
    /// Where it can be read.
    pub address: Option<String>,
}

/// When a price was asked: a year, a month or a day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PriceDate {
    /// Of the common era.
    pub year: u16,
    /// 1 to 12.
    pub month: Option<u8>,
    /// 1 to 31.
    pub day: Option<u8>,
}

impl PriceDate {
    /// Reads `2009`, `2026-01` or `2026-01-09`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |digits: usize, range: std::ops::RangeInclusive<u16>| {
            let Some(part) = parts.next() else { return Some(None) };
            let is_plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse().ok().filter(|number| is_plain && range.contains(number))?;
            Some(Some(number))
        };
        let year = number(4, 1950..=2999)??;
        let month = number(2, 1..=12)?.map(|month| month as u8);
        let day = number(2, 1..=31)?.map(|day| day as u8);
        parts.next().is_none().then_some(Self { year, month, day })
    }

    /// Whole months from here to `today`; a year is taken at its end, and what lies ahead is 0
    /// months old.
    pub fn months_until(self, today: Self) -> u32 {
        let count = |date: Self| u32::from(date.year) * 12 + u32::from(date.month.unwrap_or(12));
        count(today).saturating_sub(count(self))
    }
}

impl fmt::Display for PriceDate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.year)?;
        for part in [self.month, self.day].into_iter().flatten() {
            write!(formatter, "-{part:02}")?;
        }
        Ok(())
    }
}

/// Whether its numbers are those of a thing that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reality {
    /// One product.
    Product,
    /// A kind of product: generic, not fitted.
    Generic,
}

/// A drive or a port as its file says it.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// As a STACK names it.
    pub name: String,
    /// In words.
    pub title: String,
    /// What it is, where its numbers come from, what resists: sentences.
    pub about: String,
    /// A product, or a kind of them.
    pub reality: Reality,
    /// The file's physical numbers by name.
    pub parameters: BTreeMap<String, Parameter>,
    /// The file's name, for sentences.
    pub file: String,
    /// The file, as it was read and changed.
    pub(super) text: String,
}

/// A drive of the catalog.
#[derive(Clone, PartialEq, Debug)]
pub struct DriveEntry {
    /// Name, title, parameters.
    pub entry: Entry,
    /// Which model its parameters are for.
    pub kind: DriveKind,
    /// The port that its figures were taken on, and that it has when a STACK names none.
    pub port: String,
    /// The kernel that its figures were taken under: file-system layers behave as it did.
    pub kernel: Option<(u32, u32, u32)>,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// The drives of the catalog that are of this kind; none for a product.
    pub median_of: Vec<String>,
    /// As printed.
    pub data_sheet: DataSheet,
    /// If one was printed.
    pub price: Option<Price>,
}

/// A port or an array driver of the catalog.
#[derive(Clone, PartialEq, Debug)]
pub struct HostEntry {
    /// Name, title, parameters.
    pub entry: Entry,
}

impl DriveEntry {
    /// The name in a STACK.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// How many of its numbers are fitted.
    pub fn fitted(&self) -> usize {
        self.entry.fitted()
    }
}

impl HostEntry {
    /// The name in a STACK.
    pub fn name(&self) -> &str {
        &self.entry.name
    }
}

impl Entry {
    /// The file's text, with every change that [`Entry::set`] made.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Gives a parameter another value in its own unit, a count the next whole one, here and in the
    /// file's text; comments and layout stay.
    ///
    /// # Errors
    /// When there is no such number.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), BadCatalog> {
        let known: Vec<&str> = self.parameters.keys().map(String::as_str).collect();
        let unknown = || {
            let near = did_you_mean(name, known.iter().copied());
            BadCatalog(format!("{}: there is no parameter `{name}`.{near}", self.file))
        };
        let parameter = self.parameters.get(name).ok_or_else(unknown)?;
        if !matches!(parameter.value, Value::Number(_)) {
            return Err(BadCatalog(format!("{}: `{name}` is a word, not a number", self.file)));
        }
        let value = if parameter.unit == "count" { value.round() } else { value };
        let span = parameter.span.clone();
        let written = format!("{value}");
        self.text.replace_range(span.clone(), &written);
        let shift = written.len() as isize - span.len() as isize;
        for parameter in self.parameters.values_mut().filter(|p| p.span.start > span.start) {
            let moved = |at: usize| at.checked_add_signed(shift).expect("a place in the text");
            parameter.span = moved(parameter.span.start)..moved(parameter.span.end);
        }
        let parameter = self.parameters.get_mut(name).expect("it was there");
        (parameter.value, parameter.span) =
            (Value::Number(value), span.start..span.start + written.len());
        Ok(())
    }

    /// How many of its numbers are fitted.
    pub fn fitted(&self) -> usize {
        self.parameters.values().filter(|parameter| parameter.from == Origin::Fit).count()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.parameters.get(name).map(Parameter::base)
    }

    /// A parameter in the model's unit, rounded; `None` where the file leaves an optional one out.
    pub(crate) fn ask(&self, name: &str) -> Option<u64> {
        self.number(name).map(|value| value.round() as u64)
    }

    /// A parameter that the schema requires.
    pub(crate) fn get(&self, name: &str) -> u64 {
        self.ask(name).unwrap_or_else(|| panic!("{}: the schema requires `{name}`", self.file))
    }

    /// A word, if the file has it.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        match &self.parameters.get(name)?.value {
            Value::Word(word) => Some(word),
            Value::Number(_) => panic!("the schema says that `{name}` is a word"),
        }
    }
}
