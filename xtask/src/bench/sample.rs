//! Medians, and the interval of a ratio from pairs.

/// The middle value; of an even number the mean of the two in the middle.
///
/// # Panics
/// Without values.
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "the median of nothing");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

/// The ratio of two that were measured in pairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// Geometric mean over the pairs.
    pub mean: f64,
    /// 95 % interval: Student's t over the pairs' logarithms. Without bound for a single pair.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Ratio {
    /// Of `ours` to `theirs`, pair by pair.
    ///
    /// # Panics
    /// If they are not as many, or none.
    pub fn of(ours: &[f64], theirs: &[f64]) -> Self {
        assert!(ours.len() == theirs.len() && !ours.is_empty(), "pairs are needed");
        let logs: Vec<f64> =
            ours.iter().zip(theirs).map(|(our, their)| (our / their).ln()).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half = if logs.len() > 1 {
            t_975(logs.len() - 1) * (variance / n).sqrt()
        } else {
            f64::INFINITY
        };
        Self { mean: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
    }

    /// Whether the interval contains 1: no difference can be told.
    pub fn contains_one(&self) -> bool {
        self.low <= 1.0 && self.high >= 1.0
    }

    /// Half the width of the log-ratio's interval.
    pub fn half_width_log(&self) -> f64 {
        (self.high / self.low).ln() / 2.0
    }
}

/// The 0.975 quantile of Student's t: tables to 30 degrees of freedom, then the expansion of Fisher
/// and Cornish in 1/df (Abramowitz and Stegun 26.7.5, first two terms).
fn t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    const Z: f64 = 1.959_964;
    assert!(degrees > 0, "no degree of freedom");
    TABLE.get(degrees - 1).copied().unwrap_or_else(|| {
        let n = degrees as f64;
        let first = (Z.powi(3) + Z) / 4.0;
        let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
        Z + first / n + second / (n * n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn quantiles_of_t_agree_with_published_tables() {
        for (degrees, published) in
            [(11, 2.201), (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980)]
        {
            assert!((t_975(degrees) - published).abs() < 0.0006, "{degrees}");
        }
    }

    #[test]
    fn a_ratio_of_pairs_is_their_geometric_mean_with_its_interval() {
        let ratio = Ratio::of(&[2.0, 1.0], &[1.0, 2.0]);
        assert!((ratio.mean - 1.0).abs() < 1e-12 && ratio.contains_one());
        // By hand: logs +-0.6931, s = 0.9803, half = 12.706 x 0.9803 / sqrt 2.
        assert!((ratio.half_width_log() - 8.807).abs() < 0.01, "{ratio:?}");
        let ratio = Ratio::of(&[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0]);
        assert!(!ratio.contains_one() && ratio.low == ratio.high);
        assert!(Ratio::of(&[2.0], &[1.0]).contains_one());
    }
}
