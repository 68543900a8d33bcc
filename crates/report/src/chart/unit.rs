//! Units: how a value is written beside a mark, at an axis, and in the head of a column.

use crate::number;

/// What a number counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Operations per second.
    Iops,
    /// Bytes per second, written in decimal units.
    BytesPerS,
    /// Nanoseconds, written in the unit that fits.
    Ns,
    /// Seconds.
    Seconds,
    /// A size in bytes, written in binary units.
    Bytes,
    /// Per cent.
    Percent,
    /// A plain count.
    Number,
    /// One rate over another, to three decimals: 1.02 and 1.023 lie on two sides of "the same".
    Ratio,
    /// Anything else, by its sign: `USD`, `W`, `USD per GB`.
    Other(String),
}

impl Unit {
    /// The unit of the plain number, for the head of a column; empty for a count.
    pub fn name(&self) -> &str {
        match self {
            Self::Iops => "IOPS",
            Self::BytesPerS => "B/s",
            Self::Ns => "ns",
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Percent => "%",
            Self::Number | Self::Ratio => "",
            Self::Other(name) => name,
        }
    }

    /// A value as a person reads it, three significant digits: `52.1k IOPS`, `275 MB/s`, `1.52 ms`.
    pub fn text(&self, value: f64) -> String {
        if !value.is_finite() {
            return "-".to_owned();
        }
        match self {
            Self::Iops => format!("{} IOPS", number::iops(value)),
            Self::BytesPerS => number::rate(value),
            Self::Ns => number::duration_ns(value),
            Self::Seconds => format!("{} s", number::significant(value)),
            Self::Bytes => number::size(value.max(0.0) as u64),
            Self::Percent => format!("{} %", percent(value)),
            Self::Number if value.fract() == 0.0 => short(value),
            Self::Number => number::three_digits(value),
            Self::Ratio => ratio(value),
            Self::Other(name) => format!("{} {name}", number::significant(value)),
        }
    }

    /// The factor and the name of the unit in which values up to `largest` are written without a
    /// unit each: 10^6 and `MB/s`.
    pub fn common(&self, largest: f64) -> (f64, String) {
        let units: &[&str] = match self {
            Self::BytesPerS => &["B/s", "kB/s", "MB/s", "GB/s"],
            Self::Ns => &["ns", "us", "ms", "s"],
            // Operations are counted one by one up to a hundred thousand: 12,345 reads well.
            _ => return (1.0, self.name().to_owned()),
        };
        let (_, name) = decimal(largest / 10.0, units);
        let power = units.iter().position(|unit| *unit == name).unwrap_or(0);
        (1000f64.powi(power as i32), name.to_owned())
    }

    /// A round value at an axis, as short as it can be: `50k`, `100 MB/s`, `1 ms`.
    pub fn tick(&self, value: f64) -> String {
        match self {
            Self::BytesPerS | Self::Ns if value == 0.0 => "0".to_owned(),
            Self::Iops | Self::Number | Self::Ratio | Self::Other(_) => {
                let (scaled, prefix) = decimal(value, &["", "k", "M", "G"]);
                format!("{}{prefix}", short(scaled))
            }
            Self::BytesPerS => {
                let (scaled, unit) = decimal(value, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
                format!("{} {unit}", short(scaled))
            }
            Self::Ns => {
                let (scaled, unit) = decimal(value, &["ns", "us", "ms", "s"]);
                format!("{} {unit}", short(scaled))
            }
            Self::Seconds => format!("{} s", short(value)),
            Self::Bytes => number::size(value.max(0.0) as u64),
            Self::Percent => format!("{} %", percent(value)),
        }
    }
}

fn ratio(value: f64) -> String {
    match value {
        0.1..100.0 => format!("{value:.3}"),
        _ => number::three_digits(value),
    }
}

/// The value in the largest unit that leaves it at 1 or more.
fn decimal<'n>(value: f64, units: &[&'n str]) -> (f64, &'n str) {
    let power =
        if value.abs() >= 1.0 { (value.abs().log10() + 1e-9).floor() as usize / 3 } else { 0 };
    let power = power.min(units.len() - 1);
    (value / 1000f64.powi(power as i32), units[power])
}

/// Per cent with as many nines as there are.
fn percent(value: f64) -> String {
    if (99.0..100.0).contains(&value) {
        let decimals = (-(1.0 - value / 100.0).log10()).floor() as usize;
        return format!("{value:.decimals$}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned();
    }
    let steps = if value.abs() < 10.0 { 100.0 } else { 10.0 };
    if value.abs() < 1e6 { short((value * steps).round() / steps) } else { short(value) }
}

/// Up to six significant digits, without zeroes at the end.
fn short(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || size >= 1e9 || (size > 0.0 && size < 1e-4) {
        return if value.is_finite() { format!("{value:.2e}") } else { "-".to_owned() };
    }
    let before_point = if size >= 1.0 { size.log10().floor() as usize + 1 } else { 1 };
    let text = format!("{value:.*}", 6usize.saturating_sub(before_point));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_as_short_as_they_can_be() {
        for (unit, value, text) in [
            (Unit::Iops, 0.0, "0"),
            (Unit::Iops, 50_000.0, "50k"),
            (Unit::Iops, 2_500_000.0, "2.5M"),
            (Unit::Iops, 0.5, "0.5"),
            (Unit::BytesPerS, 1e8, "100 MB/s"),
            (Unit::BytesPerS, 1e9, "1 GB/s"),
            (Unit::Ns, 1e6, "1 ms"),
            (Unit::Ns, 20.0, "20 ns"),
            (Unit::Bytes, 65536.0, "64 KiB"),
            (Unit::Percent, 99.99, "99.99 %"),
            (Unit::Percent, 99.99999, "99.99999 %"),
            (Unit::BytesPerS, 0.0, "0"),
            (Unit::Other("USD".to_owned()), 1200.0, "1.2k"),
        ] {
            assert_eq!(unit.tick(value), text);
        }
    }

    #[test]
    fn values_carry_their_unit() {
        assert_eq!(Unit::Iops.text(52_109.4), "52.1k IOPS");
        assert_eq!(Unit::Other("USD".to_owned()).text(129.0), "129 USD");
        assert_eq!(Unit::Percent.text(99.9), "99.9 %");
        assert_eq!([12.345, 1.234].map(|value| Unit::Percent.text(value)), ["12.3 %", "1.23 %"]);
        assert_eq!([7.99073, 3.0].map(|value| Unit::Number.text(value)), ["7.99", "3"]);
        // A drive of a hundredth of the other's speed stood there with one digit, as 0.009.
        let ratios = [1.0234, 0.0312, 0.009037].map(|value| Unit::Ratio.text(value));
        assert_eq!(ratios, ["1.023", "0.0312", "0.00904"]);
        assert_eq!(Unit::Ns.text(f64::NAN), "-");
    }
}
