//! Our own small specified generator, so that a seed replays for ever on any machine.

/// xoshiro256++ of Blackman and Vigna (2019), seeded through SplitMix64: 1 ns a draw, period 2^256.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// One stream a `(seed, purpose)` pair: workers and passes never share draws.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut mix = seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        Self { state: std::array::from_fn(|_| split_mix(&mut mix)) }
    }

    /// 64 uniform bits.
    #[inline]
    #[allow(clippy::should_implement_trait)] // An endless stream needs no `Option`.
    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c2, d2) = (c ^ a, d ^ b);
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        result
    }

    /// Uniform in `0..bound` by multiply-shift; the bias is under `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `0.0..1.0`, 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Puts `items` into random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Fills `bytes` with incompressible data.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = self.next().to_le_bytes();
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&self.next().to_le_bytes()[..rest.len()]);
        }
    }
}

/// SplitMix64 of Steele, Lea and Flood (2014): turns a counter into well-mixed words.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_replays_and_two_purposes_differ() {
        let draw = |seed, purpose| {
            let mut rng = Rng::new(seed, purpose);
            [rng.next(), rng.next(), rng.next()]
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn bounded_draws_stay_in_bounds_and_are_even() {
        let mut rng = Rng::new(7, 0);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[rng.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..1000).collect();
        Rng::new(3, 0).shuffle(&mut items);
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..1000));
    }
}
