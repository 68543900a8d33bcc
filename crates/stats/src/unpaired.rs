//! One run against another that was made apart: nothing cancels, and everything that is not known
//! counts.

use super::{
    distribution::student_t_975,
    moments,
    passes::{BAND, Verdict, verdict},
};

/// One cell of one run: its passes, and how well each was known by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Passes {
    /// The rate of each pass.
    pub rates: Vec<f64>,
    /// The widest of the passes' own 95 % half-widths over their rate; none where no pass was long
    /// enough for one.
    pub half_width_relative: Option<f64>,
}

/// B against A, made apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unpaired {
    /// The geometric mean of B's passes over that of A's.
    pub ratio: f64,
    /// Its 95 % interval; none where neither passes nor half-widths say how well the rates are
    /// known.
    pub ci95: Option<[f64; 2]>,
    /// What the interval says.
    pub verdict: Verdict,
}

/// Compares two runs by the logarithms of their passes.
///
/// Two uncertainties are added as squares: Welch's half-width over passes (Welch, Biometrika 34,
/// 1947), which knows what changed from pass to pass, and each run's own half-width within a pass,
/// which knows of slow waves that a few passes may all have met alike. A run of a single pass is
/// taken to scatter from pass to pass as the other one does; of two such runs nobody knows how they
/// scatter: their half-widths add up plainly, and the band of 2 % on top. What changed on the
/// machine *between* the runs is in no interval: that is what interleaved passes are for.
///
/// # Panics
/// Without passes, or with a rate that is not positive.
pub fn unpaired(a: &Passes, b: &Passes) -> Unpaired {
    assert!(!a.rates.is_empty() && !b.rates.is_empty(), "a run without passes");
    assert!(a.rates.iter().chain(&b.rates).all(|&rate| rate > 0.0), "a ratio needs positive rates");
    let logs = [a, b].map(|passes| passes.rates.iter().map(|rate| rate.ln()).collect::<Vec<_>>());
    let centre = moments::mean(&logs[1]) - moments::mean(&logs[0]);
    let within = [a, b].map(|passes| passes.half_width_relative.map(f64::ln_1p));
    let half = match (welch(&logs), within) {
        (Some(welch), within) => {
            let within = within.map(|half| half.unwrap_or(0.0).powi(2));
            Some((welch.powi(2) + within[0] + within[1]).sqrt())
        }
        // How far passes lie apart is not known: as far as what is still called the same.
        (None, [Some(one), Some(other)]) => Some(one + other + BAND.ln()),
        (None, _) => None,
    };
    let ci95 = half.map(|half| [(centre - half).exp(), (centre + half).exp()]);
    Unpaired { ratio: centre.exp(), ci95, verdict: verdict(ci95) }
}

/// Half of Welch's 95 % interval of the difference of means; none of two single values.
fn welch(logs: &[Vec<f64>; 2]) -> Option<f64> {
    let counts = [0, 1].map(|run| logs[run].len() as f64);
    let variances = [0, 1].map(|run| moments::variance(&logs[run]));
    match [logs[0].len(), logs[1].len()] {
        [1, 1] => None,
        [1, many] => Some(of_one_against(many, variances[1])),
        [many, 1] => Some(of_one_against(many, variances[0])),
        _ => {
            let shares = [0, 1].map(|run| variances[run] / counts[run]);
            let error = shares[0] + shares[1];
            if error == 0.0 {
                return Some(0.0);
            }
            let split = [0, 1].map(|run| shares[run].powi(2) / (counts[run] - 1.0));
            // A fraction of a degree is not counted: the interval is a little too wide, never too
            // narrow.
            let degrees = (error.powi(2) / (split[0] + split[1])).floor().max(1.0) as usize;
            Some(student_t_975(degrees) * error.sqrt())
        }
    }
}

/// One value against the mean of `many` that scatter as it does.
fn of_one_against(many: usize, variance: f64) -> f64 {
    student_t_975(many - 1) * (variance * (1.0 + 1.0 / many as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passes(rates: &[f64], half: Option<f64>) -> Passes {
        Passes { rates: rates.to_vec(), half_width_relative: half }
    }

    /// Welch's formula by hand on 1, 2, 3 against 2, 4, 6, 8, as logarithms: means 2 and 5,
    /// variances 1 and 20/3, error 1/3 + 5/3 = 2, degrees 4 / (1/18 + 25/27) = 4.075, t(4) =
    /// 2.776445.
    #[test]
    fn welch_s_interval_is_the_one_worked_out_by_hand() {
        let exp = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect::<Vec<_>>();
        let seen = unpaired(
            &passes(&exp(&[1.0, 2.0, 3.0]), None),
            &passes(&exp(&[2.0, 4.0, 6.0, 8.0]), None),
        );
        let [low, high] = seen.ci95.expect("passes");
        let half = 2.776_445 * 2f64.sqrt();
        assert!((seen.ratio.ln() - 3.0).abs() < 1e-12);
        assert!((low.ln() - (3.0 - half)).abs() < 1e-9 && (high.ln() - (3.0 + half)).abs() < 1e-9);
    }

    #[test]
    fn single_passes_are_compared_by_their_own_half_widths_or_not_at_all() {
        let one = unpaired(&passes(&[100.0], Some(0.01)), &passes(&[110.0], Some(0.02)));
        let [low, high] = one.ci95.expect("half-widths");
        // The first runs' half-widths, 1 % and 2 %, and the band of 2 %.
        let all = 1.01 * 1.02 * 1.02;
        assert!((low - 1.1 / all).abs() < 1e-12 && (high - 1.1 * all).abs() < 1e-12);
        assert_eq!(one.verdict, Verdict::Faster);
        let bare = unpaired(&passes(&[100.0], None), &passes(&[200.0], Some(0.01)));
        assert_eq!((bare.ci95, bare.verdict), (None, Verdict::Undecided));
        // One against three: it scatters as they do.
        let seen = unpaired(&passes(&[100.0], None), &passes(&[99.0, 100.0, 101.0], None));
        let deviation = [99f64, 100.0, 101.0].map(f64::ln);
        let half = 4.302_653 * (moments::variance(&deviation) * 4.0 / 3.0).sqrt();
        assert!((seen.ci95.expect("passes")[1].ln() - seen.ratio.ln() - half).abs() < 1e-6);
    }

    proptest! {
        /// Swapped, the ratio is the inverse; and the interval is never narrower than either run's
        /// own.
        #[test]
        fn comparing_is_symmetric_and_never_surer_than_either_run(
            a in prop::collection::vec(1.0..1e6f64, 1..6),
            b in prop::collection::vec(1.0..1e6f64, 1..6),
            widths in prop::array::uniform2(prop::option::of(0.0..0.5f64)),
        ) {
            let (a, b) = (passes(&a, widths[0]), passes(&b, widths[1]));
            let (forward, backward) = (unpaired(&a, &b), unpaired(&b, &a));
            prop_assert!((forward.ratio * backward.ratio - 1.0).abs() < 1e-9);
            prop_assert_eq!(forward.ci95.is_some(), backward.ci95.is_some());
            if let (Some([low, high]), Some([back_low, _])) = (forward.ci95, backward.ci95) {
                prop_assert!((high * back_low - 1.0).abs() < 1e-9);
                prop_assert!(low <= forward.ratio && forward.ratio <= high);
                for width in widths.into_iter().flatten() {
                    prop_assert!(high / forward.ratio >= (1.0 + width) * (1.0 - 1e-12));
                }
            }
        }
    }
}
