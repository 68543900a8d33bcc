//! The histogram against a sorted vector of the same values.

use super::*;
use proptest::prelude::*;

/// Latencies over all magnitudes, clipped ones included.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let any_magnitude = (0u32..44, any::<u64>()).prop_map(|(bits, word)| word & ((1 << bits) - 1));
    prop::collection::vec(any_magnitude, 0..600)
}

fn histogram_of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&ns| histogram.record(ns));
    histogram
}

proptest! {
    #[test]
    fn percentiles_are_within_a_bucket_of_the_sorted_values(values in latencies(), p in 0.0..1.0f64) {
        let histogram = histogram_of(&values);
        let mut sorted = values;
        sorted.sort_unstable();
        let found = histogram.percentile(p);
        let beyond = sorted.len() as f64 * (1.0 - p);
        if (beyond - 10.0).abs() > 1e-3 {
            prop_assert_eq!(found.is_some(), beyond > 10.0);
        }
        if let Some(found) = found {
            let rank = (sorted.len() as f64 * p - 1e-6).ceil().max(1.0) as usize;
            let truth = sorted[rank - 1];
            if truth < 1 << 41 {
                prop_assert!(found.abs_diff(truth) as f64 <= 0.008 * truth as f64, "{found} {truth}");
            } else {
                prop_assert_eq!(Some(found), sorted.last().copied());
            }
        }
    }

    #[test]
    fn counts_and_extremes_are_exact(values in latencies()) {
        let histogram = histogram_of(&values);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.min(), values.iter().copied().min());
        prop_assert_eq!(histogram.max(), values.iter().copied().max());
        let clipped = values.iter().filter(|&&ns| ns >= 1 << 41).count();
        prop_assert_eq!(histogram.clipped(), clipped as u64);
        let sum: u128 = values.iter().map(|&ns| u128::from(ns)).sum();
        let mean = (!values.is_empty()).then(|| sum as f64 / values.len() as f64);
        prop_assert_eq!(histogram.mean(), mean);
    }

    #[test]
    fn a_merge_is_the_histogram_of_all_values(a in latencies(), b in latencies()) {
        let mut merged = histogram_of(&a);
        merged.merge(&histogram_of(&b));
        prop_assert_eq!(merged, histogram_of(&[a, b].concat()));
    }

    #[test]
    fn cuts_add_up_to_the_whole(ticks in prop::collection::vec(latencies(), 0..5)) {
        let (mut worker, mut cell, mut delta) = (Histogram::new(), Histogram::new(), Delta::new());
        for tick in &ticks {
            tick.iter().for_each(|&ns| worker.record(ns));
            worker.drain_delta(&mut delta);
            prop_assert_eq!(delta.count(), tick.len() as u64);
            prop_assert_eq!(&worker, &Histogram::new());
            cell.add_delta(&delta);
        }
        prop_assert_eq!(cell, histogram_of(&ticks.concat()));
    }

    #[test]
    fn the_sparse_form_brings_everything_back(values in latencies()) {
        let histogram = histogram_of(&values);
        let sparse = histogram.to_sparse();
        prop_assert!(sparse.buckets.windows(2).all(|pair| pair[0].upper_ns < pair[1].lower_ns));
        prop_assert_eq!(Histogram::from_sparse(&sparse), Ok(histogram));
    }
}

#[test]
fn a_median_needs_twenty_values_and_the_99th_percentile_a_thousand() {
    let of = |count: u64| histogram_of(&(0..count).collect::<Vec<_>>());
    for (p, least) in [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000), (0.9999, 100_000)] {
        assert_eq!(of(least - 1).percentile(p), None);
        assert!(of(least).percentile(p).is_some(), "{p} of {least}");
    }
    assert_eq!(of(100_000).percentile(1.0), None);
    assert_eq!(of(20).percentile(0.5), Some(9));
}

#[test]
fn a_sparse_form_that_contradicts_itself_is_refused() {
    let good = histogram_of(&[5, 700, 700, 90_000]).to_sparse();
    let spoil = |change: fn(&mut Sparse)| {
        let mut sparse = good.clone();
        change(&mut sparse);
        Histogram::from_sparse(&sparse)
    };
    assert!(spoil(|_| ()).is_ok());
    assert!(spoil(|sparse| sparse.buckets[1].lower_ns += 1).is_err());
    assert!(spoil(|sparse| sparse.buckets[1].upper_ns += 1).is_err());
    assert!(spoil(|sparse| sparse.buckets[1].count = 0).is_err());
    assert!(spoil(|sparse| sparse.buckets.swap(0, 1)).is_err());
    assert!(spoil(|sparse| sparse.buckets[0].count = u64::MAX).is_err());
    assert!(spoil(|sparse| sparse.buckets.clear()).is_err());
    assert!(spoil(|sparse| sparse.min_ns = 6).is_err());
    assert!(spoil(|sparse| sparse.max_ns = 1_000_000).is_err());
    assert!(spoil(|sparse| sparse.sum_ns = 3).is_err());
}
