//! The few sums everything else is made of: mean, variance, autocorrelation, fitted line.

/// Arithmetic mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Sum of squared deviations from `centre`.
fn squares(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// Sample variance with n - 1; 0 of fewer than two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    squares(values, mean(values)) / (values.len() - 1) as f64
}

/// Lag-1 autocorrelation; 0 of a constant.
pub(super) fn lag1(values: &[f64]) -> f64 {
    let centre = mean(values);
    let total = squares(values, centre);
    // A constant leaves only rounding in `total`.
    if total <= 1e-18 * centre * centre * values.len() as f64 {
        return 0.0;
    }
    let product = |pair: &[f64]| (pair[0] - centre) * (pair[1] - centre);
    values.windows(2).map(product).sum::<f64>() / total
}

/// Slope a step of the least-squares line; 0 of fewer than two values.
pub(super) fn slope(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let (centre, middle) = (mean(values), (values.len() - 1) as f64 / 2.0);
    let (mut along, mut across) = (0.0, 0.0);
    for (step, value) in values.iter().enumerate() {
        let offset = step as f64 - middle;
        along += offset * (value - centre);
        across += offset * offset;
    }
    along / across
}

/// Standard deviation over mean; 0 if the mean is.
pub(super) fn variation(values: &[f64]) -> f64 {
    let centre = mean(values);
    if centre == 0.0 { 0.0 } else { variance(values).sqrt() / centre }
}

/// How much slower the mean of an autocorrelated series settles than that of independent values.
///
/// First-order autoregression: the variance of a mean of n values is `(1 + r) / (1 - r)` times that
/// of independent ones. The estimate of `r` is too small in short series by about `(1 + 3 r) / n`
/// (Marriott and Pope, Biometrika 41, 1954; Kendall, same volume), which is put back: it is what
/// stops a slow wave, of which only one crest was seen, from passing for a quiet series.
pub(super) fn inefficiency(values: &[f64]) -> f64 {
    let seen = lag1(values);
    let r = (seen + (1.0 + 3.0 * seen) / values.len().max(1) as f64).clamp(0.0, 0.99);
    (1.0 + r) / (1.0 - r)
}

/// The median; the mean of the middle two of an even number.
///
/// # Panics
/// Of nothing.
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "the median of nothing");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[half - 1] + sorted[half]) / 2.0
    } else {
        sorted[half]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_short_series_are_those_worked_out_by_hand() {
        let values = [1.0, 2.0, 4.0, 5.0];
        assert_eq!(mean(&values), 3.0);
        assert!((variance(&values) - 10.0 / 3.0).abs() < 1e-12);
        // Deviations -2 -1 1 2: products 2, -1, 2 over 10.
        assert!((lag1(&values) - 0.3).abs() < 1e-12);
        // (-1.5 * -2 + -0.5 * -1 + 0.5 * 1 + 1.5 * 2) / 5
        assert!((slope(&values) - 1.4).abs() < 1e-12);
        assert_eq!(median(&values), 3.0);
        assert_eq!(median(&[9.0, 1.0, 4.0]), 4.0);
    }

    #[test]
    fn a_constant_has_no_variance_and_no_autocorrelation() {
        let values = [1234.567; 50];
        assert!(variance(&values) < 1e-20);
        assert_eq!(lag1(&values), 0.0);
        assert!(slope(&values).abs() < 1e-12);
    }
}
