//! Lengths of reads or of writes, counted exactly while there are not many of them.

use std::collections::BTreeMap;

/// From so many different lengths on, further ones are rounded up to whole blocks.
const EXACT_MAX: usize = 4096;
const ROUNDED_TO: u64 = 4096;

/// How often a length came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeCount {
    /// The length.
    pub bytes: u64,
    /// How many accesses have it.
    pub count: u64,
}

/// The lengths of one kind of access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Each length with its count, ascending.
    pub counts: Vec<SizeCount>,
    /// Whether there were so many that some stand rounded up to 4 KiB.
    pub is_rounded: bool,
}

impl Sizes {
    /// How many there are.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|size| size.count).sum()
    }

    /// The mean; `None` of none.
    pub fn mean(&self) -> Option<f64> {
        let bytes: f64 = self.counts.iter().map(|size| size.bytes as f64 * size.count as f64).sum();
        let total = self.total();
        (total > 0).then(|| bytes / total as f64)
    }

    /// The least length that so many per cent do not exceed; `None` of none.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let wanted = (self.total() as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = |size: &&SizeCount| {
            seen += size.count;
            seen >= wanted
        };
        self.counts.iter().find(reached).map(|size| size.bytes)
    }

    /// The longest.
    pub fn max(&self) -> Option<u64> {
        self.counts.last().map(|size| size.bytes)
    }

    /// The most frequent lengths of two kinds together, most frequent first.
    pub fn top(all: &[Self; 2], count: usize) -> Vec<SizeCount> {
        let mut together: BTreeMap<u64, u64> = BTreeMap::new();
        for size in all.iter().flat_map(|sizes| &sizes.counts) {
            *together.entry(size.bytes).or_insert(0) += size.count;
        }
        let size = |(bytes, count)| SizeCount { bytes, count };
        let mut top: Vec<SizeCount> = together.into_iter().map(size).collect();
        top.sort_by(|a, b| b.count.cmp(&a.count).then(a.bytes.cmp(&b.bytes)));
        top.truncate(count);
        top
    }
}

#[derive(Default)]
pub(super) struct Sizing {
    counts: BTreeMap<u64, u64>,
    is_rounded: bool,
}

impl Sizing {
    pub fn add(&mut self, bytes: u64) {
        if let Some(count) = self.counts.get_mut(&bytes) {
            *count += 1;
            return;
        }
        let is_exact = self.counts.len() < EXACT_MAX;
        self.is_rounded |= !is_exact;
        let bytes = if is_exact { bytes } else { bytes.next_multiple_of(ROUNDED_TO) };
        *self.counts.entry(bytes).or_insert(0) += 1;
    }

    pub fn conclude(self) -> Sizes {
        let counts = self.counts.into_iter();
        let counts = counts.map(|(bytes, count)| SizeCount { bytes, count }).collect();
        Sizes { counts, is_rounded: self.is_rounded }
    }
}
