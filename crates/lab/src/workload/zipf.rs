//! Zipf-distributed ranks in constant time and memory.

use block::Rng;

/// Ranks `0..n` with probability proportional to `(rank + 1)^-theta`, by rejection-inversion
/// (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6(3), 1996).
#[derive(Clone, Debug)]
pub struct Zipf {
    count: f64,
    theta: f64,
    integral_low: f64,
    integral_high: f64,
    accept: f64,
}

impl Zipf {
    /// Over `count` ranks; `theta` > 0.
    pub fn new(count: u64, theta: f64) -> Self {
        assert!(count > 0 && theta > 0.0, "zipf over {count} with {theta}");
        let count = count as f64;
        let mut zipf = Self { count, theta, integral_low: 0.0, integral_high: 0.0, accept: 0.0 };
        zipf.integral_low = zipf.integral(1.5) - 1.0;
        zipf.integral_high = zipf.integral(count + 0.5);
        zipf.accept = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// One rank, from 0, the likeliest first.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.integral_high + rng.unit() * (self.integral_low - self.integral_high);
            let x = self.inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.accept || u >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    /// The antiderivative of `weight` that is 0 at 1.
    fn integral(&self, x: f64) -> f64 {
        let exponent = 1.0 - self.theta;
        let log = x.ln();
        if exponent.abs() < 1e-9 { log } else { (exponent * log).exp_m1() / exponent }
    }

    fn inverse(&self, u: f64) -> f64 {
        let exponent = 1.0 - self.theta;
        if exponent.abs() < 1e-9 { u.exp() } else { ((u * exponent).ln_1p() / exponent).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for theta in [0.5, 0.99, 1.0, 1.5] {
            let (count, draws) = (1000, 400_000);
            let zipf = Zipf::new(count, theta);
            let mut rng = Rng::new(5, 0);
            let mut seen = vec![0u32; count as usize];
            for _ in 0..draws {
                seen[zipf.draw(&mut rng) as usize] += 1;
            }
            let norm: f64 = (1..=count).map(|rank| (rank as f64).powf(-theta)).sum();
            for rank in [1, 2, 3, 10, 100] {
                let expected = draws as f64 * (rank as f64).powf(-theta) / norm;
                let found = f64::from(seen[rank - 1]);
                let sigma = expected.sqrt();
                assert!(
                    (found - expected).abs() < 5.0 * sigma,
                    "{theta} {rank}: {found} {expected}"
                );
            }
        }
    }
}
