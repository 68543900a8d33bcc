//! Across passes: one drive's headline, and one drive against another.

use super::{distribution::student_t_975, moments};

/// One number for a cell after all its passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Headline {
    /// The median of the passes: the figure to print.
    pub median: f64,
    /// Its 95 % interval: the wider of the widest pass's own interval and the t interval over passes; `None`
    /// for a single pass without one.
    pub ci95: Option<[f64; 2]>,
    /// The arithmetic mean of the passes.
    pub mean: f64,
    /// The standard deviation of the passes (n - 1); `None` for a single pass.
    pub standard_deviation: Option<f64>,
    /// How many passes.
    pub n: usize,
}

/// Sums up the passes of a cell, each a value and the relative half-width of its own 95 % interval (where
/// it has one).
///
/// Within a pass only the noise of that quarter of an hour shows; between passes, also what changed
/// meanwhile. Neither may be forgotten, so the larger counts.
///
/// # Panics
/// Without passes.
pub fn headline(passes: &[(f64, Option<f64>)]) -> Headline {
    assert!(!passes.is_empty(), "the headline of no pass");
    let values: Vec<f64> = passes.iter().map(|&(value, _)| value).collect();
    let n = values.len();
    let median = moments::median(&values);
    let deviation = (n > 1).then(|| moments::variance(&values).sqrt());
    let between = deviation.map(|deviation| student_t_975(n - 1) * deviation / (n as f64).sqrt());
    let within = passes.iter().filter_map(|&(_, width)| width.map(|width| width * median));
    let half_width = within.chain(between).max_by(f64::total_cmp);
    Headline {
        median,
        ci95: half_width.map(|width| [(median - width).max(0.0), median + width]),
        mean: moments::mean(&values),
        standard_deviation: deviation,
        n,
    }
}

/// How B compares with A, when larger is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The whole interval lies above the band: B is faster by more than 2 %.
    Faster,
    /// The whole interval lies below the band: B is slower by more than 2 %.
    Slower,
    /// The whole interval lies within the band: whatever difference there is, it is under 2 %.
    Same,
    /// The interval crosses an edge of the band, or there is none. More passes may tell.
    Undecided,
}

/// B against A over paired passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Paired {
    /// The geometric mean of b / a.
    pub ratio: f64,
    /// Its 95 % interval; `None` with a single pair.
    pub ci95: Option<[f64; 2]>,
    /// What the interval says.
    pub verdict: Verdict,
    /// How many pairs.
    pub n: usize,
}

/// Differences under this ratio (either way round) are called the same: +2 % and, so that swapping A and B
/// mirrors the verdict, -1.96 %.
pub(super) const BAND: f64 = 1.02;

/// Compares rates pair by pair: `a[i]` and `b[i]` were measured next to each other, in alternating
/// order, so that what drifts slowly hits both and cancels in `ln(b / a)`. A t interval over the
/// log-ratios; the band is 1/1.02 to 1.02.
///
/// # Panics
/// Without pairs, with unequal numbers, or with a rate that is not positive.
pub fn paired(a: &[f64], b: &[f64]) -> Paired {
    assert!(!a.is_empty() && a.len() == b.len(), "{} against {} passes", a.len(), b.len());
    assert!(a.iter().chain(b).all(|&rate| rate > 0.0), "a ratio needs positive rates");
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (b / a).ln()).collect();
    let (n, centre) = (logs.len(), moments::mean(&logs));
    let ci95 = (n > 1).then(|| {
        let half = student_t_975(n - 1) * (moments::variance(&logs) / n as f64).sqrt();
        [(centre - half).exp(), (centre + half).exp()]
    });
    Paired { ratio: centre.exp(), ci95, verdict: verdict(ci95), n }
}

/// What an interval of a ratio says.
pub(super) fn verdict(ci95: Option<[f64; 2]>) -> Verdict {
    match ci95 {
        Some([low, _]) if low > BAND => Verdict::Faster,
        Some([_, high]) if high < 1.0 / BAND => Verdict::Slower,
        Some([low, high]) if low >= 1.0 / BAND && high <= BAND => Verdict::Same,
        _ => Verdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_is_the_median_with_the_wider_of_both_intervals() {
        // Deviation of 99, 100, 102 is 1.5275; times 4.3027 / sqrt(3) is 3.7946.
        let wide_between = headline(&[(100.0, Some(0.01)), (102.0, Some(0.02)), (99.0, None)]);
        let [low, high] = wide_between.ci95.expect("three passes");
        assert_eq!((wide_between.median, wide_between.n), (100.0, 3));
        assert!((low - 96.2054).abs() < 1e-3 && (high - 103.7946).abs() < 1e-3, "{low} {high}");
        assert!((wide_between.mean - 100.333_333).abs() < 1e-6);
        assert!(wide_between.standard_deviation.is_some_and(|s| (s - 1.527_525).abs() < 1e-6));
        let wide_within = headline(&[(100.0, Some(0.05)), (100.0, Some(0.02))]);
        assert_eq!(wide_within.ci95, Some([95.0, 105.0]));
    }

    #[test]
    fn a_single_pass_has_its_own_interval_or_none() {
        assert_eq!(headline(&[(50.0, Some(0.1))]).ci95, Some([45.0, 55.0]));
        let bare = headline(&[(50.0, None)]);
        assert_eq!((bare.median, bare.ci95, bare.standard_deviation), (50.0, None, None));
    }

    #[test]
    fn a_verdict_needs_the_whole_interval_on_one_side_of_an_edge() {
        let a = [100.0; 4];
        let cases = [
            ([110.0, 111.0, 109.0, 110.0], Verdict::Faster),
            ([90.0, 91.0, 89.0, 90.0], Verdict::Slower),
            ([100.1, 99.9, 100.2, 100.0], Verdict::Same),
            ([103.0, 101.0, 104.0, 100.0], Verdict::Undecided),
            ([80.0, 130.0, 95.0, 105.0], Verdict::Undecided),
        ];
        for (b, verdict) in cases {
            let forward = paired(&a, &b);
            assert_eq!(forward.verdict, verdict, "{forward:?}");
            let mirrored = match verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                other => other,
            };
            let backward = paired(&b, &a);
            assert_eq!(backward.verdict, mirrored);
            assert!((backward.ratio * forward.ratio - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn one_pair_decides_nothing() {
        let single = paired(&[100.0], &[200.0]);
        assert_eq!((single.ratio, single.ci95, single.verdict), (2.0, None, Verdict::Undecided));
    }

    #[test]
    fn a_slow_drift_common_to_both_cancels() {
        let a = [100.0, 140.0, 70.0, 180.0, 120.0];
        let b = a.map(|rate| rate * 1.05);
        assert_eq!(paired(&a, &b).verdict, Verdict::Faster);
    }
}
