//! A straight line through points, by least squares.

use stats::student_t_975;

/// `y = intercept + slope x`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// At x = 0.
    pub intercept: f64,
    /// Half of the 95 % interval of the intercept; none of two points, which every line fits.
    pub intercept_half_width: Option<f64>,
    /// For one of x.
    pub slope: f64,
    /// Points that it was fitted to.
    pub n: usize,
}

/// Fits a line to points `[x, y, weight]`; none where fewer than two different x have a weight. The
/// half-width is Student's t with n - 2 degrees of freedom times the intercept's standard error
/// (Draper and Smith, Applied Regression Analysis, 1.4 and 9.2).
pub fn fit(points: &[[f64; 3]]) -> Option<Line> {
    let sum = |of: &dyn Fn(&[f64; 3]) -> f64| points.iter().map(of).sum::<f64>();
    let weight = sum(&|[_, _, w]| *w);
    let mean_x = sum(&|[x, _, w]| w * x) / weight;
    let mean_y = sum(&|[_, y, w]| w * y) / weight;
    let spread = sum(&|[x, _, w]| w * (x - mean_x).powi(2));
    if !(spread > 0.0 && spread.is_finite()) {
        return None;
    }
    let slope = sum(&|[x, y, w]| w * (x - mean_x) * (y - mean_y)) / spread;
    let intercept = mean_y - slope * mean_x;
    let n = points.len();
    let intercept_half_width = (n > 2).then(|| {
        let residual = sum(&|[x, y, w]| w * (y - intercept - slope * x).powi(2)) / (n - 2) as f64;
        student_t_975(n - 2) * (residual * (1.0 / weight + mean_x.powi(2) / spread)).sqrt()
    });
    Some(Line { intercept, intercept_half_width, slope, n })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x 1 2 3 4 5, y 2.1 3.9 6.2 7.8 10.1: by hand slope 19.9 / 10, intercept 6.02 - 5.97,
    /// residual sum of squares 0.107, standard error sqrt(0.107 / 3 x (1/5 + 9/10)) = 0.198074,
    /// times t(3) = 3.182446.
    #[test]
    fn a_line_and_its_interval_are_those_worked_out_by_hand() {
        let y = [2.1, 3.9, 6.2, 7.8, 10.1];
        let points: Vec<[f64; 3]> = (0..5).map(|at| [at as f64 + 1.0, y[at], 1.0]).collect();
        let line = fit(&points).expect("a line");
        assert!((line.slope - 1.99).abs() < 1e-12 && (line.intercept - 0.05).abs() < 1e-12);
        let half = line.intercept_half_width.expect("five points");
        assert!((half - 3.182_446 * 0.198_074).abs() < 1e-4, "{half}");
        // A weight of two is a point twice, for the line.
        let twice = fit(&[[1.0, 2.0, 2.0], [2.0, 3.0, 1.0], [4.0, 4.0, 1.0]]).expect("a line");
        let listed = fit(&[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0], [2.0, 3.0, 1.0], [4.0, 4.0, 1.0]])
            .expect("a line");
        assert!((twice.slope - listed.slope).abs() < 1e-12);
        assert_eq!(fit(&[[1.0, 2.0, 1.0], [1.0, 3.0, 1.0]]), None);
    }
}
