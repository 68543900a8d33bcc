//! The memory that this program's control group allows it: a container's, or what
//! `systemd-run -p MemoryMax=` gave it. The page cache of what it reads and writes counts as its
//! own, so that the limit is the size of its page cache too.
//!
//! ```text
//!   /proc/self/cgroup     0::/user.slice/run-1.scope       where we are       (cgroups(7))
//!   /proc/self/mountinfo  ... /sys/fs/cgroup ... cgroup2   where that is seen
//!   .../user.slice/run-1.scope/memory.max, and every group above it           the least of them
//! ```

use crate::{
    mountinfo::{Mount, parse_mountinfo},
    roots::{Roots, read_text},
};
use std::path::{Path, PathBuf};

/// Files with a limit: of version 2 (Documentation/admin-guide/cgroup-v2.rst) and of version 1.
const LIMITS: [&str; 3] = ["memory.max", "memory.high", "memory.limit_in_bytes"];

/// Bytes of memory, page cache included, that this program's control group and those above it
/// allow; `None` without a limit.
pub(crate) fn memory_limit(roots: &Roots) -> Option<u64> {
    let groups = read_text(&roots.proc.join("self/cgroup"))?;
    let mounts = parse_mountinfo(&read_text(&roots.proc.join("self/mountinfo"))?);
    let lines = groups.lines().filter_map(|line| {
        // 4:memory:/docker/1f2e, or 0::/user.slice
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some((controllers, path))
    });
    lines
        .filter(|(controllers, _)| {
            controllers.is_empty() || controllers.split(',').any(|name| name == "memory")
        })
        .filter_map(|(controllers, path)| {
            let mount = mounts.iter().find(|mount| match controllers {
                "" => mount.kind == "cgroup2",
                _ => mount.kind == "cgroup" && mount.has_option("memory"),
            })?;
            least(roots, mount, Path::new(path))
        })
        .min()
}

/// The least limit of the group at `path` and of those above it, as far as they are seen.
fn least(roots: &Roots, mount: &Mount, path: &Path) -> Option<u64> {
    // A container sees its own part of the tree: what is mounted is `root` of the whole.
    let below = path.strip_prefix(&mount.root).unwrap_or(path);
    let below = below.strip_prefix("/").unwrap_or(below);
    below.ancestors().filter_map(|group| limit(&place(roots, mount).join(group))).min()
}

fn limit(group: &Path) -> Option<u64> {
    // `max` is no number, and no limit.
    LIMITS.iter().filter_map(|file| read_text(&group.join(file))?.parse().ok()).min()
}

/// The mount point below the roots that tests may have put elsewhere.
fn place(roots: &Roots, mount: &Mount) -> PathBuf {
    match Path::new(&mount.mount_point).strip_prefix("/sys") {
        Ok(below) => roots.sys.join(below),
        Err(_) => PathBuf::from(&mount.mount_point),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine of text files, gone on drop.
    struct Fake(PathBuf);

    impl Fake {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let top = std::env::temp_dir().join(format!("drivelab-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = top.join(path);
                fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
                fs::write(path, text).expect("a file");
            }
            Self(top)
        }

        fn limit(&self) -> Option<u64> {
            memory_limit(&Roots::below(&self.0))
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const UNIFIED: &str = "31 24 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_tightest_group_on_the_way_up_counts() {
        let groups = ("proc/self/cgroup", "0::/user.slice/run-1.scope\n");
        let table = ("proc/self/mountinfo", UNIFIED);
        let scope = "sys/fs/cgroup/user.slice/run-1.scope/memory.max";
        let slice = "sys/fs/cgroup/user.slice/memory.max";
        let fake = Fake::new("cg-a", &[groups, table, (scope, "1073741824\n"), (slice, "max\n")]);
        assert_eq!(fake.limit(), Some(1 << 30));
        let fake = Fake::new("cg-b", &[groups, table, (scope, "max\n"), (slice, "268435456\n")]);
        assert_eq!(fake.limit(), Some(1 << 28));
        let fake = Fake::new("cg-c", &[groups, table, (scope, "max\n")]);
        assert_eq!(fake.limit(), None);
        let high = ("sys/fs/cgroup/user.slice/run-1.scope/memory.high", "4096\n");
        assert_eq!(Fake::new("cg-d", &[groups, table, high]).limit(), Some(4096));
    }

    #[test]
    fn version_1_has_the_memory_controller_in_a_tree_of_its_own() {
        let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let files = [
            ("proc/self/cgroup", "5:devices:/\n4:memory:/jobs/a\n0::/\n"),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes", "67108864\n"),
            // Without a limit: as many whole pages as a signed number holds bytes.
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(Fake::new("cg-e", &files).limit(), Some(64 << 20));
    }

    #[test]
    fn a_container_is_told_the_path_on_its_host() {
        let files = [
            ("proc/self/cgroup", "4:cpu,memory:/docker/1f2e\n"),
            (
                "proc/self/mountinfo",
                "35 31 0:32 /docker/1f2e /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
        ];
        assert_eq!(Fake::new("cg-f", &files).limit(), Some(512 << 20));
    }
}
