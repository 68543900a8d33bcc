//! The units of catalog files: what each measures, and how much of the model's own unit it is.

use std::fmt;

/// What a parameter measures. A unit of another kind is a mistake that would otherwise pass unseen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// A duration; the model's unit is the nanosecond.
    Time,
    /// A length of data; the model's unit is the byte.
    Size,
    /// Data in a time; the model's unit is the byte per second.
    Rate,
    /// A duration for each piece of data; the model's unit is the nanosecond per KiB.
    TimePerSize,
    /// Revolutions in a time; the model's unit is one a minute.
    Spin,
    /// A part of a whole; the model's unit is a millionth.
    Share,
    /// A plain number.
    Count,
    /// Operations in a time; the model's unit is a thousandth of one a second.
    OperationRate,
}

/// A unit as it is written, its dimension, and how many of the model's unit it is.
const UNITS: &[(&str, Dimension, f64)] = &[
    ("ns", Dimension::Time, 1.0),
    ("us", Dimension::Time, 1e3),
    ("ms", Dimension::Time, 1e6),
    ("s", Dimension::Time, 1e9),
    ("B", Dimension::Size, 1.0),
    ("KiB", Dimension::Size, 1024.0),
    ("MiB", Dimension::Size, 1_048_576.0),
    ("GiB", Dimension::Size, 1_073_741_824.0),
    ("TiB", Dimension::Size, 1_099_511_627_776.0),
    ("kB", Dimension::Size, 1e3),
    ("MB", Dimension::Size, 1e6),
    ("GB", Dimension::Size, 1e9),
    ("TB", Dimension::Size, 1e12),
    ("KiB/s", Dimension::Rate, 1024.0),
    ("MiB/s", Dimension::Rate, 1_048_576.0),
    ("GiB/s", Dimension::Rate, 1_073_741_824.0),
    ("kB/s", Dimension::Rate, 1e3),
    ("MB/s", Dimension::Rate, 1e6),
    ("GB/s", Dimension::Rate, 1e9),
    ("ns/KiB", Dimension::TimePerSize, 1.0),
    ("us/KiB", Dimension::TimePerSize, 1e3),
    ("rpm", Dimension::Spin, 1.0),
    ("percent", Dimension::Share, 1e4),
    ("count", Dimension::Count, 1.0),
    ("IOPS", Dimension::OperationRate, 1e3),
];

impl Dimension {
    /// Its units, in words.
    pub fn units(self) -> String {
        let own = UNITS.iter().filter(|(_, dimension, _)| *dimension == self);
        own.map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Time => "a time",
            Self::Size => "a size",
            Self::Rate => "a rate",
            Self::TimePerSize => "a time for a size",
            Self::Spin => "a speed of rotation",
            Self::Share => "a share",
            Self::Count => "a count",
            Self::OperationRate => "operations a second",
        })
    }
}

/// What `unit` measures and how many of the model's unit it is.
pub(super) fn find(unit: &str) -> Option<(Dimension, f64)> {
    let found = UNITS.iter().find(|(name, ..)| *name == unit);
    found.map(|(_, dimension, factor)| (*dimension, *factor))
}

/// Every unit's name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_differ_and_a_spelling_is_exact() {
        assert_eq!(find("MiB/s"), Some((Dimension::Rate, 1_048_576.0)));
        assert_eq!(find("MB/s"), Some((Dimension::Rate, 1e6)));
        assert_eq!((find("mb/s"), find("Mb"), find("")), (None, None, None));
        assert_eq!(Dimension::Time.units(), "ns, us, ms, s");
    }

    #[test]
    fn a_time_for_a_size_is_in_nanoseconds_a_kib() {
        assert_eq!(find("us/KiB"), Some((Dimension::TimePerSize, 1e3)));
    }
}
