//! How many passes it takes to tell two rates 5 % apart.
//!
//! A verdict needs its whole interval beyond the band of 2 %. Of a true 5 % it is there in four of
//! five comparisons when `half-width + 0.84 standard errors <= ln(1.05 / 1.02)`.

use super::{distribution::student_t_975, passes::BAND};

/// The difference that is to be told.
pub const TOLD_APART: f64 = 1.05;
/// The normal quantile of four in five.
const Z_POWER: f64 = 0.842;
/// More passes than this are not proposed.
const PASSES_MAX: usize = 1000;
/// Fewer pairs have too wide a t interval to be worth a run.
const PAIRS_MIN: usize = 4;

/// Pairs of passes of one run that tell 5 %, where the logarithms of their ratios scatter by
/// `deviation`; `None` where a thousand do not.
pub fn pairs_to_tell(deviation: f64) -> Option<usize> {
    (PAIRS_MIN..=PASSES_MAX).find(|&n| {
        let error = deviation / (n as f64).sqrt();
        (student_t_975(n - 1) + Z_POWER) * error <= (TOLD_APART / BAND).ln()
    })
}

/// Passes of each of two runs made apart that tell 5 %, where the logarithms of their rates scatter
/// by `deviation` and each pass knows its own within `half_width`; see [`super::unpaired`]. `None`
/// where a thousand do not.
pub fn passes_to_tell(deviation: f64, half_width: f64) -> Option<usize> {
    let within = 2.0 * half_width.ln_1p().powi(2);
    (2..=PASSES_MAX).find(|&n| {
        let error = deviation * (2.0 / n as f64).sqrt();
        let half = ((student_t_975(2 * n - 2) * error).powi(2) + within).sqrt();
        half + Z_POWER * error <= (TOLD_APART / BAND).ln()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_those_worked_out_by_hand() {
        // ln(1.05 / 1.02) is 2.899 %. Ten pairs that scatter by 3 %: (2.262 + 0.842) * 3 / sqrt(10)
        // is 2.945 %, eleven: (2.228 + 0.842) * 3 / sqrt(11) is 2.777 %.
        assert_eq!(pairs_to_tell(0.03), Some(11));
        assert_eq!(pairs_to_tell(0.0), Some(4));
        assert_eq!(pairs_to_tell(1.0), None);
        // Half-widths of 1 %: five passes that scatter by 1 % have an error of 0.632 %, times
        // t(8) = 2.306 is 1.459 %, with twice 0.995 % as squares 2.027 %, and 0.532 % on top.
        assert_eq!(passes_to_tell(0.01, 0.01), Some(4));
        assert!(passes_to_tell(0.013, 0.01) > passes_to_tell(0.01, 0.01));
        // What each pass does not know of itself no number of passes cures.
        assert_eq!(passes_to_tell(0.001, 0.03), None);
    }
}
