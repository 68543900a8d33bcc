//! A path that leads to nothing: what it may have been meant to be, and where nothing may be made.
//!
//! ```text
//!   /dev/sdx   /dev/sda           the machine's block devices
//!   /mnt/scrtch/a   /mnt/scratch/a   the first name that is not there, by the names beside it
//!   /dev, /proc, /sys             the kernel's: a file there would be one of memory, or none
//! ```

use crate::{
    error::{ErrorKind, HostError},
    roots::Roots,
    sysfs::{BlockDevice, disks},
};
use block::names::nearest;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Names of a directory that are looked at.
const NAMES_MAX: usize = 10_000;
/// Devices that are listed where none has a name that is near.
const LISTED_MAX: usize = 4;

/// Paths that are there and whose spelling is near, nearest first; at most three.
pub fn nearest_paths(path: &Path, roots: &Roots) -> Vec<PathBuf> {
    if let Some(name) = device_name(path) {
        let devices = devices(roots);
        let near = nearest(&name, devices.iter().map(String::as_str));
        return near.into_iter().map(|name| Path::new("/dev").join(name)).collect();
    }
    let mut there = PathBuf::new();
    let mut names = path.components();
    for name in names.by_ref() {
        let next = there.join(name);
        let is_there = fs::symlink_metadata(&next).is_ok();
        if !is_there && let Component::Normal(wrong) = name {
            let wrong = wrong.to_string_lossy();
            let beside = names_in(&there);
            let near = nearest(&wrong, beside.iter().map(String::as_str));
            let rest = names.as_path();
            let whole = near.into_iter().map(|near| there.join(near).join(rest));
            // Its last component, where nothing follows, must not end in a slash.
            return whole.map(|path| path.components().collect()).collect();
        }
        there = next;
    }
    Vec::new()
}

/// ` Did you mean ...?` with [`nearest_paths`] and what else may be meant; for what looks like a
/// device without a near one, which devices there are; else nothing.
pub fn did_you_mean(path: &Path, others: &[String], roots: &Roots) -> String {
    let near = nearest_paths(path, roots);
    let near = near.iter().map(|path| path.display().to_string());
    let quoted: Vec<String> =
        others.iter().cloned().chain(near).take(3).map(|name| format!("`{name}`")).collect();
    if !quoted.is_empty() {
        return format!(" Did you mean {}?", quoted.join(" or "));
    }
    let drives: Vec<String> = match device_name(path) {
        Some(_) => disks(roots).iter().filter(|disk| disk.bytes() > 0).map(shown).collect(),
        None => Vec::new(),
    };
    match &drives[..] {
        [] => String::new(),
        drives => format!(" Devices: {}.", drives[..drives.len().min(LISTED_MAX)].join(", ")),
    }
}

/// The device of this very name, for a name without a directory: `sda` for `/dev/sda`.
pub fn device_of_name(path: &Path, roots: &Roots) -> Option<PathBuf> {
    let name = path.to_str().filter(|name| !name.contains('/'))?;
    BlockDevice::named(name, roots).map(|device| Path::new("/dev").join(device.name))
}

/// Refuses to make anything at `path` where only the kernel makes names: a file under a mistyped
/// name of a device would lie in memory, and answer at once.
///
/// # Errors
/// [`ErrorKind::WrongKind`] with the cure.
pub fn refuse_in_kernels_place(path: &Path) -> Result<(), HostError> {
    // Directories that are not there yet would be made, too.
    let above = path.ancestors().skip(1).map(|above| match above.as_os_str().is_empty() {
        true => Path::new("."),
        false => above,
    });
    let there = above.filter_map(|above| fs::canonicalize(above).ok()).next();
    there.map_or(Ok(()), |directory| refused(&directory, path))
}

/// The same for a directory, by its canonical path.
///
/// # Errors
/// [`ErrorKind::WrongKind`] with the cure.
pub fn refuse_kernels_place(directory: &Path) -> Result<(), HostError> {
    refused(directory, directory)
}

fn refused(directory: &Path, shown: &Path) -> Result<(), HostError> {
    let Some(place) = kernels_place(directory) else { return Ok(()) };
    let sentence = format!(
        "nothing is made at {}: {place} is the kernel's, and a file there would be on no drive; \
         name another directory",
        shown.display()
    );
    Err(HostError::new(ErrorKind::WrongKind, sentence))
}

/// Which of the kernel's own trees a canonical path lies in. `/dev/shm` is memory for everybody's
/// files, and flagged as such.
pub(crate) fn kernels_place(directory: &Path) -> Option<&'static str> {
    let is_in = |place: &&str| directory.starts_with(place);
    ["/dev", "/proc", "/sys"].into_iter().find(is_in).filter(|_| !directory.starts_with("/dev/shm"))
}

/// What stands after `/dev/`, of a path right below it, or a name alone that looks like such a one.
fn device_name(path: &Path) -> Option<String> {
    let parent = path.parent()?;
    let is_dev = parent == Path::new("/dev")
        || fs::canonicalize(parent).is_ok_and(|parent| parent == Path::new("/dev"));
    let name = path.file_name()?.to_str()?;
    let alone = parent.as_os_str().is_empty() && looks_like_a_device(name);
    (is_dev || alone).then(|| name.to_owned())
}

/// Whether the kernel names drives so: `sda1`, `nvme0n1`, `md127`.
fn looks_like_a_device(name: &str) -> bool {
    let lettered = ["sd", "hd", "vd", "xvd"];
    let numbered = ["nvme", "mmcblk", "md", "dm-", "loop", "nbd", "zram"];
    let follows = |starts: &[&str], is_next: fn(&char) -> bool| {
        let rests = starts.iter().filter_map(|start| name.strip_prefix(start));
        rests.filter_map(|rest| rest.chars().next()).any(|next| is_next(&next))
    };
    let is_plain =
        name.len() <= 12 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain
        && (follows(&numbered, char::is_ascii_digit)
            || name.len() <= 6 && follows(&lettered, char::is_ascii_lowercase))
}

/// Disks and partitions, the disks that are real first.
fn devices(roots: &Roots) -> Vec<String> {
    let disks = disks(roots);
    let of_disk = |disk: &BlockDevice| {
        let partitions = disk.partitions().into_iter().map(|part| part.name);
        [disk.name.clone()].into_iter().chain(partitions).collect::<Vec<_>>()
    };
    disks.iter().filter(|disk| disk.bytes() > 0).flat_map(of_disk).collect()
}

fn shown(device: &BlockDevice) -> String {
    format!("`/dev/{}`", device.name)
}

fn names_in(directory: &Path) -> Vec<String> {
    let here = Path::new(".");
    let directory = if directory.as_os_str().is_empty() { here } else { directory };
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().take(NAMES_MAX);
    let mut names: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_drives_are_told_from_those_of_files() {
        for name in ["sda", "sdb12", "nvme0n1", "nvme0n1p3", "vdb1", "md127", "dm-0", "loop7"] {
            assert!(looks_like_a_device(name), "{name}");
        }
        for name in
            ["scratch", "data", "nvme-tlc", "media", "sd.img", "vda.img", "mdadm", "hdd-7200-cmr"]
        {
            assert!(!looks_like_a_device(name), "{name}");
        }
    }

    /// A device's name was mistyped, and the file that was made in its place lay in memory.
    #[test]
    fn nothing_is_made_in_the_kernels_trees() {
        let refused = |path: &str| refuse_in_kernels_place(Path::new(path));
        for path in ["/dev/nope", "/dev/a/b/c", "/proc/nope", "/sys/x/y", "/dev/../dev/nope"] {
            let refusal = refused(path).expect_err(path).to_string();
            assert!(refusal.contains(path) && refusal.contains("kernel"), "{refusal}");
        }
        for path in ["/nope", "nope", "/tmp/dev/nope", "/dev/shm/nope"] {
            refused(path).expect(path);
        }
    }

    #[test]
    fn the_first_name_that_is_not_there_is_replaced_by_one_that_is() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("scratch/a")).expect("a folder");
        fs::write(folder.path().join("disk.img"), "").expect("a file");
        let near = |name: &str| {
            let path = folder.path().join(name);
            let near = nearest_paths(&path, &Roots::default());
            near.iter()
                .map(|at| at.strip_prefix(folder.path()).expect("below").display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(near("scrtch/a"), ["scratch/a"]);
        assert_eq!(near("scratch/a/absent"), [""; 0]);
        assert_eq!(near("dsik.img"), ["disk.img"]);
        assert_eq!(near("disk.img"), [""; 0], "it is there");
    }
}
