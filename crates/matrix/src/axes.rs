//! Axes with their levels, and the configurations that they span.

use super::{
    axis::{Axis, BadAxis, Cure, Fault},
    journal_place, refused,
};
use std::fmt;

/// A level of an axis that a configuration does not have, such as mount options of a raw device.
const NONE: &str = "-";

impl Axis {
    /// What a level is for the file system `fs`: `None` where it does not apply. Options may be one
    /// file system's alone, as in `ext4:data=writeback`.
    fn level_for<'a>(self, level: &'a str, fs: &str) -> Option<&'a str> {
        if fs == "raw" && !self.is_of_a_device() {
            return None;
        }
        let options = matches!(self, Self::Mkfs | Self::Mount);
        match level.split_once(':').filter(|(named, _)| options && refused::is_fs(named)) {
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
            Self::Fs => refused::refused_fs(level),
            Self::Scheduler => refused::refused_scheduler(level),
            Self::Mkfs => refused::refused_mkfs(level),
            Self::Mount => refused::refused_mount(level),
            Self::Journal => journal_place::refused(level),
            Self::WriteCache | Self::Discard | Self::KernelFlush | Self::ReadAhead => None,
        };
        let bad = |cure| BadAxis { axis: self, text: level.to_owned(), fault: Fault::Level(cure) };
        cure.map_or(Ok(()), |cure| Err(bad(cure)))
    }
}

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

/// How full a configuration is when it is measured.
pub(crate) fn fill_percent(configuration: &Configuration) -> u32 {
    configuration.level(Axis::Fill).and_then(|level| level.parse().ok()).unwrap_or(0)
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
