//! What a transfer costs: a fixed part and a rate, in integer nanoseconds.

/// Time that `bytes` take at `bytes_per_s`, ns, rounded to the nearest.
///
/// # Panics
/// At a rate of 0: a drive that never finishes is a mistake of its parameters.
#[inline]
pub fn nanoseconds_for(bytes: u64, bytes_per_s: u64) -> u64 {
    assert!(bytes_per_s > 0, "a rate of 0 B/s");
    // A transfer below 16 GiB, which is every transfer, needs no wide division.
    match bytes.checked_mul(1_000_000_000) {
        Some(product) => (product + bytes_per_s / 2) / bytes_per_s,
        None => (u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s)) as u64,
    }
}

/// A fixed time and a rate: `T(s) = fixed_ns + s / bytes_per_s`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// What every command takes, ns.
    pub fixed_ns: u64,
    /// What its bytes take on top, bytes per second.
    pub bytes_per_s: u64,
}

impl Cost {
    /// The whole of it, ns.
    #[inline]
    pub fn of(&self, bytes: u64) -> u64 {
        self.fixed_ns + nanoseconds_for(bytes, self.bytes_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_exact_to_a_nanosecond_at_any_size() {
        assert_eq!(nanoseconds_for(1_000_000, 1_000_000), 1_000_000_000);
        assert_eq!(nanoseconds_for(3, 2_000_000_000), 2);
        assert_eq!(nanoseconds_for(1 << 40, 1 << 30), 1024 * 1_000_000_000);
        assert_eq!(Cost { fixed_ns: 5, bytes_per_s: 1_000_000_000 }.of(4096), 4101);
    }
}
