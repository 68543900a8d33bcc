//! Axes: the settings that a matrix varies, and levels that are none.

use std::fmt;

/// A setting that the matrix varies, in the order in which the table shows them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Axis {
    /// The file system; `raw` is the device itself.
    Fs,
    /// The drive's own write cache.
    WriteCache,
    /// Whether deleted blocks are told to the drive (TRIM) as they become free.
    Discard,
    /// Percent of the file system that is full, after churn.
    Fill,
    /// Options of mkfs.
    Mkfs,
    /// Options of mount.
    Mount,
    /// Where the journal lies: inside the file system, or on a second device.
    Journal,
    /// The kernel's scheduler.
    Scheduler,
    /// The kernel's read-ahead, in bytes as the user writes them.
    ReadAhead,
    /// Whether the kernel sends flushes to the drive at all. Without them it is fast and loses
    /// data.
    KernelFlush,
}

impl Axis {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Fs,
        Self::WriteCache,
        Self::Discard,
        Self::Fill,
        Self::Mkfs,
        Self::Mount,
        Self::Journal,
        Self::Scheduler,
        Self::ReadAhead,
        Self::KernelFlush,
    ];

    /// As its option is spelled, and as a coordinate in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::WriteCache => "write-cache",
            Self::Discard => "discard",
            Self::Fill => "fill",
            Self::Mkfs => "mkfs",
            Self::Mount => "mount",
            Self::Journal => "journal",
            Self::Scheduler => "scheduler",
            Self::ReadAhead => "read-ahead",
            Self::KernelFlush => "kernel-flush",
        }
    }

    /// Options hold commas themselves: their levels are parted by semicolons.
    pub(super) fn separator(self) -> char {
        match self {
            Self::Mkfs | Self::Mount => ';',
            _ => ',',
        }
    }

    /// Whether a raw device has it.
    pub(super) fn is_of_a_device(self) -> bool {
        match self {
            Self::Fs
            | Self::WriteCache
            | Self::Scheduler
            | Self::ReadAhead
            | Self::KernelFlush
            | Self::Fill => true,
            Self::Discard | Self::Mkfs | Self::Mount | Self::Journal => false,
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// An axis that cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadAxis {
    /// Which.
    pub axis: Axis,
    /// The level that is none, or all levels.
    pub text: String,
    pub(super) fault: Fault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The level is none.
    Level(Cure),
    /// This level stands there twice.
    Twice(String),
}

/// What to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cure {
    /// A level of another axis.
    pub axis: Option<Axis>,
    /// In words.
    pub words: String,
}

impl Cure {
    /// A level of the same axis, or nothing in its place.
    pub(crate) fn words(words: &str) -> Self {
        Self { axis: None, words: words.to_owned() }
    }
}

impl BadAxis {
    /// One sentence with the cure, where `name` says how an axis is spelled.
    pub fn worded(&self, name: impl Fn(Axis) -> String) -> String {
        let (axis, text) = (name(self.axis), &self.text);
        match &self.fault {
            Fault::Level(Cure { axis: None, words }) => format!("{axis} {text}: write {words}"),
            Fault::Level(Cure { axis: Some(other), words }) => {
                format!("{axis} {text}: write {} {words}", name(*other))
            }
            Fault::Twice(level) => {
                format!("{axis} {text}: {level} stands there twice: leave one out")
            }
        }
    }
}

impl fmt::Display for BadAxis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.worded(|axis| axis.to_string()))
    }
}

impl std::error::Error for BadAxis {}
