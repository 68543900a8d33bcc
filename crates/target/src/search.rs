//! The search for parameters: one coordinate after the other, in steps that shrink. No derivative,
//! no chance; the same start gives the same end.
//!
//! Steps are relative, because times and rates are positive and a percent means the same for all of
//! them.

/// How fine the search ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Grain {
    /// First step, as a ratio (0.2 = 20 %).
    pub first: f64,
    /// The step below which it stops.
    pub last: f64,
}

/// Changes `point` coordinate by coordinate until no step of `grain.last` makes `loss` smaller; the
/// loss there. Coordinates must be positive.
pub fn descend(point: &mut [f64], grain: Grain, loss: &mut dyn FnMut(&[f64]) -> f64) -> f64 {
    assert!(point.iter().all(|&value| value > 0.0), "a search among positive numbers");
    let mut best = loss(point);
    let mut step = grain.first;
    while step >= grain.last {
        let before = best;
        for coordinate in 0..point.len() {
            for ratio in [1.0 + step, 1.0 / (1.0 + step)] {
                // As long as a direction pays, it is followed.
                while try_step(point, coordinate, ratio, &mut best, loss) {}
            }
        }
        if best >= before * (1.0 - step / 10.0) {
            step /= 2.0;
        }
    }
    best
}

fn try_step(
    point: &mut [f64],
    coordinate: usize,
    ratio: f64,
    best: &mut f64,
    loss: &mut dyn FnMut(&[f64]) -> f64,
) -> bool {
    let old = point[coordinate];
    point[coordinate] = old * ratio;
    let seen = loss(point);
    if seen < *best {
        *best = seen;
        return true;
    }
    point[coordinate] = old;
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_time_and_a_rate_are_found_from_far_away() {
        // T(s) = 43.8 us + s / 121.8, told at five sizes; the start is wrong by a factor of three.
        let truth = |size: f64| 43.8 + size / 121.8;
        let sizes = [512.0, 4096.0, 32_768.0, 262_144.0, 1_048_576.0];
        let mut point = [130.0, 40.0];
        let left = descend(&mut point, Grain { first: 0.3, last: 1e-5 }, &mut |point| {
            let error = |size: f64| ((point[0] + size / point[1]) / truth(size)).ln().abs();
            sizes.iter().map(|&size| error(size)).sum()
        });
        assert!(left < 1e-3, "{left}");
        assert!((point[0] / 43.8 - 1.0).abs() < 1e-3 && (point[1] / 121.8 - 1.0).abs() < 1e-3);
    }
}
