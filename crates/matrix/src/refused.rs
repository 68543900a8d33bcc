//! What this kernel no longer takes: refused by name, with what comes nearest.

use crate::axis::{Axis, Cure};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::Axes;

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
}
