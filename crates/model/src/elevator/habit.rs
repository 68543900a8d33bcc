//! What an elevator learns of who reads: how long it takes until the next read, and how far away
//! that is. The means decay as the kernel's do: an eighth of each new sample.

use block::Instant;

/// Samples are weighed in parts of 256; a mean stands on enough of them from here on
/// (`sample_valid`).
const VALID: u64 = 80;

/// One reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habit {
    /// When its last read ended, if none is under way.
    ended: Option<Instant>,
    pending: u32,
    last_end: Option<u64>,
    think: Mean,
    seek: Mean,
}

impl Habit {
    /// It asks for something. Of thinking time no more than `most_ns` counts.
    pub fn asked(&mut self, now: Instant, offset: u64, end: u64, most_ns: u64) {
        if let Some(ended) = self.ended.take() {
            self.think.put(now.since(ended).min(most_ns));
        }
        if let Some(last_end) = self.last_end.replace(end) {
            self.seek.put(offset.abs_diff(last_end));
        }
        self.pending += 1;
    }

    /// One of its requests is done.
    pub fn ended(&mut self, now: Instant) {
        self.pending -= 1;
        if self.pending == 0 {
            self.ended = Some(now);
        }
    }

    /// A request was joined with another of its own, or with somebody else's.
    pub fn joined(&mut self) {
        self.pending -= 1;
    }

    /// Mean time between an answer and the next read, if known, ns.
    pub fn think_ns(&self) -> Option<u64> {
        self.think.mean()
    }

    /// Mean way to the next read, if known, bytes.
    pub fn seek_bytes(&self) -> Option<u64> {
        self.seek.mean()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    samples: u64,
    total: u64,
}

impl Mean {
    fn put(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value.min(1 << 50)) / 8;
    }

    fn mean(&self) -> Option<u64> {
        (self.samples > VALID).then(|| self.total / self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_three_samples_and_follows_a_change_within_a_score() {
        let mut mean = Mean::default();
        mean.put(1000);
        mean.put(1000);
        assert_eq!(mean.mean(), None);
        mean.put(1000);
        // 84,500 in 84 parts: sums are cut to whole numbers.
        assert_eq!(mean.mean(), Some(1005));
        (0..20).for_each(|_| mean.put(3000));
        let now = mean.mean().expect("it stands");
        assert!((2800..=3000).contains(&now), "{now}");
    }
}
