//! What a data sheet gives figures of, and in which units.

use crate::chart::Unit;

/// A property that a data sheet states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Time of an operation, ns.
    Latency,
    /// Time of a random operation of small blocks, alone, ns.
    AccessTime,
    /// Bytes.
    Capacity,
    /// Watts.
    Power,
    /// Bytes that may be written over the drive's life.
    Endurance,
}

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// More is better.
    More,
    /// Less is better.
    Less,
}

const RATES: [(&str, f64); 3] = [("IOPS", 1.0), ("kIOPS", 1e3), ("MIOPS", 1e6)];
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const POWERS: [(&str, f64); 2] = [("mW", 1e-3), ("W", 1.0)];
const BANDWIDTHS: [(&str, f64); 7] = [
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];
const SIZES: [(&str, f64); 11] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("PB", 1e15),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
];

impl Metric {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Iops,
        Self::Bandwidth,
        Self::Latency,
        Self::AccessTime,
        Self::Capacity,
        Self::Power,
        Self::Endurance,
    ];

    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Bandwidth => "bandwidth",
            Self::Latency => "latency",
            Self::AccessTime => "access_time",
            Self::Capacity => "capacity",
            Self::Power => "power",
            Self::Endurance => "endurance",
        }
    }

    /// The units a file may use, each with how many of the metric's own unit it is.
    pub fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Iops => &RATES,
            Self::Bandwidth => &BANDWIDTHS,
            Self::Latency | Self::AccessTime => &TIMES,
            Self::Capacity | Self::Endurance => &SIZES,
            Self::Power => &POWERS,
        }
    }

    /// Which way is better.
    pub fn better(self) -> Better {
        match self {
            Self::Iops | Self::Bandwidth | Self::Capacity | Self::Endurance => Better::More,
            Self::Latency | Self::AccessTime | Self::Power => Better::Less,
        }
    }

    /// Whether it is of one kind of operation, so that a sheet must say of which.
    pub fn is_of_operations(self) -> bool {
        matches!(self, Self::Iops | Self::Bandwidth | Self::Latency)
    }

    /// How its values are written.
    pub fn unit(self) -> Unit {
        match self {
            Self::Iops => Unit::Iops,
            Self::Bandwidth => Unit::BytesPerS,
            Self::Latency | Self::AccessTime => Unit::Ns,
            Self::Capacity | Self::Endurance => Unit::Other("B".to_owned()),
            Self::Power => Unit::Other("W".to_owned()),
        }
    }

    /// A value as people read it.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Capacity | Self::Endurance => crate::number::capacity(value.max(0.0) as u64),
            _ => self.unit().text(value),
        }
    }
}
