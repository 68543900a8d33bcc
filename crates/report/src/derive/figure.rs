//! Values with intervals, and what becomes of the intervals when they are computed with.

use record::Cell;

/// A number and its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// Low and high; none where it is not known. Twice the value where it is exact.
    pub ci95: Option<[f64; 2]>,
}

impl Figure {
    /// Operations per second.
    pub fn iops(cell: &Cell) -> Self {
        Self { value: cell.iops, ci95: cell.iops_ci95 }
    }

    /// Bytes per second.
    pub fn bandwidth(cell: &Cell) -> Self {
        Self { value: cell.bytes_per_s, ci95: cell.bytes_per_s_ci95 }
    }

    /// Times a number that is exact and positive.
    pub fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            ci95: self.ci95.map(|ends| ends.map(|end| end * factor)),
        }
    }

    /// An exact number over it: the ends change places.
    pub fn under(self, exact: f64) -> Self {
        let ci95 = self.ci95.map(|[low, high]| [exact / high, exact / low]);
        Self { value: exact / self.value, ci95 }.or_no_interval()
    }

    /// Over another that was measured independently: the relative errors add as squares, on the
    /// logarithmic scale, on which a ratio and its inverse are alike. None of what did nothing.
    pub fn over(self, other: Self) -> Option<Self> {
        if !(self.value > 0.0 && other.value > 0.0) {
            return None;
        }
        let value = self.value / other.value;
        let both = self.ci95.zip(other.ci95);
        let ci95 = both.map(|([low, high], [other_low, other_high])| {
            let down = (self.value / low).ln().hypot((other_high / other.value).ln());
            let up = (high / self.value).ln().hypot((other.value / other_low).ln());
            [value * (-down).exp(), value * up.exp()]
        });
        Some(Self { value, ci95 }.or_no_interval())
    }

    /// An interval that reaches to infinity says nothing.
    fn or_no_interval(self) -> Self {
        Self { ci95: self.ci95.filter(|ends| ends.iter().all(|end| end.is_finite())), ..self }
    }
}
