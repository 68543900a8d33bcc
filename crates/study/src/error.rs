//! How far a model is from what was printed.

/// Signed relative error: modelled / published - 1.
pub fn relative_error(modelled: f64, published: f64) -> f64 {
    modelled / published - 1.0
}

/// Errors of many cells in a few numbers, all ratios (0.03 = 3 %).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorSummary {
    /// How many cells.
    pub cells: usize,
    /// Mean of the absolute errors.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// How many of them are within 10 %.
    pub within_tenth: usize,
    /// Mean of the signed errors: which way the model leans.
    pub lean: f64,
}

impl ErrorSummary {
    /// Of these signed errors; `None` without any.
    pub fn of(errors: &[f64]) -> Option<Self> {
        if errors.is_empty() {
            return None;
        }
        let count = errors.len() as f64;
        let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let middle = sizes.len() / 2;
        let median = match sizes.len() % 2 {
            0 => (sizes[middle - 1] + sizes[middle]) / 2.0,
            _ => sizes[middle],
        };
        Some(Self {
            cells: errors.len(),
            mean: sizes.iter().sum::<f64>() / count,
            median,
            max: sizes[sizes.len() - 1],
            within_tenth: sizes.iter().filter(|&&size| size <= 0.1).count(),
            lean: errors.iter().sum::<f64>() / count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_summed_up_by_size_and_lean() {
        let errors = [0.02, -0.04, 0.2, 0.0];
        let seen = ErrorSummary::of(&errors).expect("four cells");
        assert_eq!((seen.cells, seen.max, seen.within_tenth), (4, 0.2, 3));
        assert!((seen.mean - 0.065).abs() < 1e-12 && (seen.median - 0.03).abs() < 1e-12);
        assert!((seen.lean - 0.045).abs() < 1e-12);
        assert_eq!(ErrorSummary::of(&[]), None);
    }
}
