//! Where a rate fell because what lay behind it was used up: a credit, a bucket.

/// A series of two levels, the first of them higher.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drained {
    /// Ticks at the first level.
    pub at: usize,
    /// Mean of a tick until then.
    pub before: f64,
    /// Mean of a tick from then on.
    pub after: f64,
    /// Standard error of `after`, by tenths of that part.
    pub after_error: f64,
}

impl Drained {
    /// What was had beyond the second level: the credit. Where exactly the levels part hardly moves
    /// it.
    pub fn excess(&self) -> f64 {
        self.at as f64 * (self.before - self.after)
    }
}

/// Ticks that the second level takes at least.
const AFTER_MIN: usize = 20;
/// The first level is higher by this factor at least.
const FALL_MIN: f64 = 1.1;
/// Of this many standard errors the fall is at least.
const ERRORS_MIN: f64 = 6.0;

/// The best fit of two levels, where the series falls from one to the other and the fall is more
/// than noise. The first level may be as short as one tick.
pub fn drained(ticks: &[u64]) -> Option<Drained> {
    let count = ticks.len();
    if count <= AFTER_MIN {
        return None;
    }
    let mut sums = Vec::with_capacity(count + 1);
    sums.push(0.0);
    for &tick in ticks {
        sums.push(sums[sums.len() - 1] + tick as f64);
    }
    let mean = |from: usize, to: usize| (sums[to] - sums[from]) / (to - from) as f64;
    let gain = |at: usize| {
        let (first, second) = (at as f64, (count - at) as f64);
        first * second * (mean(0, at) - mean(at, count)).max(0.0).powi(2)
    };
    let at = (1..=count - AFTER_MIN).max_by(|&one, &two| gain(one).total_cmp(&gain(two)))?;
    let (before, after) = (mean(0, at), mean(at, count));
    let spread = |from: usize, to: usize| {
        let level = mean(from, to);
        ticks[from..to].iter().map(|&tick| (tick as f64 - level).powi(2)).sum::<f64>()
    };
    let variance = (spread(0, at) + spread(at, count)) / count as f64;
    let noise = (variance * (1.0 / at as f64 + 1.0 / (count - at) as f64)).sqrt();
    let falls = before > FALL_MIN * after && before - after > ERRORS_MIN * noise;
    let part = (count - at) / 10;
    let parts: Vec<f64> =
        (0..10).map(|n| mean(at + n * part, at + (n + 1) * part) - after).collect();
    let after_error = (parts.iter().map(|off| off * off).sum::<f64>() / 90.0).sqrt();
    falls.then_some(Drained { at, before, after, after_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credit_of_a_bucket_is_what_was_had_beyond_the_rate_that_lasts() {
        // 300 a tick while a credit of 5,000 lasts, then 30: 5,000 / 270 = 18.5 ticks.
        let mut credit = 5_000.0_f64;
        let ticks: Vec<u64> = (0..200)
            .map(|_| {
                let extra = credit.min(270.0);
                credit -= extra;
                30 + extra as u64
            })
            .collect();
        let seen = drained(&ticks).expect("a cliff");
        assert_eq!(seen.at, 19);
        assert!((seen.after - 30.0).abs() < 1.0 && (seen.excess() - 5_000.0).abs() < 50.0);
        // A bucket that one tick empties.
        let ticks: Vec<u64> = (0..100).map(|tick| if tick == 0 { 900 } else { 40 }).collect();
        let seen = drained(&ticks).expect("a cliff");
        assert_eq!((seen.at, seen.after, seen.excess()), (1, 40.0, 860.0));
    }

    #[test]
    fn a_level_or_a_rising_series_has_no_cliff_and_noise_makes_none() {
        assert_eq!(drained(&[100; 500]), None);
        let rising: Vec<u64> = (0..500).map(|tick| if tick < 200 { 50 } else { 100 }).collect();
        assert_eq!(drained(&rising), None);
        // Four in five ticks are empty: long operations, not a cliff.
        let coarse: Vec<u64> = (0..500).map(|tick| u64::from(tick % 5 == 0)).collect();
        assert_eq!(drained(&coarse), None);
        assert_eq!(drained(&[5; 10]), None, "too short to tell");
    }
}
