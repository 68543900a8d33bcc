//! How long short-lived blocks live, as the log sees them go (SepBIT, algorithm 1).

/// Over so many segments the mean is taken.
const SAMPLE: u32 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Lifespan {
    /// Mean of the last [`SAMPLE`] segments of short-lived blocks that were emptied, in chunks;
    /// none before there were that many.
    mean: Option<u64>,
    sum: u64,
    count: u32,
}

impl Lifespan {
    /// A segment of short-lived blocks was emptied at this age.
    pub fn add(&mut self, age: u64) {
        assert!(self.count < SAMPLE, "{self:?}");
        (self.sum, self.count) = (self.sum.saturating_add(age), self.count + 1);
        if self.count == SAMPLE {
            self.mean = Some(self.sum / u64::from(SAMPLE));
            (self.sum, self.count) = (0, 0);
        }
    }

    pub fn mean(&self) -> Option<u64> {
        self.mean
    }
}
