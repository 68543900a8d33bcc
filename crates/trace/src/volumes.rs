//! The volumes of a trace: names in the order in which they were met.

use crate::error::{Bad, Kind};
use std::collections::BTreeMap;

/// Most volumes of one trace that are told apart.
pub const VOLUMES_MAX: usize = 1 << 16;
/// Longest name of one, bytes.
const NAME_BYTES_MAX: usize = 255;

/// Names of volumes, and how often each was met.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    names: Vec<String>,
    counts: Vec<u64>,
    numbers: BTreeMap<String, u32>,
    last: u32,
}

impl Volumes {
    /// The number of this name; a new one where it was not met before.
    pub(crate) fn number(&mut self, name: &str) -> Result<u32, Bad> {
        // Neighbours are most often of one volume.
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return Ok(self.last);
        }
        if let Some(&number) = self.numbers.get(name) {
            self.last = number;
            return Ok(number);
        }
        if name.len() > NAME_BYTES_MAX || self.names.len() == VOLUMES_MAX {
            let message = format!(
                "there are more than {VOLUMES_MAX} volumes, or one of a name longer than \
                 {NAME_BYTES_MAX} bytes: leave lines of some out with grep"
            );
            return Err(Bad { kind: Kind::TooMuch, message });
        }
        self.last = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.counts.push(0);
        self.numbers.insert(name.to_owned(), self.last);
        Ok(self.last)
    }

    pub(crate) fn count(&mut self, volume: u32) {
        self.counts[volume as usize] += 1;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether none was met.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a number; empty for none.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// Volumes that were accessed: names and accesses, most accessed first.
    pub fn by_count(&self) -> Vec<(&str, u64)> {
        let all = self.names.iter().map(String::as_str).zip(self.counts.iter().copied());
        let mut all: Vec<(&str, u64)> = all.filter(|(_, count)| *count > 0).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }
}
