//! A share or a mean of what batches of ticks hold, with its interval, and whether it climbs.

use super::student_t_975;

/// A quotient of two sums, such as operations beyond a limit over all operations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The one sum over the other.
    pub value: f64,
    /// Half of the 95 % interval.
    pub half_width: f64,
}

/// Fewer batches have no interval that says anything.
const BATCHES_MIN: usize = 4;

/// Of batches `(part, whole)` that follow each other in time. Batches are long enough to know
/// little of each other; what single operations have in common within one then widens the interval
/// as it should (ratio estimator, Cochran, Sampling Techniques, 1977, section 6.3). `None` with
/// fewer than four batches, or without any whole.
pub fn ratio(batches: &[(f64, f64)]) -> Option<Ratio> {
    let whole: f64 = batches.iter().map(|(_, whole)| whole).sum();
    let count = batches.len() as f64;
    if batches.len() < BATCHES_MIN || whole <= 0.0 {
        return None;
    }
    let value = batches.iter().map(|(part, _)| part).sum::<f64>() / whole;
    let squares = batches.iter().map(|(part, whole)| (part - value * whole).powi(2));
    let variance = squares.sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt() / (whole / count);
    Some(Ratio { value, half_width: student_t_975(batches.len() - 1) * error })
}

/// A straight line through values that are equally far apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trend {
    /// How much it climbs from one value to the next.
    pub slope: f64,
    /// Half of the slope's 95 % interval.
    pub half_width: f64,
}

/// By least squares; `None` with fewer than four values.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let count = values.len() as f64;
    if values.len() < BATCHES_MIN {
        return None;
    }
    let (middle, mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
    let places = || (0..values.len()).map(|at| at as f64 - middle);
    let spread: f64 = places().map(|x| x * x).sum();
    let slope = places().zip(values).map(|(x, y)| x * (y - mean)).sum::<f64>() / spread;
    let rest = places().zip(values).map(|(x, y)| (y - mean - slope * x).powi(2));
    let variance = rest.sum::<f64>() / (count - 2.0);
    let half_width = student_t_975(values.len() - 2) * (variance / spread).sqrt();
    Some(Trend { slope, half_width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_that_of_all_batches_and_its_interval_that_of_their_differences() {
        let even = ratio(&[(1.0, 100.0); 10]).expect("ten batches");
        assert_eq!((even.value, even.half_width), (0.01, 0.0));
        // Ten batches of one share each: for equal wholes the interval is Student's of the shares.
        let shares: Vec<f64> = (0..10).map(|at| f64::from(at % 2) * 0.02).collect();
        let batches: Vec<(f64, f64)> = shares.iter().map(|share| (share * 50.0, 50.0)).collect();
        let seen = ratio(&batches).expect("ten batches");
        let deviation = (shares.iter().map(|s| (s - 0.01f64).powi(2)).sum::<f64>() / 9.0).sqrt();
        let expected = 2.262_157 * deviation / 10f64.sqrt();
        assert!((seen.value - 0.01).abs() < 1e-12 && (seen.half_width - expected).abs() < 1e-9);
        assert_eq!(ratio(&[(1.0, 2.0); 3]), None);
        assert_eq!(ratio(&[(0.0, 0.0); 8]), None);
    }

    #[test]
    fn a_line_is_found_and_noise_is_none() {
        let line: Vec<f64> = (0..8).map(|at| 3.0 + 0.5 * f64::from(at)).collect();
        let seen = trend(&line).expect("eight values");
        assert!((seen.slope - 0.5).abs() < 1e-12 && seen.half_width < 1e-9);
        let noise = trend(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0]).expect("eight values");
        assert!(noise.slope.abs() < noise.half_width, "{noise:?}");
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
    }
}
