//! A histogram without its empty buckets: for the record, and for a worker's tick.

use super::{CLIPPED, Histogram, Totals, bounds_of, index_of};
use std::fmt;

/// One bucket that is not empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The least value of the bucket in ns.
    pub lower_ns: u64,
    /// The greatest value of the bucket in ns, inclusive; `u64::MAX` for the clipped one.
    pub upper_ns: u64,
    /// How many values it holds, never 0.
    pub count: u64,
}

/// All that a histogram knows, as it goes into a record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sparse {
    /// The buckets that hold something, ascending.
    pub buckets: Vec<Bucket>,
    /// The exact sum of all values in ns.
    pub sum_ns: u128,
    /// The exact least value in ns; 0 if there is none.
    pub min_ns: u64,
    /// The exact greatest value in ns; 0 if there is none.
    pub max_ns: u64,
}

/// Why a sparse form is not one of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSparse {
    complaint: String,
}

impl fmt::Display for BadSparse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a histogram of this layout: {}", self.complaint)
    }
}

impl std::error::Error for BadSparse {}

/// What one worker recorded between two cuts: a few dozen buckets instead of 18 KiB.
///
/// A cut takes just the room it needs, so that thousands of ticks can be kept; a delta that is
/// handed to cut after cut allocates only when it grows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delta {
    buckets: Vec<(u16, u64)>,
    totals: Totals,
}

impl Default for Delta {
    fn default() -> Self {
        Self::new()
    }
}

impl Delta {
    /// An empty delta. Allocates nothing.
    pub fn new() -> Self {
        Self { buckets: Vec::new(), totals: Totals::NONE }
    }

    /// How many values the delta holds.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&(_, count)| count).sum()
    }

    /// The greatest value in ns, exactly.
    pub fn max(&self) -> Option<u64> {
        (self.totals.min_ns <= self.totals.max_ns).then_some(self.totals.max_ns)
    }

    /// The sum of all values in ns, exactly.
    pub fn sum(&self) -> u128 {
        self.totals.sum_ns
    }

    /// How many values lie above `ns`. Of the bucket that holds it, as many as if its values were
    /// spread evenly.
    pub fn above(&self, ns: u64) -> f64 {
        let above = |&(index, count): &(u16, u64)| {
            let (lower, upper) = bounds_of(usize::from(index));
            match () {
                () if lower > ns => count as f64,
                () if upper <= ns => 0.0,
                () => count as f64 * (upper - ns) as f64 / (upper - lower + 1) as f64,
            }
        };
        self.buckets.iter().map(above).sum()
    }
}

impl Histogram {
    /// Moves everything recorded since the last cut into `delta`, whose old contents are lost, and
    /// leaves the histogram empty. Visits only the buckets between the least and the greatest
    /// value, twice: about a microsecond.
    pub fn drain_delta(&mut self, delta: &mut Delta) {
        delta.buckets.clear();
        delta.totals = self.totals;
        if self.is_empty() {
            return;
        }
        let first = index_of(self.totals.min_ns).min(CLIPPED);
        let last = index_of(self.totals.max_ns).min(CLIPPED);
        let used = &mut self.counts[first..=last];
        delta.buckets.reserve_exact(used.iter().filter(|&&count| count > 0).count());
        for (count, index) in used.iter_mut().zip(first..) {
            if *count > 0 {
                delta.buckets.push((index as u16, *count));
                *count = 0;
            }
        }
        self.totals = Totals::NONE;
    }

    /// Adds what a cut took out, exactly.
    pub fn add_delta(&mut self, delta: &Delta) {
        for &(index, count) in &delta.buckets {
            self.counts[index as usize] += count;
        }
        self.totals.merge(delta.totals);
    }

    /// Adds buckets as a run's record keeps them: `[lower_ns, count]`, with their exact totals.
    pub fn add_buckets(&mut self, buckets: &[[u64; 2]], sum_ns: u128, min_ns: u64, max_ns: u64) {
        for &[lower_ns, count] in buckets {
            self.counts[super::index_of(lower_ns).min(super::CLIPPED)] += count;
        }
        self.totals.merge(super::Totals { sum_ns, min_ns, max_ns });
    }

    /// The buckets that hold something, and the exact totals.
    pub fn to_sparse(&self) -> Sparse {
        let buckets = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        let buckets = buckets.map(|(index, &count)| {
            let (lower_ns, upper_ns) = bounds_of(index);
            Bucket { lower_ns, upper_ns, count }
        });
        Sparse {
            buckets: buckets.collect(),
            sum_ns: self.totals.sum_ns,
            min_ns: self.min().unwrap_or(0),
            max_ns: self.max().unwrap_or(0),
        }
    }

    /// The histogram that [`Self::to_sparse`] came from, bit for bit.
    ///
    /// # Errors
    /// If a bucket's bounds are not of this layout, buckets are empty or out of order, or the
    /// totals contradict the buckets.
    pub fn from_sparse(sparse: &Sparse) -> Result<Self, BadSparse> {
        let mut histogram = Self::new();
        let mut after = 0;
        for &bucket in &sparse.buckets {
            let index = index_of(bucket.lower_ns).min(CLIPPED);
            if bounds_of(index) != (bucket.lower_ns, bucket.upper_ns) {
                return Err(bad(format!("{bucket:?} has bounds of another layout")));
            }
            if bucket.count == 0 || index < after {
                return Err(bad(format!("{bucket:?} is empty or out of order")));
            }
            histogram.counts[index] = bucket.count;
            after = index + 1;
        }
        check_totals(sparse)?;
        if !sparse.buckets.is_empty() {
            let Sparse { sum_ns, min_ns, max_ns, .. } = *sparse;
            histogram.totals = Totals { sum_ns, min_ns, max_ns };
        }
        Ok(histogram)
    }
}

fn check_totals(sparse: &Sparse) -> Result<(), BadSparse> {
    let (Some(first), Some(last)) = (sparse.buckets.first(), sparse.buckets.last()) else {
        let empty = Sparse::default() == *sparse;
        return if empty { Ok(()) } else { Err(bad("totals without buckets".to_owned())) };
    };
    let holds = |bucket: &Bucket, ns| (bucket.lower_ns..=bucket.upper_ns).contains(&ns);
    let mut count = 0u64;
    for bucket in &sparse.buckets {
        count = count.checked_add(bucket.count).ok_or_else(|| bad("counts overflow".to_owned()))?;
    }
    let within = |ns: u64| u128::from(ns).saturating_mul(u128::from(count));
    let sum_fits = (within(sparse.min_ns)..=within(sparse.max_ns)).contains(&sparse.sum_ns);
    if holds(first, sparse.min_ns) && holds(last, sparse.max_ns) && sum_fits {
        Ok(())
    } else {
        Err(bad("minimum, maximum or sum contradict the buckets".to_owned()))
    }
}

fn bad(complaint: String) -> BadSparse {
    BadSparse { complaint }
}
