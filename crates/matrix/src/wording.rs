//! What mkfs and mount are told, and what this kernel no longer takes: refused by name, with what
//! comes nearest.

use crate::axis::{Axis, Configuration, Cure};

/// File systems that the matrix can make.
const KNOWN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

/// Schedulers of the kernel's single-queue block layer, which went with Linux 5.0
/// (Documentation/block), and what took their place.
const OLD_SCHEDULERS: [(&str, &str); 4] = [
    ("anticipatory", "bfq; the anticipatory scheduler went with Linux 2.6.33"),
    ("cfq", "bfq; cfq went with Linux 5.0"),
    ("deadline", "mq-deadline; deadline went with Linux 5.0"),
    ("noop", "none; noop went with Linux 5.0"),
];

/// Mount options that are gone, and what comes nearest.
const OLD_MOUNT_OPTIONS: [(&str, &str); 2] = [
    ("nobh", "nothing in its place; ext3 and ext4 ignore nobh since Linux 2.6.34 and 3.9"),
    ("bh", "nothing in its place; it is how ext4 works"),
];

/// Mount options in whose place [`Axis::KernelFlush`] stands.
const NO_FLUSH: [(&str, &str); 2] = [
    (
        "nobarrier",
        "off, which risks as much; XFS took nobarrier out in Linux 4.19, and it is no setting of \
         a file system but of the kernel's flushes",
    ),
    ("barrier=0", "off, which risks as much and says so"),
];

/// mkfs.xfs options that are gone.
const OLD_MKFS_OPTIONS: [(&str, &str); 1] = [(
    "lazy-count",
    "nothing in its place; XFS of version 5 always counts lazily, and mkfs.xfs refuses lazy-count=0 there",
)];

/// Whether it is a file system that can be made.
pub(crate) fn is_fs(name: &str) -> bool {
    KNOWN.contains(&name)
}

pub(crate) fn refused_fs(level: &str) -> Option<Cure> {
    let is_known = level == "raw" || is_fs(level);
    (!is_known).then(|| Cure::words(&format!("raw, or one of {}", KNOWN.join(", "))))
}

pub(crate) fn refused_scheduler(level: &str) -> Option<Cure> {
    nearest(&OLD_SCHEDULERS, level).map(Cure::words)
}

pub(crate) fn refused_mount(level: &str) -> Option<Cure> {
    let options = level.split_once(':').filter(|(named, _)| is_fs(named));
    let of = |axis, words: &str| Some(Cure { axis: Some(axis), words: words.to_owned() });
    let refused = |option: &str| match option {
        "discard" | "nodiscard" => of(Axis::Discard, "on or off: it is an axis of its own"),
        option => match nearest(&NO_FLUSH, option) {
            Some(words) => of(Axis::KernelFlush, words),
            None => nearest(&OLD_MOUNT_OPTIONS, option).map(Cure::words),
        },
    };
    let mut options = options.map_or(level, |(_, options)| options).split(',');
    options.find_map(|option| refused(option.trim()))
}

pub(crate) fn refused_mkfs(level: &str) -> Option<Cure> {
    let mut parts = level.split([' ', ',']);
    parts.find_map(|part| {
        let name = part.split_once('=').map_or(part, |(name, _)| name);
        nearest(&OLD_MKFS_OPTIONS, name).map(Cure::words)
    })
}

fn nearest(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(old, _)| *old == word).map(|(_, near)| *near)
}

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
    use crate::axis::Axes;

    fn one(words: &[(Axis, &str)]) -> Configuration {
        let mut axes = Axes::default();
        for (axis, text) in words {
            axes.add(*axis, text).expect("levels");
        }
        axes.configurations().remove(0)
    }

    #[test]
    fn options_that_this_kernel_lacks_are_refused_by_name_with_what_comes_nearest() {
        let cases = [
            (Axis::Scheduler, "cfq", "bfq"),
            (Axis::Scheduler, "none,anticipatory", "bfq"),
            (Axis::Mount, "noatime,nobh", "nothing in its place"),
            (Axis::Mount, "nobarrier", "kernel-flush off"),
            (Axis::Mount, "discard", "discard on"),
            (Axis::Mkfs, "-l lazy-count=0", "counts lazily"),
            (Axis::Fs, "reiserfs", "raw, or one of ext2"),
        ];
        for (axis, text, near) in cases {
            let refused = Axes::default().add(axis, text).expect_err("it is gone").to_string();
            assert!(refused.contains(near), "{text}: {refused}");
        }
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
