//! Across passes: one drive's headline, and one drive against another.

use super::{
    distribution::{Z_975, student_t_975},
    moments,
};

/// One pass of a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PassRate {
    /// Its rate.
    pub rate: f64,
    /// The relative half-width of its own 95 % interval, where it has one.
    pub half_width_relative: Option<f64>,
    /// The middle of it, in seconds of the run.
    pub at_seconds: f64,
}

/// What a cell is measured on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Host {
    /// A machine that does other things as well: its level wanders from minute to minute.
    Real,
    /// A model: another minute would show the same.
    Virtual,
}

/// One number for a cell after all its passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Headline {
    /// The median of the passes: the figure to print.
    pub median: f64,
    /// Its 95 % interval, see [`headline`]; `None` for a single pass without one.
    pub ci95: Option<[f64; 2]>,
    /// The arithmetic mean of the passes.
    pub mean: f64,
    /// The standard deviation of the passes (n - 1); `None` for a single pass.
    pub standard_deviation: Option<f64>,
    /// How many passes.
    pub n: usize,
}

/// What the intervals of several passes hold: the mean rate over ten minutes around them.
const HOLDS_SECONDS: f64 = 600.0;
/// How far that mean lies from what a few seconds show, one standard deviation, where the level of
/// the machine wanders by 2 %: less, for some of it is within these seconds, or in all of the ten
/// minutes.
const WANDER: f64 = 0.015;
/// Three passes or more may scatter by chance this many times less than their host does: one series
/// of three in ten.
const SCATTER_FACTOR: f64 = 3.0;
/// Fewer passes do not know how they scatter.
const SCATTER_PASSES_MIN: usize = 3;

/// Sums up the passes of a cell.
///
/// The interval of one pass is its own: it holds what the target did in these seconds. That of
/// several passes is the wider of the widest pass's own and the t interval over passes; and on a
/// real host what it may do within ten minutes of which the passes saw less is added, as squares.
///
/// # Panics
/// Without passes.
pub fn headline(passes: &[PassRate], host: Host) -> Headline {
    assert!(!passes.is_empty(), "the headline of no pass");
    let values: Vec<f64> = passes.iter().map(|pass| pass.rate).collect();
    let n = values.len();
    let median = moments::median(&values);
    let deviation = (n > 1).then(|| moments::variance(&values).sqrt());
    let between = deviation.map(|deviation| student_t_975(n - 1) * deviation / (n as f64).sqrt());
    let within = passes.iter().filter_map(|pass| Some(pass.half_width_relative? * median));
    let half_width = within.chain(between).max_by(f64::total_cmp);
    let half_width = half_width.map(|width| match (host, deviation) {
        (Host::Real, Some(deviation)) if median > 0.0 => {
            width.hypot(Z_975 * unseen(passes, deviation / median) * median)
        }
        _ => width,
    });
    Headline {
        median,
        ci95: half_width.map(|width| [(median - width).max(0.0), median + width]),
        mean: moments::mean(&values),
        standard_deviation: deviation,
        n,
    }
}

/// How far the mean of ten minutes may lie from that of the passes because they saw only a part of
/// it: what scatter they show, carried on like a random walk, but no more than [`WANDER`]; less,
/// the more of the ten minutes they span.
fn unseen(passes: &[PassRate], scatter: f64) -> f64 {
    let times = || passes.iter().map(|pass| pass.at_seconds);
    let span = times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min);
    let missing = (1.0 - span / HOLDS_SECONDS).max(0.0);
    let carried_on = if passes.len() < SCATTER_PASSES_MIN {
        WANDER
    } else {
        SCATTER_FACTOR * scatter * (HOLDS_SECONDS / span.max(1.0)).sqrt()
    };
    carried_on.min(WANDER) * missing.sqrt()
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

/// Differences under this ratio (either way round) are called the same: +2 % and, so that swapping
/// A and B mirrors the verdict, -1.96 %.
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
pub fn verdict(ci95: Option<[f64; 2]>) -> Verdict {
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

    /// Passes a minute apart.
    fn passes(passes: &[(f64, Option<f64>)]) -> Vec<PassRate> {
        let pass = |(index, &(rate, half_width_relative))| PassRate {
            rate,
            half_width_relative,
            at_seconds: 60.0 * index as f64,
        };
        passes.iter().enumerate().map(pass).collect()
    }

    #[test]
    fn the_headline_is_the_median_with_the_wider_of_both_intervals() {
        // Deviation of 99, 100, 102 is 1.5275; times 4.3027 / sqrt(3) is 3.7946.
        let wide = passes(&[(100.0, Some(0.01)), (102.0, Some(0.02)), (99.0, None)]);
        let wide_between = headline(&wide, Host::Virtual);
        let [low, high] = wide_between.ci95.expect("three passes");
        assert_eq!((wide_between.median, wide_between.n), (100.0, 3));
        assert!((low - 96.2054).abs() < 1e-3 && (high - 103.7946).abs() < 1e-3, "{low} {high}");
        assert!((wide_between.mean - 100.333_333).abs() < 1e-6);
        assert!(wide_between.standard_deviation.is_some_and(|s| (s - 1.527_525).abs() < 1e-6));
        let wide_within = passes(&[(100.0, Some(0.05)), (100.0, Some(0.02))]);
        assert_eq!(headline(&wide_within, Host::Virtual).ci95, Some([95.0, 105.0]));
    }

    #[test]
    fn what_the_passes_did_not_see_of_ten_minutes_widens_the_interval_of_a_real_host() {
        let scattered = [(100.0, Some(0.01)), (102.0, Some(0.02)), (99.0, None)];
        // 3.7946 and, of 1.5 % and ten minutes less two, 1.96 * 1.5 * sqrt(0.8) = 2.6296, as
        // squares.
        let [low, high] = headline(&passes(&scattered), Host::Real).ci95.expect("three passes");
        assert!((high - 104.6167).abs() < 1e-3 && (low - 95.3833).abs() < 1e-3, "{low} {high}");
        // Passes that agree within 0.01 % speak of a calm host.
        let calm = passes(&[(100.0, Some(0.001)), (100.01, None), (99.99, None)]);
        let [_, high] = headline(&calm, Host::Real).ci95.expect("three passes");
        assert!(high < 100.2, "{high}");
        let mut spread_out = passes(&scattered);
        spread_out.iter_mut().for_each(|pass| pass.at_seconds *= 5.0);
        assert_eq!(
            headline(&spread_out, Host::Real).ci95,
            headline(&spread_out, Host::Virtual).ci95,
            "ten minutes were seen"
        );
    }

    #[test]
    fn a_single_pass_has_its_own_interval_or_none() {
        let one = headline(&passes(&[(50.0, Some(0.1))]), Host::Real);
        assert_eq!(one.ci95, Some([45.0, 55.0]));
        let bare = headline(&passes(&[(50.0, None)]), Host::Real);
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
