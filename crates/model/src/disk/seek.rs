//! How long the arm takes: a square root for short seeks, in which it accelerates half of the way,
//! and a line for long ones, in which it coasts (Ruemmler and Wilkes, "An Introduction to Disk
//! Drive Modeling", IEEE Computer 27(3), 1994).

use super::params::DiskParams;

/// Seek time by distance.
#[derive(Debug)]
pub(super) struct SeekCurve {
    /// By distance in cylinders, ns. The first is another head of the same cylinder.
    by_distance: Vec<u32>,
}

impl SeekCurve {
    /// The curve through the data sheet's three points: the next cylinder, a third of the stroke,
    /// all of it. The root passes into the line at a third.
    pub fn new(params: &DiskParams, cylinders: u64) -> Self {
        let stroke = (cylinders.max(2) - 1) as f64;
        let knee = (stroke / 3.0).max(1.0);
        let (next, average, full) = (
            params.track_to_track_ns as f64,
            params.average_seek_ns as f64,
            params.full_stroke_ns as f64,
        );
        let (constant, slope) = match params.settle_ns {
            Some(settle) => (settle as f64, (average - settle as f64) / knee.sqrt()),
            None if knee > 1.0 => {
                let slope = (average - next) / (knee.sqrt() - 1.0);
                (next - slope, slope)
            }
            None => (average, 0.0),
        };
        let seek = |distance: f64| {
            if distance <= 1.0 {
                next
            } else if distance <= knee {
                constant + slope * distance.sqrt()
            } else {
                average + (full - average) * (distance - knee) / (stroke - knee).max(1.0)
            }
        };
        let by_distance =
            (0..cylinders).map(|distance| seek(distance as f64).max(next).round() as u32).collect();
        Self { by_distance }
    }

    /// Seek over `distance` cylinders to another track, ns, for reading.
    #[inline]
    pub fn of(&self, distance: u64) -> u64 {
        u64::from(self.by_distance[distance as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::params;

    #[test]
    fn the_curve_passes_through_the_data_sheet_and_never_falls() {
        let (params, cylinders) = (params(), 150_001);
        let curve = SeekCurve::new(&params, cylinders);
        assert_eq!(curve.of(1), params.track_to_track_ns);
        assert_eq!(curve.of(50_000), params.average_seek_ns);
        assert_eq!(curve.of(150_000), params.full_stroke_ns);
        assert!((1..cylinders).all(|distance| curve.of(distance - 1) <= curve.of(distance)));
    }

    #[test]
    fn a_fitted_settle_lifts_short_seeks_and_leaves_long_ones() {
        let plain = params();
        let fitted = DiskParams { settle_ns: Some(1_500_000), ..plain.clone() };
        let (plain, fitted) = (SeekCurve::new(&plain, 150_001), SeekCurve::new(&fitted, 150_001));
        assert!(fitted.of(2) >= 1_500_000 && plain.of(2) < 1_000_000);
        assert_eq!(fitted.of(50_000), plain.of(50_000));
        assert_eq!(fitted.of(1), plain.of(1), "the skew is the data sheet's");
    }
}
