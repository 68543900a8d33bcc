//! A log-linear latency histogram for the hot loop: one shift, one add, no branch.
//!
//! Below 128 ns every nanosecond has its own bucket; above, each power of two is cut into 64 equal
//! buckets, so that a bucket's midpoint is within 1/128 (0.8 %) of every value in it. From 2^41 ns
//! (37 minutes) on, one last bucket holds everything: the clipped values.
//!
//! ```text
//!   ns      0 1 2 ... 127 | 128-129 130-131 ... 254-255 | 256-259 ... 508-511 | ... | >= 2^41
//!   index   0 1 2 ... 127 |   128     129   ...   191   |   192   ...   255   | ... |  2304
//! ```
//!
//! Percentiles of parts must never be averaged; histograms merge exactly, so they are merged first.

#[cfg(test)]
mod properties;
mod sparse;

pub use sparse::{BadSparse, Bucket, Delta, Sparse};

/// 2^6 buckets a power of two.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
/// The first power of two that is clipped.
const CLIP_BITS: u32 = 41;
/// Index of the bucket of clipped values; there are this many ordinary ones.
const CLIPPED: usize = ((CLIP_BITS - SUB_BITS + 1) as usize) << SUB_BITS;
const BUCKETS: usize = CLIPPED + 1;

/// How many values must lie beyond a percentile before it is worth printing.
const BEYOND_MIN: f64 = 10.0;

/// Counts of latencies in nanoseconds, with exact minimum, maximum and mean.
///
/// 18 KiB, allocated once; recording touches one bucket and one line of totals, 1-2 ns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    totals: Totals,
}

/// What is tracked exactly, whatever the buckets round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Totals {
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Totals {
    const NONE: Self = Self { sum_ns: 0, min_ns: u64::MAX, max_ns: 0 };

    fn merge(&mut self, other: Self) {
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. Allocates: make it before the run.
    pub fn new() -> Self {
        Self { counts: Box::new([0; BUCKETS]), totals: Totals::NONE }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // The `min` sends clipped values to the last bucket and spares the bounds check.
        self.counts[index_of(ns).min(CLIPPED)] += 1;
        self.totals.sum_ns += u128::from(ns);
        self.totals.min_ns = self.totals.min_ns.min(ns);
        self.totals.max_ns = self.totals.max_ns.max(ns);
    }

    /// How many values were recorded. Adds up the buckets: not for the hot loop.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many values were 2^41 ns or more, and so lost their place (though not in [`Self::max`]).
    pub fn clipped(&self) -> u64 {
        self.counts[CLIPPED]
    }

    /// The least value in ns, exactly.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.totals.min_ns)
    }

    /// The greatest value in ns, exactly.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.totals.max_ns)
    }

    /// Standard deviation over mean, from the buckets; `None` without a latency.
    pub fn variation(&self) -> Option<f64> {
        let buckets = self.to_sparse().buckets;
        let count: f64 = buckets.iter().map(|bucket| bucket.count as f64).sum();
        let moment = |power: i32| {
            let of = |bucket: &Bucket| bucket.count as f64 * (bucket.lower_ns as f64).powi(power);
            buckets.iter().map(of).sum::<f64>() / count
        };
        let mean = moment(1);
        (mean > 0.0).then(|| (moment(2) / (mean * mean) - 1.0).max(0.0).sqrt())
    }

    /// The arithmetic mean in ns, from the exact sum.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.totals.sum_ns as f64 / self.count() as f64)
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.totals.min_ns > self.totals.max_ns
    }

    /// The value in ns that a share `p` of all values does not exceed (nearest rank), within 0.8 %.
    ///
    /// `None` unless at least ten values lie beyond it, `n (1 - p) >= 10`: a median needs 20
    /// values, p99 1,000, p99.9 10,000. With fewer, the figure is the luck of single operations.
    ///
    /// # Panics
    /// If `p` is not in `0.0..=1.0`.
    pub fn percentile(&self, p: f64) -> Option<u64> {
        assert!((0.0..=1.0).contains(&p), "a percentile of {p}");
        let count = self.count();
        // 100 * (1 - 0.9) is 9.999..., and that is meant to be ten.
        if (count as f64) * (1.0 - p) < BEYOND_MIN - 1e-6 {
            return None;
        }
        let rank = ((count as f64 * p - 1e-6).ceil() as u64).max(1);
        Some(self.value_at(rank))
    }

    /// The midpoint of the bucket that holds the `rank`-th least value, never beyond the extremes.
    fn value_at(&self, rank: u64) -> u64 {
        let mut seen = 0;
        let index = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        });
        match index.expect("the rank is at most the count") {
            CLIPPED => self.totals.max_ns,
            index => {
                let (lower, upper) = bounds_of(index);
                (lower + (upper - lower) / 2).clamp(self.totals.min_ns, self.totals.max_ns)
            }
        }
    }

    /// Adds all of `other`, exactly: the same as if every value had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.totals.merge(other.totals);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.totals = Totals::NONE;
    }
}

/// The bucket of a value; past `CLIPPED` for values to be clipped.
#[inline]
fn index_of(ns: u64) -> usize {
    let shift = (63 - SUB_BITS) - (ns | SUB).leading_zeros();
    (u64::from(shift) * SUB + (ns >> shift)) as usize
}

/// The least and the greatest value of a bucket, both inclusive.
fn bounds_of(index: usize) -> (u64, u64) {
    if index == CLIPPED {
        return (1 << CLIP_BITS, u64::MAX);
    }
    let index = index as u64;
    let shift = (index / SUB).saturating_sub(1);
    let lower = (index - shift * SUB) << shift;
    (lower, lower + (1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_line_without_gap_and_each_holds_its_own_bounds() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (lower, upper) = bounds_of(index);
            assert_eq!(lower, next, "bucket {index}");
            assert_eq!(index_of(lower).min(CLIPPED), index);
            assert_eq!(index_of(upper).min(CLIPPED), index);
            next = upper.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at the last value");
    }

    #[test]
    fn a_midpoint_is_within_eight_tenths_of_a_percent_of_every_value_in_its_bucket() {
        for index in 1..CLIPPED {
            let (lower, upper) = bounds_of(index);
            let midpoint = (lower + (upper - lower) / 2) as f64;
            assert!((upper as f64 - midpoint) / (upper as f64) < 0.008, "bucket {index}");
            assert!((midpoint - lower as f64) / (lower as f64) < 0.008, "bucket {index}");
        }
    }
}
