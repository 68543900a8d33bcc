//! Figures by their coordinates: what expressions read. There is one book of printed figures, and
//! one of modelled.

use crate::{
    StudyFile,
    expression::{Coordinates, Filter, Selection, Value},
};
use block::parse_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The figures of one study.
#[derive(Clone, Debug)]
pub struct Book {
    entries: Vec<Entry>,
    /// Where the entries of a table are.
    places: BTreeMap<String, Vec<usize>>,
    devices: Vec<DeviceWords>,
    tables: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    at: Coordinates,
    /// The number, or why there is none.
    number: Result<f64, String>,
}

#[derive(Clone, Debug)]
struct DeviceWords {
    name: String,
    words: Vec<String>,
}

/// What a selection found.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Found {
    /// In the order of the book.
    pub values: Vec<Value>,
    /// Why others that pass the filters have no value; each reason once.
    pub missing: Vec<String>,
}

impl Book {
    /// An empty one, but for the devices' facts.
    pub fn new(file: &StudyFile) -> Self {
        let mut book = Self::empty(file);
        for device in &file.devices {
            for (fact, said) in &device.facts {
                let Some(number) = said.number() else { continue };
                book.tables.insert(fact.clone());
                let at = [("table", fact), ("device", &device.name)];
                let at = at.map(|(key, value)| (key.to_owned(), value.clone()));
                book.put(at.into(), Ok(number));
            }
        }
        book
    }

    /// One that knows the words of tables and devices, and nothing else.
    pub(crate) fn empty(file: &StudyFile) -> Self {
        let words = |device: &crate::Device| DeviceWords {
            name: device.name.clone(),
            words: [&device.id, &device.name].into_iter().chain(&device.groups).cloned().collect(),
        };
        Self {
            entries: Vec::new(),
            places: BTreeMap::new(),
            devices: file.devices.iter().map(words).collect(),
            tables: file.tables.iter().map(|table| table.id.clone()).collect(),
        }
    }

    /// Adds a fact of the one device that the book is about.
    pub(crate) fn put_fact(&mut self, fact: &str, number: f64) {
        self.tables.insert(fact.to_owned());
        self.put([("table".to_owned(), fact.to_owned())].into(), Ok(number));
    }

    /// Adds a figure, or the reason why there is none.
    pub fn put(&mut self, at: Coordinates, number: Result<f64, String>) {
        if let Some(table) = at.get("table") {
            self.places.entry(table.clone()).or_default().push(self.entries.len());
        }
        self.entries.push(Entry { at, number });
    }

    /// Puts another number in place of the first figure that stands at all of `at`; whether there
    /// was one.
    pub fn replace(&mut self, at: &[(&str, &str)], number: f64) -> bool {
        let stands = |entry: &&mut Entry| {
            at.iter().all(|(key, value)| entry.at.get(*key).is_some_and(|seen| seen == value))
        };
        let found = self.entries.iter_mut().find(stands);
        found.map(|entry| entry.number = Ok(number)).is_some()
    }

    /// Multiplies every number that stands at the coordinates that are asked for; how many do.
    pub fn scale(&mut self, factor: f64, is_asked_for: impl Fn(&Coordinates) -> bool) -> usize {
        let mut count = 0;
        for Entry { at, number } in &mut self.entries {
            if let Ok(number) = number
                && is_asked_for(at)
            {
                *number *= factor;
                count += 1;
            }
        }
        count
    }

    pub(crate) fn select(&self, selection: &Selection) -> Result<Found, String> {
        for table in &selection.tables {
            if !self.tables.contains(table) {
                let near =
                    block::names::did_you_mean(table, self.tables.iter().map(String::as_str));
                return Err(format!("there is no table `{table}`.{near}"));
            }
        }
        let filters = self.expand(&selection.filters)?;
        let mut found = Found::default();
        let of_tables = selection.tables.iter().filter_map(|table| self.places.get(table));
        let mut places: Vec<usize> = of_tables.flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        let of_tables = places.into_iter().map(|place| &self.entries[place]);
        for entry in of_tables.filter(|entry| passes(&filters, &entry.at)) {
            match &entry.number {
                Ok(number) => found.values.push(Value {
                    number: *number,
                    at: entry.at.clone(),
                    from: vec![entry.at.clone()],
                }),
                Err(reason) if found.missing.contains(reason) => {}
                Err(reason) => found.missing.push(reason.clone()),
            }
        }
        Ok(found)
    }

    /// Filters with every value as coordinates have it.
    pub(crate) fn expand(&self, filters: &[Filter]) -> Result<Vec<Filter>, String> {
        let each = |filter: &Filter| {
            let all: Result<Vec<_>, _> =
                filter.values.iter().map(|value| self.values(&filter.key, value)).collect();
            Ok(Filter { key: filter.key.clone(), values: all?.concat() })
        };
        filters.iter().map(each).collect()
    }

    fn values(&self, key: &str, value: &str) -> Result<Vec<String>, String> {
        match key {
            _ if value == "*" => Ok(vec![value.to_owned()]),
            "device" => {
                let known = self
                    .devices
                    .iter()
                    .filter(|device| device.words.iter().any(|word| word == value));
                let names: Vec<String> = known.map(|device| device.name.clone()).collect();
                let near = || {
                    let words = self.devices.iter().flat_map(|device| &device.words);
                    block::names::did_you_mean(value, words.map(String::as_str))
                };
                if names.is_empty() {
                    Err(format!("there is no device `{value}`.{}", near()))
                } else {
                    Ok(names)
                }
            }
            "block" | "file" => sizes(value),
            _ => Ok(vec![value.to_owned()]),
        }
    }
}

/// `4K`, or `4K..64K` by doubling, in bytes.
pub(crate) fn sizes(text: &str) -> Result<Vec<String>, String> {
    let bytes = |text: &str| parse_bytes(text).map_err(|error| error.to_string());
    let Some((first, last)) = text.split_once("..") else {
        return Ok(vec![bytes(text)?.to_string()]);
    };
    let (first, last) = (bytes(first)?, bytes(last)?);
    if first == 0 || last < first {
        return Err(format!("`{text}` is no range of sizes"));
    }
    let doubled = std::iter::successors(Some(first), |size| size.checked_mul(2));
    Ok(doubled.take_while(|size| *size <= last).map(|size| size.to_string()).collect())
}

/// Whether coordinates pass all of the expanded filters.
pub(crate) fn passes(filters: &[Filter], at: &Coordinates) -> bool {
    filters.iter().all(|filter| {
        let any = filter.values.iter().any(|value| value == "*");
        any || at.get(&filter.key).is_some_and(|seen| filter.values.contains(seen))
    })
}
