//! Division where there is no time for one.

/// Division by a number known at construction: a multiplication (Lemire, Kaser and Kurz, "Faster
/// remainder by direct computation", 2019), exact for every u32.
#[derive(Clone, Copy, Debug)]
pub struct Divider {
    divisor: u32,
    inverse: u64,
}

impl Divider {
    /// By `divisor`.
    ///
    /// # Panics
    /// By 0.
    pub fn new(divisor: u32) -> Self {
        assert!(divisor > 0, "division by 0");
        // By 1 the inverse would need a 65th bit.
        Self { divisor, inverse: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    /// By what it divides.
    #[inline]
    pub fn divisor(&self) -> u32 {
        self.divisor
    }

    /// The quotient.
    #[inline]
    pub fn divide(&self, number: u32) -> u32 {
        if self.divisor == 1 {
            return number;
        }
        ((u128::from(self.inverse) * u128::from(number)) >> 64) as u32
    }

    /// The remainder.
    #[inline]
    pub fn remainder(&self, number: u32) -> u32 {
        number - self.divide(number) * self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    #[test]
    fn quotients_and_remainders_are_exact() {
        let mut rng = Rng::new(1, 0);
        let divisors = (1..200).chain([4_096, 4_097, 1 << 31, u32::MAX - 1, u32::MAX]);
        for divisor in divisors {
            let by = Divider::new(divisor);
            let drawn: [u32; 64] = std::array::from_fn(|_| rng.next() as u32);
            let near = [0, 1, divisor - 1, divisor, divisor.wrapping_add(1), u32::MAX];
            for number in drawn.into_iter().chain(near) {
                assert_eq!(by.divide(number), number / divisor, "{number} / {divisor}");
                assert_eq!(by.remainder(number), number % divisor, "{number} % {divisor}");
            }
        }
    }
}
