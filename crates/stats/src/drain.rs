//! Where a rate fell because what lay behind it was used up: a credit, a bucket.

/// A series of two levels, the first of them higher.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drained {
    /// Ticks at the first level.
    pub at: usize,
    /// Mean of a tick until then.
    pub before: f64,
    /// Ticks until the last of the credit was had: later than `at` where a busy machine had to wait
    /// before it could ask for the rest.
    pub spent_at: usize,
    /// Mean of a tick after that.
    pub after: f64,
    /// Standard error of `after`, by tenths of that part.
    pub after_error: f64,
    /// What was had beyond the second level: the credit.
    pub excess: f64,
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
    let most = most_in_the_end(&ticks[at..]);
    let stands_out = |&tick: &u64| tick as f64 > most;
    // A tick too far costs nothing: what it has beyond the second level, those before it lack.
    let late = ticks[..=count - AFTER_MIN].iter().rposition(stands_out);
    let spent_at = late.map_or(at, |late| late.max(at));
    // The tick in which it falls is of neither level.
    let (before, after) = (mean(0, at), mean(spent_at + 1, count));
    let spread = |from: usize, to: usize| {
        let level = mean(from, to);
        ticks[from..to].iter().map(|&tick| (tick as f64 - level).powi(2)).sum::<f64>()
    };
    let variance = (spread(0, at) + spread(at + 1, count)) / count as f64;
    let noise = (variance * (1.0 / at as f64 + 1.0 / (count - at) as f64)).sqrt();
    // Where other programs hold the client up, the first level has any shape, above all others.
    let later = ticks[at + 1..].iter().max();
    let is_above = |tick: &u64| stands_out(tick) && Some(tick) > later;
    let is_clear = before - after > ERRORS_MIN * noise || ticks[..at].iter().all(is_above);
    let falls = before > FALL_MIN * after && is_clear;
    let (after, after_error) = level(&ticks[spent_at + 1..]);
    let excess = sums[spent_at + 1] - after * (spent_at + 1) as f64;
    falls.then_some(Drained { at, before, spent_at, after, after_error, excess })
}

/// The most that noise puts into a tick in the second half of `ticks`.
fn most_in_the_end(ticks: &[u64]) -> f64 {
    let end = &ticks[ticks.len() / 2..];
    let mean = end.iter().sum::<u64>() as f64 / end.len() as f64;
    let squares = end.iter().map(|&tick| (tick as f64 - mean).powi(2)).sum::<f64>();
    mean + ERRORS_MIN * (squares / end.len() as f64).sqrt()
}

/// Mean of a tick and its standard error, by tenths of the series; of fewer than ten ticks the
/// error is not known, and none.
pub fn level(ticks: &[u64]) -> (f64, f64) {
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    let whole = mean(ticks);
    let parts = ticks.chunks_exact((ticks.len() / 10).max(1)).take(10);
    let squares = parts.map(|part| (mean(part) - whole).powi(2)).sum::<f64>();
    (whole, if ticks.len() < 10 { 0.0 } else { (squares / 90.0).sqrt() })
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
        assert!((18..=19).contains(&seen.at) && seen.after == 30.0, "{seen:?}");
        assert!((seen.excess - 5_000.0).abs() < 50.0);
        // A bucket that one tick empties.
        let ticks: Vec<u64> = (0..100).map(|tick| if tick == 0 { 900 } else { 40 }).collect();
        let seen = drained(&ticks).expect("a cliff");
        assert_eq!((seen.at, seen.after, seen.excess), (1, 40.0, 860.0));
    }

    /// The story: six programs took the processors, and a rest of 4.7 s seemed to give back 2.5 or
    /// 4.3 MB/s where 5.24 were set. The client had stalled in the middle of the credit, and what
    /// it asked for later was taken for the rate that lasts. Reads of 4 KiB in ticks of 0.1 s;
    /// 6,030 beyond the rate were seen at other times.
    #[test]
    fn a_client_that_stalls_in_the_middle_of_its_credit_still_finds_all_of_it() {
        let ticks = [
            1796, 1505, 137, 185, 130, 109, 122, 123, 133, 120, 828, 145, 517, 517, 355, 741, 255,
            253, 202, 190, 398, 128, 126, 127, 128, 129, 130, 126, 129, 129, 126, 129, 128, 128,
            127, 128, 130, 114, 140, 130, 129, 126, 127, 130, 129,
        ];
        let seen = drained(&ticks).expect("a cliff");
        assert_eq!((seen.at, seen.spent_at), (2, 20), "{seen:?}");
        assert!((seen.excess / 6_030.0 - 1.0).abs() < 0.02, "{seen:?}");
        let ticks = [
            2651, 2042, 694, 1139, 132, 101, 151, 131, 118, 99, 165, 126, 129, 129, 127, 129, 126,
            130, 129, 120, 134, 128, 128, 128, 127, 129, 126, 131, 125, 129, 131, 128, 128, 127,
            126, 129, 128, 128, 129, 129, 128, 127, 128, 128, 127,
        ];
        let seen = drained(&ticks).expect("a cliff");
        assert!((seen.excess / 6_030.0 - 1.0).abs() < 0.02, "{seen:?}");
        // A full bucket: 12,800. The first level was so uneven that no fall was seen.
        let ticks = [
            580, 564, 313, 357, 362, 1740, 3222, 205, 173, 380, 302, 1433, 1359, 447, 391, 171,
            387, 645, 645, 1679, 125, 129, 129, 126, 128, 129, 128, 127, 126, 131, 127, 129, 126,
            128, 130, 128, 127, 129, 128, 128, 126, 130, 129, 126, 130,
        ];
        let seen = drained(&ticks).expect("a cliff");
        assert!((seen.excess / 12_800.0 - 1.0).abs() < 0.02, "{seen:?}");
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
        // A client that is held up at first, and not later: the mean is the same.
        let calm = |tick: u64| 100 + tick % 2;
        let uneven = |tick: u64| if tick < 3 { 140 } else { 60 + 80 * (tick % 2) };
        let ticks: Vec<u64> =
            (0..200).map(|tick| if tick < 60 { uneven(tick) } else { calm(tick) }).collect();
        assert_eq!(drained(&ticks), None);
    }
}
