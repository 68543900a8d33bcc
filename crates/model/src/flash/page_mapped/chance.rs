//! Chance that replays: what is drawn depends on a number alone.
//!
//! Integers only, because a logarithm of the system's library may differ in its last bit from one
//! machine to the next, and a seed has to replay everywhere.

use block::split_mix;

/// A number below `limit` that `number` alone decides, evenly over numbers.
#[inline]
pub fn drawn(number: u64, limit: u64) -> u64 {
    ((u128::from(split_mix(&mut { number })) * u128::from(limit)) >> 64) as u64
}

/// `ns`, and up to `per_mille` of it more or less, evenly; `number` alone decides.
#[inline]
pub fn spread(number: u64, ns: u64, per_mille: u32) -> u64 {
    if per_mille == 0 {
        return ns;
    }
    let most = ns * u64::from(per_mille) / 1000;
    ns - most + drawn(number, 2 * most + 1)
}

/// A wait of `mean_ns` on average that is exponentially distributed; `number` alone decides.
#[inline]
pub fn exponential(number: u64, mean_ns: u64) -> u64 {
    let uniform = split_mix(&mut { number }) | 1;
    // -log2 of a number below 1 is its zeros at the front, and of what is between 1 and 2 its
    // logarithm less: f + 0.344 f (1 - f) to 0.009.
    let zeros = u64::from(uniform.leading_zeros());
    let f = ((u128::from(uniform) << (zeros + 1)) >> 32) as u64 & 0xffff_ffff;
    let bent = (((f * ((1 << 32) - f)) >> 32) * 344) / 1000;
    let bits = ((zeros + 1) << 32) - f - bent;
    // Times the logarithm of 2, in millionths.
    (((u128::from(mean_ns) * u128::from(bits) * 693_147) / 1_000_000) >> 32) as u64
}

/// What commands take longer than their parts, each by chance.
#[derive(Debug)]
pub struct Tail {
    mean_ns: u64,
    drawn: u64,
}

/// Draws of others have nothing to do with these.
const OF_A_COMMAND: u64 = 0x3c6e_f372_fe94_f82b;

impl Tail {
    /// Of `mean_ns` on average; with 0 there is none.
    pub fn new(mean_ns: u64) -> Self {
        Self { mean_ns, drawn: 0 }
    }

    /// What the next command takes longer, ns.
    #[inline]
    pub fn next(&mut self) -> u64 {
        if self.mean_ns == 0 {
            return 0;
        }
        self.drawn += 1;
        exponential(self.drawn ^ OF_A_COMMAND, self.mean_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponential_wait_has_the_quantiles_of_its_closed_form() {
        let mut waits: Vec<u64> = (0..200_000).map(|at| exponential(at, 1_000_000)).collect();
        let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        waits.sort_unstable();
        for share in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let seen = waits[(share * waits.len() as f64) as usize] as f64;
            let closed = -(1.0f64 - share).ln() * 1e6;
            assert!((seen / closed - 1.0).abs() < 0.05, "{share}: {seen} for {closed}");
        }
    }

    #[test]
    fn a_spread_is_even_around_its_time_and_none_is_none() {
        assert_eq!(spread(7, 1_000, 0), 1_000);
        let mut times: Vec<u64> = (0..20_000).map(|at| spread(at, 1_000_000, 500)).collect();
        times.sort_unstable();
        assert!(times[0] >= 500_000 && times[19_999] <= 1_500_000);
        for (rank, closed) in [(2_000, 0.6e6), (10_000, 1e6), (18_000, 1.4e6)] {
            assert!((times[rank] as f64 / closed - 1.0).abs() < 0.02, "{}", times[rank]);
        }
    }

    #[test]
    fn the_longest_and_the_shortest_draw_fit_into_a_number() {
        for number in 0..1_000 {
            assert!(exponential(number, 3_600_000_000_000) < u64::MAX / 4);
        }
    }
}
