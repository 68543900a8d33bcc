//! How unevenly accesses come: counts in bins of one width, empty bins among them.

/// What the bins of one width hold.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Burst {
    /// Width of a bin, ns.
    pub bin_ns: u64,
    /// Most accesses in one bin.
    pub peak: u64,
    /// Mean accesses of a bin. The last one, which the trace may have cut short, counts only where
    /// it is the only one.
    pub mean: f64,
    /// The most over the mean.
    pub peak_over_mean: f64,
    /// Variance over mean (index of dispersion): 1 where accesses come independently of each other
    /// (Poisson), more where they come in bursts, less where they are paced.
    pub dispersion: f64,
}

/// Bins of one width; only the last one is kept.
pub(super) struct Bins {
    width_ns: u64,
    current: u64,
    count: u64,
    closed: u64,
    squares: u128,
    peak: u64,
}

impl Bins {
    pub fn new(width_ns: u64) -> Self {
        Self { width_ns, current: 0, count: 0, closed: 0, squares: 0, peak: 0 }
    }

    /// An access this long after the first one; none is earlier than the one before.
    pub fn add(&mut self, since_ns: u64) {
        let bin = since_ns / self.width_ns;
        if bin != self.current {
            self.close();
            self.current = bin;
        }
        self.count += 1;
    }

    fn close(&mut self) {
        self.closed += self.count;
        self.squares += u128::from(self.count).pow(2);
        self.peak = self.peak.max(self.count);
        self.count = 0;
    }

    pub fn conclude(mut self) -> Burst {
        let peak = self.peak.max(self.count);
        if self.current == 0 {
            self.close();
        }
        if self.closed == 0 {
            return Burst { bin_ns: self.width_ns, peak, ..Burst::default() };
        }
        let bins = self.current.max(1) as f64;
        let mean = self.closed as f64 / bins;
        let variance = (self.squares as f64 / bins - mean * mean).max(0.0);
        Burst {
            bin_ns: self.width_ns,
            peak,
            mean,
            peak_over_mean: peak as f64 / mean,
            dispersion: variance / mean,
        }
    }
}
