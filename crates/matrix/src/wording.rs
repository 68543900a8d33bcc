//! What mkfs and mount are told.

use crate::{axes::Configuration, axis::Axis, journal};

/// The program that makes a file system, with its arguments before the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    /// `mkfs.ext4`.
    pub program: String,
    /// Quiet, forced over an old signature, without discarding unless asked to, then the user's.
    pub arguments: Vec<String>,
}

/// How a configuration's file system is made; `None` for a raw device.
///
/// mkfs discards the whole device by default. Here the device was wiped before, and a configuration
/// without discard is one in which the drive never hears of free blocks: mkfs is told not to. The
/// inode tables of ext4, 16 GB on a disk of 1 TB, are left as they are, and [`mount_options`] keeps
/// the kernel from writing them during a measurement.
pub fn formatted(configuration: &Configuration) -> Option<Format> {
    let fs = configuration.level(Axis::Fs).filter(|fs| *fs != "raw")?;
    let own: &[&str] = match fs {
        "ext2" | "ext3" => &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0"],
        "ext4" => &["-q", "-F", "-E", "nodiscard,lazy_itable_init=1"],
        "xfs" => &["-q", "-f", "-K"],
        "btrfs" => &["-q", "-f", "-K"],
        _ => &["-q", "-f", "-t", "0"],
    };
    let mut arguments: Vec<String> = own.iter().map(|word| (*word).to_owned()).collect();
    if fs == "ext3" || fs == "ext4" {
        arguments[3] += ",lazy_journal_init=0";
    }
    arguments.extend(journal::block_size(configuration));
    let typed = configuration.level(Axis::Mkfs).unwrap_or_default();
    arguments.extend(typed.split_whitespace().map(str::to_owned));
    Some(Format { program: format!("mkfs.{fs}"), arguments })
}

/// What stands after `mount -o`; may be empty.
///
/// `noinit_itable`: ext4 does not zero its inode tables in the background (ext4(5)).
pub fn mount_options(configuration: &Configuration) -> String {
    let discard = match configuration.level(Axis::Discard) {
        Some("on") => "discard",
        Some(_) => "nodiscard",
        None => "",
    };
    let typed = configuration.level(Axis::Mount).unwrap_or_default();
    let quiet = if configuration.fs() == "ext4" { "noinit_itable" } else { "" };
    let parts = [quiet, discard, typed];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(",")
}

/// Whether the file system takes O_DIRECT and then goes through the page cache all the same: ext3
/// and ext4 with `data=journal` (Documentation/admin-guide/ext4.rst). All others that are made here
/// keep to it.
pub fn ignores_direct_io(configuration: &Configuration) -> bool {
    let mount = configuration.level(Axis::Mount).unwrap_or_default();
    matches!(configuration.fs(), "ext3" | "ext4")
        && mount.split(',').any(|option| option.trim() == "data=journal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::Axes;

    fn one(words: &[(Axis, &str)]) -> Configuration {
        let mut axes = Axes::default();
        for (axis, text) in words {
            axes.add(*axis, text).expect("levels");
        }
        axes.configurations().remove(0)
    }

    #[test]
    fn mkfs_leaves_discarding_to_the_axis() {
        let xfs =
            formatted(&one(&[(Axis::Fs, "xfs"), (Axis::Mkfs, "-m reflink=0")])).expect("made");
        assert_eq!(xfs.program, "mkfs.xfs");
        assert_eq!(xfs.arguments, ["-q", "-f", "-K", "-m", "reflink=0"]);
        let ext4 = formatted(&one(&[(Axis::Fs, "ext4")])).expect("made");
        assert!(
            ext4.arguments.contains(&"nodiscard,lazy_itable_init=1,lazy_journal_init=0".into())
        );
        assert_eq!(formatted(&one(&[(Axis::Fs, "raw")])), None);
    }

    #[test]
    fn journalled_data_pass_the_page_cache() {
        let mounted = |fs, options| one(&[(Axis::Fs, fs), (Axis::Mount, options)]);
        assert!(ignores_direct_io(&mounted("ext4", "noatime,data=journal")));
        assert!(!ignores_direct_io(&mounted("ext4", "data=writeback")));
        assert!(!ignores_direct_io(&one(&[(Axis::Fs, "btrfs")])));
    }

    #[test]
    fn discard_and_the_users_own_options_are_joined() {
        let words = [(Axis::Fs, "ext4"), (Axis::Discard, "off"), (Axis::Mount, "noatime")];
        assert_eq!(mount_options(&one(&words)), "noinit_itable,nodiscard,noatime");
        assert_eq!(mount_options(&one(&[(Axis::Fs, "xfs")])), "");
        assert_eq!(mount_options(&one(&[(Axis::Fs, "raw"), (Axis::Discard, "on")])), "");
    }
}
