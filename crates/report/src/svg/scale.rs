//! From a value to a place on an axis, and where an axis has its ticks.

use crate::chart::{Axis, Scale, Unit};

/// An axis with its ends.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    scale: Scale,
    unit: Unit,
    low: f64,
    high: f64,
}

/// A place with a label.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tick {
    /// 0 at the low end, 1 at the high one.
    pub(super) at: f64,
    pub(super) label: String,
}

/// Values beyond this are drawn at this: sums and ratios of them are still numbers.
const LARGEST: f64 = 1e290;
/// The smallest positive value that a logarithmic axis shows.
const SMALLEST: f64 = 1e-290;

/// Whether an axis reaches zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Lengths are compared: a linear axis includes zero.
    Zero,
    /// Places are compared: the axis ends where the values do.
    Data,
}

impl Ruler {
    /// An axis that shows all `values`, its ends at ticks where those are near.
    pub(super) fn new(
        axis: &Axis,
        scale: Scale,
        origin: Origin,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let shown = |value: &f64| match scale {
            Scale::Linear => value.is_finite(),
            Scale::Nines => (0.0..=100.0).contains(value),
            Scale::Log | Scale::Binary => value.is_finite() && *value > 0.0,
        };
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.chain(axis.shows.into_iter().flatten()).filter(shown) {
            low = low.min(value.clamp(-LARGEST, LARGEST));
            high = high.max(value.clamp(-LARGEST, LARGEST));
        }
        if low > high {
            (low, high) = if scale == Scale::Nines { (0.0, 90.0) } else { (1.0, 10.0) };
        }
        let mut ruler = Self { scale, unit: axis.unit.clone(), low, high };
        ruler.widen(origin);
        ruler
    }

    fn widen(&mut self, origin: Origin) {
        match self.scale {
            Scale::Linear => {
                if origin == Origin::Zero {
                    self.low = self.low.min(0.0);
                    self.high = self.high.max(0.0);
                }
                if self.low == self.high {
                    let room = if self.low == 0.0 { 1.0 } else { self.low.abs() / 10.0 };
                    (self.low, self.high) = (self.low - room, self.high + room);
                }
                if origin == Origin::Zero {
                    let step = nice_step((self.high - self.low) / 5.0);
                    self.high = (self.high / step - 1e-9).ceil() * step;
                    self.low = (self.low / step + 1e-9).floor() * step;
                }
            }
            Scale::Log => {
                self.low = one_two_five(self.low.max(SMALLEST), Direction::Down);
                self.high = one_two_five(self.high.max(SMALLEST), Direction::Up);
                if self.low >= self.high {
                    (self.low, self.high) = (self.low / 2.0, self.high * 2.0);
                }
            }
            Scale::Binary => {
                self.low = self.low.max(SMALLEST);
                self.high = self.high.max(self.low);
                if self.low >= self.high {
                    (self.low, self.high) = (self.low / 2.0, self.high * 2.0);
                }
            }
            Scale::Nines => {
                self.low = 0.0;
                self.high = self.high.clamp(90.0, 99.999_999);
            }
        }
    }

    /// 0 at the low end, 1 at the high one; what lies beyond is at the end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value.clamp(-LARGEST, LARGEST) - self.low) / (self.high - self.low),
            Scale::Log | Scale::Binary => {
                let value = value.clamp(SMALLEST, LARGEST);
                (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
            }
            Scale::Nines => (nines(value) - nines(self.low)) / (nines(self.high) - nines(self.low)),
        };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether the axis can show a value at all.
    pub(super) fn shows(&self, value: f64) -> bool {
        match self.scale {
            Scale::Linear => value.is_finite(),
            Scale::Log | Scale::Binary => value.is_finite() && value > 0.0,
            Scale::Nines => (0.0..100.0).contains(&value),
        }
    }

    /// At most about `most` ticks, at round values, ascending.
    pub(super) fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        let values = match self.scale {
            Scale::Linear => linear(self.low, self.high, most),
            Scale::Log => logarithmic(self.low, self.high, most),
            Scale::Binary => binary(self.low, self.high, most),
            Scale::Nines => {
                let all = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 99.99999];
                all.into_iter().filter(|value| *value <= self.high).collect()
            }
        };
        let tick = |value: f64| Tick { at: self.at(value), label: self.unit.tick(value) };
        values.into_iter().map(tick).collect()
    }
}

/// The distance from 100 % in powers of ten: 1 at 90 %, 2 at 99 %.
fn nines(percent: f64) -> f64 {
    -(1.0 - percent.clamp(0.0, 99.999_999_9) / 100.0).log10()
}

/// The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `least`.
fn nice_step(least: f64) -> f64 {
    let least = if least > 0.0 && least.is_finite() { least } else { 1.0 };
    let power = 10f64.powf(least.log10().floor());
    let nice =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|nice| nice * power >= least * (1.0 - 1e-9));
    nice.unwrap_or(10.0) * power
}

fn linear(low: f64, high: f64, most: usize) -> Vec<f64> {
    let step = nice_step((high - low) / (most - 1) as f64);
    let first = (low / step - 1e-9).ceil();
    let values = (0..=most * 2).map(|at| (first + at as f64) * step);
    // Nothing is written as -0.
    values.take_while(|value| *value <= high + step * 1e-9).map(|value| value + 0.0).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

/// The next 1, 2 or 5 times a power of ten.
fn one_two_five(value: f64, direction: Direction) -> f64 {
    let power = 10f64.powf((value.log10() + 1e-12).floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = match direction {
        Direction::Down => {
            steps.into_iter().rev().find(|step| step * power <= value * (1.0 + 1e-12))
        }
        Direction::Up => steps.into_iter().find(|step| step * power >= value * (1.0 - 1e-12)),
    };
    found.unwrap_or(1.0) * power
}

/// Decades; with 2 and 5 between them where there is room, every second or third where there is
/// none.
fn logarithmic(low: f64, high: f64, most: usize) -> Vec<f64> {
    let [from, to] = [low.log10().floor() as i32, high.log10().ceil() as i32];
    let decades = (to - from).max(1) as usize;
    let within = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let fine: Vec<f64> = (from..=to)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)))
        .filter(within)
        .collect();
    if fine.len() <= most {
        return fine;
    }
    let every = decades.div_ceil(most).max(1);
    let coarse: Vec<f64> =
        (from..=to).step_by(every).map(|power| 10f64.powi(power)).filter(within).collect();
    if coarse.len() >= 2 { coarse } else { vec![low, high] }
}

/// Powers of two; every second, third... where there is no room for all.
fn binary(low: f64, high: f64, most: usize) -> Vec<f64> {
    let [from, to] = [low.log2().ceil() as i32, high.log2().floor() as i32];
    let count = (to - from).max(0) as usize + 1;
    (from..=to).step_by(count.div_ceil(most).max(1)).map(|power| 2f64.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, origin: Origin, values: &[f64], most: usize) -> Vec<String> {
        let ruler = Ruler::new(&axis, axis.scale, origin, values.iter().copied());
        let ticks = ruler.ticks(most);
        assert!(ticks.windows(2).all(|pair| pair[0].at < pair[1].at), "{ticks:?}");
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn a_linear_axis_of_rates_starts_at_zero_and_ends_at_a_tick() {
        let axis = || Axis::linear("rate", Unit::Iops);
        assert_eq!(
            labels(axis(), Origin::Zero, &[9_100.0], 6),
            ["0", "2k", "4k", "6k", "8k", "10k"]
        );
        assert_eq!(
            labels(axis(), Origin::Zero, &[1.2e6], 6),
            ["0", "250k", "500k", "750k", "1M", "1.25M"]
        );
        assert_eq!(labels(axis(), Origin::Zero, &[0.0], 3), ["-1", "0", "1"]);
        assert_eq!(labels(axis(), Origin::Data, &[10.0, 14.0], 5), ["10", "11", "12", "13", "14"]);
    }

    #[test]
    fn a_logarithmic_axis_ticks_in_decades_and_finer_where_there_is_room() {
        let axis = || Axis::log("latency", Unit::Ns);
        assert_eq!(
            labels(axis(), Origin::Data, &[90.0, 4.1e6], 8),
            ["100 ns", "1 us", "10 us", "100 us", "1 ms"]
        );
        assert_eq!(
            labels(axis(), Origin::Data, &[120.0, 900.0], 8),
            ["100 ns", "200 ns", "500 ns", "1 us"]
        );
        assert_eq!(
            labels(axis(), Origin::Data, &[-1.0, 0.0], 8),
            ["1 ns", "2 ns", "5 ns", "10 ns"]
        );
    }

    #[test]
    fn block_sizes_tick_at_powers_of_two() {
        let axis = Axis::sizes("block");
        let sizes: Vec<f64> = (9..=22).map(|power| 2f64.powi(power)).collect();
        assert_eq!(
            labels(axis, Origin::Data, &sizes, 7),
            ["512 B", "2 KiB", "8 KiB", "32 KiB", "128 KiB", "512 KiB", "2 MiB"]
        );
    }

    #[test]
    fn percentiles_are_as_far_apart_as_their_nines() {
        let axis = Axis::new("", Unit::Percent, Scale::Nines);
        let ruler = Ruler::new(&axis, Scale::Nines, Origin::Data, [50.0, 99.9].into_iter());
        let at = [90.0, 99.0, 99.9].map(|value| ruler.at(value));
        assert!((at[1] - at[0] - (at[2] - at[1])).abs() < 1e-9 && at[2] == 1.0, "{at:?}");
        let labels: Vec<String> = ruler.ticks(9).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn the_oddest_values_have_a_place_between_the_ends() {
        let odd =
            [f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, 0.0, -0.0, f64::MIN_POSITIVE, 1e-320];
        for scale in [Scale::Linear, Scale::Log, Scale::Binary, Scale::Nines] {
            let axis = Axis::new("", Unit::Number, scale);
            for origin in [Origin::Zero, Origin::Data] {
                let ruler = Ruler::new(&axis, scale, origin, odd.into_iter());
                assert!(odd.iter().all(|value| (0.0..=1.0).contains(&ruler.at(*value))));
                assert!(ruler.ticks(6).len() <= 30, "{scale:?}");
            }
        }
    }
}
