//! What a long write tells: bytes over time, the steps of its rate, and what was taken at once.

use record::Cell;

/// Bytes that were written, tick by tick.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Curve {
    /// Seconds of a tick.
    tick_s: f64,
    /// Bytes until the end of each tick.
    sums: Vec<f64>,
}

/// A part of a curve in which the rate does not change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    /// Rate, bytes per second.
    pub bytes_per_s: f64,
    /// Where the line through the step meets time 0, bytes.
    pub at_zero: f64,
}

/// Rates that differ by less are one step.
const RATIO_MIN: f64 = 1.25;
/// Ticks of the shortest step.
const TICKS_MIN: usize = 8;
/// Steps that a drive shows at most: cache, cells of the rest, folding.
const STEPS_MAX: usize = 3;

impl Curve {
    /// Of the first pass of a cell; `None` where it is too short to tell anything.
    pub fn of(cell: &Cell) -> Option<Self> {
        let series = &cell.passes.first()?.series;
        let ticks = series.operations.iter().map(|count| (count * cell.block_bytes) as f64);
        Self::from_ticks(series.tick_ns as f64 / 1e9, ticks)
    }

    /// From the bytes of each tick.
    pub fn from_ticks(tick_s: f64, bytes: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sum = 0.0;
        let sums: Vec<f64> = bytes
            .map(|bytes| {
                sum += bytes;
                sum
            })
            .collect();
        (sums.len() >= TICKS_MIN && sum > 0.0).then_some(Self { tick_s, sums })
    }

    /// Of a drive that is so many times larger, in bytes and in time.
    pub fn stretched(mut self, scale: f64) -> Option<Self> {
        self.tick_s *= scale;
        self.sums.iter_mut().for_each(|sum| *sum *= scale);
        Some(self)
    }

    /// All bytes.
    pub fn bytes(&self) -> f64 {
        self.sums[self.sums.len() - 1]
    }

    /// Rate over the last quarter, bytes per second.
    pub fn tail(&self) -> f64 {
        let last = self.sums.len();
        let first = last - (last / 4).max(2);
        (self.sums[last - 1] - self.sums[first]) / ((last - 1 - first) as f64 * self.tick_s)
    }

    /// The steps of the rate, in their order.
    pub fn steps(&self) -> Vec<Step> {
        let mut cuts = vec![0, self.sums.len()];
        while cuts.len() <= STEPS_MAX {
            let best = cuts
                .windows(2)
                .filter_map(|part| self.cut(part[0], part[1]))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, at)) = best else { break };
            cuts.push(at);
            cuts.sort_unstable();
        }
        cuts.windows(2).map(|part| self.step(part[0], part[1])).collect()
    }

    /// Where a part falls into two whose rates differ, and how much closer two lines come.
    fn cut(&self, first: usize, last: usize) -> Option<(f64, usize)> {
        let whole = self.squares(first, last);
        let inside = first + TICKS_MIN..(last + 1).saturating_sub(TICKS_MIN);
        let gain = |at: usize| whole - self.squares(first, at) - self.squares(at, last);
        let at = inside.max_by(|&a, &b| gain(a).total_cmp(&gain(b)))?;
        let [one, other] = [self.rate(first, at), self.rate(at, last)];
        let differs = one.max(other) > RATIO_MIN * one.min(other);
        // Two means always come closer than one; of noise alone they do by little.
        (differs && gain(at) > 0.4 * whole).then(|| (gain(at), at))
    }

    fn before(&self, tick: usize) -> f64 {
        if tick == 0 { 0.0 } else { self.sums[tick - 1] }
    }

    fn rate(&self, first: usize, last: usize) -> f64 {
        (self.before(last) - self.before(first)) / ((last - first) as f64 * self.tick_s)
    }

    /// Sum of the squares of the ticks' distances from their mean.
    fn squares(&self, first: usize, last: usize) -> f64 {
        let mean = (self.before(last) - self.before(first)) / (last - first) as f64;
        (first..last).map(|tick| (self.before(tick + 1) - self.before(tick) - mean).powi(2)).sum()
    }

    /// The line through a part, by its inner four fifths: at the ends the rate is on its way.
    fn step(&self, first: usize, last: usize) -> Step {
        let margin = (last - first) / 10;
        let (from, to) = (first + margin.max(2), last - margin.max(1));
        let bytes_per_s = self.rate(from, to);
        let at_zero = self.before(from) - bytes_per_s * from as f64 * self.tick_s;
        Step { bytes_per_s, at_zero }
    }
}

impl Step {
    /// Bytes where this step's line meets the next one's.
    pub fn meets(&self, next: &Self) -> f64 {
        let seconds = (next.at_zero - self.at_zero) / (self.bytes_per_s - next.bytes_per_s);
        self.at_zero + self.bytes_per_s * seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ms ticks of a drive that takes `buffer` at once, `fast` until `cache` and `slow` then.
    fn curve(buffer: f64, fast: f64, cache: f64, slow: f64, ticks: usize) -> Curve {
        let at = |tick: usize| {
            let seconds = tick as f64 * 0.1;
            let first = buffer * (seconds / 0.1).min(1.0) + fast * seconds;
            let over = (first - cache).max(0.0);
            first - over + over / fast * slow
        };
        Curve::from_ticks(0.1, (0..ticks).map(|tick| at(tick + 1) - at(tick))).expect("ticks")
    }

    #[test]
    fn a_cliff_and_the_buffer_before_it_are_found_where_they_are() {
        let curve = curve(32.0, 64.0, 512.0, 16.0, 300);
        let steps = curve.steps();
        assert_eq!(steps.len(), 2, "{steps:?}");
        let near = |seen: f64, truth: f64| assert!((seen / truth - 1.0).abs() < 0.01, "{seen}");
        near(steps[0].bytes_per_s, 64.0);
        near(steps[1].bytes_per_s, 16.0);
        near(steps[0].at_zero, 32.0);
        near(steps[0].meets(&steps[1]), 512.0);
    }

    #[test]
    fn a_rate_that_only_scatters_is_one_step() {
        let bytes = (0..300).map(|tick| 100.0 + f64::from((tick * 7919) % 41));
        let curve = Curve::from_ticks(0.1, bytes).expect("ticks");
        assert_eq!(curve.steps().len(), 1);
    }
}
