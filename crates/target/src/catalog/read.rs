//! From a file's tables to an entry: every value checked against the schema, with the place of
//! whatever is wrong.

use super::{
    entry::{
        DataSheet, DriveEntry, Entry, FITTED_MAX, HostEntry, Origin, Parameter, Price, PriceDate,
        Reality, Value,
    },
    schema::{DRIVER_KEYS, DriveKind, Holds, Key, Need, PORT_KEYS},
    section::{BadCatalog, Section, Source},
    unit::{self, Dimension},
};
use block::names::did_you_mean;
use std::collections::BTreeMap;
use toml::de::DeValue;

impl DriveEntry {
    /// Reads one file.
    ///
    /// # Errors
    /// What is wrong, with file, line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, BadCatalog> {
        let source = Source { name: file, text };
        let table = source.parse()?;
        let top = Section::top(source, &table);
        let (kind, at) = top.text("kind")?;
        let kind =
            DriveKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
                let names = DriveKind::ALL.map(DriveKind::name);
                let near = did_you_mean(&kind, names);
                top.wrong(
                    "kind",
                    at.start,
                    &format!("is `{kind}`.{near} Kinds: {}", names.join(", ")),
                )
            })?;
        let entry = entry(&top, source, kind.keys())?;
        let drive = Self {
            kind,
            port: top.text("port")?.0,
            kernel: kernel(&top)?,
            capacity_bytes: capacity(&top)?,
            median_of: median_of(&top, &entry)?,
            data_sheet: data_sheet(&top)?,
            price: price(&top)?,
            entry,
        };
        top.finish()?;
        Ok(drive)
    }
}

impl HostEntry {
    /// Reads a port's file.
    ///
    /// # Errors
    /// What is wrong, with file, line and key.
    pub fn parse_port(file: &str, text: &str) -> Result<Self, BadCatalog> {
        Self::parse(file, text, PORT_KEYS)
    }

    /// Reads an array driver's file.
    ///
    /// # Errors
    /// What is wrong, with file, line and key.
    pub fn parse_driver(file: &str, text: &str) -> Result<Self, BadCatalog> {
        let driver = Self::parse(file, text, DRIVER_KEYS)?;
        let of_memory = || DRIVER_KEYS.iter().filter(|key| key.name.starts_with("cache"));
        let (there, missing): (Vec<&Key>, Vec<_>) =
            of_memory().partition(|key| driver.entry.parameters.contains_key(key.name));
        match (there.first(), missing.first()) {
            (Some(there), Some(missing)) => Err(BadCatalog(format!(
                "{file}: `{}` needs `{}` beside it: memory has all of its numbers or none",
                there.name, missing.name
            ))),
            _ => Ok(driver),
        }
    }

    fn parse(file: &str, text: &str, keys: &[Key]) -> Result<Self, BadCatalog> {
        let source = Source { name: file, text };
        let table = source.parse()?;
        let top = Section::top(source, &table);
        let entry = entry(&top, source, keys)?;
        top.finish()?;
        Ok(Self { entry })
    }
}

/// What a drive's, a port's and a driver's files have in common.
pub(super) fn entry(
    top: &Section<'_>,
    source: Source<'_>,
    keys: &[Key],
) -> Result<Entry, BadCatalog> {
    let (name, at) = top.text("name")?;
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_plain) {
        let what = "is of small letters, digits, `-` and `.`, so that a STACK can hold it";
        return Err(top.wrong("name", at.start, what));
    }
    let generic = match top.ask("generic") {
        None | Some((DeValue::Boolean(false), _)) => Reality::Product,
        Some((DeValue::Boolean(true), _)) => Reality::Generic,
        Some((_, span)) => return Err(top.wrong("generic", span.start, "is true or false")),
    };
    let entry = Entry {
        name,
        title: top.text("title")?.0,
        about: top.text("about")?.0,
        reality: generic,
        parameters: parameters(&top.section("parameters")?, keys)?,
        file: source.name.to_owned(),
        text: source.text.to_owned(),
    };
    let limit = if entry.reality == Reality::Generic { 0 } else { FITTED_MAX };
    if entry.fitted() > limit {
        let about = match entry.reality {
            Reality::Generic => {
                format!("what is generic has no fitted numbers, and this has {}", entry.fitted())
            }
            Reality::Product => {
                format!("at most {limit} numbers may be fitted, and {} are", entry.fitted())
            }
        };
        return Err(source.complain(0, &about));
    }
    Ok(entry)
}

fn parameters(
    section: &Section<'_>,
    keys: &[Key],
) -> Result<BTreeMap<String, Parameter>, BadCatalog> {
    let mut parameters = BTreeMap::new();
    for key in keys {
        match section.section_if_there(key.name)? {
            Some(inner) => {
                parameters.insert(key.name.to_owned(), parameter(&inner, key)?);
                inner.finish()?;
            }
            None if key.need == Need::Required => return Err(section.missing(key.name)),
            None => {}
        }
    }
    section.finish()?;
    Ok(parameters)
}

fn parameter(inner: &Section<'_>, key: &Key) -> Result<Parameter, BadCatalog> {
    let (value, span) = inner.ask("value").ok_or_else(|| inner.missing("value"))?;
    let (value, unit, factor) = match &key.holds {
        Holds::Number(dimension, range) => {
            let number = number(value).filter(|number| number.is_finite());
            let number =
                number.ok_or_else(|| inner.wrong("value", span.start, "wants a number"))?;
            let (unit, at) = inner.text("unit")?;
            let factor = factor(inner, &unit, at.start, *dimension)?;
            let base = (number * factor).round();
            if base < *range.start() as f64 || base > *range.end() as f64 {
                let [least, most] = [*range.start(), *range.end()].map(|end| end as f64 / factor);
                let what = format!("is {number} {unit}: it goes from {least} to {most} {unit}");
                return Err(inner.wrong("value", span.start, &what));
            }
            (Value::Number(number), unit, factor)
        }
        Holds::Word(words) => match value {
            DeValue::String(word) if words.contains(&word.as_ref()) => {
                (Value::Word(word.to_string()), String::new(), 1.0)
            }
            _ => {
                let what = format!("is one of these words: {}", words.join(", "));
                return Err(inner.wrong("value", span.start, &what));
            }
        },
    };
    let (from, at) = inner.text("from")?;
    let from = Origin::ALL.into_iter().find(|origin| origin.name() == from).ok_or_else(|| {
        let names = Origin::ALL.map(Origin::name);
        let near = did_you_mean(&from, names);
        let what = format!("is `{from}`.{near} It is one of: {}", names.join(", "));
        inner.wrong("from", at.start, &what)
    })?;
    let (source, at) = inner.text("source")?;
    if source.trim().is_empty() {
        return Err(inner.wrong("source", at.start, "says nothing: every number names its source"));
    }
    let of = inner.names("of")?;
    if !of.is_empty() && from != Origin::Median {
        return Err(inner.wrong("of", span.start, "is for `from = \"median\"` alone"));
    }
    Ok(Parameter { value, unit, from, source, of, factor, span })
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn factor(
    section: &Section<'_>,
    unit: &str,
    at: usize,
    dimension: Dimension,
) -> Result<f64, BadCatalog> {
    let Some((measures, factor)) = unit::find(unit) else {
        let near = did_you_mean(unit, unit::names());
        let what =
            format!("is `{unit}`, which is no unit.{near} {dimension} is in {}", dimension.units());
        return Err(section.wrong("unit", at, &what));
    };
    if measures != dimension {
        let what =
            format!("is `{unit}`, {measures}, and {dimension} is wanted: {}", dimension.units());
        return Err(section.wrong("unit", at, &what));
    }
    Ok(factor)
}

/// The largest drive, bytes: what a model keeps of a larger one fits into no memory.
const CAPACITY_BYTES_MAX: u64 = 256 << 40;

/// `capacity = { value = 32, unit = "GB" }`.
pub(super) fn capacity(top: &Section<'_>) -> Result<u64, BadCatalog> {
    let inner = top.section("capacity")?;
    let (value, span) = inner.ask("value").ok_or_else(|| inner.missing("value"))?;
    let number = number(value).filter(|number| *number > 0.0);
    let number =
        number.ok_or_else(|| inner.wrong("value", span.start, "wants a number above 0"))?;
    let (unit, at) = inner.text("unit")?;
    let bytes = number * factor(&inner, &unit, at.start, Dimension::Size)?;
    inner.finish()?;
    // Whole megabytes, so that any page and any sector divides it.
    let bytes = (bytes.round() as u64) >> 20 << 20;
    if bytes == 0 || bytes > CAPACITY_BYTES_MAX {
        let what = format!("is {number} {unit}: it goes from 1 MiB to 256 TiB");
        return Err(inner.wrong("value", span.start, &what));
    }
    Ok(bytes)
}

/// `median_of = ["a-drive", "another"]`, of what is generic.
pub(super) fn median_of(top: &Section<'_>, entry: &Entry) -> Result<Vec<String>, BadCatalog> {
    let names = top.names("median_of")?;
    let is_generic = entry.reality == Reality::Generic;
    let median = entry.parameters.iter().find(|(_, number)| number.from == Origin::Median);
    if let Some((name, number)) = median.filter(|_| !is_generic || names.is_empty()) {
        let what = "is a median: a file with `generic = true` names its drives in `median_of`";
        return Err(top.wrong(&format!("parameters.{name}"), number.span.start, what));
    }
    if !names.is_empty() && !is_generic {
        let what = "is for a file with `generic = true`";
        let at = top.ask("median_of").map_or(0, |(_, span)| span.start);
        return Err(top.wrong("median_of", at, what));
    }
    Ok(names)
}

/// `kernel = "2.6.24"`.
pub(super) fn kernel(top: &Section<'_>) -> Result<Option<(u32, u32, u32)>, BadCatalog> {
    let Some((text, at)) = top.text_if_there("kernel")? else { return Ok(None) };
    match parse_kernel(&text) {
        Some(kernel) => Ok(Some(kernel)),
        None => Err(top.wrong("kernel", at.start, "wants a version such as \"2.6.24\" or \"6.1\"")),
    }
}

/// `2.6.24`, `6.1`: the parts of a kernel's version.
pub(crate) fn parse_kernel(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    parts.next().is_none().then_some(version)
}

pub(super) fn data_sheet(top: &Section<'_>) -> Result<DataSheet, BadCatalog> {
    let Some(section) = top.section_if_there("data_sheet")? else {
        return Ok(DataSheet::default());
    };
    let source = section.text("source")?.0;
    let mut lines = Vec::new();
    // `entry` is for `report::specification`, which reads it strictly.
    for key in section.keys().into_iter().filter(|key| !["source", "entry"].contains(key)) {
        lines.push((key.to_owned(), section.text(key)?.0));
    }
    Ok(DataSheet { source, lines })
}

pub(super) fn price(top: &Section<'_>) -> Result<Option<Price>, BadCatalog> {
    let Some(section) = top.section_if_there("price")? else { return Ok(None) };
    let usd = match section.ask("usd") {
        None => None,
        Some((value, span)) => {
            Some(number(value).ok_or_else(|| section.wrong("usd", span.start, "wants a number"))?)
        }
    };
    let date = match section.text_if_there("date")? {
        None => None,
        Some((text, span)) => Some(PriceDate::parse(&text).ok_or_else(|| {
            let what = "wants a date such as \"2026\", \"2026-11\" or \"2026-11-23\"";
            section.wrong("date", span.start, what)
        })?),
    };
    let (text, source) = (section.text("text")?.0, section.text("source")?.0);
    let address = section.text_if_there("address")?.map(|(address, _)| address);
    let price = Price { usd, text, date, source, address };
    section.finish()?;
    Ok(Some(price))
}
