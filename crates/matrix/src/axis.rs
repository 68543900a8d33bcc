//! Axes, their levels, and the configurations that they span.

use super::wording;
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
    /// The kernel's scheduler.
    Scheduler,
    /// The kernel's read-ahead, in bytes as the user writes them.
    ReadAhead,
    /// Whether the kernel sends flushes to the drive at all. Without them it is fast and loses
    /// data.
    KernelFlush,
}

/// A level of an axis that a configuration does not have, such as mount options of a raw device.
const NONE: &str = "-";

impl Axis {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Fs,
        Self::WriteCache,
        Self::Discard,
        Self::Fill,
        Self::Mkfs,
        Self::Mount,
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
            Self::Scheduler => "scheduler",
            Self::ReadAhead => "read-ahead",
            Self::KernelFlush => "kernel-flush",
        }
    }

    /// Options hold commas themselves: their levels are parted by semicolons.
    fn separator(self) -> char {
        match self {
            Self::Mkfs | Self::Mount => ';',
            _ => ',',
        }
    }

    /// Whether a raw device has it.
    fn is_of_a_device(self) -> bool {
        match self {
            Self::Fs
            | Self::WriteCache
            | Self::Scheduler
            | Self::ReadAhead
            | Self::KernelFlush
            | Self::Fill => true,
            Self::Discard | Self::Mkfs | Self::Mount => false,
        }
    }

    /// What a level is for the file system `fs`: `None` where it does not apply. Options may be one
    /// file system's alone, as in `ext4:data=writeback`.
    fn level_for<'a>(self, level: &'a str, fs: &str) -> Option<&'a str> {
        if fs == "raw" && !self.is_of_a_device() {
            return None;
        }
        let options = matches!(self, Self::Mkfs | Self::Mount);
        match level.split_once(':').filter(|(named, _)| options && wording::is_fs(named)) {
            Some((named, level)) => (named == fs).then_some(level),
            None => Some(level),
        }
    }

    fn check(self, level: &str) -> Result<(), BadAxis> {
        let on_or_off = |level: &str| matches!(level, "on" | "off");
        let cure = match self {
            Self::WriteCache | Self::Discard | Self::KernelFlush if !on_or_off(level) => {
                Some(Cure::words("on, off, or both as on,off"))
            }
            Self::Fill if level.parse::<u32>().is_ok_and(|percent| percent <= 90) => None,
            Self::Fill => Some(Cure::words(
                "percents from 0 to 90, such as 0,50,90: the rest is what a file system needs to \
                 breathe",
            )),
            Self::Fs => wording::refused_fs(level),
            Self::Scheduler => wording::refused_scheduler(level),
            Self::Mkfs => wording::refused_mkfs(level),
            Self::Mount => wording::refused_mount(level),
            Self::WriteCache | Self::Discard | Self::KernelFlush | Self::ReadAhead => None,
        };
        let bad = |cure| BadAxis { axis: self, text: level.to_owned(), fault: Fault::Level(cure) };
        cure.map_or(Ok(()), |cure| Err(bad(cure)))
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
    fault: Fault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Fault {
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

/// The axes that a matrix varies or holds, each with its levels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Axes {
    axes: Vec<(Axis, Vec<String>)>,
}

impl Axes {
    /// From what was typed after the option of each.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn of<'t>(words: impl IntoIterator<Item = (Axis, &'t str)>) -> Result<Self, BadAxis> {
        let mut axes = Self::default();
        words.into_iter().try_for_each(|(axis, text)| axes.add(axis, text))?;
        Ok(axes)
    }

    /// Adds an axis from what was typed after its option.
    ///
    /// # Errors
    /// [`BadAxis`] when a level is none, is not to be had on this kernel, or stands there twice.
    pub fn add(&mut self, axis: Axis, text: &str) -> Result<(), BadAxis> {
        let mut levels: Vec<String> = Vec::new();
        for level in text.split(axis.separator()).map(str::trim) {
            // No options at all is a level, too.
            axis.check(level)?;
            if levels.iter().any(|known| known == level) {
                let fault = Fault::Twice(level.to_owned());
                return Err(BadAxis { axis, text: text.to_owned(), fault });
            }
            levels.push(level.to_owned());
        }
        self.axes.push((axis, levels));
        self.axes.sort_by_key(|(axis, _)| *axis);
        Ok(())
    }

    /// Axes with their levels, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Axis, &[String])> {
        self.axes.iter().map(|(axis, levels)| (*axis, levels.as_slice()))
    }

    /// Axes with more than one level: those that have an effect to measure.
    pub fn varied(&self) -> Vec<Axis> {
        self.axes.iter().filter(|(_, levels)| levels.len() > 1).map(|(axis, _)| *axis).collect()
    }

    /// Every configuration once, the last axis fastest. What does not apply to a raw device has the
    /// level `-` there, so that a raw device is measured once and not once for each mount option.
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut all = vec![Configuration { levels: Vec::new() }];
        for (axis, levels) in &self.axes {
            let mut next: Vec<Configuration> = Vec::new();
            for one in &all {
                let mut own: Vec<&str> =
                    levels.iter().filter_map(|level| axis.level_for(level, one.fs())).collect();
                if own.is_empty() {
                    own.push(NONE);
                }
                for level in own {
                    let mut one = one.clone();
                    one.levels.push((*axis, level.to_owned()));
                    next.push(one);
                }
            }
            all = next;
        }
        all
    }
}

/// One level of each axis.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Configuration {
    levels: Vec<(Axis, String)>,
}

impl Configuration {
    /// The level of an axis; `None` where the matrix does not name it, or it does not apply.
    pub fn level(&self, axis: Axis) -> Option<&str> {
        let (_, level) = self.levels.iter().find(|(known, _)| *known == axis)?;
        (level != NONE).then_some(level)
    }

    /// Axes and levels, `-` where one does not apply.
    pub fn levels(&self) -> impl Iterator<Item = (Axis, &str)> {
        self.levels.iter().map(|(axis, level)| (*axis, level.as_str()))
    }

    /// The file system; a matrix without the axis measures the device itself.
    pub fn fs(&self) -> &str {
        self.level(Axis::Fs).unwrap_or("raw")
    }

    /// Whether there is no file system.
    pub fn is_raw(&self) -> bool {
        self.fs() == "raw"
    }
}

impl fmt::Display for Configuration {
    /// `fs=ext4,discard=on`; options with commas in quotes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (axis, level)) in self.levels().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match level.contains(',') {
                true => write!(formatter, "{comma}{axis}=\"{level}\"")?,
                false => write!(formatter, "{comma}{axis}={level}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(words: &[(Axis, &str)]) -> Axes {
        Axes::of(words.iter().copied()).expect("levels")
    }

    #[test]
    fn a_raw_device_is_measured_once_and_not_once_a_mount_option() {
        let axes = axes(&[(Axis::Discard, "on,off"), (Axis::Fs, "raw,ext4,xfs")]);
        let names: Vec<String> = axes.configurations().iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "fs=raw,discard=-",
                "fs=ext4,discard=on",
                "fs=ext4,discard=off",
                "fs=xfs,discard=on",
                "fs=xfs,discard=off"
            ]
        );
        assert_eq!(axes.varied(), [Axis::Fs, Axis::Discard]);
        assert_eq!(axes.configurations()[0].level(Axis::Discard), None);
    }

    #[test]
    fn options_with_commas_are_one_level() {
        let axes = axes(&[(Axis::Fs, "ext4"), (Axis::Mount, "noatime,data=writeback;noatime")]);
        let all = axes.configurations();
        assert_eq!(all[0].level(Axis::Mount), Some("noatime,data=writeback"));
        assert_eq!(all[0].to_string(), "fs=ext4,mount=\"noatime,data=writeback\"");
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn options_of_one_file_system_are_a_level_of_that_one_alone() {
        let words = [(Axis::Fs, "raw,ext4,xfs"), (Axis::Mount, "noatime;ext4:data=writeback")];
        let names: Vec<String> =
            axes(&words).configurations().iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "fs=raw,mount=-",
                "fs=ext4,mount=noatime",
                "fs=ext4,mount=data=writeback",
                "fs=xfs,mount=noatime"
            ]
        );
    }

    #[test]
    fn a_level_that_is_none_is_refused_with_the_cure() {
        let refused =
            |axis, text| Axes::default().add(axis, text).expect_err("no level").to_string();
        assert_eq!(
            refused(Axis::WriteCache, "on,maybe"),
            "write-cache maybe: write on, off, or both as on,off"
        );
        let mount = Axes::default().add(Axis::Mount, "nobarrier").expect_err("it is gone");
        let typed = mount.worded(|axis| format!("<{axis}>"));
        assert!(typed.starts_with("<mount> nobarrier: write <kernel-flush> off, "), "{typed}");
        assert!(refused(Axis::Fill, "0,100").contains("from 0 to 90"));
        assert!(refused(Axis::Fs, "ext4,ext4").contains("twice"));
    }

    #[test]
    fn without_axes_there_is_the_device_itself() {
        let all = Axes::default().configurations();
        assert_eq!(all.len(), 1);
        assert!(all[0].is_raw());
    }
}
