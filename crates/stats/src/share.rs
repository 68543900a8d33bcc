//! Shares: how many of so many, what that says of the next, and of two samples.

/// With 95 % confidence the share lies between these where `found` of `all` were seen: the bounds
/// of Clopper and Pearson (Biometrika 26, 1934), by bisection of the binomial distribution. Where
/// none or all were seen, one bound is known and the other has all of the confidence.
pub fn share_interval(found: u32, all: u32) -> [f64; 2] {
    match (found, all) {
        (_, 0) => [0.0, 1.0],
        (0, _) => [0.0, upper(0, all, 0.05)],
        _ if found >= all => [1.0 - upper(0, all, 0.05), 1.0],
        _ => [1.0 - upper(all - found, all, 0.025), upper(found, all, 0.025)],
    }
}

/// The share of which no more than `found` of `all` are seen with probability `chance`.
fn upper(found: u32, all: u32, chance: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(found, all, middle) > chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability of at most `successes` of `trials`, each of probability `share`.
fn at_most(successes: u32, trials: u32, share: f64) -> f64 {
    let (n, p) = (f64::from(trials), share);
    // Logarithms: 0.9^1000 is small, not zero.
    let mut log_term = n * (-p).ln_1p();
    let mut sum = log_term.exp();
    for k in 1..=successes {
        let k = f64::from(k);
        log_term += ((n - k + 1.0) / k).ln() + p.ln() - (-p).ln_1p();
        sum += log_term.exp();
    }
    sum
}

/// How likely two samples of one share differ as much as these or more, `found` of `all` each: the
/// two-sided exact test of Fisher (Statistical Methods for Research Workers, 1934). Small: they
/// are not of one share.
pub fn same_share([a, of_a]: [u32; 2], [b, of_b]: [u32; 2]) -> f64 {
    let (all, found) = (of_a + of_b, a + b);
    let mut logs = Vec::with_capacity(all as usize + 1);
    let mut sum = 0.0;
    logs.push(sum);
    for number in 1..=all {
        sum += f64::from(number).ln();
        logs.push(sum);
    }
    let choose = |n: u32, k: u32| logs[n as usize] - logs[k as usize] - logs[(n - k) as usize];
    let of = |k: u32| (choose(of_a, k) + choose(of_b, found - k) - choose(all, found)).exp();
    let seen = of(a) * (1.0 + 1e-9);
    let first = found.saturating_sub(of_b);
    (first..=found.min(of_a)).map(of).filter(|term| *term <= seen).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 of 40 is 7.2 %, by 1 - 0.05^(1/40); scipy's binomtest (1.17, exact) has the
    /// others.
    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        let near = |found, all, wanted: [f64; 2]| {
            let bounds = share_interval(found, all);
            for (bound, wanted) in bounds.iter().zip(wanted) {
                assert!((bound - wanted).abs() < 0.0005, "{found} of {all}: {bounds:?}");
            }
        };
        near(0, 40, [0.0, 1.0 - 0.05_f64.powf(1.0 / 40.0)]);
        near(40, 40, [0.05_f64.powf(1.0 / 40.0), 1.0]);
        near(0, 1, [0.0, 0.95]);
        near(1, 10, [0.0025, 0.4450]);
        near(5, 20, [0.0866, 0.4910]);
        near(15, 20, [0.5090, 0.9134]);
        near(0, 0, [0.0, 1.0]);
        near(3, 40, [0.0157, 0.2039]);
        let below = share_interval(0, 1000)[1];
        assert!(below < 0.003 && below > 0.0029, "{below}");
        for (found, all, wanted) in [(1, 10, 0.3942), (5, 20, 0.4556)] {
            let below = upper(found, all, 0.05);
            assert!((below - wanted).abs() < 0.0005, "{found} of {all}: {below}");
        }
    }

    /// Fisher's own tea (8 cups, 3 of 4 right: 0.4857), and R's fisher.test for the others.
    #[test]
    fn two_samples_of_one_share_are_told_as_such() {
        let near = |a, b, wanted: f64| {
            let seen = same_share(a, b);
            assert!((seen - wanted).abs() < 0.0005, "{a:?} {b:?}: {seen}");
        };
        near([3, 4], [1, 4], 0.4857);
        near([0, 10], [10, 10], 1.0825e-5);
        near([0, 10], [5, 10], 0.0325);
        near([2, 20], [2, 20], 1.0);
        near([0, 1], [0, 1], 1.0);
    }
}
