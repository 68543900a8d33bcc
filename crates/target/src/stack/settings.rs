//! Settings of a drive or a layer, each asked for by its key; what nobody asked for is refused with
//! the keys there are.

use super::text::{BadStack, Part};
use block::names::did_you_mean;
use block::parse_bytes;
use std::cell::RefCell;

/// The settings of one part of a stack.
pub(super) struct Settings<'p> {
    part: &'p Part,
    known: RefCell<Vec<&'static str>>,
}

impl<'p> Settings<'p> {
    pub fn of(part: &'p Part) -> Self {
        Self { part, known: RefCell::default() }
    }

    /// The value of `key` as it was written.
    pub fn text(&self, key: &'static str) -> Option<&'p str> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        let found = self.part.settings.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// One of these words, as its value.
    pub fn word<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, BadStack> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let names = words.iter().map(|(word, _)| *word);
            let near = did_you_mean(text, names.clone());
            let names = names.collect::<Vec<_>>().join(", ");
            self.wrong(key, text, &format!("is not among its words.{near} Words: {names}"))
        })
    }

    /// A size in bytes within a range.
    pub fn bytes(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, BadStack> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let bytes =
            parse_bytes(text).map_err(|bad| self.wrong(key, text, &format!("cannot be: {bad}")))?;
        if !range.contains(&bytes) {
            let [least, most] = [range.start(), range.end()].map(|end| block::display_bytes(*end));
            let about = format!("is out of range: it goes from {least} to {most}");
            return Err(self.wrong(key, text, &about));
        }
        Ok(Some(bytes))
    }

    /// A whole number within a range.
    pub fn count(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, BadStack> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let count = text.parse::<u64>().ok().filter(|count| range.contains(count));
        count.map(Some).ok_or_else(|| {
            let about = format!(
                "cannot be: it is a whole number from {} to {}",
                range.start(),
                range.end()
            );
            self.wrong(key, text, &about)
        })
    }

    /// A time in nanoseconds: a number with ns, us, ms or s.
    pub fn time_ns(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, BadStack> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        let read = units
            .iter()
            .find_map(|&(unit, ns)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(ns));
        read.filter(|ns| range.contains(ns)).map(Some).ok_or_else(|| {
            let [least, most] = [*range.start(), *range.end()].map(shown);
            let about = format!(
                "cannot be: it is a time from {least} to {most}, a whole number with ns, us, ms \
                 or s"
            );
            self.wrong(key, text, &about)
        })
    }

    /// A percentage, in thousandths.
    pub fn per_mille(&self, key: &'static str) -> Result<Option<u32>, BadStack> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(|percent| Some((percent * 10.0).round() as u32)).ok_or_else(|| {
            self.wrong(key, text, "cannot be: it is a percentage from 0% to 100%, such as 75%")
        })
    }

    /// A sentence about a value.
    pub fn wrong(&self, key: &str, value: &str, about: &str) -> BadStack {
        BadStack::Text(format!("`{}:{key}={value}`: `{value}` {about}", self.part.name))
    }

    /// Refuses the first key that nobody asked for.
    pub fn finish(self) -> Result<(), BadStack> {
        self.check_known()
    }

    /// The same, while values are still to be read.
    pub fn check_known(&self) -> Result<(), BadStack> {
        let known = self.known.borrow();
        let unknown = self.part.settings.iter().find(|(key, _)| !known.contains(&key.as_str()));
        let Some((key, _)) = unknown else { return Ok(()) };
        let near = did_you_mean(key, known.iter().copied());
        Err(BadStack::Text(format!(
            "`{}` has no setting `{key}`.{near} It has: {}",
            self.part.name,
            known.join(", ")
        )))
    }
}

/// A time in its largest whole unit.
fn shown(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.iter().find(|(length, _)| ns.is_multiple_of(*length));
    unit.map_or_else(|| format!("{ns}ns"), |(length, name)| format!("{}{name}", ns / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `xfs` said that it has `elevator` twice: two parts of it ask for that.
    #[test]
    fn a_setting_that_is_asked_for_twice_is_named_once() {
        let settings = vec![("barriers".to_owned(), "on".to_owned())];
        let part = Part { name: "xfs".to_owned(), settings };
        let settings = Settings::of(&part);
        for key in ["ram", "elevator", "elevator", "barrier"] {
            settings.text(key);
        }
        let refusal = settings.finish().expect_err("it has no such setting").to_string();
        assert!(refusal.ends_with("`barrier`? It has: ram, elevator, barrier"), "{refusal}");
    }
}
