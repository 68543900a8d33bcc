//! TOML to [`Specification`], strictly: what is wrong is named with file, line and the nearest
//! right word.

use super::{DriveState, Entry, Metric, Promise, Specification};
use block::names::{did_you_mean, unknown_field};
use block::parse_bytes;
use serde::Deserialize;
use std::ops::Range;
use toml::{Spanned, Value};

/// A specification that cannot be read: one sentence with file, line and cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}, line {line}: {about}")]
pub struct BadSpecification {
    /// Its name.
    pub file: String,
    /// The first is 1.
    pub line: usize,
    /// What is wrong there, and what is right.
    pub about: String,
}

/// The patterns that a method can name.
const PATTERNS: [&str; 8] =
    ["seq", "random", "permutation", "zipf", "hot_cold", "backward", "strided", "rewrite"];
/// The operations, without the share of a mix.
const OPERATIONS: [&str; 5] = ["read", "write", "mixed", "commit", "read_modify_write"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    source: String,
    entry: Vec<Line>,
}

#[derive(Deserialize)]
struct CatalogFile {
    title: String,
    #[serde(default)]
    data_sheet: CatalogSheet,
}

#[derive(Deserialize, Default)]
struct CatalogSheet {
    #[serde(default)]
    source: String,
    #[serde(default)]
    entry: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    metric: Spanned<String>,
    value: Spanned<Value>,
    unit: Spanned<String>,
    op: Option<Spanned<String>>,
    pattern: Option<Spanned<String>>,
    up_to: Option<Spanned<bool>>,
    block: Option<Spanned<String>>,
    depth: Option<Spanned<u32>>,
    threads: Option<Spanned<u32>>,
    span: Option<Spanned<String>>,
    state: Option<Spanned<String>>,
    percentile: Option<Spanned<f64>>,
}

impl Specification {
    /// Reads a specification file; `file` is its name, for complaints.
    ///
    /// # Errors
    /// What is wrong, with file and line.
    pub fn parse(file: &str, text: &str) -> Result<Self, BadSpecification> {
        let source = Source { file, text };
        let read: File = source.read()?;
        if read.entry.is_empty() {
            return Err(
                source.complain(0, "has no [[entry]]: write one for each line of the sheet")
            );
        }
        Self::of(source, read.name, read.source, &read.entry)
    }

    /// The figures that a catalog's drive carries; `None` where it carries none.
    ///
    /// # Errors
    /// What is wrong, with file and line.
    pub fn of_catalog(file: &str, text: &str) -> Result<Option<Self>, BadSpecification> {
        let source = Source { file, text };
        let read: CatalogFile = source.read()?;
        let sheet = read.data_sheet;
        if sheet.entry.is_empty() {
            return Ok(None);
        }
        Self::of(source, read.title, sheet.source, &sheet.entry).map(Some)
    }

    fn of(
        source: Source<'_>,
        name: String,
        printed_by: String,
        lines: &[Line],
    ) -> Result<Self, BadSpecification> {
        let entries = lines.iter().map(|line| source.entry(line)).collect::<Result<_, _>>()?;
        Ok(Self { name, source: printed_by, entries })
    }
}

#[derive(Clone, Copy)]
struct Source<'t> {
    file: &'t str,
    text: &'t str,
}

impl Source<'_> {
    fn complain(self, at: usize, about: &str) -> BadSpecification {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        BadSpecification { file: self.file.to_owned(), line, about: about.to_owned() }
    }

    fn read<T: serde::de::DeserializeOwned>(self) -> Result<T, BadSpecification> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let words = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            let of_a_key = unknown_field(&words).map(|(wrong, known)| {
                let near = did_you_mean(wrong, known.iter().copied());
                format!(
                    "there is no key `{wrong}` here.{near} Keys: {}. \
                     docs/reference/spec-format.md has an example",
                    known.join(", ")
                )
            });
            self.complain(at, &of_a_key.unwrap_or(words))
        })
    }

    fn entry(self, line: &Line) -> Result<Entry, BadSpecification> {
        let metric = self.metric(&line.metric)?;
        let (value, granted, printed) = self.figure(metric, line)?;
        let (op, read_percent) = self.operation(line)?;
        let pattern = match &line.pattern {
            Some(pattern) => Some(self.word(pattern, "pattern", &PATTERNS)?),
            None => None,
        };
        if metric.is_of_operations() && (op.is_none() || pattern.is_none()) {
            let name = metric.name();
            let about = format!(
                "an entry of {name} needs `op` and `pattern`, such as \"read\", \"random\""
            );
            return Err(self.complain(line.metric.span().start, &about));
        }
        Ok(Entry {
            metric,
            value,
            granted,
            printed,
            promise: self.promise(metric, line)?,
            op,
            read_percent,
            pattern,
            block_bytes: self.size(line.block.as_ref(), "block")?,
            depth: self.count(line.depth.as_ref(), "depth")?,
            threads: self.count(line.threads.as_ref(), "threads")?,
            span_bytes: self.size(line.span.as_ref(), "span")?,
            state: self.state(line)?,
            percentile: self.percentile(metric, line)?,
        })
    }

    fn metric(self, word: &Spanned<String>) -> Result<Metric, BadSpecification> {
        let names = Metric::ALL.map(Metric::name);
        let name = self.word(word, "metric", &names)?;
        Ok(*Metric::ALL.iter().find(|metric| metric.name() == name).expect("a known name"))
    }

    /// The value in the metric's own unit, half of its last written digit, and both as written.
    fn figure(self, metric: Metric, line: &Line) -> Result<(f64, f64, String), BadSpecification> {
        let names: Vec<&str> = metric.units().iter().map(|(name, _)| *name).collect();
        let unit = self.word(&line.unit, "unit", &names)?;
        let (_, factor) = metric.units().iter().find(|(name, _)| *name == unit).expect("known");
        let Range { start, end } = line.value.span();
        let number = match line.value.get_ref() {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => f64::NAN,
        };
        let value = number * factor;
        if !(value.is_finite() && value > 0.0) {
            return Err(self.complain(start, "`value` wants a number above 0, without quotes"));
        }
        let written = &self.text[start..end];
        Ok((value, half_a_digit(written) * factor, format!("{written} {unit}")))
    }

    fn operation(self, line: &Line) -> Result<(Option<String>, Option<f64>), BadSpecification> {
        let Some(word) = &line.op else { return Ok((None, None)) };
        let Some((mixed, share)) = word.get_ref().split_once(':') else {
            let op = self.word(word, "op", &OPERATIONS)?;
            if op == "mixed" {
                let about = "`op` wants the share of reads: write \"mixed:70\"";
                return Err(self.complain(word.span().start, about));
            }
            return Ok((Some(op), None));
        };
        let percent: Option<f64> = share.parse().ok().filter(|share| (0.0..=100.0).contains(share));
        match percent.filter(|_| mixed == "mixed") {
            Some(percent) => Ok((Some(mixed.to_owned()), Some(percent))),
            None => {
                let about = format!(
                    "`op` is `{}`: write read, write, commit, read_modify_write, or mixed:70",
                    word.get_ref()
                );
                Err(self.complain(word.span().start, &about))
            }
        }
    }

    fn promise(self, metric: Metric, line: &Line) -> Result<Promise, BadSpecification> {
        let Some(up_to) = line.up_to.as_ref().filter(|up_to| *up_to.get_ref()) else {
            return Ok(Promise::Always);
        };
        if !matches!(metric, Metric::Iops | Metric::Bandwidth) {
            let about = format!(
                "`up_to` goes with iops and bandwidth: leave it out, for {} has no best cell",
                metric.name()
            );
            return Err(self.complain(up_to.span().start, &about));
        }
        Ok(Promise::UpTo)
    }

    fn state(self, line: &Line) -> Result<Option<DriveState>, BadSpecification> {
        let Some(word) = &line.state else { return Ok(None) };
        let states = [DriveState::Fresh, DriveState::Steady];
        let name = self.word(word, "state", &states.map(DriveState::name))?;
        Ok(states.into_iter().find(|state| state.name() == name))
    }

    fn percentile(self, metric: Metric, line: &Line) -> Result<Option<f64>, BadSpecification> {
        let Some(percent) = &line.percentile else { return Ok(None) };
        let value = *percent.get_ref();
        if metric != Metric::Latency || !(value > 0.0 && value < 100.0) {
            let about = "`percentile` goes with latency and lies between 0 and 100, such as 99.9";
            return Err(self.complain(percent.span().start, about));
        }
        Ok(Some(value))
    }

    fn size(
        self,
        word: Option<&Spanned<String>>,
        key: &str,
    ) -> Result<Option<u64>, BadSpecification> {
        let Some(word) = word else { return Ok(None) };
        match parse_bytes(word.get_ref()) {
            Ok(bytes) if bytes > 0 => Ok(Some(bytes)),
            _ => {
                let text = word.get_ref();
                let about = format!(
                    "`{key}` is `{text}`, which is no size: write 4KiB (1024) or 8GB (1000)"
                );
                Err(self.complain(word.span().start, &about))
            }
        }
    }

    fn count(
        self,
        number: Option<&Spanned<u32>>,
        key: &str,
    ) -> Result<Option<u32>, BadSpecification> {
        match number {
            Some(zero) if *zero.get_ref() == 0 => {
                Err(self.complain(zero.span().start, &format!("`{key}` wants a number above 0")))
            }
            number => Ok(number.map(|number| *number.get_ref())),
        }
    }

    /// One of a few words; a wrong one gets the nearest right ones, and all of them.
    fn word(
        self,
        word: &Spanned<String>,
        key: &str,
        known: &[&str],
    ) -> Result<String, BadSpecification> {
        let text = word.get_ref();
        if known.contains(&text.as_str()) {
            return Ok(text.clone());
        }
        let near = did_you_mean(text, known.iter().copied());
        let about =
            format!("`{key}` is `{text}`, which is none.{near} Write one of {}", known.join(", "));
        Err(self.complain(word.span().start, &about))
    }
}

/// Half of the last digit of a number as written: 0.5 of `560`, 0.005 of `3.50`, 50 of `1.2e3`.
fn half_a_digit(written: &str) -> f64 {
    let plain: String = written.chars().filter(|letter| *letter != '_').collect();
    let (digits, exponent) = plain.split_once(['e', 'E']).unwrap_or((&plain, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    0.5 * 10f64.powi(exponent.saturating_sub(decimals))
}

#[cfg(test)]
mod tests {
    use super::half_a_digit;

    #[test]
    fn half_of_the_last_written_digit_is_granted() {
        for (written, half) in
            [("560", 0.5), ("3.50", 0.005), ("1.2e3", 50.0), ("35_000", 0.5), ("4e-1", 0.05)]
        {
            assert!((half_a_digit(written) / half - 1.0).abs() < 1e-12, "{written}");
        }
    }
}
